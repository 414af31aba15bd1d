//go:build !linux

package bench

import "time"

// ThreadTime is the time of day.
func ThreadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
