//go:build !unix

package machine

import "time"

var start = time.Now()

// ProcessorTime is the wall clock where the system's processor time is not read.
func ProcessorTime() float64 { return time.Since(start).Seconds() }
