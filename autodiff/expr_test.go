package autodiff

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// definitions are functions with a hand-written derivative, which Derivative
// must match on (lo, hi).
var definitions = []struct {
	name   string
	expr   Expr
	lo, hi float64
	value  func(u float64) float64
	slope  func(u float64) float64
}{
	{"const", Const(3), -5, 5, func(float64) float64 { return 3 }, func(float64) float64 { return 0 }},
	{"variable", U(), -5, 5, func(u float64) float64 { return u }, func(float64) float64 { return 1 }},
	{"neg", Neg(U()), -5, 5, func(u float64) float64 { return -u }, func(float64) float64 { return -1 }},
	{"add", Add(U(), Sin(U())), -5, 5, func(u float64) float64 { return u + math.Sin(u) }, func(u float64) float64 { return 1 + math.Cos(u) }},
	{"sub", Sub(Cos(U()), U()), -5, 5, func(u float64) float64 { return math.Cos(u) - u }, func(u float64) float64 { return -math.Sin(u) - 1 }},
	{"mul", Mul(U(), Exp(U())), -5, 5, func(u float64) float64 { return u * math.Exp(u) }, func(u float64) float64 { return (1 + u) * math.Exp(u) }},
	{"div", Div(U(), Add(Const(1), Square(U()))), -5, 5,
		func(u float64) float64 { return u / (1 + u*u) },
		func(u float64) float64 { return (1 - u*u) / ((1 + u*u) * (1 + u*u)) }},
	{"exp", Exp(Mul(Const(-2), U())), -5, 5, func(u float64) float64 { return math.Exp(-2 * u) }, func(u float64) float64 { return -2 * math.Exp(-2*u) }},
	{"log", Log(U()), 0.1, 9, math.Log, func(u float64) float64 { return 1 / u }},
	{"log1p", Log1p(U()), -0.9, 9, math.Log1p, func(u float64) float64 { return 1 / (1 + u) }},
	{"expm1", Expm1(U()), -5, 5, math.Expm1, math.Exp},
	{"tanh", Tanh(U()), -5, 5, math.Tanh, func(u float64) float64 { return 1 / (math.Cosh(u) * math.Cosh(u)) }},
	{"sigmoid", Sigmoid(U()), -5, 5,
		func(u float64) float64 { return 1 / (1 + math.Exp(-u)) },
		func(u float64) float64 { return 1 / (2 + 2*math.Cosh(u)) }},
	{"softplus", Softplus(U()), -5, 5,
		func(u float64) float64 { return math.Log(1 + math.Exp(u)) },
		func(u float64) float64 { return 1 / (1 + math.Exp(-u)) }},
	{"sqrt", Sqrt(U()), 0.1, 9, math.Sqrt, func(u float64) float64 { return 1 / (2 * math.Sqrt(u)) }},
	{"square", Square(U()), -5, 5, func(u float64) float64 { return u * u }, func(u float64) float64 { return 2 * u }},
	{"pow", Pow(U(), -1.5), 0.1, 9, func(u float64) float64 { return math.Pow(u, -1.5) }, func(u float64) float64 { return -1.5 * math.Pow(u, -2.5) }},
	{"abs", Abs(U()), -5, 5, math.Abs, func(u float64) float64 { return math.Copysign(1, u) }},
	{"max", Max(U(), Square(U())), 1.1, 5, func(u float64) float64 { return u * u }, func(u float64) float64 { return 2 * u }},
	{"min", Min(U(), Square(U())), 1.1, 5, func(u float64) float64 { return u }, func(float64) float64 { return 1 }},
	{"ge", Mul(Ge(U(), Const(0)), U()), -5, 5, func(u float64) float64 { return math.Max(u, 0) }, func(u float64) float64 { return mask(u >= 0) }},
	{"gt", Mul(Gt(Const(0), U()), U()), -5, 5, func(u float64) float64 { return math.Min(u, 0) }, func(u float64) float64 { return mask(u < 0) }},
}

func TestDerivativeMatchesHandFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range definitions {
		slope := d.expr.Derivative()
		for range 500 {
			u := d.lo + (d.hi-d.lo)*rng.Float64()
			if got, want := d.expr.Eval(u), d.value(u); !near(got, want, 1e-13) {
				t.Fatalf("%s: %v at %v is %v, want %v", d.name, d.expr, u, got, want)
			}
			if got, want := slope.Eval(u), d.slope(u); !near(got, want, 1e-12) {
				t.Fatalf("%s: derivative %v at %v is %v, want %v", d.name, slope, u, got, want)
			}
		}
	}
}

