package engine_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// slopedScalars are every loss that the engine knows by name, with its slope as it is and
// clipped, and formulas whose slopes branch.
func slopedScalars(t testing.TB) []engine.Scalar {
	all := []engine.Scalar{engine.Logistic{}, enginetest.Hinge(), enginetest.Zigzag()}
	for _, clip := range []float64{0, 0.3} {
		for _, l := range engine.Library() {
			e := must.Get(l.Expression(engine.ExpressionOptions{Clip: clip}))(t)
			all = append(all, e)
		}
		for _, text := range []string{
			"max(0, sigmoid(2.8-u) - sigmoid(2.8))", "abs(sigmoid(0.2-u) - sigmoid(0.2))", "max(0.3, sigmoid(-u))",
			"where(sigmoid(u) >= 0.5, u, tanh(u))", "max(0, 1 - log1p(exp(u)))", "abs(tanh(u) - 0.25)*softplus(-u)",
		} {
			all = append(all, newExpression(t, text, engine.ExpressionOptions{Clip: clip}))
		}
	}
	return all
}

// TestSlopesAreThoseOfSingleValues is the contract of Scalar.Slopes: for every loss and for
// random formulas, in every place of lists of every length, with random neighbours, a slope
// has the bits of DPhi.
func TestSlopesAreThoseOfSingleValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 26))
	for _, of := range slopedScalars(t) {
		for n := 1; n <= 130; n++ {
			slopesAlone(t, rng, of, n)
		}
		slopesAlone(t, rng, of, 600)
	}
	n := 300
	if testing.Short() {
		n = 60
	}
	for range n {
		of := newExpression(t, enginetest.RandomFormula(rng, 1+rng.IntN(4)), engine.ExpressionOptions{Clip: float64(rng.IntN(2)) / 2})
		for range 5 {
			slopesAlone(t, rng, of, 1+rng.IntN(130))
		}
	}
}

// FuzzSlopesAreThoseOfSingleValues draws formula and list from the fuzzer's numbers.
func FuzzSlopesAreThoseOfSingleValues(f *testing.F) {
	for i := range uint64(12) {
		f.Add(i, uint8(11*i+3), uint8(i), float64(i)/4-1)
	}
	f.Fuzz(func(t *testing.T, seed uint64, length, depth uint8, tie float64) {
		rng := rand.New(rand.NewPCG(seed, 26))
		of := newExpression(t, enginetest.RandomFormula(rng, int(depth)%5), engine.ExpressionOptions{})
		slopesAlone(t, rng, of, 1+int(length)%130, tie)
	})
}

// slopesAlone checks one list, of values of which many are equal.
func slopesAlone(t *testing.T, rng *rand.Rand, of engine.Scalar, n int, ties ...float64) {
	t.Helper()
	ties = append(ties, 0, 0.2, 1, -0.7)
	u := make([]float64, n)
	for i := range u {
		u[i] = 3 * rng.NormFloat64()
		if rng.IntN(3) == 0 {
			u[i] = ties[rng.IntN(len(ties))]
		}
	}
	slopes := append([]float64(nil), u...)
	of.Slopes(slopes)
	for i, v := range slopes {
		if alone := of.DPhi(u[i]); math.Float64bits(alone) != math.Float64bits(v) {
			t.Fatalf("%s (%s) at %v: %v at place %d of %d, %v alone", of.Name(), of.Text(), u[i], v, i, n, alone)
		}
	}
}
