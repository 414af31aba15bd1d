package pages

import (
	"os"
	"syscall"
)

// advise asks for large pages before memory is used first. A system without any returns an
// error, which does no harm.
func advise(b []byte) {
	if inside := whole(b, hugePage); len(inside) > 0 {
		_ = syscall.Madvise(inside, syscall.MADV_HUGEPAGE)
	}
}

// changeTime is when a file's content, links or rights changed, in nanoseconds.
func changeTime(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}

// drop gives whole pages back. They read as zeros afterwards, which Go allows for in memory that was used.
func drop(b []byte) {
	if inside := whole(b, os.Getpagesize()); len(inside) > 0 {
		_ = syscall.Madvise(inside, syscall.MADV_DONTNEED)
	}
}
