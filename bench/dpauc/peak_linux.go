package main

import (
	"os"
	"syscall"
)

// peakMB is the peak resident memory of a process that ended, or of the largest of those that it waited for.
func peakMB(s *os.ProcessState) float64 {
	return float64(s.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / 1e6 // Linux counts in KiB
}
