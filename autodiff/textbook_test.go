package autodiff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// textbook are common losses in the forms in which books, papers and programs write them.
// Forms of one function are in one entry, with what is true of it on every range: whether
// it is smooth and convex.
var textbook = []struct {
	name           string
	smooth, convex bool
	forms          []string
}{
	{"logistic", true, true, []string{
		"log(1 + exp(-u))", "log1p(exp(-u))", "softplus(-u)", "-log(sigmoid(u))",
		"max(0, -u) + log1p(exp(-abs(u)))", "max(-u, 0) + log(1 + exp(-abs(u)))", "log1p(exp(-abs(u))) - min(u, 0)",
		"where(u > 0, log1p(exp(-u)), -u + log1p(exp(u)))", "where(u <= 0, -u, 0) + log1p(exp(-abs(u)))",
		"max(-2*u, 0)/2 + log1p(exp(-abs(u)))", "max(0, u/-2)*2 + log1p(exp(-abs(u)))",
	}},
	{"logistic, moved", true, true, []string{
		"log1p(exp(1 - u))", "max(1 - u, 0) + log1p(exp(-abs(1 - u)))", "max(0, 1 - u) + softplus(-abs(u - 1))",
	}},
	{"log-cosh", true, true, []string{
		"log(cosh(u))", "abs(u) + log1p(exp(-2*abs(u))) - log(2)", "abs(u) + log(1 + exp(-2*abs(u))) - log(2)",
		"u + softplus(-2*u) - log(2)", "softplus(2*u) - u - log(2)", "max(u, -u) + softplus(-2*max(u, -u)) - log(2)",
		"sqrt(u^2) + log1p(exp(-2*sqrt(u^2))) - log(2)",
	}},
	{"Huber, h = 1", true, true, []string{
		"where(abs(1 - u) <= 1, (1 - u)^2/2, abs(1 - u) - 1/2)", "where(abs(u - 1) < 1, 0.5*(u - 1)^2, abs(u - 1) - 0.5)",
		"where(abs(1 - u) > 1, abs(1 - u) - 0.5, 0.5*(1 - u)^2)", "where((1 - u)^2 <= 1, (1 - u)^2/2, abs(1 - u) - 0.5)",
		"min(abs(1 - u), 1)^2/2 + max(0, abs(1 - u) - 1)", "min(abs(1 - u), 1)*(abs(1 - u) - min(abs(1 - u), 1)/2)",
		"where(u < 0, 0.5 - u, where(u > 2, u - 1.5, (1 - u)^2/2))", "(u - 1)*clamp(u - 1, -1, 1) - clamp(u - 1, -1, 1)^2/2",
	}},
	{"Huber, h = 0.3 at 0", true, true, []string{
		"where(abs(u) <= 0.3, u^2/0.6, abs(u) - 0.15)", "where(abs(u) < 0.3, 0.5*u^2, 0.3*(abs(u) - 0.15))/0.3",
		"(min(abs(u), 0.3)^2/2 + 0.3*max(0, abs(u) - 0.3))/0.3",
	}},
	{"pseudo-Huber", true, true, []string{"sqrt(1 + u^2) - 1", "u^2/(1 + sqrt(1 + u^2))", "pow(1 + u^2, 0.5) - 1"}},
	{"smooth hinge", true, true, []string{
		"where(u >= 1, 0, where(u <= 0, 0.5 - u, (1 - u)^2/2))", "(max(0, 1 - u)^2 - max(0, -u)^2)/2",
		"where(u <= 0, 0.5 - u, max(0, 1 - u)^2/2)", "where(u < 1, 1, 0)*where(u > 0, (1 - u)^2/2, 0.5 - u)",
		"(u < 1)*(u > 0)*(1 - u)^2/2 + (u <= 0)*(0.5 - u)",
	}},
	{"squared hinge", true, true, []string{"max(0, 1 - u)^2", "relu(1 - u)*relu(1 - u)", "where(u < 1, (1 - u)^2, 0)", "square((1 - u + abs(1 - u))/2)"}},
	{"modified Huber", true, true, []string{"where(u < -1, -4*u, max(0, 1 - u)^2)", "where(u >= -1, max(0, 1 - u)^2, -4*u)"}},
	{"square", true, true, []string{"(1 - u)^2", "u^2 - 2*u + 1", "pow(u - 1, 2)", "abs(1 - u)^2"}},
	{"fair", true, true, []string{"abs(u) - log1p(abs(u))", "abs(u) - log(1 + abs(u))"}},
	{"probit", true, true, []string{"-log(normcdf(u))", "-lognormcdf(u)"}},
	{"Gaussian softplus", true, true, []string{"exp(-u^2/2)/sqrt(2*pi) - u*normcdf(-u)"}},
	{"arc tangent, convex", true, true, []string{"u*atan(u) - log1p(u^2)/2", "u*atan(u) - log(sqrt(1 + u^2))"}},
	{"hinge", false, true, []string{"max(0, 1 - u)", "relu(1 - u)", "where(u < 1, 1 - u, 0)", "(1 - u + abs(1 - u))/2"}},
	{"absolute", false, true, []string{"abs(u)", "sqrt(u^2)", "max(u, -u)", "where(u < 0, -u, u)", "max(u, 0) + max(-u, 0)"}},
	{"quantile", false, true, []string{"max(0.25*u, -0.75*u)", "u*(0.25 - where(u < 0, 1, 0))", "where(u >= 0, 0.25*u, -0.75*u)"}},
	{"insensitive", false, true, []string{"max(0, abs(u) - 1)", "max(u - 1, -1 - u, 0)"}},
	{"tangent", true, false, []string{"(2*atan(u) - 1)^2"}},
	{"erf", true, false, []string{"1 - erf(u)", "2*normcdf(-u*sqrt(2))"}},
	{"normal law", true, false, []string{"normcdf(-u)", "(1 - erf(u/sqrt(2)))/2", "1 - normcdf(u)"}},
	{"sigmoid", true, false, []string{"sigmoid(-u)", "1/(1 + exp(u))", "(1 - tanh(u/2))/2", "where(u > 0, exp(-u)/(1 + exp(-u)), 1/(1 + exp(u)))"}},
	{"Cauchy", true, false, []string{"log1p(u^2)", "log(1 + u^2)"}},
	{"Geman-McClure", true, false, []string{"u^2/(1 + u^2)", "1 - 1/(1 + u^2)"}},
	{"Welsch", true, false, []string{"1 - exp(-u^2/2)", "-expm1(-u^2/2)"}},
	{"Tukey", true, false, []string{"where(abs(u) <= 1, (1 - (1 - u^2)^3)/6, 1/6)", "(1 - max(0, 1 - u^2)^3)/6"}},
	{"ramp", false, false, []string{"clamp(1 - u, 0, 2)", "max(0, 1 - u) - max(0, -1 - u)", "min(2, max(0, 1 - u))"}},
}