func near(a, b, tol float64) bool {
	return math.Abs(a-b) <= tol*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

// TestSecondDerivative uses the derivative that Gorgonia gets wrong.
func TestSecondDerivative(t *testing.T) {
	dd := Tanh(U()).Derivative().Derivative()
	x := math.Tanh(0.7)
	if got, want := dd.Eval(0.7), -2*x*(1-x*x); !near(got, want, 1e-14) {
		t.Errorf("tanh''(0.7) = %v, want %v", got, want)
	}
	dd = Softplus(Neg(U())).Derivative().Derivative()
	must.Equal(t, dd.Eval(0), 0.25, "second derivative of the logistic loss at 0")
}

func TestStableForms(t *testing.T) {
	u, one := U(), Const(1)
	inv := func(e Expr) Expr { return Div(one, e) }
	for _, c := range []struct {
		got, want Expr
	}{
		{Log(Add(one, Exp(Neg(u)))), Softplus(Neg(u))},
		{Log(Add(Exp(u), one)), Softplus(u)},
		{Log1p(Exp(u)), Softplus(u)},
		{Log(Sub(one, Sigmoid(u))), Neg(Softplus(u))},
		{Log(Sigmoid(u)), Neg(Softplus(Neg(u)))},
		{Sub(Exp(u), one), Expm1(u)},
		{Sub(one, Sigmoid(u)), Sigmoid(Neg(u))},
		{inv(Add(one, Exp(Neg(u)))), Sigmoid(u)},
		{Div(Exp(u), Add(one, Exp(u))), Sigmoid(u)},
		{Div(Mul(Const(3), Exp(Neg(u))), Add(Exp(Neg(u)), one)), Mul(Const(3), Sigmoid(Neg(u)))},
		{Mul(Exp(Neg(Exp(Neg(u)))), Exp(Neg(u))), Exp(Sub(Neg(Exp(Neg(u))), u))},
		{Neg(Neg(u)), u},
		{Mul(u, Const(0)), Const(0)},
		{Add(u, Const(0)), u},
		{Mul(u, u), Square(u)},
		{Pow(u, 2), Square(u)},
		{Mul(Const(2), Mul(u, Const(3))), Mul(Const(6), u)},
	} {
		if c.got.String() != c.want.String() {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

// TestRewritesKeepTheValue applies every operation to all pairs of a pool that
// holds the patterns of the rewriting rules, and then every function to all
// results, and compares with the same operations on numbers.
func TestRewritesKeepTheValue(t *testing.T) {
	sizes.NotShort(t, "slow")
	u := U()
	pool := []Expr{
		u, Neg(u), Const(0), Const(1), Const(-1), Const(2), Exp(u), Exp(Neg(u)), Exp(Square(u)),
		Sigmoid(u), Sigmoid(Neg(u)), Add(Const(1), Exp(u)), Add(Exp(Neg(u)), Const(1)), Expm1(u),
		Mul(Const(-3), u), Sub(Const(1), Exp(u)), Square(u), Div(Const(2), u), Mul(u, Exp(u)),
	}
	checked := 0
	for _, at := range []float64{-1.7, 0.3, 2.2} {
		for _, x := range pool {
			for _, y := range pool {
				for o := opAdd; o <= opGt; o++ {
					e, want := combine(o, x, y), evalBinary(o, x.Eval(at), y.Eval(at))
					compareValue(t, e, at, want)
					for f := opNeg; f <= opHazard; f++ {
						// Functions with steep parts or poles amplify the last
						// digits of their argument.
						if v := evalUnary(f, want, 0); math.Abs(want) < 20 && math.Abs(want) > 1e-3 {
							compareValue(t, unary(f, e), at, v)
							checked++
						}
					}
				}
			}
		}
	}
	if checked < 50000 {
		t.Errorf("only %d compositions checked", checked)
	}
}

func compareValue(t *testing.T, e Expr, at, want float64) {
	t.Helper()
	if got := e.Eval(at); finite(want) && !near(got, want, 1e-9) {
		t.Fatalf("%v at %v is %v, want %v", e, at, got, want)
	}
}

// TestRoundingEstimate: the estimate covers an actual rounding error that only
// arises because an operand's error is passed on, and is not far above it.
func TestRoundingEstimate(t *testing.T) {
	lost := Sub(Add(Const(1), U()), Const(1)) // u without its last digits
	amplified := Exp(Mul(Const(40), lost))
	for _, u := range []float64{1e-3, 1.1e-7, 3.3e-12} {
		v, err := lost.evalErr(u)
		if actual := math.Abs(v - u); actual == 0 || actual > err || err > 1e-15 {
			t.Errorf("u = %v: error %v, estimate %v", u, actual, err)
		}
		v, err = amplified.evalErr(u)
		if actual := math.Abs(v - math.Exp(40*u)); actual > err || err > 1e-13 {
			t.Errorf("u = %v: error %v, estimate %v after exp(40 u)", u, actual, err)
		}
	}
}

// TestStableValues compares softplus and sigmoid, and the derivative of
// softplus, with 200-bit arithmetic far outside the range of exp.
func TestStableValues(t *testing.T) {
	loss := Log(Add(Const(1), Exp(Neg(U()))))
	slope := loss.Derivative()
	for _, u := range []float64{-1e300, -1000, -745, -40, -1, 0, 1e-9, 1, 36, 40, 700, 1000} {
		wantLoss, wantSlope := logisticReference(u)
		must.Near(t, loss.Eval(u), wantLoss, 4e-16*math.Abs(wantLoss), "phi(%v)", u)
		must.Near(t, slope.Eval(u), wantSlope, 4e-16*math.Abs(wantSlope), "phi'(%v)", u)
	}
}

// logisticReference is log(1+e^-u) and -1/(1+e^u) in big arithmetic.
func logisticReference(u float64) (loss, slope float64) {
	switch {
	case u > 760: // e^-|u| is below the smallest float64
		return 0, 0
	case u < -760:
		return -u, -1
	}
	loss, _ = bigUnary(opSoftplus, bigOf(-u), 0).Float64()
	slope, _ = bigSigmoid(bigOf(-u)).Float64()
	return loss, -slope
}

func TestString(t *testing.T) {
	u := U()
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{Expr{}, "0"},
		{Sub(u, Sub(Const(2), u)), "u - (2 - u)"},
		{Mul(Const(-2), Add(u, Const(1))), "-2*(1 + u)"},
		{Div(u, Mul(u, Exp(u))), "u/(u*exp(u))"},
		{Neg(Add(u, Tanh(u))), "-(u + tanh(u))"},
		{Max(Const(0), Sub(Const(1), u)), "max(0, 1 - u)"},
		{Pow(u, 1.5), "pow(u, 1.5)"},
		{Ge(u, Const(0)), "ge(u, 0)"},
	} {
		must.Equal(t, c.e.String(), c.want, "got")
	}
}

// TestSharing: a chain whose tree has 2^40 leaves stays small in code, in its
// derivative and in text, and evaluates at once.
func TestSharing(t *testing.T) {
	e := U()
	for range 40 {
		e = Tanh(Add(e, Sin(e)))
	}
	if e.Size() > 200 || e.Derivative().Size() > 1000 {
		t.Errorf("sizes %d and %d", e.Size(), e.Derivative().Size())
	}
	if s := e.String(); len(s) > 4000 {
		t.Errorf("formula of %d characters", len(s))
	}
	if v := e.Eval(0.5); !finite(v) {
		t.Errorf("value %v", v)
	}
}

func TestExprIsImmutable(t *testing.T) {
	e := Add(U(), Exp(U()))
	before := e.String()
	Neg(e).Derivative()
	Mul(e, e)
	must.Equal(t, e.String(), before, "%q became %q", before, e)
}

// randomExpr is a random expression of about the given depth, smooth or with
// kinks and jumps.
func randomExpr(rng *rand.Rand, depth int, smooth bool) Expr {
	if depth == 0 {
		switch rng.IntN(3) {
		case 0:
			return Const([]float64{0, 1, -1, 2, 0.5, 0.1, -0.3, 3}[rng.IntN(8)])
		case 1:
			return Mul(Const(4*rng.Float64()-2), U())
		}
		return U()
	}
	sub := func() Expr { return randomExpr(rng, depth-1, smooth) }
	if !smooth {
		switch rng.IntN(6) {
		case 0:
			return Max(sub(), sub())
		case 1:
			return Min(sub(), sub())
		case 2:
			return Abs(sub())
		case 3:
			return Where(Gt(U(), Const(2*rng.Float64()-1)), sub(), sub())
		case 4:
			return Mul(Ge(sub(), sub()), sub())
		}
	}
	switch rng.IntN(20) {
	case 0:
		return Exp(Neg(Square(sub())))
	case 1:
		return Log(Add(Const(1.5), Square(sub())))
	case 2:
		return Tanh(sub())
	case 3:
		return Sigmoid(sub())
	case 4:
		return Softplus(sub())
	case 5:
		return Sqrt(Add(Const(1), Square(sub())))
	case 6:
		return Square(sub())
	case 7:
		return Sin(sub())
	case 8:
		return Cos(sub())
	case 9:
		return Div(sub(), Add(Const(1), Square(sub())))
	case 10:
		return Pow(Add(Const(2), Square(sub())), []float64{1.5, -0.5, 3, -2}[rng.IntN(4)])
	case 11:
		return Sub(sub(), sub())
	case 12:
		return Mul(sub(), sub())
	case 13:
		return Exp(sub())
	case 14:
		return Log1p(Square(sub()))
	case 15:
		return Atan(sub())
	case 16:
		return Erf(sub())
	case 17:
		return NormCDF(sub())
	case 18:
		return LogNormCDF(sub())
	}
	return Add(sub(), sub())
}

// randomTies is a random expression in which several kinks lie at one place and branches
// meet.
func randomTies(rng *rand.Rand, depth int) Expr {
	sub := func() Expr { return randomExpr(rng, depth, false) }
	at := Sub(U(), Const([]float64{0, 0.3, 1}[rng.IntN(3)]))
	v, l := sub(), Sub(sub(), at)
	return Add(Add(Abs(at), Mul(Max(Const(0), at), sub())), Where(Gt(l, Const(0)), Add(v, Mul(sub(), l)), Sub(v, Mul(sub(), l))))
}
