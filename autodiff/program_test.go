package autodiff

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

var programLosses = []string{
	"log1p(exp(-u))", "max(0, 1-u)", "max(0, 1-u)^2", "(max(0, 1-u)^2 - max(0, -u)^2)/2",
	"max(0, 0.3 - 1.7*u)^2", "exp(-2*exp(-u))", "sigmoid(-u)", "tanh(u)", "u*tanh(softplus(u))",
	"sqrt(1 + u^2) - u", "log(1 + (1-u)^2)", "cos(u)", "u^4", "(2 + u^2)^0.75", "(2 + u^2)^-3",
	"where(u > 0.1, expm1(-u), -u)", "where(u > 1, log(u), u-1)", "min(u, u^3)*abs(u)", "3", "u",
}

// TestProgramMatchesEval: every length and block border, aliased output and
// dirty scratch give the value of the derivative.
func TestProgramMatchesEval(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, text := range programLosses {
		for _, e := range []Expr{parsed(t, text), parsed(t, text).Derivative()} {
			p := e.Compile()
			scratch := make([]float64, p.ScratchLen()+3)
			for _, n := range []int{0, 1, 3, 255, 256, 257, 600} {
				u, dst := make([]float64, n), make([]float64, n)
				for i := range u {
					u[i] = 8*rng.Float64() - 4
				}
				for i := range scratch {
					scratch[i] = nan
				}
				p.Eval(dst, u, scratch)
				for i, v := range dst {
					if want := e.Eval(u[i]); !near(v, want, 1e-13) {
						t.Fatalf("%v at %v is %v, want %v", e, u[i], v, want)
					}
				}
				p.Eval(u, u, nil)
				if !slices.Equal(u, dst) {
					t.Fatalf("%v: in place %v, else %v", e, u, dst)
				}
			}
		}
	}
}

// TestProgramRandom compares random programs, whose slots are reused in many
// ways, with exact values, and attacks Roundoff with them.
func TestProgramRandom(t *testing.T) {
	n := sizes.Of(200, 600)
	if testing.Short() {
		n = 80
	}
	rng := rand.New(rand.NewPCG(11, 12))
	bounded, checked := 0, 0
	for k := range n {
		e := randomExpr(rng, 1+rng.IntN(4), k%2 == 0)
		on := randomInterval(rng, 3)
		p := e.Compile()
		bound := p.Roundoff(on)
		if math.IsInf(bound, 1) {
			continue
		}
		bounded++
		worst, c := attack(p, on, rng, 6)
		checked += c
		if worst > bound {
			t.Fatalf("%v on %v: error %v, Roundoff %v", e, on, worst, bound)
		}
	}
	if bounded < n/2 || checked < n {
		t.Errorf("%d of %d programs bounded, %d values", bounded, n, checked)
	}
}

// attack is the largest error of p over random points of the interval.
func attack(p *Program, on Interval, rng *rand.Rand, n int) (worst float64, checked int) {
	u, v := make([]float64, n), make([]float64, n)
	for i := range u {
		u[i] = on.random(rng)
	}
	p.Eval(v, u, nil)
	for i, x := range v {
		want := bigEval(p.expr, u[i])
		switch {
		case want == nil:
			continue
		case !finite(x):
			return inf, checked
		}
		diff, _ := bigSub(bigOf(x), want).Float64()
		worst = math.Max(worst, math.Abs(diff))
		checked++
	}
	return worst, checked
}

// TestRoundoffKnown: on usual losses the bound holds, is a small multiple of the
// rounding unit, and a bound 30 times smaller would be seen to fail.
func TestRoundoffKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	caught := 0
	for _, text := range programLosses {
		for _, on := range []Interval{{-4, 4}, {0.9999, 1.0001}, {-300, 300}} {
			d := parsed(t, text).Derivative()
			p := d.Compile()
			bound := p.Roundoff(on)
			scale := d.Prove(on).Slope.Abs()
			worst, _ := attack(p, on, rng, 60)
			must.Within(t, worst, 0, bound, "%s on %v: error", text, on)
			if on.Hi < 5 && text != "min(u, u^3)*abs(u)" && !(bound <= 2e-14*math.Max(1, scale)) {
				t.Errorf("%s on %v: Roundoff %v of values up to %v", text, on, bound, scale)
			}
			if worst > bound/30 {
				caught++
			}
		}
	}
	if caught < len(programLosses) {
		t.Errorf("only %d bounds within 30 times the attained error", caught)
	}
}

