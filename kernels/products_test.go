package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

func TestAddProducts(t *testing.T) { variants(t, testAddProducts) }

func testAddProducts(t *testing.T, s *Set) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 16, 63, 64, 67, 255, 256, 257, 520} {
		for _, m := range []int{0, 1, 2, 3, 7, 8, 9, 15, 30} {
			for _, n := range []int{0, 1, 2, 3, 4, 9, 23, 24, 25, 51} {
				if m*n*k > 100000 {
					continue
				}
				stride := n + (m+k)%3
				a, b := newGuarded(normals(rng, m*k), m%4), newGuarded(normals(rng, n*k), n%4)
				dst := newGuarded(normals(rng, max(m*stride-(stride-n), 0)), 1)
				s.AddProducts(dst.data, stride, a.data, b.data, m, n, k)
				for at, got := range dst.data {
					i, j := 0, at
					if stride > 0 {
						i, j = at/stride, at%stride
					}
					if j >= n {
						if got != dst.copy[at] {
							t.Fatalf("m=%d n=%d k=%d: wrote between the rows of dst", m, n, k)
						}
						continue
					}
					want, size := dst.copy[at], math.Abs(dst.copy[at])
					for l := range k {
						want += a.data[i*k+l] * b.data[j*k+l]
						size += math.Abs(a.data[i*k+l] * b.data[j*k+l])
					}
					if !near(got, want, size, 1e-13) {
						t.Errorf("m=%d n=%d k=%d: element %d,%d is %v, want %v", m, n, k, i, j, got, want)
					}
				}
				kept(t, fmt.Sprintf("m=%d n=%d k=%d", m, n, k), []guard{dst}, a, b)
			}
		}
	}
}

// TestAddProductsDepth compares sums of equal terms, whose roundings all go one
// way, with their exact value.
func TestAddProductsDepth(t *testing.T) { variants(t, testAddProductsDepth) }

func testAddProductsDepth(t *testing.T, s *Set) {
	const m = 9
	for _, k := range []int{1, 3, 100, 256, 300, 5000} {
		if k > 256 && AddProductsDepth(k) >= k {
			t.Errorf("depth %d of %d products", AddProductsDepth(k), k)
		}
		a := make([]float64, m*k)
		for l := range a {
			a[l] = 1 + 0x1p-30
		}
		exact := float64(k) * (1 + 0x1p-29) // the term 2^-60 k is far below the bound
		dst := make([]float64, 2*m)
		s.AddProducts(dst, 2, a, a, m, 2, k)
		for _, got := range dst {
			if rel := math.Abs(got-exact) / exact; rel > float64(AddProductsDepth(k)+1)*0x1p-53 {
				t.Errorf("k=%d: relative error %v above depth %d", k, rel, AddProductsDepth(k))
			}
		}
	}
}

// TestAddProductsBits checks that an element does not depend on the place of its
// rows in the matrices.
func TestAddProductsBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const m, n, k = 7, 11, 300
	a, b, dst := normals(rng, m*k), normals(rng, n*k), make([]float64, m*n)
	AddProducts(dst, n, a, b, m, n, k)
	for i := range m {
		for j := range n {
			one := []float64{0}
			AddProducts(one, 1, a[i*k:], b[j*k:], 1, 1, k)
			must.Equal(t, one[0], dst[i*n+j], "element %d,%d alone", i, j)
		}
	}
}

func TestTransposeAndScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	for rows := range 11 {
		for _, cols := range []int{0, 1, 2, 5, 67} {
			x, c := newGuarded(normals(rng, rows*cols), rows%4), newGuarded(normals(rng, cols), 1)
			dst, scaled := newGuarded(make([]float64, rows*cols), 2), newGuarded(make([]float64, rows*cols), 3)
			Transpose(dst.data, x.data, rows, cols)
			ScaleColumns(scaled.data, c.data, x.data, rows)
			for i := range rows {
				for j := range cols {
					must.Equal(t, dst.data[j*rows+i], x.data[i*cols+j], "%d x %d: element %d,%d of the transpose is wrong", rows, cols, j, i)
					must.Equal(t, scaled.data[i*cols+j], c.data[j]*x.data[i*cols+j], "%d x %d: element %d,%d is not scaled", rows, cols, i, j)
				}
			}
			kept(t, fmt.Sprintf("%d x %d", rows, cols), []guard{dst, scaled}, x, c)
		}
	}
}

func TestPanelProducts32(t *testing.T) { variants(t, testPanelProducts32) }

// Sums are those of the definition within their depth, and infinities of one sign make no NaN.
func testPanelProducts32(t *testing.T, s *Set) {
	rng := rand.New(rand.NewPCG(12, 8))
	for _, k := range []int{1, 2, 3, 8, 34, 130} {
		for _, m := range []int{0, 1, 3, 4, 7, 8, 9, 33} {
			number := func() float32 { return float32(rng.NormFloat64()) }
			a, panel, dst := filled(m*k, number), filled(k*PanelCols32, number), make([]float32, m*PanelCols32)
			s.PanelProducts32(dst, a, panel, m, k)
			for i, got := range dst {
				want, size := 0.0, 0.0
				for l := range k {
					v := float64(a[i/PanelCols32*k+l]) * float64(panel[l*PanelCols32+i%PanelCols32])
					want += v
					size += math.Abs(v)
				}
				if !(math.Abs(float64(got)-want) <= 1.001*float64(k+1)*0x1p-24*size) {
					t.Fatalf("m=%d k=%d: element %d is %v, want %v", m, k, i, got, want)
				}
			}
			for j := range PanelCols32 {
				panel[(k-1)*PanelCols32+j] = float32(math.Inf(-1))
			}
			for i := range m {
				a[i*k+k-1] = -1
			}
			s.PanelProducts32(dst, a, panel, m, k)
			for i, got := range dst {
				if !math.IsInf(float64(got), 1) {
					t.Fatalf("m=%d k=%d: element %d is %v with an infinite limit", m, k, i, got)
				}
			}
		}
	}
}

func TestAllNegative(t *testing.T) {
	x := make([]float32, PanelCols32)
	for i := range x {
		x[i] = -float32(i) - 0x1p-149
	}
	if !AllNegative(x) {
		t.Error("negative numbers are not")
	}
	for i, was := range x {
		for _, v := range []float32{0, 0x1p-149, 7, float32(math.Inf(1))} {
			if x[i] = v; AllNegative(x) {
				t.Errorf("%v at %d is taken for negative", v, i)
			}
		}
		x[i] = was
	}
}
