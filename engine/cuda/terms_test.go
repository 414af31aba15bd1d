package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// twos is a problem of all pairs of n records, each pair a group of its own, with the
// records in it.
func twos(p engine.Problem, x, y []float64) (engine.Problem, []float64, []float64) {
	var xs, ys []float64
	for i := range y {
		for j := range i {
			xs = append(append(xs, x[i*p.D:(i+1)*p.D]...), x[j*p.D:(j+1)*p.D]...)
			ys = append(ys, y[i], y[j])
		}
	}
	p.N, p.Groups = len(ys), slices.Repeat([]int{2}, len(ys)/2)
	return p, xs, ys
}

// termSum is the sum of the terms of ownError over all pairs: the slope that the GPU
// computes for two records alone, moved into the range that Constants rests on.
func termSum(t *testing.T, b Backend, p engine.Problem, x, y, w []float64) []float64 {
	t.Helper()
	pairs, xs, ys := twos(p, x, y)
	e := bound(t, b, pairs, xs, ys)
	lo, hi := e.slopeRange()
	sum := make([]float64, p.D)
	for i, v := range coefficientsOf(t, e, w) { // of both orders: 2 phi' D
		if i%2 == 1 {
			continue
		}
		d := ys[i] - ys[i+1]
		if d == 0 {
			must.Equal(t, v, 0, "records with the same label have the term")
			continue
		}
		q := max(lo, min(hi, v/2/d))
		for m := range sum {
			sum[m] += 2 * q * d * (xs[i*p.D+m] - xs[(i+1)*p.D+m])
		}
	}
	return sum
}

// off is the computed sum less that of the terms.
func off(t *testing.T, b Backend, p engine.Problem, x, y, w []float64) []float64 {
	t.Helper()
	e := bound(t, b, p, x, y)
	dst := make([]float64, p.D)
	must.Do(t, e.Sum(t.Context(), dst, engine.Gradient(w, p.Pairs())))
	for m, v := range termSum(t, b, p, x, y, w) {
		dst[m] -= v
	}
	return dst
}

// termData are records of norm at most 1 with real labels.
func termData(n, d int) (x, y, w []float64) {
	rng := rand.New(rand.NewPCG(5, 5))
	x, y, w = make([]float64, n*d), make([]float64, n), make([]float64, d)
	for i := range x {
		x[i] = (2*rng.Float64() - 1) / math.Sqrt(float64(d))
	}
	for i := range y {
		y[i] = 2*rng.Float64() - 1
	}
	y[3], y[4], y[5] = y[2], -1, 1
	w[0], w[1] = 0.6, -0.8
	return x, y, w
}

// TestTerms: sums are within Roundoff, for a loss that is not smooth, of sums of terms that
// each depend on their own records, and what one record changes of the distance is within
// twice NeighbourRoundoff, whatever the code for phi' computes: so also where it is wrong by
// far more than the Roundoff of a smooth loss. The control: without the clamp they are not.
func TestTerms(t *testing.T) {
	const n, d = 9, 3
	x, y, w := termData(n, d)
	other, labels := slices.Clone(x), slices.Clone(y)
	other[4*d], other[4*d+1], labels[4] = -other[4*d], 0.1, 0.7
	for _, c := range []struct {
		name, loss string
		old, new   string
		bad        bool
	}{
		{"as it is", "logistic", "", "", false},
		{"log2 e 2 % off", "logistic", "BFB8AA3B;", "BFBCAA3B;", false},
		{"slopes of any size", "logistic", "rcp.approx.ftz.f32", "mov.f32", false},
		{"slopes of any sign", "logistic", "neg.f32", "mov.f32", false},
		{"no clamp", "logistic", "max.f32 %phi_out, %phi_out, ", "mov.f32 %phi_out, 0fC0000000; //", true},
		{"as it is", "ramp", "", "", false},
		{"slopes of any size", "ramp", "sub.rn.f32 %phi4, %phi1, ", "fma.rn.f32 %phi4, %phi_in, 0fC0A00000, ", false},
		{"no clamp", "ramp", "max.f32 %phi_out, %phi_out, ", "mov.f32 %phi_out, 0fC0000000; //", true},
	} {
		if testing.Short() && c.name != "as it is" && !c.bad {
			continue
		}
		f := newFake()
		if c.old != "" {
			f.edit = replacing(c.old, c.new, "%phi_out")
		}
		b := openFake(t, f)
		b.Method = Direct
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: library(t)[c.loss], Radius: 1, LabelValues: engine.AnyLabels}
		k := must.Get(b.Plan(p))(t)
		pairs := engine.AllPairs{N: n}
		near, whole := k.Bounds(engine.Query{Pairs: pairs}).OneRecord(), k.Bounds(engine.Query{Pairs: pairs}).Sum
		first, second := off(t, b, p, x, y, w), off(t, b, p, other, labels, w)
		far := max(norm2(first), norm2(second))
		change := apartBy(first, second) / 2
		if f.edited != (c.old != "") || (change <= near) == c.bad || !(near < whole) {
			t.Errorf("%s, %s: a record changes %g; bounds of one record %g, of the sum %g", c.loss, c.name, change, near, whole)
		}
		if c.loss == "ramp" && (far <= whole) == c.bad {
			t.Errorf("%s, %s: %g from the sum of terms, Roundoff %g", c.loss, c.name, far, whole)
		}
		t.Logf("%s, %s: a record changes %.2g of %.2g; NeighbourRoundoff %.2g, Roundoff %.2g", c.loss, c.name, change, far, near, whole)
		if !math.IsInf(k.Bounds(engine.Query{Pairs: engine.PrefixPairs{T: 1}}).Neighbour, 1) {
			t.Error("a bound for prefix pairs")
		}
	}
}

