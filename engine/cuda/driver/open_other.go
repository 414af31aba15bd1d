//go:build !linux || android || (!amd64 && !arm64)

package driver

import "runtime"

// openLibrary: this system has no binding.
func openLibrary() (Driver, error) {
	return nil, unavailable("GPUs are supported on linux/amd64 and linux/arm64, not on %s/%s", runtime.GOOS, runtime.GOARCH)
}
