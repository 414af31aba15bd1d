// Package memory refuses models that a machine cannot hold.
package memory

import "dyad/internal/input"

// matrixCopies is how often training holds the parameters at once, garbage included: up to
// 26 times were seen for metrics of 600 to 2,000 features, most of it in eigensolvers.
const matrixCopies = 32

// Check refuses a model that this machine cannot hold while it trains, before anything is
// charged: a process that runs out of memory can only die. least is the number of bytes that
// this process may still take, 0 for what the system says.
func Check(params int, least float64) error {
	if least == 0 {
		least = Available()
	}
	if need := 8 * matrixCopies * float64(params); least > 0 && need > least {
		return input.Errorf("training a model of %d parameters takes about %.3g GB of memory, and %.3g GB are available; choose fewer features (in the schema), or a machine with more memory; no budget was charged",
			params, need/1e9, least/1e9)
	}
	return nil
}
