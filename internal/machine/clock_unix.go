//go:build unix

package machine

import "syscall"

// ProcessorTime returns the time, in seconds, that all threads of this process have run. It excludes the time
// of other programs.
func ProcessorTime() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) * 1e-9
}
