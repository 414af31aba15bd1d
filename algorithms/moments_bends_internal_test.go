package algorithms

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// bentFit is the fit of a random matrix with two blocks of three features and one of a single one, for weights and a noise of the given size.
func bentFit(rng *rand.Rand, weights []float64, noise float64) (momentsFit, weightNoise) {
	const d = 7
	sym := engine.Symmetric{Dim: d}
	whole := make([]float64, d*d)
	for range 40 {
		x := make([]float64, d)
		for k := range x {
			x[k] = rng.NormFloat64() * (1 + float64(k))
		}
		for i := range x {
			for j := range x {
				whole[i*d+j] += x[i] * x[j]
			}
		}
	}
	packed := make([]float64, sym.Len())
	sym.Pack(packed, whole)
	f := momentsFit{lambda: 2}
	f.values, f.vectors = sym.Eigen(packed)
	e := weightNoise{variance: make([]float64, d), along: make([]float64, d)}
	f.w = f.along(weights)
	for i, x := range f.values {
		e.variance[i] = noise * noise / (x + f.lambda)
		f.w[i] += noise / math.Sqrt(x+f.lambda) * rng.NormFloat64()
	}
	return f, e
}

var (
	bentBlocks = []int{3, 1, 3}
	bentLines  = []float64{1, 0, 1. / 3, 1, 1, 0, 1. / 3}
)

// Straight models stay, bends that stand out stay, bends of noise alone go, and no change of lines reaches lower energy than what is left.
func TestBendsOfNoiseAreShrunk(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 14))
	straight := make([]float64, 7)
	for k, feature := range []int{0, 0, 0, 1, 2, 2, 2} {
		straight[k] = []float64{1, -2, 0.5}[feature] * bentLines[k]
	}
	f, e := bentFit(rng, straight, 0)
	f.straighten(e, bentLines, bentBlocks)
	for k, w := range f.sum(f.w) {
		must.Near(t, w, straight[k], 1e-9, "weight %d of a straight model becomes", k)
	}
	bent := []float64{1, 2, 3, 4, 5, 6, 7}
	f, e = bentFit(rng, bent, 0)
	must.Equal(t, f.straighten(e, bentLines, bentBlocks), 1, "bends kept without noise")
	// The mean squared error in scores, over many noises: less than without shrinkage for bends of any size, and little for none.
	for _, c := range [][2]float64{{0, 0.55}, {0.3, 0.6}, {1, 0.83}, {10, 1}} { // in this order: all draw from one rng
		size, most := c[0], c[1]
		var plain, shrunk float64
		for range 4000 {
			truth := slices.Clone(straight)
			truth[1], truth[5] = 0.05*size, -0.05*size
			f, e := bentFit(rng, truth, 1)
			exact := f.along(truth)
			off := func() (s float64) {
				for i, x := range f.values {
					s += (x + f.lambda) * (f.w[i] - exact[i]) * (f.w[i] - exact[i])
				}
				return s
			}
			plain += off()
			f.straighten(e, bentLines, bentBlocks)
			shrunk += off()
		}
		t.Logf("bends of size %g: the error is %.3f of that without shrinkage", size, shrunk/plain)
		must.Below(t, shrunk, most*plain, "bends of size %g: the error is %.3f of that without shrinkage, want less than %v", size, shrunk/plain, most)
	}
	// What is left of a fully shrunk model is the nearest one of lines.
	f, e = bentFit(rng, bent, 0)
	before := slices.Clone(f.w)
	for i := range e.variance {
		e.variance[i] = 1e6
	}
	must.Equal(t, f.straighten(e, bentLines, bentBlocks), 0, "bends kept in endless noise")
	energy := func(w []float64) (s float64) {
		for i, x := range f.values {
			s += (x + f.lambda) * (w[i] - before[i]) * (w[i] - before[i])
		}
		return s
	}
	w := f.sum(f.w)
	if math.Abs(w[1]) > 1e-9 || math.Abs(w[0]-3*w[2]) > 1e-9 {
		t.Errorf("%v is not straight", w)
	}
	for _, step := range []float64{-1e-3, 1e-3} {
		moved := slices.Clone(w)
		moved[0] += step * bentLines[0]
		moved[2] += step * bentLines[2]
		must.AtLeast(t, energy(f.along(moved)), energy(f.w), "another straight model is nearer")
	}
}