// sampled are the largest |phi'| and the steepest chord of phi' on a grid: at most the
// suprema.
func sampled(dphi Expr, on Interval) (slope, curvature float64) {
	const n = 6000
	last, at := 0.0, 0.0
	for i := range n + 1 {
		u := on.Lo + (on.Hi-on.Lo)*float64(i)/n
		v := dphi.Eval(u)
		slope = math.Max(slope, math.Abs(v))
		if i > 0 {
			curvature = math.Max(curvature, math.Abs(v-last)/(u-at))
		}
		last, at = v, u
	}
	return slope, curvature
}

// TestTextbookLosses: the constants of common losses are those of the function and not of
// the form in which it is written, on ranges whose ends are near, at and far from kinks.
func TestTextbookLosses(t *testing.T) {
	const tight = 1.005
	ranges := []Interval{{-0.4, 0.4}, {-1, 1}, {-2, 2}, {-4.003, 4.001}, {-5.5, 5.6}}
	if !sizes.Full() {
		ranges = ranges[2:4] // near a kink and far from it
	}
	if testing.Short() {
		ranges = ranges[1:]
	}
	for k, loss := range textbook {
		for _, on := range sizes.Of(ranges[k%len(ranges):k%len(ranges)+1], ranges) {
			var slope, curvature float64 // of the first form
			for i, text := range loss.forms {
				name := fmt.Sprintf("%s, %s on %v", loss.name, text, on)
				f := NewFunction(parsed(t, text))
				if err := f.Check(on.Lo, on.Hi); err != nil {
					t.Errorf("%s: refused: %v", name, err)
					continue
				}
				p := f.Prove(on)
				s, c := sampled(f.DPhi, on)
				if i == 0 {
					slope, curvature = s, c
				}
				must.Within(t, p.Slope.Abs(), s*(1-1e-12), slope*tight+1e-12, "%s: slope bound ..., sampled %v", name, slope)
				must.Within(t, p.Jump, 0, 1e-13, "%s: jump", name)
				if roundoff := f.DPhi.Compile().Roundoff(on); loss.smooth && !(roundoff < 1e-11) {
					t.Errorf("%s: rounding error %v", name, roundoff)
				}
				// Whether kinks and what is not convex are inside depends on the range.
				if on.Hi < 2 {
					continue
				}
				if smooth := !math.IsInf(p.Smoothness, 0); smooth != loss.smooth || p.Convex != loss.convex {
					t.Errorf("%s: smooth %v, convex %v, want %v, %v", name, smooth, p.Convex, loss.smooth, loss.convex)
				}
				if loss.smooth && !(p.Smoothness >= c*(1-1e-9) && p.Smoothness <= curvature*tight) {
					t.Errorf("%s: smoothness %v, sampled %v (this form %v)", name, p.Smoothness, curvature, c)
				}
			}
		}
	}
}

