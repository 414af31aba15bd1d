//go:build !linux || android || (!amd64 && !arm64) || static

package driver

import "runtime"

// openLibrary returns an error, because this system, or a build with the tag static, has no binding.
func openLibrary() (Driver, error) {
	return nil, unavailable("this program for %s/%s cannot use a GPU; use a build for linux/amd64 or linux/arm64 "+
		"without the tag static", runtime.GOOS, runtime.GOARCH)
}
