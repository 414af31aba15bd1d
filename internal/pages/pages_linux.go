package pages

import (
	"os"
	"syscall"
)

// advise asks for large pages before memory is used first. A system that has none says so, and
// nothing is lost.
func advise(b []byte) {
	if inside := whole(b, hugePage); len(inside) > 0 {
		_ = syscall.Madvise(inside, syscall.MADV_HUGEPAGE)
	}
}

// drop gives whole pages back. They read as zeros afterwards, which Go allows for in memory that was used.
func drop(b []byte) {
	if inside := whole(b, os.Getpagesize()); len(inside) > 0 {
		_ = syscall.Madvise(inside, syscall.MADV_DONTNEED)
	}
}
