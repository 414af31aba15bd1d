package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// guarded is a slice with NaN directly before and after it in memory, and at any
// offset from an aligned address: a read outside the slice spoils the result, a
// write is seen by check.
type guarded = guardedOf[float64]

type guardedOf[T float32 | float64] struct {
	all  []T
	at   int
	data []T
	copy []T
}

func newGuarded[T float32 | float64](x []T, offset int) *guardedOf[T] {
	g := &guardedOf[T]{all: make([]T, len(x)+16+offset), at: 8 + offset}
	for i := range g.all {
		g.all[i] = T(math.NaN())
	}
	// The capacity includes the guards: a kernel that reslices is caught, too.
	g.data = g.all[g.at : g.at+len(x)]
	copy(g.data, x)
	g.copy = append([]T(nil), x...)
	return g
}

// intact reports that the guards are still NaN.
func (g *guardedOf[T]) intact() bool {
	for i, v := range g.all {
		if (i < g.at || i >= g.at+len(g.data)) && v == v {
			return false
		}
	}
	return true
}

// unchanged reports that a read-only slice was not written.
func (g *guardedOf[T]) unchanged() bool { return g.intact() && slices.Equal(g.data, g.copy) }

// kept fails if what was only read has changed, or something beside what was written.
func kept(t *testing.T, name string, written []guard, read ...guard) {
	t.Helper()
	for _, g := range written {
		if !g.intact() {
			t.Fatalf("%s: wrote outside its slices", name)
		}
	}
	for _, g := range read {
		if !g.unchanged() {
			t.Fatalf("%s: wrote to its arguments", name)
		}
	}
}

type guard interface {
	intact() bool
	unchanged() bool
}

// filled are n numbers of f, one after the other.
func filled[T any](n int, f func() T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = f()
	}
	return x
}

func normals(rng *rand.Rand, n int) []float64 { return filled(n, rng.NormFloat64) }

// labels are n whole numbers below most.
func labels(rng *rand.Rand, n, most int) []float64 {
	return filled(n, func() float64 { return float64(rng.IntN(most)) })
}

// each applies f to all numbers of a slice.
func each(f func(float64) float64) func([]float64) {
	return func(v []float64) {
		for i := range v {
			v[i] = f(v[i])
		}
	}
}

// allNear compares numbers one by one by near.
func allNear(t *testing.T, name string, got, want []float64, size, tol float64) {
	t.Helper()
	for i := range want {
		if !near(got[i], want[i], size, tol) {
			t.Errorf("%s: number %d is %v, want %v", name, i, got[i], want[i])
		}
	}
}

// near reports |got - want| <= tol max(1, size); NaN is never near.
func near(got, want, size, tol float64) bool {
	return math.Abs(got-want) <= tol*max(1, size)
}

func TestGuardsCatch(t *testing.T) {
	g := newGuarded([]float64{1, 2, 3}, 1)
	if !g.unchanged() {
		t.Fatal("fresh guards are not intact")
	}
	over := g.all[g.at : g.at+4]
	if v := Dot(over, []float64{1, 1, 1, 1}); !math.IsNaN(v) {
		t.Errorf("reading past the end gives %v, want NaN", v)
	}
	AddRows(over, []float64{1}, make([]float64, 4))
	if !g.intact() { // NaN + 0 is still NaN
		t.Error("adding zero changed a guard")
	}
	over[3] = 0
	if g.intact() {
		t.Error("a write past the end is not seen")
	}
	g = newGuarded([]float64{1}, 0)
	g.data[0] = 2
	if g.unchanged() {
		t.Error("a write to a read-only slice is not seen")
	}
}

// lengths are 0 to 67 and some around the block length of Dot.
func lengths() []int {
	var n []int
	for i := range 68 {
		n = append(n, i)
	}
	return append(n, 255, 256, 257, 259, 511, 512, 513, 1030)
}

func TestDot(t *testing.T) { variants(t, testDot) }

func testDot(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range lengths() {
		for offset := range 4 {
			x, y := newGuarded(normals(rng, n), offset), newGuarded(normals(rng, n), 3-offset)
			var want, size float64
			for k := range x.data {
				want += x.data[k] * y.data[k]
				size += math.Abs(x.data[k] * y.data[k])
			}
			if got := kernel.Dot(x.data, y.data); !near(got, want, size, 1e-13) {
				t.Errorf("n=%d offset=%d: Dot %v, want %v", n, offset, got, want)
			}
			index := make([]int32, n)
			for k := range index {
				index[k] = int32(n - 1 - k)
			}
			reversed := slices.Clone(y.data)
			slices.Reverse(reversed)
			if got := sparseDot(x.data, index, reversed); !near(got, want, size, 1e-13) {
				t.Errorf("n=%d offset=%d: SparseDot %v, want %v", n, offset, got, want)
			}
			kept(t, "Dot", nil, x, y)
		}
	}
}

