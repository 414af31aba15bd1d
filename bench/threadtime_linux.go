package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime is the CPU time of the calling thread, which does not count the time that
// other processes take. Call it under runtime.LockOSThread. Where the system does not
// tell, it is the time of day.
func ThreadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