// TestRoundoffSeesBranches: a comparison that rounding may turn costs the jump
// there; an exact one costs nothing; an undefined value is not bounded.
func TestRoundoffSeesBranches(t *testing.T) {
	on := Interval{-4, 4}
	inexact := Ge(Mul(U(), U()), Const(2)) // jumps near sqrt 2
	must.Equal(t, inexact.Compile().Roundoff(on), 1, "inexact comparison: Roundoff")
	exact := parsed(t, "where(0.3 - 0.5*u > 0, -0.5, 0)")
	must.Equal(t, exact.Compile().Roundoff(on), 0, "%v: Roundoff", exact)
	for _, text := range []string{"log(u)", "1/u", "exp(200*u)", "exp(exp(2*u)) - exp(exp(2*u) + 1)"} {
		if r := parsed(t, text).Compile().Roundoff(on); !math.IsInf(r, 1) {
			t.Errorf("%s: Roundoff %v, want none", text, r)
		}
	}
	// tanh of an undefined number or of infinity minus infinity is not 1.
	for _, text := range []string{"tanh(log(u))", "tanh(exp(400*u) - 2*exp(400*u-1))"} {
		if r := parsed(t, text).Compile().Roundoff(on); !math.IsInf(r, 1) {
			t.Errorf("%s: Roundoff %v, want none", text, r)
		}
	}
	// An overflow that ends in a limit is fine.
	if r := parsed(t, "exp(-exp(400*u))").Compile().Roundoff(on); !(r < 1e-13) {
		t.Errorf("exp(-exp(400 u)): Roundoff %v", r)
	}
}

func TestProgramConcurrent(t *testing.T) {
	p := parsed(t, "log1p(exp(-u)) + max(0, 1-u)^2").Derivative().Compile()
	u := make([]float64, 1000)
	for i := range u {
		u[i] = float64(i)/100 - 5
	}
	want := make([]float64, len(u))
	p.Eval(want, u, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dst, scratch := make([]float64, len(u)), make([]float64, p.ScratchLen())
			for range 20 {
				if p.Eval(dst, u, scratch); !slices.Equal(dst, want) {
					t.Error("values differ")
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestProgramAllocatesNothing(t *testing.T) {
	p := parsed(t, "(max(0, 1-u)^2 - max(0, -u)^2)/2").Derivative().Compile()
	u, scratch := make([]float64, 1000), make([]float64, p.ScratchLen())
	must.Equal(t, testing.AllocsPerRun(10, func() { p.Eval(u, u, scratch) }), 0, "... allocations")
}

// BenchmarkProgram compares programs with the hand-written logistic slopes, in
// ns a value.
func BenchmarkProgram(b *testing.B) {
	u, v := make([]float64, 4096), make([]float64, 4096)
	rng := rand.New(rand.NewPCG(15, 16))
	for i := range u {
		u[i] = 8*rng.Float64() - 4
	}
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(u)), "ns/value")
		})
	}
	run("by hand", func() { copy(v, u); kernels.LogisticSlopes(v) })
	for _, text := range []string{"log1p(exp(-u))", "max(0, 1-u)", "(max(0, 1-u)^2 - max(0, -u)^2)/2", "exp(-2*exp(-u))", "tanh(u)"} {
		p := parsed(b, text).Derivative().Compile()
		scratch := make([]float64, p.ScratchLen())
		run(text, func() { p.Eval(v, u, scratch) })
	}
}

// branched are formulas whose derivatives branch on the values of every function.
var branched = []string{
	"max(0, sigmoid(2.8-u) - sigmoid(2.8))", "abs(sigmoid(0.2-u) - sigmoid(0.2))", "max(0.3, sigmoid(-u))",
	"min(sigmoid(u), sigmoid(-u))", "where(sigmoid(u) >= 0.5, u, -u)", "abs(tanh(u) - 0.25)", "max(log1p(exp(u)), 1)",
	"abs(softplus(u) - 0.7)", "max(exp(u), 1)", "abs(log(1 + u^2) - 0.5)", "min(sqrt(1 + u^2), 1.2)",
	"abs(sin(u) - cos(u))", "max(expm1(u), (2 + u^2)^0.75 - 1.6)", "where(u^3 > sigmoid(u), exp(-u), (2 + u^2)^-3)",
}

// TestValuesAreComputedAlone: Eval gives a value the bits that it gives it in a list of one,
// in every place of lists of every length, whatever its neighbours, the old content of
// scratch and an aliased output are. engine.Scalar's contract of Slopes rests on that.
func TestValuesAreComputedAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 26))
	for _, text := range append(branched, programLosses...) {
		for _, e := range []Expr{parsed(t, text), parsed(t, text).Derivative()} {
			evaluatedAlone(t, rng, e, 1, 130)
			evaluatedAlone(t, rng, e, 2*programBlock+3, 2*programBlock+3)
		}
	}
	n := sizes.Of(100, 400)
	if testing.Short() {
		n = 60
	}
	for range n {
		e := randomExpr(rng, 1+rng.IntN(5), false)
		evaluatedAlone(t, rng, e.Derivative(), 1, 1+rng.IntN(130))
	}
}

// FuzzValuesAreComputedAlone is TestValuesAreComputedAlone for formulas and lists drawn from
// the fuzzer's bytes.
func FuzzValuesAreComputedAlone(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, i*i, uint8(1+7*i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, a, b uint64, length, depth uint8) {
		rng := rand.New(rand.NewPCG(a, b))
		e := randomExpr(rng, 1+int(depth)%6, a%4 == 0)
		n := 1 + int(length)%130 // one length: all up to it took a hundred times as long
		evaluatedAlone(t, rng, e, n, n)
		evaluatedAlone(t, rng, e.Derivative(), n, n)
	})
}

