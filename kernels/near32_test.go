package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
