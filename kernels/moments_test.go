package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

func TestAddGram(t *testing.T) {
	variants(t, func(t *testing.T, s *Set) {
		rng := rand.New(rand.NewPCG(9, 9))
		for _, d := range []int{1, 2, 7, 8, 20, 23, 24, 25, 47, 48, 49, 75} {
			for _, rows := range []int{0, 1, 2, 3, 63, 64, 65, 130} {
				stride := GramStride(d)
				rowsOf := normals(rng, rows*stride)
				for l := range rows {
					clear(rowsOf[l*stride+d : (l+1)*stride])
				}
				x, dst := newGuarded(rowsOf, rows%4), newGuarded(normals(rng, stride*stride), 1)
				s.AddGram(dst.data, x.data, rows, d)
				for i := range d {
					for j := i; j < d; j++ {
						want, size := dst.copy[i*stride+j], math.Abs(dst.copy[i*stride+j])
						for l := range rows {
							v := x.data[l*stride+i] * x.data[l*stride+j]
							want, size = want+v, size+math.Abs(v)
						}
						if got := dst.data[i*stride+j]; !near(got, want, size, 1e-13) {
							t.Fatalf("d=%d rows=%d: element %d,%d is %v, want %v", d, rows, i, j, got, want)
						}
					}
				}
				kept(t, fmt.Sprintf("d=%d rows=%d", d, rows), []guard{dst}, x)
			}
		}
	})
}

// The sum of equal products, whose roundings all go one way, is within the stated depth; it is
// not within half of it for the longest block, so the depth is no excuse for anything.
func TestAddGramDepth(t *testing.T) {
	variants(t, func(t *testing.T, s *Set) {
		const d, u = 3, 0x1p-53
		stride := GramStride(d)
		for _, rows := range []int{1, 64, 65, 256} {
			x, dst := make([]float64, rows*stride), make([]float64, stride*stride)
			v := math.Sqrt(1 + 0x1p-26)
			for l := range rows {
				x[l*stride], x[l*stride+1], x[l*stride+2] = v, v, v
			}
			s.AddGram(dst, x, rows, d)
			exact := float64(rows) * (v * v)
			must.Within(t, math.Abs(dst[1]-exact)/exact, 0, float64(AddGramDepth(rows)+2)*u, "%d rows: relative error ..., depth %d", rows, AddGramDepth(rows))
		}
	})
}

// An element of dst gets at most AddGramAdditions additions, each of which may round: here each
// sum of a run is half a unit of dst in its last place, a tie that goes to the even dst.
func TestAddGramAdditions(t *testing.T) {
	variants(t, func(t *testing.T, s *Set) {
		for _, d := range []int{3, gramCols, gramCols + 1, 3 * gramCols} {
			for _, rows := range []int{64, 128, 256} {
				stride := GramStride(d)
				x, dst := make([]float64, rows*stride), make([]float64, stride*stride)
				for l := range rows {
					x[l*stride], x[l*stride+d-1] = 0x1p-29, 0x1p-30 // product 2^-53/64
				}
				dst[d-1] = 1
				s.AddGram(dst, x, rows, d)
				lost := (1 + float64(rows)*0x1p-59 - dst[d-1]) / 0x1p-53
				must.Within(t, lost, 0, float64(AddGramAdditions(rows)), "d = %d, %d rows: ... roundings of dst", d, rows)
			}
		}
	})
}

