package autodiff

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/sizes"
)

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
