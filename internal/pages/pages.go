// Package pages makes and maps large memory: slices on large pages, files as slices.
package pages

import "unsafe"

// Sizes of a page that Make asks for, and of the slices that are worth it.
const (
	hugePage  = 2 << 20
	worthHuge = 2 * hugePage
)

// Make is make([]T, n) for numbers. A slice of 4 MB or more starts at a multiple of 64 bytes and
// lies, where the system has them, on pages of 2 MB: passes over it miss fewer translations of
// addresses. Its values are those of make, and so are all results.
func Make[T Number](n int) []T {
	x := make([]T, n)
	if size := uintptr(n) * unsafe.Sizeof(T(0)); size >= worthHuge {
		advise(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size))
	}
	return x
}

// whole is the part of b that is made of whole large pages.
func whole(b []byte) []byte {
	skip := -uintptr(unsafe.Pointer(&b[0])) % hugePage
	if uintptr(len(b)) < skip {
		return nil
	}
	b = b[skip:]
	return b[:len(b)/hugePage*hugePage]
}
