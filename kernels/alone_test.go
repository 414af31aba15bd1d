package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// odd are values at the borders of branches.
var odd = []float64{
	0, math.Copysign(0, -1), 1, -1, 0x1p-1074, -0x1p-1074, 708, -708, 708.5, -708.5, 709, 710, -745, -746,
	math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), MaxLogisticMargin, -MaxLogisticMargin, 161, -161,
}

// anyValue is an ordinary value, one of a few that repeat, or an odd one.
func anyValue(rng *rand.Rand) float64 {
	switch rng.IntN(8) {
	case 0:
		return odd[rng.IntN(len(odd))]
	case 1:
		return 400 * (rng.Float64() - 0.5)
	case 2, 3:
		return []float64{2.8, 0.2, -0.25, 1.5}[rng.IntN(4)]
	}
	return 3 * rng.NormFloat64()
}

func anyValues(rng *rand.Rand, n int) []float64 {
	return filled(n, func() float64 { return anyValue(rng) })
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// TestValuesAreComputedAlone: a value has the same bits in every place of a list of any
// length, whatever its neighbours are. Certificates of losses that are not smooth rest on
// that (engine.Scalar). The control is LogisticSlopes, which shares divisions.
func TestValuesAreComputedAlone(t *testing.T) {
	one := func(f func(dst, x []float64)) func(dst, a, b, c []float64) {
		return func(dst, a, _, _ []float64) { f(dst, a) }
	}
	clamped := ClampedSlopes(upAlone, -0.25, 0.75)
	for name, f := range map[string]func(dst, a, b, c []float64){
		"Exp":      one(Exp),
		"Softplus": one(Softplus),
		"Sigmoid":  one(upSigmoid),
		"Sigmoid, signs": func(dst, a, _, _ []float64) {
			Sigmoid(dst, a, -1, 1)
			Sigmoid(dst, dst, 1, -1)
		},
		"GreaterEqual":  func(dst, a, b, _ []float64) { GreaterEqual(dst, a, b) },
		"Greater":       func(dst, a, b, _ []float64) { Greater(dst, a, b) },
		"Choose":        Choose,
		"ClampedSlopes": func(dst, a, _, _ []float64) { copy(dst, a); clamped(dst) },
	} {
		if n, of := inCompany(f); n > 0 {
			t.Errorf("%s: %d of %d values have other bits alone", name, n, of)
		}
	}
	control := func(dst, a, _, _ []float64) {
		for i, v := range a {
			dst[i] = min(max(v, -MaxLogisticMargin), MaxLogisticMargin)
		}
		LogisticSlopes(dst)
	}
	if n, of := inCompany(control); n < of/10 {
		t.Errorf("control: only %d of %d values that share divisions have other bits alone", n, of)
	}
}

func upAlone(v []float64) { Sigmoid(v, v, 1, 1) }

// inCompany counts the values of lists that have other bits in lists of one.
func inCompany(f func(dst, a, b, c []float64)) (differ, of int) {
	rng := rand.New(rand.NewPCG(20, 26))
	for n := 1; n <= 130; n++ {
		a, b, c := anyValues(rng, n), anyValues(rng, n), anyValues(rng, n)
		dst, alone := make([]float64, n), make([]float64, 1)
		f(dst, a, b, c)
		for i := range dst {
			f(alone, a[i:i+1], b[i:i+1], c[i:i+1])
			if of++; !sameBits(alone[0], dst[i]) {
				differ++
			}
		}
	}
	return differ, of
}

// TestScoresAreComputedAlone: a score is a function of its own row and w, in every place of
// a list of any length, for the plain kernels, which are selected for losses that are not
// smooth, and for those of compressed rows.
func TestScoresAreComputedAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 26))
	plain := must.Get(Select(Generic))(t)
	for _, d := range []int{1, 2, 3, 4, 5, 7, 8, 9, 31, 255, 256, 257, 513} {
		w := normals(rng, d)
		for n := 1; n <= 40; n++ {
			x, dst, gathered, rows := normals(rng, n*d), make([]float64, n), make([]float64, n), make([]int32, n)
			start, index, value := []int64{0}, []int32(nil), []float64(nil)
			for i := range rows {
				rows[i] = int32(rng.IntN(n))
				for k := range d {
					if rng.IntN(3) > 0 {
						index, value = append(index, int32(k)), append(value, x[i*d+k])
					}
				}
				start = append(start, int64(len(index)))
			}
			check := func(name string, got float64, one func(dst []float64)) {
				alone := make([]float64, 1)
				one(alone)
				if !sameBits(alone[0], got) {
					t.Fatalf("%s, d = %d, n = %d: %v, alone %v", name, d, n, got, alone[0])
				}
			}
			plain.Dots(dst, x, w)
			plain.GatherDots(gathered, x, w, rows)
			for i, r := range rows {
				check("Dots", dst[i], func(dst []float64) { plain.Dots(dst, x[i*d:][:d], w) })
				check("GatherDots", gathered[i], func(dst []float64) { plain.GatherDots(dst, x[int(r)*d:][:d], w, []int32{0}) })
			}
			SparseDots(dst, start, index, value, w)
			SparseGatherDots(gathered, start, index, value, w, rows)
			for i, r := range rows {
				check("SparseDots", dst[i], func(dst []float64) { SparseDots(dst, start[i:i+2], index, value, w) })
				check("SparseGatherDots", gathered[i], func(dst []float64) { SparseDots(dst, start[r:r+2], index, value, w) })
			}
		}
	}
}