// TestNeighbourRoundoffIsAttained: two records on a line at w = 0, where the hinge's slope
// is exactly -1 and the sum of terms known. Over many labels of one of them the change is
// within twice NeighbourRoundoff, and beyond half of that: a claim of half would fail.
func TestNeighbourRoundoffIsAttained(t *testing.T) {
	neighbourRoundoffIsAttained(t, openFake(t, newFake()))
}

func neighbourRoundoffIsAttained(t *testing.T, b Backend) {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 9))
	b.Method = Direct
	const count = 400
	p := engine.Problem{N: 2 * count, D: 1, Bounds: engine.UnitBounds(), Loss: library(t)["hinge"], Radius: 1, LabelValues: engine.AnyLabels, Groups: slices.Repeat([]int{2}, count)}
	x, y := make([]float64, p.N), make([]float64, p.N)
	first := 2*rng.Float64() - 1
	for i := range x {
		x[i], y[i] = 1, first
		if i%2 == 1 {
			x[i], y[i] = -1, 2*rng.Float64()-1
		}
	}
	least, most := math.Inf(1), math.Inf(-1)
	for i, v := range coefficientsOf(t, bound(t, b, p, x, y), []float64{0}) {
		if i%2 == 0 { // the sum is v x_i - v x_j = 2 v
			e := 2 * (v - -2*(y[i]-y[i+1]))
			least, most = min(least, e), max(most, e)
		}
	}
	two := p
	two.N, two.Groups = 2, nil
	k := must.Get(b.Plan(two))(t)
	r := k.Bounds(engine.Query{Pairs: engine.AllPairs{N: 2}}).OneRecord()
	if part := (most - least) / (2 * r); !(part <= 1 && part > 0.5) {
		t.Errorf("a record changes %.2f of what NeighbourRoundoff says, want more than 0.5 and at most 1", part)
	} else {
		t.Logf("a record changes %.2f of what NeighbourRoundoff says", part)
	}
}

// TestNeighbourRoundoffGrowth: with n records NeighbourRoundoff is that of pairs with one of
// them, which noise is for anyway: relatively to the change of the exact sum it stays the
// same up to a million records, or grows with their logarithm if terms are factored, while
// that of Roundoff grows with n.
func TestNeighbourRoundoffGrowth(t *testing.T) {
	b := openFake(t, newFake())
	b.Method = Direct
	for _, labels := range []int{2, engine.AnyLabels} {
		for _, n := range []int{100, 10000, 1000000} {
			p := engine.Problem{N: n, D: 10, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: labels}
			k := must.Get(b.Plan(p))(t)
			c := must.Get(p.Loss.Constants(p.Bounds, p.Radius))(t)
			pairs := engine.AllPairs{N: n}
			sensitivity := float64(pairs.MaxPerRecord()) * c.PairDiameter
			near, whole := 2*k.Bounds(engine.Query{Pairs: pairs}).OneRecord()/sensitivity, 2*k.Bounds(engine.Query{Pairs: pairs}).Sum/sensitivity
			limit := 1e-6
			if labels == 2 { // with those of partners
				limit *= float64(1 + partnersMoved(n))
			}
			if !(near < limit) || n == 1000000 && !(whole > 0.05) {
				t.Errorf("%s, n = %d: %.2g of the sensitivity, by the distance %.2g", k.Method(), n, near, whole)
			}
			t.Logf("%s, n = %d: %.2g of the sensitivity, by the distance %.2g", k.Method(), n, near, whole)
		}
	}
}

// TestNeighbourRoundoffFactored: with one exponential a record, too, what a record changes
// of the distance to the exact sum is within twice NeighbourRoundoff.
func TestNeighbourRoundoffFactored(t *testing.T) {
	const n, d = 9, 3
	x, y, w := termData(n, d)
	for i := range y {
		y[i] = math.Copysign(1, y[i])
	}
	b := openFake(t, newFake())
	b.Method = Direct
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	distance := func(x, y []float64) []float64 {
		e := bound(t, b, p, x, y)
		if !e.factored {
			t.Fatal(e.Method())
		}
		dst, exact := make([]float64, d), make([]float64, d)
		must.Do(t, e.Sum(t.Context(), dst, engine.Gradient(w, engine.AllPairs{N: n})))
		for i := range n {
			for j := range n {
				p.Loss.AddGrad(exact, w, engine.Record{X: x[i*d : (i+1)*d], Y: y[i]}, engine.Record{X: x[j*d : (j+1)*d], Y: y[j]})
			}
		}
		for m := range dst {
			dst[m] -= exact[m]
		}
		return dst
	}
	e := bound(t, b, p, x, y)
	near, whole := e.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).OneRecord(), e.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).Sum
	before, worst := distance(x, y), 0.0
	for k := range n {
		other, labels := slices.Clone(x), slices.Clone(y)
		other[k*d], labels[k] = -other[k*d], -labels[k]
		worst = max(worst, apartBy(distance(other, labels), before)/2)
	}
	own, _ := e.ownError()
	if !(worst <= near && near <= whole && worst > 0.01*4*(n-1)*2*own) {
		t.Errorf("a record changes %g; bounds of one record %g, of the sum %g", worst, near, whole)
	}
	t.Logf("a record changes %.2g; NeighbourRoundoff %.2g, Roundoff %.2g", worst, near, whole)
}
