package engine_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/autodiff"
	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

func newExpression(t testing.TB, text string, o engine.ExpressionOptions) *engine.Expression {
	t.Helper()
	return must.Get(engine.NewExpression("test", text, o))(t)
}

// builtIn is a library loss with its defaults.
func builtIn(t testing.TB, name string) *engine.Expression {
	t.Helper()
	return builtInWith(t, name, nil)
}

// handSlopes are the slopes of the library written by hand.
var handSlopes = map[string]func(u float64) float64{
	"logistic": engine.Logistic{}.DPhi,
	"hinge": func(u float64) float64 {
		if u < 1 {
			return -1
		}
		return 0
	},
	"squared-hinge":   func(u float64) float64 { return -2 * max(0, 1-u) },
	"huberised-hinge": func(u float64) float64 { return -min(1, max(0, 1-u)/0.5) },
	"exponential":     func(u float64) float64 { return -math.Exp(-u) },
	"gompertz":        func(u float64) float64 { return -2 * math.Exp(2*u-math.Exp(2*u)) },
	"ramp": func(u float64) float64 {
		if u < 1 && u > -1 {
			return -1
		}
		return 0
	},
	"smooth-ramp": func(u float64) float64 { return -min(1, max(0, 1-u)/0.5) + min(1, max(0, -1-u)/0.5) },
	"sigmoid":     func(u float64) float64 { e := math.Exp(-math.Abs(u)); return -e / ((1 + e) * (1 + e)) },
	"square":      func(u float64) float64 { return -2 * (1 - u) },
	"moreau-abs":  func(u float64) float64 { return -max(-1, min(1, (1-u)/0.5)) },
	"contrastive": func(u float64) float64 { return -max(0, 0.5-u) },
}

func TestLibraryMatchesHandFormulas(t *testing.T) {
	disagree := func(e *engine.Expression, slope func(float64) float64) error {
		for k := -400; k <= 400; k++ {
			u := float64(k)/100 + 1e-3
			if got, want := e.DPhi(u), slope(u); !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
				return fmt.Errorf("phi'(%v) = %v, by hand %v", u, got, want)
			}
		}
		return nil
	}
	seen := 0
	for _, l := range engine.Library() {
		slope, ok := handSlopes[l.Name]
		if !ok {
			t.Errorf("%s has no formula by hand", l.Name)
			continue
		}
		seen++
		e := builtIn(t, l.Name)
		must.CheckDo(t, disagree(e, slope), l.Name)
		if disagree(e, func(u float64) float64 { return slope(u)*(1+1e-9) + 1e-11 }) == nil {
			t.Errorf("%s: a wrong formula is not noticed", l.Name)
		}
	}
	if seen != len(handSlopes) {
		t.Errorf("%d formulas for %d losses", len(handSlopes), seen)
	}
}

// TestLibraryGap: the derived constants are within 1 % of what sampling finds, never
// below it, and convexity and smoothness are what they should be.
func TestLibraryGap(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	convex := map[string]bool{"gompertz": false, "ramp": false, "smooth-ramp": false, "sigmoid": false}
	smooth := map[string]bool{"hinge": false, "ramp": false}
	for _, l := range engine.Library() {
		e := builtIn(t, l.Name)
		for _, reach := range []float64{0.5, 4, 30} {
			b := must.Get(e.Bounds(-reach, reach))(t)
			lo, hi, curve := math.Inf(1), math.Inf(-1), 0.0
			const cells = 40000
			last := e.DPhi(-reach)
			for k := range cells + 1 {
				v := e.DPhi(reach * (2*float64(k)/cells - 1))
				lo, hi, curve = min(lo, v), max(hi, v), max(curve, math.Abs(v-last)*cells/(2*reach))
				last = v
			}
			size := max(-lo, hi)
			if b.SlopeMin > lo+b.SlopeError || b.SlopeMax < hi-b.SlopeError || b.SlopeMin < lo-0.01*size || b.SlopeMax > hi+0.01*size || b.Gap > 0.01 {
				t.Errorf("%s on %v: phi' in [%v, %v], sampled [%v, %v], gap %v", l.Name, reach, b.SlopeMin, b.SlopeMax, lo, hi, b.Gap)
			}
			if reach < 4 {
				continue // kinks may be outside
			}
			wantConvex, ok := convex[l.Name]
			if b.Convex != (wantConvex || !ok) {
				t.Errorf("%s on %v: Convex = %v", l.Name, reach, b.Convex)
			}
			wantSmooth, ok := smooth[l.Name]
			if b.Smooth() != (wantSmooth || !ok) {
				t.Errorf("%s on %v: Smooth = %v: %+v", l.Name, reach, b.Smooth(), b)
			}
			if b.Smooth() && (b.Curvature < curve*(1-1e-6) || b.Curvature > curve*1.02) {
				t.Errorf("%s on %v: curvature %v, sampled %v", l.Name, reach, b.Curvature, curve)
			}
		}
	}
}

