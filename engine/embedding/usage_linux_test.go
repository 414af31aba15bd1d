package embedding_test

import "syscall"

// usage is the processor time of this process in seconds, and its largest memory in megabytes (Linux).
func usage() (seconds, megabytes float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, float64(u.Maxrss) / 1024
}
