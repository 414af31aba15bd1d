package autodiff

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// parsed is Parse for formulas that are right.
func parsed(t testing.TB, text string) Expr {
	t.Helper()
	return must.Get(Parse(text, nil))(t)
}

// TestProveKnown: losses whose properties on [-4, 4] are known by hand.
func TestProveKnown(t *testing.T) {
	s := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, c := range []struct {
		text       string
		lo, hi     float64 // of phi'
		smoothness float64
		convex     bool
	}{
		{"log1p(exp(-u))", -s(4), -s(-4), 0.25, true},
		{"softplus(-3*u)/3", -s(12), -s(-12), 0.75, true},
		{"max(0, 1-u)", -1, 0, inf, true},
		{"where(u < 1, 1-u, 0)", -1, 0, inf, true},
		{"max(1-u, 0) + max(u-1, 0)", -1, 1, inf, true},
		{"abs(u)", -1, 1, inf, true},
		{"max(0, 1-u)^2", -10, 0, 2, true},
		{"max(0, 0.3 - 1.7*u)^2", -24.14, 0, 5.78, true},
		{"(max(0, 1-u)^2 - max(0, -u)^2)/2", -1, 0, 1, true},
		{"where(u >= 1, 0, where(u >= 0, (1-u)^2/2, 0.5-u))", -1, 0, 1, true},
		{"max(0, 1-u) - max(0, -u)", -1, 0, inf, false},
		{"-abs(u)", -1, 1, inf, false},
		{"(1-u)^2", -10, 6, 2, true},
		{"u^4", -256, 256, 192, true},
		{"u^2*max(0, u)", 0, 48, 24, true},
		{"exp(-u)", -math.Exp(4), -math.Exp(-4), math.Exp(4), true},
		{"1 - exp(-2*exp(-u))", -1 / math.E, 0, 0.309057, false},
		{"sigmoid(-u)", -0.25, -s(4) * s(-4), 1 / (6 * math.Sqrt(3)), false},
		{"tanh(u)", 1 - math.Tanh(4)*math.Tanh(4), 1, 4 / (3 * math.Sqrt(3)), false},
		{"sqrt(1 + u^2) - u", -1 - 4/math.Sqrt(17), 4/math.Sqrt(17) - 1, 1, true},
		{"max(u, u^2)", -8, 8, inf, true},
		{"log(1 + (1-u)^2)", -1, 1, 2, false},
	} {
		f := NewFunction(parsed(t, c.text))
		p := f.Prove(Interval{-4, 4})
		size := math.Max(math.Abs(c.lo), math.Abs(c.hi))
		const gap = 0.01
		if !(p.Slope.Lo <= c.lo+1e-12*size && p.Slope.Lo >= c.lo-gap*size) || !(p.Slope.Hi >= c.hi-1e-12*size && p.Slope.Hi <= c.hi+gap*size) {
			t.Errorf("%s: phi' in %v, want [%v, %v]", c.text, p.Slope, c.lo, c.hi)
		}
		if p.SlopeGap() > gap || !math.IsInf(c.smoothness, 1) && p.CurvatureGap() > gap {
			t.Errorf("%s: gaps %v and %v", c.text, p.SlopeGap(), p.CurvatureGap())
		}
		if p.Smoothness != c.smoothness && !(p.Smoothness >= c.smoothness*(1-1e-6) && p.Smoothness <= c.smoothness*(1+gap)) {
			t.Errorf("%s: smoothness %v, want %v", c.text, p.Smoothness, c.smoothness)
		}
		must.Equal(t, p.Convex, c.convex, "%s: convex", c.text)
		if !(p.Slack <= slackTolerance*p.Slope.Abs()) || !(p.Jump <= 1e-12*size) {
			t.Errorf("%s: slack %v, jump %v", c.text, p.Slack, p.Jump)
		}
	}
}