// TestExpressionConstantsAreThoseByHand: the general proofs give what the two special
// ones do.
func TestExpressionConstantsAreThoseByHand(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	e := builtIn(t, "logistic")
	for i, b := range []engine.Bounds{engine.UnitBounds(), {FeatureNorm: 2, LabelAbs: 0.5}, {FeatureNorm: 0.3, LabelAbs: 2.5}} {
		for j, r := range []float64{0.1, 1, 5} {
			if (i != j || i == 0) && !sizes.Full() {
				continue
			}
			for _, c := range []struct{ hand, machine engine.Loss }{
				{engine.Logistic{}, engine.Score{Of: e}}, {engine.MahalanobisLogistic{}, engine.Metric{Of: e}},
				{engine.Logistic{}, engine.Score{Of: engine.Logistic{}}}, {engine.MahalanobisLogistic{}, engine.Metric{Of: engine.Logistic{}}},
			} {
				want := must.Get(c.hand.Constants(b, r))(t)
				got := must.Get(c.machine.Constants(b, r))(t)
				if !got.Convex || got.Lipschitz < want.Lipschitz*(1-1e-9) || got.Lipschitz > want.Lipschitz*1.01 ||
					got.PairDiameter < want.PairDiameter*(1-1e-9) || got.PairDiameter > want.PairDiameter*1.01 ||
					got.Smoothness < want.Smoothness*(1-1e-9) || b.LabelAbs <= 1 && got.Smoothness > want.Smoothness*1.35 {
					t.Errorf("%s, %+v, r = %v: %+v, by hand %+v", c.machine.Name(), b, r, got, want)
				}
			}
		}
	}
	k, err := engine.Score{Of: e}.Constants(engine.UnitBounds(), 1)
	if want := 4 / (1 + math.Exp(-4)); err != nil || k.PairDiameter < want || k.PairDiameter > want*1.0001 || k.Origin != engine.Derived {
		t.Errorf("logistic AUC at R = r = 1: %+v, %v, want Dg = %v", k, err, want)
	}
}

// TestScalarConstantsBruteForce looks for pairs that exceed the constants of losses of
// both signs, and demands that some come near.
func TestScalarConstantsBruteForce(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	rng := rand.New(rand.NewPCG(31, 32))
	for _, c := range []struct {
		of         engine.Scalar
		reach, gap float64 // shares of G and Dg that must be found
	}{
		{builtIn(t, "logistic"), 0.97, 0.9}, {builtIn(t, "hinge"), 0.95, 0.9}, {enginetest.Hinge(), 0.95, 0.9},
		{builtIn(t, "square"), 0.95, 0.6}, {enginetest.Zigzag(), 0.9, 0.55}, {builtIn(t, "gompertz"), 0.9, 0.7}, {builtIn(t, "moreau-abs"), 0.95, 0.5},
		{newExpression(t, "exp(-u)", engine.ExpressionOptions{Clip: 2}), 0.9, 0.9},
	} {
		for _, loss := range []engine.Loss{engine.Score{Of: c.of}, engine.Metric{Of: c.of}} {
			b := engine.UnitBounds()
			k := must.Get(loss.Constants(b, 1))(t)
			var norm, gap float64
			for range sizes.Of(6_000, 30_000) {
				d := 1 + rng.IntN(2)
				z := engine.RandomRecords(rng, 3, d, b)
				for i := range z {
					if rng.IntN(2) == 0 { // on the sphere, with extreme labels
						scaleRecord(&z[i], 1)
						z[i].Y = math.Copysign(1, z[i].Y)
					}
				}
				if rng.IntN(2) == 0 { // opposite
					for i := range z[2].X {
						z[2].X[i] = -z[0].X[i]
					}
				}
				w := engine.RandomMember(t, rng, d, 1)
				if _, ok := loss.(engine.Score); ok {
					w = make([]float64, d)
					for i := range w {
						w[i] = z[0].X[i] - z[2].X[i] + 0.1*rng.NormFloat64()
					}
					s := engine.Frobenius(w)
					for i := range w {
						w[i] *= math.Sqrt(rng.Float64()) / s * math.Copysign(1, rng.Float64()-0.5)
					}
				}
				g, h := make([]float64, len(w)), make([]float64, len(w))
				loss.AddGrad(g, w, z[0], z[2])
				loss.AddGrad(h, w, z[1], z[2])
				norm, gap = max(norm, engine.Frobenius(g)), max(gap, engine.Distance(g, h))
			}
			metric := 1.0
			if _, ok := loss.(engine.Metric); ok {
				metric = 0.5 // the label flip is rare
			}
			if rounding := 1 + 1e-14; norm > k.Lipschitz*rounding || gap > k.PairDiameter*rounding {
				t.Errorf("%s: found norm %v and gap %v, constants %+v", loss.Name(), norm, gap, k)
			}
			if norm < c.reach*metric*k.Lipschitz || gap < c.gap*metric*k.PairDiameter {
				t.Errorf("%s: found only norm %v and gap %v, constants %+v", loss.Name(), norm, gap, k)
			}
			if gap > 0.9*k.PairDiameter && k.PairDiameter*0.8 > gap {
				t.Errorf("%s: a constant that is a fifth smaller is not refuted", loss.Name())
			}
		}
	}
}

