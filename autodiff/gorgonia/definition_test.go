package gorgonia_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"dyad/autodiff"
	graphs "dyad/autodiff/gorgonia"
	"dyad/engine"
	"dyad/internal/must"

	"gorgonia.org/gorgonia"
)

// logisticDefinition is log(1 + exp(-u)) as a Gorgonia graph.
func logisticDefinition(_ *gorgonia.ExprGraph, u *gorgonia.Node) *gorgonia.Node {
	exp := gorgonia.Must(gorgonia.Exp(gorgonia.Must(gorgonia.Neg(u))))
	return gorgonia.Must(gorgonia.Log1p(exp))
}

// margins covers |u| <= 1000: the linear, the curved and the underflowing part.
func margins() []float64 {
	var us []float64
	for k := -4000; k <= 4000; k++ {
		us = append(us, float64(k)/4)
	}
	for k := -60; k <= 5; k++ {
		us = append(us, math.Ldexp(1, k), -math.Ldexp(1, k))
	}
	return us
}

// compareWithDefinition fails at the first margin at which a hand-written phi or
// phi' differs from the definition by more than a few units in the last place.
func compareWithDefinition(f *autodiff.Function, phi, dphi func(float64) float64) error {
	const tol = 8 * 0x1p-52
	for _, u := range margins() {
		if got, want := phi(u), f.Phi.Eval(u); !(math.Abs(got-want) <= tol*math.Abs(want)) {
			return fmt.Errorf("phi(%v) = %v, definition %v", u, got, want)
		}
		if got, want := dphi(u), f.DPhi.Eval(u); !(math.Abs(got-want) <= tol*math.Abs(want)) {
			return fmt.Errorf("phi'(%v) = %v, definition %v", u, got, want)
		}
	}
	return nil
}

func logisticFunction(t *testing.T) *autodiff.Function {
	t.Helper()
	f := must.Get(graphs.FromGraph(logisticDefinition))(t)
	must.Do(t, f.Check(-1000, 1000))
	return f
}

func TestLogisticMatchesDefinition(t *testing.T) {
	l := engine.Logistic{}
	must.CheckDo(t, compareWithDefinition(logisticFunction(t), l.Phi, l.DPhi))
}

// TestDefinitionCatchesWrongFormula is the control of the comparison.
func TestDefinitionCatchesWrongFormula(t *testing.T) {
	f, l := logisticFunction(t), engine.Logistic{}
	for _, c := range []struct {
		name      string
		phi, dphi func(float64) float64
		want      string // the value that must be named
	}{
		{"missing sign", l.Phi, func(u float64) float64 { return -l.DPhi(u) }, "phi'("},
		{"wrong argument", l.Phi, func(u float64) float64 { return l.DPhi(-u) }, "phi'("},
		{"off by 1e-12", l.Phi, func(u float64) float64 { return l.DPhi(u) * (1 + 1e-12) }, "phi'("},
		{"overflow", func(u float64) float64 { return math.Log(1 + math.Exp(-u)) }, l.DPhi, "phi(-1000)"},
		{"other base", func(u float64) float64 { return l.Phi(u) / math.Ln2 }, l.DPhi, "phi("},
		{"NaN", func(u float64) float64 { return math.NaN() }, l.DPhi, "phi("},
	} {
		err := compareWithDefinition(f, c.phi, c.dphi)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error about %s", c.name, err, c.want)
		}
	}
	wrong := autodiff.Function{Phi: f.Phi, DPhi: autodiff.Neg(f.DPhi)}
	must.FailDo(t, wrong.Check(-10, 10), autodiff.ErrGradientsDisagree, "the gate returned")
}

// TestLogisticConstantsMatchDefinition: with |u| <= 2 R r l, ||grad|| is at most
// 2 R l times the largest |phi'|, and the Hessian's norm at most (2 R l)^2 times
// the largest second derivative; the constants that the engine proves must be
// these suprema. The loss is convex because phi is.
func TestLogisticConstantsMatchDefinition(t *testing.T) {
	f := logisticFunction(t)
	second := f.DDPhi()
	for _, c := range []struct{ R, b, r float64 }{{1, 1, 1}, {2, 0.5, 3}, {0.1, 1, 7}, {1, 3, 0.01}} {
		l := 2 * c.b
		got := must.Get(engine.Logistic{}.Constants(engine.Bounds{FeatureNorm: c.R, LabelAbs: c.b}, c.r))(t)
		largest := 2 * c.R * c.r * l
		var slope, curve float64
		least := math.Inf(1)
		for k := -2000; k <= 2000; k++ {
			u := largest * float64(k) / 2000
			slope = math.Max(slope, math.Abs(f.DPhi.Eval(u)))
			curve = math.Max(curve, math.Abs(second.Eval(u)))
			least = math.Min(least, second.Eval(u))
		}
		must.Equal(t, curve, 0.25, "%+v: max |phi''|", c)
		must.Equal(t, got.Convex, least >= 0, "%+v: Convex is ..., least second derivative %v", c, least)
		for _, v := range []struct {
			name             string
			constant, needed float64
		}{
			{"Lipschitz", got.Lipschitz, slope * 2 * c.R * l},
			{"Smoothness", got.Smoothness, curve * 4 * c.R * c.R * l * l},
		} {
			must.CheckDo(t, supremum(v.constant, v.needed), fmt.Sprintf("%+v: %s", c, v.name))
		}
		if supremum(got.Lipschitz/2, slope*2*c.R*l) == nil || supremum(got.Smoothness*4, curve*4*c.R*c.R*l*l) == nil {
			t.Errorf("%+v: a halved or a fourfold constant is not noticed", c)
		}
	}
}

// supremum fails unless constant bounds the attained value and is not larger by
// more than rounding.
func supremum(constant, attained float64) error {
	if !(constant >= attained) || !(constant <= attained*(1+1e-12)) {
		return fmt.Errorf("constant %v, attained %v", constant, attained)
	}
	return nil
}

// TestGorgoniaExpression: a loss as a Gorgonia graph is the same as its formula.
func TestGorgoniaExpression(t *testing.T) {
	f := must.Get(graphs.FromGraph(func(_ *gorgonia.ExprGraph, u *gorgonia.Node) *gorgonia.Node {
		return gorgonia.Must(gorgonia.Softplus(gorgonia.Must(gorgonia.Neg(u))))
	}))(t)
	e := must.Get(engine.NewFunctionExpression("graph", f, 0))(t)
	got := must.Get(engine.Score{Of: e}.Constants(engine.UnitBounds(), 1))(t)
	l, _ := engine.LibraryByName("logistic")
	formula := must.Get(l.Expression(engine.ExpressionOptions{}))(t)
	want, err := engine.Score{Of: formula}.Constants(engine.UnitBounds(), 1)
	if err != nil || got != want {
		t.Errorf("%+v, by formula %+v, %v", got, want, err)
	}
}