// TestProveRefuses: what is unbounded or jumps is not proved.
func TestProveRefuses(t *testing.T) {
	for _, text := range []string{"log(u)", "1/u", "sqrt(abs(u))", "tanh(1/u)"} {
		p := NewFunction(parsed(t, text)).Prove(Interval{-4, 4})
		if !math.IsInf(p.Smoothness, 1) || p.Convex || finite(p.Slope.Abs()) {
			t.Errorf("%s: %+v", text, p)
		}
	}
	// A slope that is bounded, with unbounded curvature.
	p := NewFunction(parsed(t, "abs(u)^1.5")).Prove(Interval{-4, 4})
	if !math.IsInf(p.Smoothness, 1) || !(p.Slope.Abs() < 3.1) {
		t.Errorf("abs(u)^1.5: %+v", p)
	}
	// Jumps of phi, and of phi' downwards.
	if p := NewFunction(parsed(t, "where(u > 0.3, 0, 1)")).Prove(Interval{-4, 4}); !(p.Jump >= 1) {
		t.Errorf("a step: jump %v", p.Jump)
	}
	if p := NewFunction(parsed(t, "where(u > 0.3, 0, 0.3 - u) - where(u > 2, 1e-3*(u-2), 0)")).Prove(Interval{-4, 4}); p.Convex || !math.IsInf(p.Smoothness, 1) {
		t.Errorf("a concave kink of 1e-3: %+v", p)
	}
	// Between two kinks that are one ulp apart phi' drops to -1.
	next := math.Nextafter(1, 2)
	e := Sub(Max(Sub(U(), Const(1)), Const(0)), Mul(Const(2), Max(Sub(U(), Const(next)), Const(0))))
	if p := NewFunction(e).Prove(Interval{-4, 4}); p.Convex {
		t.Errorf("kinks of slopes 1 and -2 one ulp apart: %+v", p)
	}
	// The single point u = 1 has another slope.
	isolated := Add(Mul(Ge(U(), Const(1)), Const(2)), Mul(Ge(Const(1), U()), Const(3)))
	if p := isolated.Prove(Interval{-4, 4}); p.Slope.Hi < 5 || p.Convex || finite(p.Smoothness) {
		t.Errorf("2 [u>=1] + 3 [u<=1]: %+v", p)
	}
	for _, on := range []Interval{{1, 0}, {0, inf}, {nan, 1}} {
		if p := U().Prove(on); p.Convex || finite(p.Slope.Abs()) {
			t.Errorf("range %v: %+v", on, p)
		}
	}
	if p := U().Prove(Interval{2, 2}); p.Slope != Point(2) {
		t.Errorf("a single point: %+v", p)
	}
}

// violations counts the properties of d = phi' that sampled values contradict.
// Every sample is allowed its estimated rounding error; constants of d, which are
// often its knots, are sampled on both sides.
func violations(d Expr, p Properties, rng *rand.Rand, samples int) (slope, smooth, convex int) {
	type point struct{ u, v, err float64 }
	var pts []point
	var at []float64
	for range samples {
		at = append(at, p.On.random(rng))
	}
	for _, in := range d.instrs() { // constants are knots
		for _, u := range []float64{math.Nextafter(in.c, -inf), in.c, math.Nextafter(in.c, inf)} {
			if in.op == opConst && p.On.Contains(u) && len(at) < 2*samples {
				at = append(at, u)
			}
		}
	}
	for _, u := range at {
		v, err := d.evalErr(u)
		if !finite(v) || !finite(err) {
			continue
		}
		err = roundoffFactor*err + 0x1p-1000
		if v < p.Slope.Lo-err || v > p.Slope.Hi+err {
			slope++
		}
		pts = append(pts, point{u, v, err})
	}
	for _, a := range pts {
		for _, b := range pts {
			if a.u >= b.u {
				continue
			}
			slack := 2*p.Slack + a.err + b.err
			if math.Abs(a.v-b.v) > p.Smoothness*(b.u-a.u)*(1+1e-12)+slack {
				smooth++
			}
			if p.Convex && b.v < a.v-slack {
				convex++
			}
		}
	}
	return slope, smooth, convex
}