func scaleRecord(z *engine.Record, to float64) {
	s := to / engine.Frobenius(z.X)
	for i := range z.X {
		z.X[i] *= s
	}
}

func TestClippedExpression(t *testing.T) {
	e := newExpression(t, "exp(-u)", engine.ExpressionOptions{Clip: 2})
	k, err := engine.Score{Of: e}.Constants(engine.UnitBounds(), 5)
	if err != nil || k.Origin != engine.Clipped || !k.Convex || k.PairDiameter > 8.0001 || math.IsInf(k.Smoothness, 0) {
		t.Errorf("clipped: %+v, %v", k, err)
	}
	if e.DPhi(-10) != -2 || math.Abs(e.DPhi(1)+math.Exp(-1)) > 1e-15 {
		t.Errorf("phi' = %v and %v", e.DPhi(-10), e.DPhi(1))
	}
	var steepest float64
	const h = 1e-3
	for u := -20.0; u < 20; u += h {
		steepest = max(steepest, math.Abs(e.DPhi(u+h)-e.DPhi(u))/h)
	}
	if curvature := k.Smoothness / 16; curvature < steepest || curvature > 1.5*steepest {
		t.Errorf("curvature %v of the clipped slope, sampled %v", curvature, steepest)
	}
	// A clip that changes nothing is not reported as one.
	k, err = engine.Score{Of: newExpression(t, "exp(-u)", engine.ExpressionOptions{Clip: 100})}.Constants(engine.UnitBounds(), 1)
	if err != nil || k.Origin != engine.Derived {
		t.Errorf("idle clip: %+v, %v", k, err)
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"log(u)":          "not finite",
		"sqrt(abs(1-u))":  "", // its slope has no bound; the gate may see that first
		"where(u>1,0,1)":  "jump",
		"3":               "constant",
		"1/u":             "",
		"u + sin(1e9*u)":  "",
		"tan(u)":          "parse",
		"exp(u^2)^4":      "parse or bound", // huge, but finite: accepted
		"where(u>0,u,-u)": "accepted",
	} {
		e, err := engine.NewExpression("test", text, engine.ExpressionOptions{})
		if want == "parse" {
			var p *autodiff.ParseError
			if !errors.As(err, &p) {
				t.Errorf("%s: %v, want a ParseError", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, err = engine.Score{Of: e}.Constants(engine.UnitBounds(), 1)
		switch {
		case want == "accepted" || want == "parse or bound":
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
	must.Err(engine.NewExpression("x", "u", engine.ExpressionOptions{Clip: -1}))(t, "a negative clip is accepted")
	if l, _ := engine.LibraryByName("hinge"); true {
		must.Fail(l.Expression(engine.ExpressionOptions{Params: map[string]float64{"q": 1}}))(t, "m", "an unknown parameter")
	}
}

// TestHuberConstants: the Huber loss with h = 1 has a kink-free slope on every ball, also
// those whose largest margin lies at m - h, m or m + h, so descents with released results
// take it; the textbook form and the built-in one have the same constants.
func TestHuberConstants(t *testing.T) {
	b := engine.UnitBounds()
	for i, e := range []*engine.Expression{
		newExpression(t, "where(abs(1 - u) <= 1, 0.5*(1 - u)^2, abs(1 - u) - 0.5)", engine.ExpressionOptions{}),
		newExpression(t, "where(abs(m - u) < h, (m - u)^2/(2*h), abs(m - u) - h/2)", engine.ExpressionOptions{Params: map[string]float64{"m": 1, "h": 1}}),
		builtInWith(t, "moreau-abs", map[string]float64{"h": 1}),
	} {
		for j, radius := range []float64{0.01, 0.125, 0.2499999, 0.25, 0.2500001, 0.3, 0.4999, 0.5, 0.50001, 0.75, 1, 1.3, 3} {
			if (i+j)%3 != 0 && !sizes.Full() {
				continue
			}
			c, err := engine.Score{Of: e}.Constants(b, radius)
			if err != nil || !c.Convex || !(c.Smoothness <= 16.01) || !(c.Lipschitz <= 4*min(1+4*radius*1.001, 2)) {
				t.Errorf("%s, radius %v: %+v, %v", e.Text(), radius, c, err)
			}
		}
	}
}

func builtInWith(t testing.TB, name string, params map[string]float64) *engine.Expression {
	t.Helper()
	l, ok := engine.LibraryByName(name)
	if !ok {
		t.Fatalf("no loss %s", name)
	}
	return must.Get(l.Expression(engine.ExpressionOptions{Params: params}))(t)
}

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
