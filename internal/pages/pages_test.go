package pages

import (
	"testing"
	"unsafe"
)

// Large slices are aligned for vectors, hold zeros, and contain the large pages that are asked for.
func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 1000, worthHuge/8 - 1, worthHuge / 8, 3*hugePage/8 + 5, 10 * hugePage / 8} {
		x := Make[float64](n)
		if len(x) != n {
			t.Fatalf("length %d, want %d", len(x), n)
		}
		for i, v := range x {
			if v != 0 {
				t.Fatalf("n = %d: number %d is %g", n, i, v)
			}
		}
		if 8*n < worthHuge {
			continue
		}
		at := uintptr(unsafe.Pointer(&x[0]))
		if at%64 != 0 {
			t.Errorf("n = %d: starts at %#x, want a multiple of 64", n, at)
		}
		b := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 8*n)
		inside := whole(b)
		from := uintptr(unsafe.Pointer(&inside[0]))
		if from%hugePage != 0 || len(inside)%hugePage != 0 || from < at || from+uintptr(len(inside)) > at+uintptr(8*n) {
			t.Errorf("n = %d: large pages from %#x, %d bytes, in %d bytes from %#x", n, from, len(inside), 8*n, at)
		}
		if len(b)-len(inside) >= 2*hugePage {
			t.Errorf("n = %d: %d of %d bytes are on large pages", n, len(inside), len(b))
		}
	}
}