// TestProvedNeverBelowSampled fuzzes expressions and ranges. The same comparison
// must see constants that are 20 % too small, and functions called convex that are
// not.
func TestProvedNeverBelowSampled(t *testing.T) {
	pairs := sizes.Of(400, 10000)
	if testing.Short() {
		pairs = 300
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var bounded, smooth, convex, caughtSlope, caughtSmooth, caughtConvex int
	for k := range pairs {
		e := randomExpr(rng, 1+rng.IntN(3), k%2 == 0)
		if k%8 == 1 {
			e = randomTies(rng, rng.IntN(2))
		}
		d := e.Derivative()
		centre, half := 6*rng.Float64()-3, math.Ldexp(1+rng.Float64(), rng.IntN(7)-4)
		on := Interval{centre - half, centre + half}
		p := d.prove(on, effort{ends: 40, kinks: 150, sign: 150})
		if a, b, c := violations(d, p, rng, 16); a+b+c > 0 {
			t.Fatalf("%v on %v: %+v is contradicted (%d, %d, %d times)", d, on, p, a, b, c)
		}
		if finite(p.Slope.Abs()) && p.Slope.Abs() > 0 {
			bounded++
		}
		if finite(p.Smoothness) && p.Smoothness > 0 {
			smooth++
		}
		if p.Convex {
			convex++
		}
		wrong := p
		wrong.Slope = Interval{0.8 * p.SlopeFound.Lo, 0.8 * p.SlopeFound.Hi}
		wrong.Smoothness = 0.8 * p.CurvatureFound.Abs()
		wrong.Convex = true
		wrong.Slack = 0
		a, b, c := violations(d, wrong, rng, 16)
		caughtSlope += min(a, 1)
		caughtSmooth += min(b, 1)
		caughtConvex += min(c, 1)
	}
	t.Logf("%d pairs: %d bounded, %d smooth, %d convex; too small constants seen: %d, %d, %d", pairs, bounded, smooth, convex, caughtSlope, caughtSmooth, caughtConvex)
	if bounded < pairs/2 || smooth < pairs/4 || convex < pairs/20 {
		t.Error("hardly anything was proved")
	}
	if caughtSlope < pairs/10 || caughtSmooth < pairs/50 || caughtConvex < pairs/10 {
		t.Error("the comparison does not see wrong constants")
	}
}

// TestBoundsContain compares Bounds with exact values.
func TestBoundsContain(t *testing.T) {
	n := sizes.Of(500, 1500)
	if testing.Short() {
		n = 150
	}
	rng := rand.New(rand.NewPCG(7, 8))
	checked := 0
	for k := range n {
		e := randomExpr(rng, 1+rng.IntN(3), k%2 == 0)
		on := randomInterval(rng, 3)
		b := e.Bounds(on)
		for range 3 {
			if want := bigEval(e, on.random(rng)); want != nil {
				checked++
				if !b.holds(want) {
					t.Fatalf("%v on %v is in %v, but has the value %v", e, on, b, want)
				}
			}
		}
	}
	if checked < n {
		t.Errorf("only %d values checked", checked)
	}
}

// TestSecondSlopes: chords of the derivative, in exact arithmetic, are in the enclosure of
// the second derivative, and an enclosure of half the width is caught.
func TestSecondSlopes(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	found, caught := 0, 0
	n := sizes.Of(900, 3000)
	for k := range n {
		e := randomExpr(rng, 1+rng.IntN(3), k%2 == 0)
		centre, half := 4*rng.Float64()-2, math.Ldexp(1+rng.Float64(), rng.IntN(12)-12)
		on := Interval{centre - half, centre + half}
		_, dd := newJet(e).secondSlopes(on)
		if dd.undefined() || !finite(dd.Width()) || dd == zero {
			continue
		}
		d := e.Derivative()
		u, v := on.random(rng), on.random(rng)
		x, y := bigEval(d, u), bigEval(d, v)
		if u == v || x == nil || y == nil {
			continue
		}
		chord, _ := bigQuo(bigSub(x, y), bigSub(bigOf(u), bigOf(v))).Float64()
		size, _ := x.Float64()
		// The constants 2/sqrt(pi) and 1/sqrt(2 pi) of the symbolic derivative are rounded.
		slack := 1e-14*math.Abs(size)/math.Abs(u-v) + 1e-12*dd.Abs()
		found++
		if chord < dd.Lo-slack || chord > dd.Hi+slack {
			t.Fatalf("%v on %v: chord %v between %v and %v, second derivative %v", e, on, chord, u, v, dd)
		}
		if half := dd.Width() / 4; chord < dd.middle()-half || chord > dd.middle()+half {
			caught++
		}
	}
	if found < n/3 || caught < n/150 {
		t.Errorf("%d enclosures, %d chords outside of half of it", found, caught)
	}
}

// Where may choose by a number that is no comparison: its branches change where that
// becomes 0.
func TestProveWhereOfNumbers(t *testing.T) {
	v := Sub(U(), Const(0.3))
	for name, m := range map[string]Expr{
		"max": Max(Const(0), v), "min": Min(Const(0), v), "sum": Add(v, Abs(v)), "product": Mul(Max(Const(0), v), Ge(U(), Const(0))),
	} {
		for _, slope := range []float64{5, -5} {
			p := NewFunction(Where(m, Mul(Const(slope), v), v)).Prove(Interval{-1, 1})
			if !(p.Slope.Contains(1) && p.Slope.Contains(slope)) || !math.IsInf(p.Smoothness, 1) || p.Convex && slope < 0 {
				t.Errorf("%s, slope %v: %+v", name, slope, p)
			}
		}
		if p := NewFunction(Where(m, Const(5), U())).Prove(Interval{-1, 1}); !(p.Jump >= 4) {
			t.Errorf("%s: the jump of phi is not seen: %+v", name, p)
		}
	}
}