// TestHuberRadii: the Huber loss is smooth and convex with the constant 1/h on every range,
// however its ends lie to the kinks at m - h and m + h and to the centre m. With h = m the
// kink at 0 lies where abs(m - u) has roundings larger than u.
func TestHuberRadii(t *testing.T) {
	sizes.NotShort(t, "slow")
	forms := []string{
		"where(abs(m - u) <= h, (m - u)^2/(2*h), abs(m - u) - h/2)",
		"where(abs(m - u) < h, 0.5*(m - u)^2, h*(abs(m - u) - 0.5*h))/h",
	}
	scales := sizes.Of([]float64{0x1p-52, 0x1p-18}, []float64{0x1p-52, 0x1p-40, 0x1p-18, 0x1p-7, 0.1, 0.5})
	n := 0
	for i, c := range []struct{ m, h float64 }{{1, 1}, {0.5, 0.5}, {1, 0.5}, {0, 1}, {1, 3}, {0.1, 0.1}, {0.7, 0.7}} {
		radii := map[float64]bool{}
		for _, k := range []float64{c.m - c.h, c.m, c.m + c.h, 0.3, 3} {
			for _, s := range append([]float64{0}, scales...) {
				radii[math.Abs(k)*(1+s)], radii[math.Abs(k)*(1-s)], radii[math.Abs(k)+s] = true, true, true
			}
		}
		for j, text := range forms {
			if (i%3 != 0 || (i+j)%2 == 1) && !sizes.Full() {
				continue
			}
			phi := must.Get(Parse(text, map[string]float64{"m": c.m, "h": c.h}))(t)
			f := NewFunction(phi)
			for r := range radii {
				if r < 0x1p-52 {
					continue
				}
				n++
				p := f.Prove(Interval{-r, r})
				err := f.Check(-r, r)
				if err != nil || !p.Convex || !(p.Smoothness <= 1.001/c.h) || !(p.Slope.Abs() <= 1.0001) || !(p.Jump <= 0x1p-40) || !(p.Slack < 1e-13/c.h) {
					t.Fatalf("%s, m = %v, h = %v, on [-%v, %v]: %v, %+v", text, c.m, c.h, r, r, err, p)
				}
			}
		}
	}
	if n < sizes.Of(50, 100) {
		t.Errorf("only %d ranges", n)
	}
}

// TestTrueKinks: what is nearly smooth, or continuous only in print, is not called so.
func TestTrueKinks(t *testing.T) {
	on := Interval{-3, 3}
	for _, c := range []struct {
		text    string
		refused bool // it jumps
	}{
		{"max(0, 1 - u)", false},
		{"abs(u) + 0.999*log1p(exp(-2*abs(u)))", false},
		{"max(0, -u) + 1.000001*log1p(exp(-abs(u)))", false},
		{"where(abs(1 - u) <= 1, (1 - u)^2/2.000001, abs(1 - u) - 1/2)", true},
		{"where(abs(1 - u) <= 1, 0.999999*(1 - u)^2/2 + 0.0000005, abs(1 - u) - 1/2)", false},
		{"where(u > 0, 1, 0)", true},
		{"where(u >= 1, 0, where(u <= 0, 0.6 - u, (1 - u)^2/2))", true},
		{"sqrt(u^2 + 0) * 0.000001", false},
		{"abs(u) - abs(u + 0.001)", false},
		{"where(u > 1, 0, 1 - u) + max(u - 1, 0)", false},
	} {
		f := NewFunction(parsed(t, c.text))
		err, p := f.Check(on.Lo, on.Hi), f.Prove(on)
		if c.refused != (err != nil || p.Jump > 1e-9) {
			t.Errorf("%s: %v, jump %v", c.text, err, p.Jump)
		}
		if !c.refused && !math.IsInf(p.Smoothness, 0) {
			t.Errorf("%s: called smooth, %v", c.text, p.Smoothness)
		}
	}
}

