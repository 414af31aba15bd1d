package algorithms_test

import (
	"math"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// Every refusal of the two algorithms names its reason.
func TestBatchAndHiddenRefusals(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	with := func(change func(*algorithms.Spec)) algorithms.Spec {
		s := newSpec(t, 60, 3, 0.5, 0.01, b, algorithms.Certified)
		change(&s)
		return s
	}
	grouped := must.Get(algorithms.NewSpec(cpu.Backend{},
		engine.Problem{N: 30, D: 3, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, Groups: []int{10, 20}},
		0, b, algorithms.Certified))(t)
	plain := with(func(*algorithms.Spec) {})
	for _, c := range []struct {
		name string
		a    algorithms.Algorithm
		s    algorithms.Spec
		want string
	}{
		{"non-convex", algorithms.ConvergentDescent{},
			with(func(s *algorithms.Spec) { s.Constants.Convex = false }), "convex"},
		{"not smooth", algorithms.ConvergentDescent{},
			with(func(s *algorithms.Spec) { s.Constants.Smoothness = math.Inf(1) }), "smooth"},
		{"long step", algorithms.ConvergentDescent{StepSize: 0.51}, plain, "2/(L + 2 alpha)"},
		{"negative steps", algorithms.ConvergentDescent{Steps: -1}, plain, "want at least 0"},
		{"too many steps", algorithms.ConvergentDescent{Steps: 1 << 30}, plain, "steps"},
		{"paper", algorithms.ConvergentDescent{}, with(func(s *algorithms.Spec) { s.Mode = algorithms.Paper }), "paper"},
		{"pure", algorithms.ConvergentDescent{}, with(func(s *algorithms.Spec) { s.Budget.Delta = 0 }), "delta > 0"},
		{"noise off the grid's range", algorithms.ConvergentDescent{Steps: 1, StepSize: 1e-12},
			with(func(s *algorithms.Spec) { s.Budget.Epsilon = 1e12 }), "too small for numbers"},
		{"batch of one", algorithms.SubsampledDescent{BatchRecords: 1}, plain, "no pair"},
		{"full batch", algorithms.SubsampledDescent{BatchRecords: 60}, plain, "must be below the number of records"},
		{"negative batch", algorithms.SubsampledDescent{BatchRecords: -4}, plain, "no pair"},
		{"groups", algorithms.SubsampledDescent{}, grouped, "groups"},
		{"pure batch", algorithms.SubsampledDescent{}, with(func(s *algorithms.Spec) { s.Budget.Delta = 0 }), "delta > 0"},
		{"no backend", algorithms.SubsampledDescent{}, with(func(s *algorithms.Spec) { s.Backend = nil }), "Backend"},
		{"paper batch", algorithms.SubsampledDescent{},
			with(func(s *algorithms.Spec) { s.Mode = algorithms.Paper }), "paper"},
	} {
		must.Fail(c.a.Plan(c.s))(t, must.All{algorithms.ErrAssumption, c.want}, c.name)
	}
	must.Check((algorithms.ConvergentDescent{}).Plan(grouped))(t, "hidden steps within groups")
}

// The gain of hidden iterates and of batches: noise per gradient of long runs, and cost.
func TestBatchAndHiddenGains(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	s := newSpec(t, 256, 8, 1, 0, privacy.Budget{Epsilon: 1, Delta: 1.0 / 256}, algorithms.Certified)
	s.Constants = engine.Constants{Lipschitz: 4, Smoothness: 4, PairDiameter: 4, Convex: true, Origin: engine.Asserted}
	eta := 0.5 * (1 - 0x1p-49)
	full := must.Get(algorithms.GradientPerturbation{Steps: 2560, StepSize: eta}.Plan(s))(t)
	hidden := must.Get(algorithms.ConvergentDescent{Steps: 2560, StepSize: eta}.Plan(s))(t)
	if got := sigma(full); math.Abs(got-3.4373) > 1e-3 { // docs/theory.md#convergent-descent
		t.Errorf("every gradient released: sigma %.5g, want 3.437", got)
	}
	must.Near(t, sigma(hidden)/eta, 1.5372, 1e-3, "last iterate only: sigma of a gradient")
	if g := hidden.Guarantee; g.Epsilon > 1 || !strings.Contains(g.Derivation, "3.437") &&
		!strings.Contains(g.Derivation, "1.718") || !strings.Contains(strings.Join(g.Assumptions, " "), "stay secret") {
		t.Errorf("%+v", g)
	}
	batches := must.Get(algorithms.SubsampledDescent{Steps: 2560, StepSize: eta, BatchRecords: 16}.Plan(s))(t)
	c := batches.Certificate()
	if got := sigma(batches); !(got < privacy.BasicBatchSigma(c, s.Budget, 2560) &&
		got < privacy.UnsampledSigma(c, s.Budget, 2560)/10 && got > sigma(full)) {
		t.Errorf("sigma %v, basic composition %v, known batches %v, full batches %v", got,
			privacy.BasicBatchSigma(c, s.Budget, 2560), privacy.UnsampledSigma(c, s.Budget, 2560), sigma(full))
	}
	if batches.Work.Gradients > full.Work.Gradients/250 || batches.Guarantee.Mu != 0 ||
		strings.Contains(batches.Guarantee.String(), "GDP") {
		t.Errorf("%v pairs, guarantee %v", batches.Work.Gradients, batches.Guarantee)
	}
}
