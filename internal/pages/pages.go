// Package pages allocates slices on large pages and maps files as slices.
package pages

import "unsafe"

// The size of a page that Make asks for, and the size of slices from which on large pages are used.
const (
	hugePage  = 2 << 20
	worthHuge = 2 * hugePage
)

// Make is make([]T, n) for numbers. A slice of 4 MB or more starts at a multiple of 64 bytes and is on pages of
// 2 MB if the system has them. Loops over such a slice have fewer TLB misses. The values are the same as those
// of make, so results do not change.
func Make[T Number](n int) []T {
	x := make([]T, n)
	if size := uintptr(n) * unsafe.Sizeof(T(0)); size >= worthHuge {
		advise(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size))
	}
	return x
}

// worthDropping is the least memory that Drop returns to the system.
const worthDropping = 64 << 10

// Drop tells the system that the values of x are not read again. No other code may read x. The system may take
// the memory of these values back at once, before the next garbage collection. The values of x are undefined
// afterwards.
func Drop[T Number](x []T) {
	if size := uintptr(len(x)) * unsafe.Sizeof(T(0)); size >= worthDropping {
		drop(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size))
	}
}

// whole returns the part of b that consists of whole pages of a size, which is a power of two.
func whole(b []byte, page int) []byte {
	skip := -uintptr(unsafe.Pointer(&b[0])) % uintptr(page)
	if uintptr(len(b)) < skip {
		return nil
	}
	b = b[skip:]
	return b[:len(b)/page*page]
}