// TestMovedLosses: smooth losses in pieces stay smooth and convex for constants that are not
// exact, that are large against the width of a piece, or that leave a small part of the loss
// in the range.
func TestMovedLosses(t *testing.T) {
	forms := []string{
		"where(abs(m - u) <= h, (m - u)^2/(2*h), abs(m - u) - h/2)", "where(abs(m - u) < h, 0.5*(m - u)^2, h*(abs(m - u) - 0.5*h))/h",
		"(max(0, m - u)^2 - max(0, m - h - u)^2)/(2*h)", "where(u < m - h, m - u - h/2, where(u < m, (m - u)^2/(2*h), 0))",
		"max(0, m - u) + h*log1p(exp(-abs(m - u)/h))", "h*(abs(u - m)/h + log1p(exp(-2*abs(u - m)/h)))",
	}
	rng := rand.New(rand.NewPCG(5, 6))
	n := sizes.Of(60, 600)
	for i := range n {
		h := math.Exp(6*rng.Float64() - 4)
		m := []float64{1, h, 2 * h, -h, 0, rng.Float64(), 0.001, 100}[rng.IntN(8)]
		r := math.Exp(8*rng.Float64() - 4)
		if rng.IntN(2) == 0 {
			r = math.Abs(m) + h*(1+math.Ldexp(1, -rng.IntN(50)))
		}
		text := forms[i%len(forms)]
		phi := must.Get(Parse(text, map[string]float64{"m": m, "h": h}))(t)
		f := NewFunction(phi)
		err := f.Check(-r, r)
		if p := f.Prove(Interval{-r, r}); err != nil || !p.Convex || !(p.Smoothness <= 1.01/h) || !(p.Jump <= 0x1p-40*(1+r)) || !(p.Slack <= 1e-10) {
			t.Errorf("%s, m = %v, h = %v, on [-%v, %v]: %v, %+v", text, m, h, r, r, err, p)
		}
	}
}

// TestSlopesAtTies: where several branches meet at one number, phi' as computed there and at
// the neighbouring float64 is in the proved range, and between the slopes on both sides for a
// single kink.
func TestSlopesAtTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	knots := []float64{-1, 0, 0.5, 1}
	n := sizes.Of(25, 200)
	for range n {
		k := knots[rng.IntN(len(knots))]
		part := func() Expr {
			v := Sub(U(), Const(k))
			if rng.IntN(2) == 0 {
				v = Sub(Const(k), U())
			}
			switch rng.IntN(6) {
			case 0:
				return Abs(v)
			case 1:
				return Max(v, Const(0))
			case 2:
				return Min(Const(0), v)
			case 3:
				return Where(Gt(v, Const(0)), Tanh(v), Const(0))
			case 4:
				return Where(Ge(U(), Const(k)), Mul(Const(2), v), Square(v))
			}
			return Log1p(Exp(Neg(Abs(v))))
		}
		phi := part()
		for range 1 + rng.IntN(3) {
			phi = Add(phi, Mul(Const(4*rng.Float64()-2), part()))
		}
		f := NewFunction(phi)
		on := Interval{-2, 2}
		must.CheckDo(t, f.Check(on.Lo, on.Hi), phi)
		p := f.Prove(on)
		program := f.DPhi.Compile()
		u := []float64{k, math.Nextafter(k, -9), math.Nextafter(k, 9), k - 1e-9, k + 1e-9}
		got := make([]float64, len(u))
		program.Eval(got, u, nil)
		lo, hi := math.Min(got[3], got[4])-1e-7, math.Max(got[3], got[4])+1e-7
		for i, v := range got {
			if v < p.Slope.Lo-1e-12 || v > p.Slope.Hi+1e-12 {
				t.Fatalf("%v: phi'(%v) = %v is outside of %v", phi, u[i], v, p.Slope)
			}
			if v < lo || v > hi {
				t.Errorf("%v: phi'(%v) = %v is not between %v and %v", phi, u[i], v, got[3], got[4])
			}
		}
	}
}
