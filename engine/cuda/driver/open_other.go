//go:build !linux || android || (!amd64 && !arm64)

package driver

import "runtime"

// Open returns an error that wraps ErrUnavailable: GPUs are used on Linux (amd64
// and arm64) only.
func Open() (Driver, error) {
	return nil, unavailable("GPUs are supported on linux/amd64 and linux/arm64, not on %s/%s", runtime.GOOS, runtime.GOARCH)
}