// evaluatedAlone checks lists of every length from first to most.
func evaluatedAlone(t *testing.T, rng *rand.Rand, e Expr, first, most int) {
	t.Helper()
	p := e.Compile()
	scratch, one := make([]float64, p.ScratchLen()), make([]float64, p.ScratchLen())
	ties := []float64{0, 0.2, -1, 1}
	for n := first; n <= most; n++ {
		u := make([]float64, n)
		for i := range u {
			switch rng.IntN(6) {
			case 0:
				u[i] = ties[rng.IntN(len(ties))]
			case 1:
				u[i] = math.Ldexp(2*rng.Float64()-1, rng.IntN(24)-8)
			default:
				u[i] = 8*rng.Float64() - 4
			}
		}
		dst := append([]float64(nil), u...)
		p.Eval(dst, dst, scratch)
		for i, v := range dst {
			alone := [1]float64{u[i]}
			p.Eval(alone[:], alone[:], one)
			if math.Float64bits(alone[0]) != math.Float64bits(v) {
				t.Fatalf("%v at %v: %v at place %d of %d, %v alone", e, u[i], v, i, n, alone[0])
			}
		}
	}
}

// TestPTX: every operation has code. Package engine/cuda runs it.
func TestPTX(t *testing.T) {
	u := U()
	for _, c := range []struct {
		e    Expr
		want string // in the code
	}{
		{Exp(u), "ex2.approx.ftz.f32 %phi1, %phi0;"},
		{Sigmoid(u), "rcp.approx.ftz.f32"},
		{Pow(u, 3), "mul.rn.f32 %phi1, %phi0, in;"},
		{Const(0.5), "mov.f32 out, 0f3F000000;"},
		{Log(u), "lg2.approx.ftz.f32 %phi0, in;"},
		{Log1p(u), "add.rn.f32 %phi0, in, 0f3F800000;"},
		{Softplus(u), "max.f32"},
		{Expm1(u), "add.rn.f32 %phi2, %phi1, 0fBF800000;"},
		{Sin(u), "and.b32"},
		{Pow(u, 0.3), "lg2.approx.ftz.f32"},
		{Pow(u, -2), "div.rn.f32 %phi1, 0f3F800000, %phi0;"},
	} {
		lines, _, _ := c.e.PTX("in", "out")
		if text := strings.Join(lines, "\n"); !strings.Contains(text, c.want) {
			t.Errorf("%v:\n%s", c.e, text)
		}
	}
}

// TestPTXRoundoff: bounds are those of float32, and there are none outside of its range.
func TestPTXRoundoff(t *testing.T) {
	u := U()
	for _, c := range []struct {
		name     string
		e        Expr
		on       Interval
		lo, most float64
	}{
		{"sum", Add(u, Const(1)), Interval{-1, 1}, 0x1p-24, 0x1p-22},
		{"constant", Const(0.1), Interval{0, 1}, math.Abs(0.1 - float64(float32(0.1))), 0x1p-26},
		{"exact", Neg(u), Interval{-8, 8}, 0, 0},
		{"sigmoid", Sigmoid(u), Interval{-30, 30}, 0x1p-23, 0x1p-21},
		{"exponential", Exp(u), Interval{-4, 4}, 54 * 0x1p-24, 54 * 0x1p-18},
		{"small exponential", Exp(u), Interval{-1000, -64}, 1.1e-28, 1e-27},
		{"exponential out of range", Exp(u), Interval{-4, 100}, inf, inf},
		{"power out of range", Pow(u, 16), Interval{0, 1e9}, inf, inf},
		{"logarithm", Log(u), Interval{1, 2}, 4 * 0x1p-24 * math.Ln2, 0x1p-21},
		{"logarithm near 0", Log(u), Interval{0, 2}, inf, inf},
		{"log1p near -1", Log1p(u), Interval{-1, 2}, inf, inf},
		{"sine", Sin(u), Interval{-1024, 1024}, 8 * 0x1p-24, 9 * 0x1p-24},
		{"sine of many turns", Sin(u), Interval{-1025, 0}, inf, inf},
		{"negative power", Pow(u, -3), Interval{0.5, 2}, 4 * 0x1p-24 * 8, 5 * 0x1p-24 * 8},
		{"negative power near 0", Pow(u, -3), Interval{0, 2}, inf, inf},
		{"fractional power", Pow(u, 0.3), Interval{0.5, 2}, 8 * 0x1p-24, 12 * 0x1p-24 * 1.3},
		{"fractional power of a negative number", Pow(u, 0.3), Interval{-0.5, 2}, inf, inf},
		{"fractional power out of range", Pow(u, 60.5), Interval{0.5, 9}, inf, inf},
	} {
		if got := c.e.PTXRoundoff(c.on); !(got >= c.lo && got <= c.most) {
			t.Errorf("%s: %g, want %g to %g", c.name, got, c.lo, c.most)
		}
	}
}
