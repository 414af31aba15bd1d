package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// Every variant computes of float32 rows the bits that it computes of the same numbers in float64,
// one after the other or selected, and reads nothing outside of them.
func TestNarrowRowsGiveTheSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, d := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 31, 33, 63, 64, 65, 129, 255, 257, 511, 513, 1030} {
		for _, rows := range []int{0, 1, 2, 3, 4, 5, 8, 9, 31, 64, 67, 256, 1027} {
			if rows*d > 1<<18 {
				continue
			}
			// The slices end where the numbers end: what is read beyond them would change sums.
			back := make([]float32, rows*d+64)
			for i := range back {
				back[i] = float32(math.NaN())
			}
			x := back[32 : 32+rows*d : 32+rows*d]
			for i := range x {
				x[i] = float32(r.NormFloat64() * math.Exp(4*r.NormFloat64()))
			}
			if len(x) > 3 {
				x[0], x[1], x[2] = 0, math.SmallestNonzeroFloat32, -math.MaxFloat32
			}
			wide := make([]float64, len(x))
			Widen(wide, x)
			for i, v := range x {
				if wide[i] != float64(v) {
					t.Fatalf("Widen: %g of %g", wide[i], v)
				}
			}
			// The rows again, in any order in a larger matrix.
			places := make([]int32, rows)
			spread := make([]float32, (2*rows+1)*d)
			for i := range spread {
				spread[i] = float32(math.NaN())
			}
			for i, j := range r.Perm(2*rows + 1)[:rows] {
				places[i] = int32(j)
				copy(spread[j*d:][:d], x[i*d:])
			}
			w, c, acc := normals(r, d), normals(r, rows), normals(r, d)
			for _, v := range Variants() {
				set := must.Get(Select(v))(t)
				for what, of := range map[string]struct {
					start     []float64
					got, want func(dst []float64)
				}{
					"dots":          {make([]float64, rows), func(dst []float64) { set.NarrowDots(dst, x, w) }, func(dst []float64) { set.Dots(dst, wide, w) }},
					"sums":          {acc, func(dst []float64) { set.NarrowAddRows(dst, c, x) }, func(dst []float64) { set.AddRows(dst, c, wide) }},
					"selected dots": {make([]float64, rows), func(dst []float64) { set.GatherNarrowDots(dst, spread, w, places) }, func(dst []float64) { set.Dots(dst, wide, w) }},
					"selected sums": {acc, func(dst []float64) { set.GatherNarrowAddRows(dst, c, spread, places) }, func(dst []float64) { set.AddRows(dst, c, wide) }},
				} {
					got, want := slices.Clone(of.start), slices.Clone(of.start)
					of.got(got)
					of.want(want)
					if !slices.EqualFunc(got, want, sameBits) {
						t.Fatalf("%v, %d rows of %d: %s are %x, want %x", v, rows, d, what, got, want)
					}
				}
			}
		}
	}
}

// Rows outside of the matrix are refused, not read.
func TestNarrowRowsAreChecked(t *testing.T) {
	for _, v := range Variants() {
		set := must.Get(Select(v))(t)
		for _, d := range []int{1, 3, 20, 600} {
			x, w, c := make([]float32, 7*d), make([]float64, d), make([]float64, 2)
			for _, rows := range [][]int32{{0, 7}, {-1, 6}, {6}} {
				for what, run := range map[string]func(){
					"dots": func() { set.GatherNarrowDots(c, x, w, rows) },
					"sums": func() { set.GatherNarrowAddRows(w, c, x, rows) },
				} {
					func() {
						defer func() {
							if recover() == nil {
								t.Errorf("%v, %s of rows %v of 7, d = %d: no panic", v, what, rows, d)
							}
						}()
						run()
					}()
				}
			}
		}
	}
}

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
