//go:build !linux || android || (!amd64 && !arm64) || static

package driver

import "runtime"

// Open returns an error that wraps ErrUnavailable: GPUs are used on Linux (amd64
// and arm64) only, and not by a program that was built with the tag static, which loads no library.
func Open() (Driver, error) {
	return nil, unavailable("this program, for %s/%s, uses no GPU: GPUs are supported on linux/amd64 and linux/arm64, by builds without the tag static", runtime.GOOS, runtime.GOARCH)
}
