package pages

import (
	"os"
	"syscall"
)

// advise asks for large pages before memory is used first. A system without large pages returns an error, which
// has no consequences.
func advise(b []byte) {
	if inside := whole(b, hugePage); len(inside) > 0 {
		_ = syscall.Madvise(inside, syscall.MADV_HUGEPAGE)
	}
}

// changeTime returns the time of the last change of a file's content, links or rights, in nanoseconds.
func changeTime(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}

// drop returns whole pages to the system. They read as zeros afterwards; Go permits this for memory that was used.
func drop(b []byte) {
	if inside := whole(b, os.Getpagesize()); len(inside) > 0 {
		_ = syscall.Madvise(inside, syscall.MADV_DONTNEED)
	}
}
