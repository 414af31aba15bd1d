package pages

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"dyad/internal/must"
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
		inside := whole(b, hugePage)
		from := uintptr(unsafe.Pointer(&inside[0]))
		if from%hugePage != 0 || len(inside)%hugePage != 0 || from < at || from+uintptr(len(inside)) > at+uintptr(8*n) {
			t.Errorf("n = %d: large pages from %#x, %d bytes, in %d bytes from %#x", n, from, len(inside), 8*n, at)
		}
		if len(b)-len(inside) >= 2*hugePage {
			t.Errorf("n = %d: %d of %d bytes are on large pages", n, len(inside), len(b))
		}
	}
}

// Drop leaves what lies around x as it is, also in the page that x begins or ends in.
func TestDrop(t *testing.T) {
	x := Make[float64](worthHuge)
	for i := range x {
		x[i] = float64(i + 1)
	}
	for _, part := range [][2]int{{0, 0}, {5, 70}, {1000, 1000 + worthDropping/8}, {100_001, 300_003}} {
		Drop(x[part[0]:part[1]])
		for _, i := range []int{part[0] - 1, part[1], part[1] + 1} {
			if i >= 0 && x[i] != float64(i+1) {
				t.Errorf("Drop of %v changed number %d", part, i)
			}
		}
		if x[part[0]] = -1; x[part[0]] != -1 {
			t.Errorf("dropped memory is not used again")
		}
		x[part[0]] = float64(part[0] + 1)
	}
}

// Numbers come back from a file, at any place of it.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "numbers")
	want := []float64{0, 1, -2.5, math.Pi, math.Inf(1)}
	text := append([]byte("x"), Bytes(want)...)
	text = append(text, Bytes([]float32{0.5, -3})...)
	must.Do(t, os.WriteFile(name, text, 0o600))
	f := must.Get(os.Open(name))(t)
	defer f.Close()
	m, err := File(f)
	if err != nil || !slices.Equal(m.Bytes, text) {
		t.Fatalf("%+v, %v", m, err)
	}
	b := m.Bytes
	if got := Slice[float64](b[1:41]); !slices.Equal(got, want) {
		t.Errorf("numbers %v at an odd place, want %v", got, want)
	}
	if got := Slice[float32](b[41:]); !slices.Equal(got, []float32{0.5, -3}) {
		t.Errorf("numbers %v", got)
	}
	if d, err := os.Open(t.TempDir()); err == nil {
		must.Err(File(d))(t, "a folder was read")
	}
}
