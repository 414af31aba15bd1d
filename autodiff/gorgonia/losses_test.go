package gorgonia

import (
	"math"
	"testing"

	"dyad/autodiff"
	"dyad/internal/must"

	"gorgonia.org/gorgonia"
)

func mask(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sigm(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / (1 + math.Exp(x))
	}
	return 1 / (1 + math.Exp(-x))
}

// handLosses are losses with phi' by hand; build is the same loss as a Gorgonia
// graph where its operations exist.
var handLosses = []struct {
	name  string
	text  string
	slope func(u float64) float64
	build func(graph, node) node
}{
	{"logistic", "log1p(exp(-u))", func(u float64) float64 { return -sigm(-u) }, chain(gorgonia.Neg, gorgonia.Exp, gorgonia.Log1p)},
	{"logistic, log", "log(1 + exp(-u))", func(u float64) float64 { return -sigm(-u) }, chain(gorgonia.Neg, gorgonia.Exp, left(gorgonia.Add, 1), gorgonia.Log)},
	{"logistic, softplus", "softplus(-u)", func(u float64) float64 { return -sigm(-u) }, chain(gorgonia.Neg, gorgonia.Softplus)},
	{"logistic, scaled", "softplus(-4*u)/4", func(u float64) float64 { return -sigm(-4 * u) }, chain(left(gorgonia.HadamardProd, -4), gorgonia.Softplus, right(gorgonia.HadamardDiv, 4))},
	{"hinge", "max(0, 1-u)", func(u float64) float64 { return -mask(u <= 1) }, chain(left(gorgonia.Sub, 1), gorgonia.Rectify)},
	{"hinge, where", "where(u < 1, 1-u, 0)", func(u float64) float64 { return -mask(u < 1) }, nil},
	{"squared hinge", "max(0, 1-u)^2", func(u float64) float64 { return -2 * math.Max(0, 1-u) }, chain(left(gorgonia.Sub, 1), gorgonia.Rectify, gorgonia.Square)},
	{"cubed hinge", "max(0, 1-u)^3", func(u float64) float64 { return -3 * math.Pow(math.Max(0, 1-u), 2) }, chain(left(gorgonia.Sub, 1), gorgonia.Rectify, gorgonia.Cube)},
	{"huberised hinge", "(max(0, 1-u)^2 - max(0, -u)^2)/2", func(u float64) float64 { return math.Min(0, math.Max(-1, u-1)) }, func(_ graph, u node) node {
		a := mustNode(gorgonia.Square(mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(num(1), u))))))
		b := mustNode(gorgonia.Square(mustNode(gorgonia.Rectify(mustNode(gorgonia.Neg(u))))))
		return mustNode(gorgonia.HadamardProd(num(0.5), mustNode(gorgonia.Sub(a, b))))
	}},
	{"ramp", "max(0, 1-u) - max(0, -u)", func(u float64) float64 { return mask(u <= 0) - mask(u <= 1) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Sub(mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(num(1), u)))), mustNode(gorgonia.Rectify(mustNode(gorgonia.Neg(u))))))
	}},
	{"ramp, clamp", "clamp((1-u)/2, 0, 1)", func(u float64) float64 { return -mask(-1 <= u && u <= 1) / 2 }, nil},
	{"exponential", "exp(-u/8)", func(u float64) float64 { return -math.Exp(-u/8) / 8 }, chain(left(gorgonia.HadamardProd, -0.125), gorgonia.Exp)},
	{"Gompertz", "1 - exp(-2*exp(-u))", func(u float64) float64 { return -2 * math.Exp(-u-2*math.Exp(-u)) }, chain(gorgonia.Neg, gorgonia.Exp, left(gorgonia.HadamardProd, -2), gorgonia.Exp, left(gorgonia.Sub, 1))},
	{"sigmoid", "sigmoid(-u)", func(u float64) float64 { return -sigm(u) * sigm(-u) }, chain(gorgonia.Neg, gorgonia.Sigmoid)},
	{"sigmoid, written out", "1/(1 + exp(u))", func(u float64) float64 { return -sigm(u) * sigm(-u) }, chain(gorgonia.Exp, left(gorgonia.Add, 1), gorgonia.Inverse)},
	{"savage", "sigmoid(-2*u)^2", func(u float64) float64 { return -4 * sigm(-2*u) * sigm(-2*u) * sigm(2*u) }, chain(left(gorgonia.HadamardProd, -2), gorgonia.Sigmoid, gorgonia.Square)},
	{"square", "(1-u)^2", func(u float64) float64 { return 2 * (u - 1) }, chain(left(gorgonia.Sub, 1), gorgonia.Square)},
	{"absolute", "abs(1-u)", func(u float64) float64 { return mask(u > 1) - mask(u <= 1) }, chain(left(gorgonia.Sub, 1), gorgonia.Abs)},
	{"Huber", "where(abs(u) < 2, u^2/2, 2*abs(u) - 2)", func(u float64) float64 { return math.Max(-2, math.Min(2, u)) }, nil},
	{"pseudo-Huber", "sqrt(1 + u^2) - 1", func(u float64) float64 { return u / math.Sqrt(1+u*u) }, chain(gorgonia.Square, left(gorgonia.Add, 1), gorgonia.Sqrt, right(gorgonia.Sub, 1))},
	{"log-cosh", "u + softplus(-2*u) - log(2)", math.Tanh, func(_ graph, u node) node {
		s := mustNode(gorgonia.Softplus(mustNode(gorgonia.HadamardProd(num(-2), u))))
		return mustNode(gorgonia.Sub(mustNode(gorgonia.Add(u, s)), num(math.Ln2)))
	}},
	{"Cauchy", "log1p(u^2)", func(u float64) float64 { return 2 * u / (1 + u*u) }, chain(gorgonia.Square, gorgonia.Log1p)},
	{"Geman-McClure", "u^2/(1 + u^2)", func(u float64) float64 { return 2 * u / ((1 + u*u) * (1 + u*u)) }, func(_ graph, u node) node {
		s := mustNode(gorgonia.Square(u))
		return mustNode(gorgonia.HadamardDiv(s, mustNode(gorgonia.Add(num(1), mustNode(gorgonia.Square(u))))))
	}},
	{"Welsch", "1 - exp(-u^2/2)", func(u float64) float64 { return u * math.Exp(-u*u/2) }, chain(gorgonia.Square, left(gorgonia.HadamardProd, -0.5), gorgonia.Expm1, gorgonia.Neg)},
	{"tanh", "1 - tanh(u)", func(u float64) float64 { return -4 * sigm(2*u) * sigm(-2*u) }, chain(gorgonia.Tanh, left(gorgonia.Sub, 1))},
	{"power", "(1 + u^2)^0.75", func(u float64) float64 { return 1.5 * u * math.Pow(1+u*u, -0.25) }, chain(gorgonia.Square, left(gorgonia.Add, 1), right(gorgonia.Pow, 0.75))},
	{"leaky hinge", "max(0.1*(1-u), 1-u)", func(u float64) float64 { return -0.1 - 0.9*mask(u < 1) }, func(_ graph, u node) node {
		return mustNode(gorgonia.LeakyRelu(mustNode(gorgonia.Sub(num(1), u)), 0.1))
	}},
	{"mish", "u*tanh(softplus(u))", mishSlope, chain(gorgonia.Mish)},
	{"swish", "u*sigmoid(u)", func(u float64) float64 { return sigm(u) + u*sigm(u)*sigm(-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.HadamardProd(u, mustNode(gorgonia.Sigmoid(u))))
	}},
	{"sine", "u + sin(u)", func(u float64) float64 { return 1 + math.Cos(u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Add(u, mustNode(gorgonia.Sin(u))))
	}},
	{"cosine", "1 - cos(3*u)", func(u float64) float64 { return 3 * math.Sin(3*u) }, chain(left(gorgonia.HadamardProd, 3), gorgonia.Cos, left(gorgonia.Sub, 1))},
	{"modified Huber", "where(u < -1, -4*u, max(0, 1-u)^2)", func(u float64) float64 {
		if u < -1 {
			return -4
		}
		return -2 * math.Max(0, 1-u)
	}, nil},
	{"unhinged", "1 - u", func(float64) float64 { return -1 }, chain(left(gorgonia.Sub, 1))},
	{"smooth hinge", "where(u >= 1, 0, where(u <= 0, 0.5 - u, (1-u)^2/2))", func(u float64) float64 { return math.Min(0, math.Max(-1, u-1)) }, nil},
}

