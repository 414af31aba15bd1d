package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

func metricProblem(n, d int) engine.Problem {
	return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.MahalanobisLogistic{}, Radius: 1, LabelValues: engine.AnyLabels}
}

// metricData are records and a W of rank one and norm 1.
func metricData(t *testing.T, n, d int) (*engine.Records, []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, uint64(n)))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = float64(rng.IntN(3) - 1)
	}
	y[n-1] = 1 // the current record of the longest prefix
	r := must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
	e, m := make([]float64, d), make([]float64, d*d)
	for k := range e {
		e[k] = rng.NormFloat64()
	}
	engine.ProjectBall(e, 1)
	for k := range m {
		m[k] = e[k/d] * e[k%d]
	}
	w := make([]float64, engine.Symmetric{Dim: d}.Len())
	engine.Symmetric{Dim: d}.Pack(w, m)
	engine.ProjectBall(w, 1)
	return r, w
}

// gradSum binds and evaluates.
func gradSum(t *testing.T, k *metricKernel, r *engine.Records, w []float64, pairs engine.Pairs) []float64 {
	t.Helper()
	e := must.Get(k.Bind(r))(t)
	defer e.Close()
	dst := make([]float64, len(w))
	for range 2 { // the second call finds used scratch space
		must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(w, pairs)))
	}
	return dst
}

func planned(t *testing.T, p engine.Problem, workers int) *metricKernel {
	t.Helper()
	k := must.Get(Backend{Workers: workers}.Plan(p))(t)
	return k.(*metricKernel)
}

func norm2(x, y []float64) (s float64) {
	for k := range x {
		s = math.Hypot(s, x[k]-y[k])
	}
	return s
}

// TestMetricGrid makes panels and the limits of memory small: limits and workers change
// no bit, panels stay within the bounds of each other.
func TestMetricGrid(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n, d = 1500, 5
	r, w := metricData(t, n, d)
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
		var results [][]float64
		var bounds float64
		for _, panel := range []int{metricPanel, 480, metricCols} {
			var first []float64
			for _, partial := range []int{16 << 20, 0, 3 * d * d} {
				for _, product := range []int{4 << 20, 0} {
					for _, workers := range []int{1, 2, 7} {
						k := planned(t, metricProblem(n, d), workers)
						k.panel, k.partialFloats, k.productFloats = min(panel, n), partial, product
						got := gradSum(t, k, r, w, pairs)
						if first == nil {
							first, bounds = got, bounds+k.Bounds(engine.Query{Pairs: pairs}).Sum
						}
						must.Same(t, got, first, "panel %d: %d partial sums, %d products and %d workers give", panel, partial, product, workers)
					}
				}
			}
			results = append(results, first)
		}
		for _, got := range results[1:] {
			must.Within(t, norm2(got, results[0]), 0, bounds, "%T: panels differ by", pairs)
		}
		if size := norm2(results[0], make([]float64, len(w))); size < 1e6*bounds {
			t.Errorf("%T: result of norm %v, bounds %v", pairs, size, bounds)
		}
	}
}

// plainSum adds AddGrad over ordered pairs.
func plainSum(r *engine.Records, w []float64, pairs func(yield func(i, j int) bool)) []float64 {
	z, zp := engine.Record{X: make([]float64, r.Dim())}, engine.Record{X: make([]float64, r.Dim())}
	sum := make([]float64, len(w))
	for i, j := range pairs {
		r.Row(i, z.X)
		r.Row(j, zp.X)
		z.Y, zp.Y = r.Label(i), r.Label(j)
		engine.MahalanobisLogistic{}.AddGrad(sum, w, z, zp)
	}
	return sum
}

