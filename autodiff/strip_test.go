package autodiff

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// complexEval is e(z) for expressions without branches, by the principal branches
// of package cmplx.
func complexEval(e Expr, z complex128) complex128 {
	code := e.instrs()
	v := make([]complex128, len(code))
	for i, in := range code {
		a, b := v[in.a], v[in.b]
		switch in.op {
		case opConst:
			v[i] = complex(in.c, 0)
		case opVar:
			v[i] = z
		case opNeg:
			v[i] = -a
		case opExp:
			v[i] = cmplx.Exp(a)
		case opLog:
			v[i] = cmplx.Log(a)
		case opLog1p:
			v[i] = cmplx.Log(1 + a)
		case opExpm1:
			v[i] = cmplx.Exp(a) - 1
		case opTanh:
			v[i] = cmplx.Tanh(a)
		case opSigmoid:
			v[i] = 1 / (1 + cmplx.Exp(-a))
		case opSoftplus:
			v[i] = cmplx.Log(1 + cmplx.Exp(a))
		case opSqrt:
			v[i] = cmplx.Sqrt(a)
		case opSquare:
			v[i] = a * a
		case opSin:
			v[i] = cmplx.Sin(a)
		case opCos:
			v[i] = cmplx.Cos(a)
		case opAtan:
			v[i] = cmplx.Atan(a)
		case opErf:
			v[i] = complexErf(a)
		case opNormCDF:
			v[i] = (1 + complexErf(a/math.Sqrt2)) / 2
		case opLogNormCDF:
			v[i] = cmplx.Log((1 + complexErf(a/math.Sqrt2)) / 2)
		case opHazard:
			v[i] = cmplx.Exp(-a*a/2) / (math.Sqrt2 * sqrtPi) / ((1 + complexErf(a/math.Sqrt2)) / 2)
		case opPow:
			v[i] = cmplx.Pow(a, complex(in.c, 0))
		case opAdd:
			v[i] = a + b
		case opSub:
			v[i] = a - b
		case opMul:
			v[i] = a * b
		case opDiv:
			v[i] = a / b
		default:
			v[i] = cmplx.NaN()
		}
	}
	return v[len(v)-1]
}

// complexErf is erf x and Simpson's rule for the integral of 2i/sqrt(pi) e^(-(x + it)^2)
// from t = 0 to y.
func complexErf(z complex128) complex128 {
	const n = 400
	x, y := real(z), imag(z)
	h := y / n
	var sum complex128
	for k := range n + 1 {
		weight := []complex128{2, 4}[k%2]
		if k == 0 || k == n {
			weight = 1
		}
		w := complex(x, float64(k)*h)
		sum += weight * cmplx.Exp(-w*w)
	}
	return complex(math.Erf(x), 0) + sum*complex(0, 2/sqrtPi*h/3)
}

// TestStripBoundHolds: |phi'| at random points of the strip is at most the bound,
// and comes within 10 % of it often.
func TestStripBoundHolds(t *testing.T) {
	n := sizes.Of(80, 200)
	if testing.Short() {
		n = 60
	}
	rng := rand.New(rand.NewPCG(17, 18))
	finiteBounds, close := 0, 0
	for range n {
		d := randomExpr(rng, 1+rng.IntN(3), true).Derivative()
		centre, half := 6*rng.Float64()-3, math.Ldexp(1+rng.Float64(), rng.IntN(4)-3)
		on := Interval{centre - half, centre + half}
		h := math.Ldexp(1+rng.Float64(), rng.IntN(5)-5)
		bound := d.StripBound(on, h)
		if math.IsInf(bound, 1) {
			continue
		}
		finiteBounds++
		most := 0.0
		for k := range 200 {
			z := complex(on.random(rng), h*(2*rng.Float64()-1))
			if k%2 == 0 { // where the maximum is
				z = complex(math.Max(on.Lo, math.Min(on.Hi, on.Lo+2*half*float64(k)/198)), h)
			}
			most = math.Max(most, cmplx.Abs(complexEval(d, z)))
		}
		if most > bound*(1+1e-9)+1e-300 {
			t.Fatalf("|%v| reaches %v on %v +- %vi, StripBound says %v", d, most, on, h, bound)
		}
		if most >= 0.9*bound {
			close++
		}
	}
	t.Logf("%d bounds, %d within 10 %%", finiteBounds, close)
	if finiteBounds < n/3 || close < finiteBounds*3/4 {
		t.Errorf("%d of %d strips bounded, %d within 10 %%", finiteBounds, n, close)
	}
}