func mishSlope(u float64) float64 {
	s := math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u)))
	t := math.Tanh(s)
	return t + u*sigm(u)*4*sigm(2*s)*sigm(-2*s)
}

// TestHandFormulas: phi' from the text, as an expression and as a program, and from
// the Gorgonia graph (Gorgonia's derivative and our own) agrees with the formula by
// hand to 1e-12 relative to max(1, |phi'|) on [-50, 50].
func TestHandFormulas(t *testing.T) {
	const tolerance = 1e-12
	if len(handLosses) < 30 {
		t.Fatalf("only %d losses", len(handLosses))
	}
	u := make([]float64, 0, 4100)
	for k := -2000; k <= 2000; k++ {
		u = append(u, float64(k)/40+1e-3) // beside the kinks
	}
	built := 0
	for _, l := range handLosses {
		phi := must.Get(autodiff.Parse(l.text, nil))(t, l.name)
		forms := map[string]autodiff.Expr{"text": phi.Derivative()}
		if l.build != nil {
			built++
			f := must.Get(FromGraph(l.build))(t, l.name)
			must.CheckDo(t, f.Check(-50, 50), l.name)
			forms["Gorgonia's derivative"], forms["graph"] = f.DPhi, f.Phi.Derivative()
		}
		must.CheckDo(t, autodiff.NewFunction(phi).Check(-50, 50), l.name)
		for form, d := range forms {
			v := make([]float64, len(u))
			d.Compile().Eval(v, u, nil)
			for i, x := range u {
				want := l.slope(x)
				limit := tolerance * math.Max(1, math.Abs(want))
				if got := d.Eval(x); !(math.Abs(got-want) <= limit) || !(math.Abs(v[i]-want) <= limit) {
					t.Errorf("%s, %s: phi'(%v) = %v, as a program %v, by hand %v\n%v", l.name, form, x, got, v[i], want, d)
					break
				}
			}
			// Control: another loss in its place is seen.
			if got := d.Eval(-0.37) + 1e-9; math.Abs(got-l.slope(-0.37)) <= tolerance*math.Max(1, math.Abs(got)) {
				t.Errorf("%s, %s: an error of 1e-9 would not be seen", l.name, form)
			}
		}
	}
	if built < 24 {
		t.Errorf("only %d as Gorgonia graphs", built)
	}
}
