//go:build !linux || android || (!amd64 && !arm64) || static

package driver

import "runtime"

// openLibrary returns an error, because this system, or a build with the tag static, has no binding.
func openLibrary() (Driver, error) {
	return nil, unavailable("this program, for %s/%s, uses no GPU: GPUs are supported on linux/amd64 and linux/arm64, by "+
		"builds without the tag static", runtime.GOOS, runtime.GOARCH)
}
