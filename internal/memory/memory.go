// Package memory checks whether a model fits into the memory of the machine.
package memory

import "dyad/internal/input"

// matrixCopies is the number of copies of the parameters that training holds at once, including garbage. Up to
// 26 copies were measured for metrics of 600 to 2,000 features, most of them in eigensolvers.
const matrixCopies = 32

// Check returns an error for a model that does not fit into the memory of this machine during training. It is
// called before anything is charged, because a process that runs out of memory dies without an error. The
// argument least is the number of bytes that this process may still use. If it is 0, Check asks the system for
// this number.
func Check(params int, least float64) error {
	if least == 0 {
		least = Available()
	}
	if need := 8 * matrixCopies * float64(params); least > 0 && need > least {
		return input.Errorf("training %d parameters takes about %.3g GB of memory, but only %.3g GB are available; "+
			"choose fewer features or more memory; no budget was charged",
			params, need/1e9, least/1e9)
	}
	return nil
}
