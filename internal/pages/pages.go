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
// addresses. Its values are the same as make's, and so are all results.
func Make[T Number](n int) []T {
	x := make([]T, n)
	if size := uintptr(n) * unsafe.Sizeof(T(0)); size >= worthHuge {
		advise(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size))
	}
	return x
}

// worthDropping is the least memory that Drop gives back.
const worthDropping = 64 << 10

// Drop marks the values of x, which must have no other reader, as never read again: the system may take their memory
// back at once rather than after a collection. The values of x are undefined from here on.
func Drop[T Number](x []T) {
	if size := uintptr(len(x)) * unsafe.Sizeof(T(0)); size >= worthDropping {
		drop(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size))
	}
}

// whole is the part of b that is made of whole pages of a size, a power of two.
func whole(b []byte, page int) []byte {
	skip := -uintptr(unsafe.Pointer(&b[0])) % uintptr(page)
	if uintptr(len(b)) < skip {
		return nil
	}
	b = b[skip:]
	return b[:len(b)/page*page]
}
