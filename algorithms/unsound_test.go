package algorithms

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestPaperUnsound: in the papers' own settings paper mode refuses, the changed schedule takes steps
// and says so everywhere, and private data never meet it.
func TestPaperUnsound(t *testing.T) {
	const n, d = 90, 3
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range n {
		y[i] = float64(i%2*2 - 1)
		x[i*d+i%d] = 0.5 * y[i]
	}
	records := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	problem := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	budget := privacy.Budget{Epsilon: 0.05, Delta: 1. / n} // so little that dpgdc2 refuses too
	seen := 0
	for _, a := range Catalog() {
		i := a.Info()
		mode := i.Modes[0]
		if i.Supports(Paper) {
			mode = Paper
		}
		if i.MetricsOnly {
			continue
		}
		spec := must.Get(NewSpec(cpu.Backend{}, problem, 0, budget, mode))(t)
		if i.NeedsL2 {
			spec.L2 = 1e-3
		}
		spec.PaperUnsound = true
		p, err := a.Plan(spec)
		if i.Unsound == "" {
			if !errors.Is(err, ErrAssumption) || !strings.Contains(err.Error(), "--paper-unsound") {
				t.Errorf("%s: %v, want a refusal of --paper-unsound", i.Name, err)
			}
			continue
		}
		seen++
		if err != nil {
			t.Errorf("%s: %v", i.Name, err)
			continue
		}
		spec.PaperUnsound = false
		if _, err := a.Plan(spec); !errors.Is(err, ErrAssumption) {
			t.Errorf("%s: paper mode gives %v in the paper's setting, want a refusal", i.Name, err)
		}
		report := p.Report().Text()
		if !strings.Contains(report, "paper-unsound: ") || !strings.Contains(report, PaperUnsound) {
			t.Errorf("%s: the report does not say paper-unsound:\n%s", i.Name, report)
		}
		if p.Guarantee.Claim == nil {
			t.Errorf("%s: no claim", i.Name)
		}
		must.Fail(Run(context.Background(), records, a, p, Options{}))(t, ErrUnsound, i.Name, ": a private run gives")
		r, err := Run(context.Background(), records, a, p, Options{Public: true, Source: privacy.NewSeededSource(1)})
		if err != nil {
			t.Errorf("%s: %v", i.Name, err)
		} else if !strings.Contains(strings.Join(r.Guarantee.Warnings, " "), PaperUnsound) {
			t.Errorf("%s: the guarantee of the model has warnings %q", i.Name, r.Guarantee.Warnings)
		}
	}
	for _, s := range StreamCatalog() {
		i, mode, l2 := s.Info(), NonPrivate, 0.0
		if i.Supports(Paper) {
			mode = Paper
		} else if i.Supports(Certified) {
			mode = Certified
		}
		if i.NeedsL2 {
			l2 = 1e-3
		}
		spec := must.Get(NewStreamSpec(cpu.Backend{}, problem, StreamOptions{Horizon: n}, l2, budget, mode))(t)
		spec.PaperUnsound = true
		p, err := s.Plan(spec)
		if i.Unsound == "" {
			if !errors.Is(err, ErrAssumption) {
				t.Errorf("%s: %v, want a refusal", i.Name, err)
			}
			continue
		}
		seen++
		if err != nil {
			t.Errorf("%s: %v", i.Name, err)
		} else if p.Schedule.Steps != n-2 || !strings.Contains(p.Report().Text(), PaperUnsound) {
			t.Errorf("%s: %d steps, report\n%s", i.Name, p.Schedule.Steps, p.Report().Text())
		}
	}
	if seen != 5 {
		t.Errorf("%d algorithms, want 5", seen)
	}
}