// TestDotDepth compares sums of equal terms, whose roundings all go one way, with
// their exact value.
func TestDotDepth(t *testing.T) { variants(t, testDotDepth) }

func testDotDepth(t *testing.T, kernel *Set) {
	if DotDepth(1) < 2 || DotDepth(256) > 80 || DotDepth(100000) > 470 {
		t.Errorf("depths %d, %d, %d", DotDepth(1), DotDepth(256), DotDepth(100000))
	}
	for _, n := range []int{1, 7, 256, 5000} {
		x, y := make([]float64, n), make([]float64, n)
		for k := range x {
			x[k], y[k] = 1+0x1p-30, 1+0x1p-30
		}
		exact := float64(n) * (1 + 0x1p-29) // the term 2^-60 n is far below the bound
		must.Within(t, math.Abs(kernel.Dot(x, y)-exact)/exact, 0, float64(DotDepth(n)+1)*0x1p-53, "n=%d: relative error ... above depth %d", n, DotDepth(n))
	}
}

// rowsCase is a matrix dense and in compressed rows.
type rowsCase struct {
	n, d  int
	x     *guarded
	start []int64
	index []int32
	value *guarded
	rows  []int32
}

func newRowsCase(rng *rand.Rand, n, d, offset int) rowsCase {
	x := normals(rng, n*d)
	c := rowsCase{n: n, d: d, start: []int64{0}}
	var value []float64
	for i := range n {
		for k := range d {
			if rng.IntN(3) == 0 {
				x[i*d+k] = 0
				continue
			}
			c.index, value = append(c.index, int32(k)), append(value, x[i*d+k])
		}
		c.start = append(c.start, int64(len(value)))
	}
	c.rows = filled(n, func() int32 { return int32(rng.IntN(n)) })
	c.x, c.value = newGuarded(x, offset), newGuarded(value, offset)
	return c
}

func TestRows(t *testing.T) { variants(t, testRows) }

func testRows(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(2, 2))
	// Every width up to 67: vector variants have code of their own for each number of registers.
	for _, d := range append(lengths()[1:], 80, 129, 300, 600) {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 9, 31, 67} {
			c := newRowsCase(rng, n, d, n%4)
			w, coef := newGuarded(normals(rng, d), 1), newGuarded(normals(rng, n), 2)
			natural := make([]int32, n)
			for i := range natural {
				natural[i] = int32(i)
			}
			for _, v := range []struct {
				name string
				rows []int32
				dots func(dst []float64)
				add  func(acc []float64)
			}{
				{"dense", natural, func(dst []float64) { kernel.Dots(dst, c.x.data, w.data) },
					func(acc []float64) { kernel.AddRows(acc, coef.data, c.x.data) }},
				{"sparse", natural, func(dst []float64) { SparseDots(dst, c.start, c.index, c.value.data, w.data) },
					func(acc []float64) { SparseAddRows(acc, coef.data, c.start, c.index, c.value.data) }},
				{"gather", c.rows, func(dst []float64) { kernel.GatherDots(dst, c.x.data, w.data, c.rows) },
					func(acc []float64) { kernel.GatherAddRows(acc, coef.data, c.x.data, c.rows) }},
				{"sparse gather", c.rows, func(dst []float64) { SparseGatherDots(dst, c.start, c.index, c.value.data, w.data, c.rows) },
					func(acc []float64) { SparseGatherAddRows(acc, coef.data, c.start, c.index, c.value.data, c.rows) }},
			} {
				checkRows(t, fmt.Sprintf("%s n=%d d=%d", v.name, n, d), c, v.rows, w.data, coef.data, v.dots, v.add)
			}
			if !c.x.unchanged() || !c.value.unchanged() || !w.unchanged() || !coef.unchanged() {
				t.Errorf("n=%d d=%d: a kernel wrote to its arguments", n, d)
			}
		}
	}
}

func checkRows(t *testing.T, name string, c rowsCase, rows []int32, w, coef []float64, dots, add func([]float64)) {
	t.Helper()
	dst, acc := newGuarded(make([]float64, c.n), 3), newGuarded(make([]float64, c.d), 1)
	for k := range acc.data {
		acc.data[k] = float64(k)
	}
	want, scores := slices.Clone(acc.data), make([]float64, c.n)
	dots(dst.data)
	add(acc.data)
	for i, r := range rows {
		for k, v := range c.x.data[int(r)*c.d:][:c.d] {
			scores[i] += v * w[k]
			want[k] += coef[i] * v
		}
	}
	allNear(t, name+", scores", dst.data, scores, float64(c.d), 1e-14)
	allNear(t, name+", columns", acc.data, want, float64(c.n+c.d), 1e-14)
	kept(t, name, []guard{dst, acc})
}