// TestMetricManyStripes covers stripes of several tiles, two panels and prefix jobs:
// same bits for any number of workers, the same sum in another order, and a long
// prefix against the definition.
func TestMetricManyStripes(t *testing.T) {
	n, d := 8400, 3
	if testing.Short() {
		n = 2000
	}
	r, w := metricData(t, n, d)
	all, prefix := engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}
	one := gradSum(t, planned(t, metricProblem(n, d), 1), r, w, all)
	onePrefix := gradSum(t, planned(t, metricProblem(n, d), 1), r, w, prefix)
	for _, workers := range []int{2, 7} {
		k := planned(t, metricProblem(n, d), workers)
		must.Same(t, gradSum(t, k, r, w, all), one, "%d workers give", workers)
		must.Same(t, gradSum(t, k, r, w, prefix), onePrefix, "prefix: %d workers give", workers)
	}
	want := plainSum(r, w, func(yield func(i, j int) bool) {
		for i := range n - 1 {
			if !yield(n-1, i) {
				return
			}
		}
	})
	must.Within(t, norm2(onePrefix, want), 0, 1e-13*float64(n), "a prefix of %d pairs is off by", n-1)
	// The same sum for the records in reverse order: all tiles differ.
	rows := make([]int, n)
	for i := range rows {
		rows[i] = n - 1 - i
	}
	k := planned(t, metricProblem(n, d), 2)
	if diff := norm2(gradSum(t, k, r.Subset(rows), w, all), one); !(diff <= 2*k.Bounds(engine.Query{Pairs: all}).Sum) || diff == 0 {
		t.Errorf("reversed records: the sums differ by %v, bound %v", diff, k.Bounds(engine.Query{Pairs: all}).Sum)
	}
}

// TestPrefixesAddUp compares two ways that share little code.
func TestPrefixesAddUp(t *testing.T) {
	const n, d = 250, 7
	r, w := metricData(t, n, d)
	k := planned(t, metricProblem(n, d), 1)
	e := must.Get(k.Bind(r))(t)
	sum, dst := make([]float64, len(w)), make([]float64, len(w))
	var bound float64
	for T := 1; T < n; T++ {
		must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(w, engine.PrefixPairs{T: T})))
		for i, v := range dst {
			sum[i] += 2 * v
		}
		bound += 2 * k.Bounds(engine.Query{Pairs: engine.PrefixPairs{T: T}}).Sum
	}
	all := gradSum(t, k, r, w, engine.AllPairs{N: n})
	size := norm2(all, make([]float64, len(w)))
	bound += k.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).Sum + engine.Gamma(n)*float64(n*n)*8
	if diff := norm2(sum, all); !(diff <= bound) || size < 1e6*bound {
		t.Errorf("prefixes add up to %v off the sum over all pairs, bounds %v, size %v", diff, bound, size)
	}
}

// TestMetricRange checks the limits against samples, also outside the semidefinite
// cone, for which the constants of the loss do not hold.
func TestMetricRange(t *testing.T) {
	for _, b := range []engine.Bounds{{FeatureNorm: 1, LabelAbs: 1}, {FeatureNorm: 3, LabelAbs: 0.25}, {FeatureNorm: 0.1, LabelAbs: 3}} {
		for _, radius := range []float64{0.01, 1, 50} {
			p := metricProblem(10, 20)
			p.Bounds, p.Radius = b, radius
			m := must.Get(engine.NewMetricRange(p, engine.MahalanobisLogistic{}, marginDepth(p.D)))(t)
			q := b.LabelAbs * b.LabelAbs
			reach := q * (1 + 4*b.FeatureNorm*b.FeatureNorm*radius)
			if m.Margin < reach || m.Margin > reach*1.00001 {
				t.Errorf("%+v r=%v: margin %v, want just above %v", b, radius, m.Margin, reach)
			}
			if !(m.MarginErr > 0 && m.MarginErr < 100*u*m.Margin) {
				t.Errorf("%+v r=%v: marginErr %v of %v", b, radius, m.MarginErr, m.Margin)
			}
			sup := 1 / (1 + math.Exp(-m.Margin))
			if m.Slope < sup || m.Curvature < 0.25 || m.Slope > 1.1 || m.Curvature > 0.26 {
				t.Errorf("%+v r=%v: slope %v and curvature %v, want just above %v and 1/4", b, radius, m.Slope, m.Curvature, sup)
			}
		}
	}
}

