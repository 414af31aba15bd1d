package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// Scores do not depend on what dst holds, for rows of one block of columns and of several, and are never -0:
// products that round to it are added to 0.
func TestDotsForgetWhatWasThere(t *testing.T) {
	variants(t, func(t *testing.T, set *Set) {
		rng := rand.New(rand.NewPCG(31, 32))
		for _, d := range []int{0, 1, 4, 5, 8, 16, 20, 64, 256, 257, 300, 512, 513, 1030} {
			for _, n := range []int{1, 3, 4, 9, 70} {
				x, w, rows := normals(rng, n*d), normals(rng, d), filled(n, func() int32 { return int32(rng.IntN(n)) })
				if n == 9 && d > shortRow {
					for k := range x {
						x[k] = -0x1p-149 // times w rounds to -0 in float64
					}
					for k := range w {
						w[k] = 0x1p-1000
					}
				}
				narrow := narrow(x)
				clean, dirty := make([]float64, n), make([]float64, n)
				for name, f := range map[string]func(dst []float64){
					"Dots":             func(dst []float64) { set.Dots(dst, x, w) },
					"GatherDots":       func(dst []float64) { set.GatherDots(dst, x, w, rows) },
					"NarrowDots":       func(dst []float64) { set.NarrowDots(dst, narrow, w) },
					"GatherNarrowDots": func(dst []float64) { set.GatherNarrowDots(dst, narrow, w, rows) },
				} {
					for i := range dirty {
						clean[i], dirty[i] = 0, math.NaN()
					}
					f(clean)
					f(dirty)
					for i := range clean {
						if !sameBits(clean[i], dirty[i]) {
							t.Fatalf("%s, d = %d, n = %d: score %d is %g in memory that was used, %g in zeros", name, d, n, i, dirty[i], clean[i])
						}
						if n == 9 && d > shortRow && math.Float64bits(clean[i]) != 0 {
							t.Fatalf("%s, d = %d: score %d is %g, want +0", name, d, i, clean[i])
						}
					}
				}
			}
		}
	})
}

// BenchmarkDots multiplies rows in the second cache by w.
func BenchmarkDots(b *testing.B) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, v := range Variants() {
		set := must.Get(Select(v))(b)
		for _, d := range []int{8, 20, 58} {
			const n = 1024
			x, w, dst := normals(rng, n*d), normals(rng, d), make([]float64, n)
			narrow, rows := narrow(x), filled(n, func() int32 { return int32(rng.IntN(n)) })
			for _, c := range []struct {
				name string
				f    func()
			}{
				{"rows", func() { set.Dots(dst, x, w) }},
				{"selected", func() { set.GatherDots(dst, x, w, rows) }},
				{"narrow", func() { set.NarrowDots(dst, narrow, w) }},
				{"selected-narrow", func() { set.GatherNarrowDots(dst, narrow, w, rows) }},
			} {
				b.Run(fmt.Sprintf("%v/d=%d/%s", v, d, c.name), func(b *testing.B) {
					for range b.N {
						c.f()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
				})
			}
		}
	}
}
