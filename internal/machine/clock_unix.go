//go:build unix

package machine

import "syscall"

// ProcessorTime is the time that all threads of this process have run, in seconds. It
// does not count the time that other programs take.
func ProcessorTime() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) * 1e-9
}