// TestKinkOutsideTheDomain: the margins of semidefinite matrices are in a smaller range than
// those of all matrices. A loss with its kink in between has the Constants of a smooth loss, on
// which recursions rest: so the error of a coefficient is that of a smooth one.
func TestKinkOutsideTheDomain(t *testing.T) {
	phi := must.Get(engine.NewExpression("kink at 3.2", "max(0, log1p(exp(-u)) - 0.04)", engine.ExpressionOptions{}))(t)
	p := metricProblem(30, 5)
	p.Loss, p.Radius = engine.Metric{Of: phi}, 0.75 // margins up to 2, or 4
	c, err := p.Loss.Constants(p.Bounds, p.Radius)
	if err != nil || math.IsInf(c.Smoothness, 1) {
		t.Fatalf("%+v, %v, want a loss that is smooth on its domain", c, err)
	}
	k := planned(t, p, 1)
	if k.limits.Smooth() {
		t.Fatal("the loss is smooth at all margins")
	}
	b := must.Get(phi.Bounds(engine.Metric{Of: phi}.MarginRange(p.Bounds, p.Radius)))(t)
	if e, want := k.coefficientError(), b.Curvature*k.limits.MarginErr+b.SlopeError+2*u*k.limits.Slope; !(e >= want) || math.IsInf(e, 1) {
		t.Errorf("the error of a coefficient is at most %v, want %v", e, want)
	}
	p.Radius = 1.5 // the kink is at a margin of the domain
	if e, want := planned(t, p, 1).coefficientError(), 2*u; !(e <= want) {
		t.Errorf("the error of a coefficient of a loss that is not smooth is at most %v, want %v", e, want)
	}
}

// TestIndefiniteMatrix checks that a W outside the cone is within the bound of a plain
// sum, up to the error of that sum.
func TestIndefiniteMatrix(t *testing.T) {
	const n, d = 40, 4
	r, w := metricData(t, n, d)
	for i := range w {
		w[i] = -w[i]
	}
	k := planned(t, metricProblem(n, d), 1)
	want := plainSum(r, w, func(yield func(i, j int) bool) {
		for k := range n * n {
			if i, j := k/n, k%n; i != j && !yield(i, j) {
				return
			}
		}
	})
	bound := k.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).Sum
	must.Within(t, norm2(gradSum(t, k, r, w, engine.AllPairs{N: n}), want), 0, 10*bound, "|error| = ..., Roundoff %v", bound)
}

// TestMetricVariants compares the variants of the kernels: the same bound, the same bits
// for any number of workers, results within the bounds of each other but not equal. The
// large radius takes slopes one by one.
func TestMetricVariants(t *testing.T) {
	n := 500
	if testing.Short() {
		n = 200
	}
	for _, d := range []int{1, 5, 37} {
		r, w := metricData(t, n, d)
		for _, radius := range []float64{1, 60} {
			for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
				var first []float64
				var bound float64
				for _, v := range kernels.Variants() {
					p := metricProblem(n, d)
					p.Radius = radius
					plan := func(workers int) *metricKernel {
						k := must.Get(Backend{Workers: workers, Variant: v}.Plan(p))(t)
						return k.(*metricKernel)
					}
					at := make([]float64, len(w))
					for k := range w {
						at[k] = radius * w[k]
					}
					got := gradSum(t, plan(1), r, at, pairs)
					must.Same(t, got, gradSum(t, plan(3), r, at, pairs), "%v d=%d %T: 3 workers give other bits", v, d, pairs)
					if first == nil {
						first, bound = got, plan(1).Bounds(engine.Query{Pairs: pairs}).Sum
						continue
					}
					must.Equal(t, plan(1).Bounds(engine.Query{Pairs: pairs}).Sum, bound, "%v d=%d %T: Roundoff", v, d, pairs)
					if diff := norm2(got, first); !(diff <= 2*bound) || d > 1 && diff == 0 {
						t.Errorf("%v d=%d radius %v %T: off the generic kernels by %v, bound %v", v, d, radius, pairs, diff, bound)
					}
				}
				if size := norm2(first, make([]float64, len(w))); size < 1e5*bound {
					t.Errorf("result of norm %v, bound %v", size, bound)
				}
			}
		}
	}
}