// TestScoresDependOnPlaces: with vectors, too, the score at a place is a function of its own
// row, w and the place: another row changes no bit of it (cpu.kernel.NeighbourRoundoff).
func TestScoresDependOnPlaces(t *testing.T) {
	variants(t, func(t *testing.T, set *Set) {
		rng := rand.New(rand.NewPCG(22, 26))
		for _, d := range []int{1, 2, 3, 4, 5, 7, 8, 9, 17, 31, 64, 257} {
			for _, n := range []int{1, 2, 5, 8, 9, 16, 33, 70} {
				x, w, before, after := normals(rng, n*d), normals(rng, d), make([]float64, n), make([]float64, n)
				set.Dots(before, x, w)
				at := rng.IntN(n)
				copy(x[at*d:], normals(rng, d))
				set.Dots(after, x, w)
				for i := range before {
					if i != at && !sameBits(before[i], after[i]) {
						t.Fatalf("d = %d, n = %d: row %d changes the score of row %d", d, n, at, i)
					}
				}
			}
		}
	})
}

// TestTilesComputeMarginsAlone: the margin of a pair that SlopeTile and metricTile give to f,
// and the coefficient that metricTile makes of its slope, are those of a tile of this pair.
func TestTilesComputeMarginsAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 26))
	var seen []float64
	keep := func(v []float64) {
		seen = append(seen, v...)
		Sigmoid(v, v, -1, -1)
	}
	for rows := 1; rows <= 12; rows++ {
		for cols := 1; cols <= 60; cols += 1 + rng.IntN(5) {
			s, y, u, z, c := normals(rng, rows), normals(rng, rows), normals(rng, cols), normals(rng, cols), normals(rng, rows*cols)
			tile, row, col, work := slices.Clone(c), make([]float64, rows), make([]float64, cols), make([]float64, cols)
			seen = nil
			SlopeTile(row, col, s, y, u, z, -rows, work, keep)
			margins := slices.Clone(seen)
			seen = nil
			metricTile(tile, row, col, s, y, u, z, -rows, keep)
			metric := slices.Clone(seen)
			for i := range rows {
				for j := range cols {
					one, sums := []float64{c[i*cols+j]}, make([]float64, 2)
					seen = nil
					SlopeTile(sums[:1], sums[1:], s[i:i+1], y[i:i+1], u[j:j+1], z[j:j+1], -1, work, keep)
					metricTile(one, sums[:1], sums[1:], s[i:i+1], y[i:i+1], u[j:j+1], z[j:j+1], -1, keep)
					if at := i*cols + j; !sameBits(seen[0], margins[at]) || !sameBits(seen[1], metric[at]) || !sameBits(one[0], tile[at]) {
						t.Fatalf("%d x %d, pair %d, %d: margins %v and %v, alone %v; coefficient %v, alone %v", rows, cols, i, j, margins[at], metric[at], seen, tile[at], one[0])
					}
				}
			}
		}
	}
}
