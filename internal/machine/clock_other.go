//go:build !unix

package machine

import "time"

var start = time.Now()

// ProcessorTime returns the wall clock time, because the processor time of this system is not read.
func ProcessorTime() float64 { return time.Since(start).Seconds() }