// TestRectanglesContain: complex results of random points of random rectangles
// are in the results of the operations; a rectangle product without the cross
// terms is caught.
func TestRectanglesContain(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 400
	}
	type unary struct {
		f func(rectangle) rectangle
		g func(complex128) complex128
	}
	for name, c := range map[string]unary{
		"inverse":  {rectangle.inverse, func(z complex128) complex128 { return 1 / z }},
		"square":   {rectangle.square, func(z complex128) complex128 { return z * z }},
		"exp":      {rectangle.exp, cmplx.Exp},
		"log":      {rectangle.log, cmplx.Log},
		"sqrt":     {rectangle.sqrt, cmplx.Sqrt},
		"sin":      {rectangle.sin, cmplx.Sin},
		"cos":      {rectangle.cos, cmplx.Cos},
		"tanh":     {rectangle.tanh, cmplx.Tanh},
		"sigmoid":  {rectangle.sigmoid, func(z complex128) complex128 { return 1 / (1 + cmplx.Exp(-z)) }},
		"softplus": {rectangle.softplus, func(z complex128) complex128 { return cmplx.Log(1 + cmplx.Exp(z)) }},
		"cube":     {func(a rectangle) rectangle { return a.pow(3) }, func(z complex128) complex128 { return z * z * z }},
		"1.3":      {func(a rectangle) rectangle { return a.pow(1.3) }, func(z complex128) complex128 { return cmplx.Pow(z, 1.3) }},
	} {
		if bad, seen := strays(c.f, c.g, n); bad > 0 || seen < n/5 {
			t.Errorf("%s: %d of %d results outside", name, bad, seen)
		}
	}
	wrong := func(a rectangle) rectangle { return rectangle{a.re.square().sub(a.im.square()), a.re.mul(a.im)} }
	if bad, _ := strays(wrong, func(z complex128) complex128 { return z * z }, n); bad == 0 {
		t.Error("a wrong square is not caught")
	}
}

func strays(f func(rectangle) rectangle, g func(complex128) complex128, n int) (bad, seen int) {
	rng := rand.New(rand.NewPCG(19, 20))
	for range n {
		a := rectangle{randomInterval(rng, 3), randomInterval(rng, 3)}
		r := f(a)
		if r.undefined() {
			continue
		}
		seen++
		z := g(complex(a.re.random(rng), a.im.random(rng)))
		slack := 1e-10*cmplx.Abs(z) + 1e-300
		if math.IsNaN(slack) || math.IsInf(slack, 0) {
			continue
		}
		if real(z) < r.re.Lo-slack || real(z) > r.re.Hi+slack || imag(z) < r.im.Lo-slack || imag(z) > r.im.Hi+slack {
			bad++
		}
	}
	return bad, seen
}

// TestStripBoundKnown: the logistic loss against the bound by hand, 1/sin h, and
// strips that reach a singularity or hold a kink.
func TestStripBoundKnown(t *testing.T) {
	logistic := parsed(t, "log1p(exp(-u))").Derivative()
	on := Interval{-20, 20}
	for _, h := range []float64{0, 0.1, 1, 1.5, 1.6, 2, 2.5, 3, 3.1, 3.14} {
		want := 1.0
		if h > math.Pi/2 {
			want = 1 / math.Sin(h)
		}
		must.Within(t, logistic.StripBound(on, h), want*0.999, 1.02*want, "logistic at height %v: ..., by hand %v", h, want)
	}
	for _, c := range []struct {
		text   string
		height float64
		ok     bool
	}{
		{"log1p(exp(-u))", 3.142, false},
		{"log1p(exp(-u))", 40, false},
		{"sqrt(1 + u^2)", 0.999, true},
		{"sqrt(1 + u^2)", 1, false},
		{"log(1 + (1-u)^2)", 0.99, true},
		{"log(1 + (1-u)^2)", 1.001, false},
		{"tanh(u)", 1.55, true},
		{"tanh(u)", 1.58, false},
		{"exp(-u^2)", 5, true},
		{"u*softplus(u)", 3, true},
		{"u*softplus(u)", 3.2, false},
		{"max(0, 1-u)", 0.1, false},
		{"abs(u)", 0.1, false},
		{"max(-30, u)^2", 7, true}, // the kink is outside the range
		{"where(u > -30, u^3, 1/u)", 7, true},
		{"where(u > 0, u^2, 0)", 0.1, false},
	} {
		got := parsed(t, c.text).Derivative().StripBound(on, c.height)
		if math.IsInf(got, 1) == c.ok || math.IsNaN(got) {
			t.Errorf("%s at height %v: %v", c.text, c.height, got)
		}
	}
	for _, h := range []float64{-1, nan, inf} {
		if got := logistic.StripBound(on, h); !math.IsInf(got, 1) {
			t.Errorf("height %v: %v", h, got)
		}
	}
}
