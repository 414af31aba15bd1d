package cuda

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// splicedSums are the integer sums of a bound problem at w, and the scores.
func splicedSums(t *testing.T, e *evaluator, w []float64) (sums []int64, s []float64) {
	t.Helper()
	coefficientsOf(t, e, w)
	sums, s = make([]int64, e.problem.N), make([]float64, e.problem.N)
	must.Do(t, e.backend.Device.do(context.Background(), func(c *job) {
		c.copyBack(sums, e.pairs.(*spliced).sums)
		c.copyOut(s, e.s)
	}))
	return sums, s
}

// TestPairTilesAddUpTerms: over tiles with and without masks, and over two groups, sums are
// those of a plain loop to the last bit, for the hinge, whose slopes are exact. The controls:
// a row that is off by one at a group's end, and a mask that leaves something.
func TestPairTilesAddUpTerms(t *testing.T) {
	const n = 500
	rng := rand.New(rand.NewPCG(8, 8))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = 2*rng.Float64()-1, 2*rng.Float64()-1
	}
	p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: library(t)["hinge"], Radius: 1, LabelValues: engine.AnyLabels, Groups: []int{440, 60}}
	differ := func(edit func(string) string) bool {
		b := openFake(t, defective(edit))
		b.Method = Direct
		e := bound(t, b, p, x, y)
		sums, s := splicedSums(t, e, []float64{0.9})
		split := func(v float64) (float32, float32) { return float32(v), float32(v - float64(float32(v))) }
		difference := func(a, b float64) float32 {
			h, l := split(a)
			k, m := split(b)
			return (h - k) + (l - m)
		}
		want, end := make([]int64, n), endsOf(p.Groups, math.MaxInt)
		for i := range n {
			for j := i + 1; j < int(end[i]); j++ {
				d := difference(y[i], y[j])
				if d*difference(s[i], s[j]) >= 1 {
					continue
				}
				v := int64(math.Float32bits(0.75-d*float32(0.25/e.unit))) - int64(math.Float32bits(0.75))
				want[i] += v
				want[j] -= v
			}
		}
		return !slices.Equal(sums, want)
	}
	if differ(nil) {
		t.Error("sums are not those of the loop")
	}
	for name, edit := range map[string]func(string) string{
		"a group's end": endOffByOne,
		"a mask":        replacing("1061158912, %p", "1061158913, %p", ".entry pair_tiles"),
	} {
		if !differ(edit) {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestRadiusIsNoNewProgram: kernels for two radii and two norms have the same PTX, and are
// within their own bounds, while another loss has its own.
func TestRadiusIsNoNewProgram(t *testing.T) {
	b := openFake(t, newFake())
	b.Method = Direct
	ptx := func(loss engine.Loss, radius, norm float64) string {
		p := engine.Problem{N: 100, D: 4, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius, LabelValues: engine.AnyLabels}
		p.Bounds.FeatureNorm = norm
		k := must.Get(b.Plan(p))(t)
		return k.(*kernel).ptx
	}
	for _, loss := range []engine.Loss{engine.Logistic{}, library(t)["root"], library(t)["hinge"]} {
		if one := ptx(loss, 1, 1); one != ptx(loss, 2.5, 1) || one != ptx(loss, 1, 3) {
			t.Errorf("%s: another radius or norm is another program", loss.Name())
		}
	}
	if ptx(library(t)["root"], 1, 1) == ptx(library(t)["hinge"], 1, 1) {
		t.Error("two losses have the same program")
	}
}
