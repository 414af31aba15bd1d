package gorgonia_test

import (
	"math"
	"testing"

	"dyad/autodiff"
	graphs "dyad/autodiff/gorgonia"
	"dyad/internal/must"

	"gorgonia.org/gorgonia"
)

type (
	graph = *gorgonia.ExprGraph
	node  = *gorgonia.Node
)

func num(c float64) node { return gorgonia.NewConstant(c) }

func mustNode(n node, err error) node { return gorgonia.Must(n, err) }

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
	{"logistic", "log1p(exp(-u))", func(u float64) float64 { return -sigm(-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Log1p(mustNode(gorgonia.Exp(mustNode(gorgonia.Neg(u))))))
	}},
	{"logistic, log", "log(1 + exp(-u))", func(u float64) float64 { return -sigm(-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Log(mustNode(gorgonia.Add(num(1), mustNode(gorgonia.Exp(mustNode(gorgonia.Neg(u))))))))
	}},
	{"logistic, softplus", "softplus(-u)", func(u float64) float64 { return -sigm(-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Softplus(mustNode(gorgonia.Neg(u))))
	}},
	{"logistic, scaled", "softplus(-4*u)/4", func(u float64) float64 { return -sigm(-4 * u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.HadamardDiv(mustNode(gorgonia.Softplus(mustNode(gorgonia.HadamardProd(num(-4), u)))), num(4)))
	}},
	{"hinge", "max(0, 1-u)", func(u float64) float64 { return -mask(u <= 1) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(num(1), u))))
	}},
	{"hinge, where", "where(u < 1, 1-u, 0)", func(u float64) float64 { return -mask(u < 1) }, nil},
	{"squared hinge", "max(0, 1-u)^2", func(u float64) float64 { return -2 * math.Max(0, 1-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Square(mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(num(1), u))))))
	}},
	{"cubed hinge", "max(0, 1-u)^3", func(u float64) float64 { return -3 * math.Pow(math.Max(0, 1-u), 2) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Cube(mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(num(1), u))))))
	}},
	{"huberised hinge", "(max(0, 1-u)^2 - max(0, -u)^2)/2", func(u float64) float64 { return math.Min(0, math.Max(-1, u-1)) }, func(_ graph, u node) node {
		a := mustNode(gorgonia.Square(mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(num(1), u))))))
		b := mustNode(gorgonia.Square(mustNode(gorgonia.Rectify(mustNode(gorgonia.Neg(u))))))
		return mustNode(gorgonia.HadamardProd(num(0.5), mustNode(gorgonia.Sub(a, b))))
	}},
	{"ramp", "max(0, 1-u) - max(0, -u)", func(u float64) float64 { return mask(u <= 0) - mask(u <= 1) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Sub(mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(num(1), u)))), mustNode(gorgonia.Rectify(mustNode(gorgonia.Neg(u))))))
	}},
	{"ramp, clamp", "clamp((1-u)/2, 0, 1)", func(u float64) float64 { return -mask(-1 <= u && u <= 1) / 2 }, nil},
	{"exponential", "exp(-u/8)", func(u float64) float64 { return -math.Exp(-u/8) / 8 }, func(_ graph, u node) node {
		return mustNode(gorgonia.Exp(mustNode(gorgonia.HadamardProd(num(-0.125), u))))
	}},
	{"Gompertz", "1 - exp(-2*exp(-u))", func(u float64) float64 { return -2 * math.Exp(-u-2*math.Exp(-u)) }, func(_ graph, u node) node {
		e := mustNode(gorgonia.HadamardProd(num(-2), mustNode(gorgonia.Exp(mustNode(gorgonia.Neg(u))))))
		return mustNode(gorgonia.Sub(num(1), mustNode(gorgonia.Exp(e))))
	}},
	{"sigmoid", "sigmoid(-u)", func(u float64) float64 { return -sigm(u) * sigm(-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Sigmoid(mustNode(gorgonia.Neg(u))))
	}},
	{"sigmoid, written out", "1/(1 + exp(u))", func(u float64) float64 { return -sigm(u) * sigm(-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Inverse(mustNode(gorgonia.Add(num(1), mustNode(gorgonia.Exp(u))))))
	}},
	{"savage", "sigmoid(-2*u)^2", func(u float64) float64 { return -4 * sigm(-2*u) * sigm(-2*u) * sigm(2*u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Square(mustNode(gorgonia.Sigmoid(mustNode(gorgonia.HadamardProd(num(-2), u))))))
	}},
	{"square", "(1-u)^2", func(u float64) float64 { return 2 * (u - 1) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Square(mustNode(gorgonia.Sub(num(1), u))))
	}},
	{"absolute", "abs(1-u)", func(u float64) float64 { return mask(u > 1) - mask(u <= 1) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Abs(mustNode(gorgonia.Sub(num(1), u))))
	}},
	{"Huber", "where(abs(u) < 2, u^2/2, 2*abs(u) - 2)", func(u float64) float64 { return math.Max(-2, math.Min(2, u)) }, nil},
	{"pseudo-Huber", "sqrt(1 + u^2) - 1", func(u float64) float64 { return u / math.Sqrt(1+u*u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Sub(mustNode(gorgonia.Sqrt(mustNode(gorgonia.Add(num(1), mustNode(gorgonia.Square(u)))))), num(1)))
	}},
	{"log-cosh", "u + softplus(-2*u) - log(2)", math.Tanh, func(_ graph, u node) node {
		s := mustNode(gorgonia.Softplus(mustNode(gorgonia.HadamardProd(num(-2), u))))
		return mustNode(gorgonia.Sub(mustNode(gorgonia.Add(u, s)), num(math.Ln2)))
	}},
	{"Cauchy", "log1p(u^2)", func(u float64) float64 { return 2 * u / (1 + u*u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Log1p(mustNode(gorgonia.Square(u))))
	}},
	{"Geman-McClure", "u^2/(1 + u^2)", func(u float64) float64 { return 2 * u / ((1 + u*u) * (1 + u*u)) }, func(_ graph, u node) node {
		s := mustNode(gorgonia.Square(u))
		return mustNode(gorgonia.HadamardDiv(s, mustNode(gorgonia.Add(num(1), mustNode(gorgonia.Square(u))))))
	}},
	{"Welsch", "1 - exp(-u^2/2)", func(u float64) float64 { return u * math.Exp(-u*u/2) }, func(_ graph, u node) node {
		e := mustNode(gorgonia.HadamardProd(num(-0.5), mustNode(gorgonia.Square(u))))
		return mustNode(gorgonia.Neg(mustNode(gorgonia.Expm1(e))))
	}},
	{"tanh", "1 - tanh(u)", func(u float64) float64 { return -4 * sigm(2*u) * sigm(-2*u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Sub(num(1), mustNode(gorgonia.Tanh(u))))
	}},
	{"power", "(1 + u^2)^0.75", func(u float64) float64 { return 1.5 * u * math.Pow(1+u*u, -0.25) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Pow(mustNode(gorgonia.Add(num(1), mustNode(gorgonia.Square(u)))), num(0.75)))
	}},
	{"leaky hinge", "max(0.1*(1-u), 1-u)", func(u float64) float64 { return -0.1 - 0.9*mask(u < 1) }, func(_ graph, u node) node {
		return mustNode(gorgonia.LeakyRelu(mustNode(gorgonia.Sub(num(1), u)), 0.1))
	}},
	{"mish", "u*tanh(softplus(u))", mishSlope, func(_ graph, u node) node { return mustNode(gorgonia.Mish(u)) }},
	{"swish", "u*sigmoid(u)", func(u float64) float64 { return sigm(u) + u*sigm(u)*sigm(-u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.HadamardProd(u, mustNode(gorgonia.Sigmoid(u))))
	}},
	{"sine", "u + sin(u)", func(u float64) float64 { return 1 + math.Cos(u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Add(u, mustNode(gorgonia.Sin(u))))
	}},
	{"cosine", "1 - cos(3*u)", func(u float64) float64 { return 3 * math.Sin(3*u) }, func(_ graph, u node) node {
		return mustNode(gorgonia.Sub(num(1), mustNode(gorgonia.Cos(mustNode(gorgonia.HadamardProd(num(3), u))))))
	}},
	{"modified Huber", "where(u < -1, -4*u, max(0, 1-u)^2)", func(u float64) float64 {
		if u < -1 {
			return -4
		}
		return -2 * math.Max(0, 1-u)
	}, nil},
	{"unhinged", "1 - u", func(float64) float64 { return -1 }, func(_ graph, u node) node { return mustNode(gorgonia.Sub(num(1), u)) }},
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
			f := must.Get(graphs.FromGraph(l.build))(t, l.name)
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
