package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// coefficientsOf are c of all records, twice: a second call must find nothing of the first.
func coefficientsOf(t *testing.T, m *nearLinear, w []float64) []float64 {
	t.Helper()
	c := make([]float64, len(m.e.y))
	for range 2 {
		must.Do(t, m.prepare(context.Background(), w))
		for chunk := range m.e.chunks() {
			for from, to := m.e.chunk(chunk); from < to; from += coefRows {
				m.block(0, c[from:min(from+coefRows, to)], from)
			}
		}
		w = slices.Clone(w)
		w[0] = -w[0]
	}
	return c
}

// TestGroupings: bits or places of records, positions and scores that are kept or computed
// twice, all give the same c. The controls change the group of one record.
func TestGroupings(t *testing.T) {
	variants(t, func(t *testing.T, v kernels.Variant) {
		const n = 2*coefRows + 300
		rng := rand.New(rand.NewPCG(4, 4))
		for _, c := range []struct {
			labels int
			radius float64
			d      int
		}{{2, 0.5, 1}, {2, 0.5, keptRow}, {2, 12, 1}, {2, 12, keptRow}, {3, 0.5, 2}} {
			x, y := make([]float64, n*c.d), make([]float64, n)
			for i := range x {
				x[i] = (2*rng.Float64() - 1) / float64(c.d)
			}
			for i := range y {
				y[i] = float64(2*rng.IntN(c.labels))/float64(c.labels-1) - 1
			}
			r := must.Get(engine.NewRecords(x, y, c.d, engine.UnitBounds()))(t)
			k := must.Get(Backend{Workers: 1, Method: NearLinear, Variant: v}.Plan(engine.Problem{
				N: n, D: c.d, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: c.radius, LabelValues: c.labels}))(t)
			bound := must.Get(k.Bind(r))(t)
			e, w := bound.(*evaluator), make([]float64, c.d)
			w[0] = c.radius
			planned := newNearLinear(e)
			if many := e.bins > 1; (c.radius > 1) != many || (planned.kept != nil) != many {
				t.Fatalf("%+v: %d bins, positions kept: %v", c, e.bins, planned.kept != nil)
			}
			if bits := c.labels == 2 && e.bins == 1 && v != kernels.Generic; (planned.second != nil) != bits {
				t.Fatalf("%+v: labels told by bits: %v", c, !bits)
			}
			want := coefficientsOf(t, planned, w)
			same := func(m *nearLinear) bool {
				if m.second == nil && e.bins == 1 {
					m.fixPlaces()
				}
				// Bits reverse the order of one label.
				return slices.EqualFunc(coefficientsOf(t, m, w), want, func(c, d float64) bool {
					return c == d || planned.second != nil && math.Abs(c-d) <= 1e-14*n
				})
			}
			plain := newNearLinear(e)
			plain.second, plain.kept, plain.scores = nil, nil, nil
			if !same(plain) {
				t.Errorf("%+v: another c by places or without what is kept", c)
			}
			plain.scores = make([]float64, n)
			if !same(plain) {
				t.Errorf("%+v: another c with scores kept", c)
			}
			moved := newNearLinear(e)
			if moved.second != nil {
				moved.second[n/16] ^= 1
			} else {
				e.class[n/2] = (e.class[n/2] + 1) % uint8(c.labels)
			}
			if same(moved) {
				t.Errorf("%+v: a record of the wrong label is not seen", c)
			}
		}
	})
}

// variants runs a test for the variants of this processor.
func variants(t *testing.T, test func(t *testing.T, v kernels.Variant)) {
	for _, v := range kernels.Variants() {
		t.Run(v.String(), func(t *testing.T) { test(t, v) })
	}
}

// rowSum is sum_j phi'(s_i - s_j), phi' = -1/(1 + exp(u)), over other = exp(-s_j) with
// own = exp(s_i), in compensated sums: off by a few 1e-16 for each term.
func rowSum(own float64, other []float64) float64 {
	sum, low := 0.0, 0.0
	for _, b := range other {
		v := -1 / (1 + own*b)
		s := sum + v
		t := s - sum
		low += (sum - (s - t)) + (v - t)
		sum = s
	}
	return sum + low
}

// TestNearLinearError compares row sums of the logistic loss with direct sums: the
// largest error of sampled rows is at most 1e-14 n. An expansion of half the terms, the
// control, is far beyond that.
func TestNearLinearError(t *testing.T) {
	n, rows := sizes.Of(200_000, 1_000_000), sizes.Trials(1000)
	if testing.Short() {
		n, rows = 20_000, 50
	}
	rng := rand.New(rand.NewPCG(1, 6))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = 2*rng.Float64()-1, float64(2*rng.IntN(2)-1)
	}
	r := must.Get(engine.NewRecords(x, y, 1, engine.UnitBounds()))(t)
	// Labels are 2 apart: margins 2 (s_i - s_j), |s| <= radius.
	for _, radius := range []float64{0.5, 1, 12.5} {
		of := func(label float64) (exp []float64) { // exp(-y u) of the other label
			for i, v := range x {
				if y[i] == -label {
					exp = append(exp, math.Exp(-label*2*radius*v))
				}
			}
			return exp
		}
		negative, positive := of(1), of(-1)
		sample, want := make([]int, rows), make([]float64, rows)
		for k := range sample {
			i := rng.IntN(n)
			other := negative
			if y[i] < 0 {
				other = positive
			}
			sample[k], want[k] = i, y[i]*rowSum(math.Exp(y[i]*2*radius*x[i]), other)
		}
		for _, v := range kernels.Variants() {
			plan := must.Get(Backend{Workers: 2, Method: NearLinear, Variant: v}.Plan(
				engine.Problem{N: n, D: 1, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: radius}))(t)
			worst := func(k kernel) (largest float64) {
				e := must.Get(k.Bind(r))(t)
				ev := e.(*evaluator)
				c := newNearLinear(ev)
				must.Do(t, c.prepare(context.Background(), []float64{radius}))
				got := make([]float64, n)
				for chunk := range k.chunks() {
					for from, to := ev.chunk(chunk); from < to; from += coefRows {
						c.block(0, got[from:min(from+coefRows, to)], from)
					}
				}
				for k, i := range sample {
					// 2 for both orders of a pair, 2 for the distance of the labels.
					largest = max(largest, math.Abs(got[i]/4-want[k]))
				}
				return largest
			}
			k := *plan.(*kernel)
			if err := worst(k); err > 1e-14*float64(n) {
				t.Errorf("%v, radius %v: error %.3g of %d records", v, radius, err, n)
			} else {
				t.Logf("%v, radius %v, %d bins of %d terms: error %.2g n", v, radius, k.bins, k.expansion.Terms, err/float64(n))
			}
			k.expansion.Terms = k.expansion.Terms/8*4 + 1
			if err := worst(k); err < 1e-14*float64(n) {
				t.Errorf("%v, radius %v: with half the terms the error is %.3g, so the test sees nothing", v, radius, err)
			}
		}
	}
}
