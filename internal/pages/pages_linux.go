package pages

import "syscall"

// advise asks for large pages before memory is used first. A system that has none says so, and
// nothing is lost.
func advise(b []byte) {
	if inside := whole(b); len(inside) > 0 {
		_ = syscall.Madvise(inside, syscall.MADV_HUGEPAGE)
	}
}