func TestClipRows(t *testing.T) {
	variants(t, func(t *testing.T, s *Set) {
		rng := rand.New(rand.NewPCG(10, 10))
		for _, d := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 20, 23, 24, 25, 31, 48, 50, 300} {
			for _, rows := range []int{0, 1, 2, 5} {
				stride := GramStride(d)
				x, c, dst := newGuarded(normals(rng, rows*d), rows%4), newGuarded(normals(rng, d), 1), newGuarded(normals(rng, rows*stride), 2)
				short := 0.2 + 2*rng.Float64()*math.Sqrt(float64(d))
				if rows > 1 {
					copy(x.data[d:2*d], c.data) // a zero row
					copy(x.copy[d:2*d], c.data)
				}
				s.ClipRows(dst.data, x.data, c.data, rows, short)
				for i := range rows {
					var square float64
					for j := range d {
						v := x.data[i*d+j] - c.data[j]
						square += v * v
					}
					f := min(1, short/math.Sqrt(square))
					for j, got := range dst.data[i*stride:][:stride] {
						want := 0.0
						if j < d {
							want = (x.data[i*d+j] - c.data[j]) * f
						}
						if math.Abs(got-want) > 1e-13*math.Abs(want) {
							t.Fatalf("d=%d row %d of %d: number %d is %v, want %v", d, i, rows, j, got, want)
						}
					}
				}
				kept(t, fmt.Sprintf("d=%d rows=%d", d, rows), []guard{dst}, x, c)
			}
		}
	})
}

// A clipped row has the same bits in every place among any others: the certificates of moments
// rest on that. AddGram is the control: its sums depend on all rows.
func TestRowsAreClippedAlone(t *testing.T) {
	variants(t, func(t *testing.T, s *Set) {
		rng := rand.New(rand.NewPCG(11, 11))
		for _, d := range []int{1, 3, 8, 20, 24, 33} {
			stride := GramStride(d)
			row, c := normals(rng, d), normals(rng, d)
			alone := make([]float64, stride)
			s.ClipRows(alone, row, c, 1, 0.7)
			for at := range 7 {
				x := normals(rng, 7*d)
				copy(x[at*d:], row)
				dst := make([]float64, 7*stride)
				s.ClipRows(dst, x, c, 7, 0.7)
				for j, v := range alone {
					if !sameBits(dst[at*stride+j], v) {
						t.Fatalf("d=%d: number %d of a row has other bits in place %d", d, j, at)
					}
				}
			}
		}
	})
}

// A row has the same score, bit for bit, in every place among any others: the coefficients of a
// logistic gradient rest on that (docs/theory.md#damped-steps). LogisticSlopes, which shares
// divisions, is the control: it must not take the place of Sigmoid.
func TestRowsAreScoredAlone(t *testing.T) {
	variants(t, func(t *testing.T, s *Set) {
		rng := rand.New(rand.NewPCG(12, 12))
		const rows = 3 * DotsRows
		for _, d := range []int{1, 3, 20, 24, 33, 200, 300, 600} {
			stride := GramStride(d)
			row, w := normals(rng, stride), normals(rng, stride)
			clear(w[d:])
			clear(row[d:])
			alone := make([]float64, DotsRows)
			s.Dots(alone, append(append([]float64(nil), row...), make([]float64, (DotsRows-1)*stride)...), w)
			slope := append([]float64(nil), alone...)
			Sigmoid(slope, slope, 1, 1)
			for at := range rows {
				x, got := normals(rng, rows*stride), make([]float64, rows)
				copy(x[at*stride:], row)
				s.Dots(got, x, w)
				if !sameBits(got[at], alone[0]) {
					t.Fatalf("d=%d: a row has another score in place %d", d, at)
				}
				Sigmoid(got, got, 1, 1)
				if !sameBits(got[at], slope[0]) || !(slope[0] >= 0 && slope[0] <= 1) {
					t.Fatalf("d=%d: a row has another coefficient in place %d", d, at)
				}
			}
		}
		shared := false
		for range 200 {
			x := normals(rng, 8)
			y := append(append([]float64(nil), x[:1]...), normals(rng, 7)...)
			LogisticSlopes(x)
			LogisticSlopes(y)
			shared = shared || !sameBits(x[0], y[0])
		}
		if !shared {
			t.Error("LogisticSlopes shares nothing: this test proves nothing")
		}
	})
}
