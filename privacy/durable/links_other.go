//go:build !windows

package durable

import (
	"io/fs"
	"syscall"
)

// links returns the number of hard links to a file.
func links(_ string, info fs.FileInfo) (int, error) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink), nil
	}
	return 1, nil
}
