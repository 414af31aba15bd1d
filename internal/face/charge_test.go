package face

import (
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"dyad"
	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/algorithms/pairs"
	"dyad/docs/checker"
	"dyad/engine/embedding"
	"dyad/engine/team"
	"dyad/internal/must"
	"dyad/privacy"
)

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// schemaWith writes the schema of the clinic with a text replaced.
func schemaWith(t *testing.T, name, old, new string) string {
	t.Helper()
	text := string(must.Get(os.ReadFile("patients.yaml"))(t))
	if !strings.Contains(text, old) {
		t.Fatalf("the schema has no %s", old)
	}
	must.Do(t, os.WriteFile(name, []byte(strings.Replace(text, old, new, 1)), 0o600))
	return name
}

// A public option that makes a result impossible, unreadable or wrong is refused before the charge: after it, the
// budget would be lost. Each row lost it, or released a wrong number, in an earlier version.
func TestPublicFaultsCostNothing(t *testing.T) {
	inClinic(t)
	data, plan, book := opened(t, dyad.Options{})
	model := must.Get(plan.Run(t.Context(), data, dyad.Run{Public: true}))(t).Model
	wider := must.Get(dyad.Open("patients.csv", schemaWith(t, "wider.yaml", "range: [18, 95]", "range: [0, 1000]")))(t)
	swapped := must.Get(dyad.Open("patients.csv", schemaWith(t, "swapped.yaml", "name: age, range: [18, 95]",
		"name: years, field: age, range: [18, 95]")))(t)
	figures := func(d dyad.FigureData, o dyad.FigureOptions) error {
		o.Model, o.Epsilon = model, 1
		p, err := dyad.PlanFigures(d.Shape(), o)
		if err == nil {
			_, err = p.Run(t.Context(), d, dyad.Run{Ledger: book})
		}
		return err
	}
	train := func(r dyad.Run) error {
		r.Ledger = book
		_, err := plan.Run(t.Context(), data, r)
		return err
	}
	moments := func(m algorithms.Moments) error {
		_, err := dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1, Algorithm: m})
		return err
	}
	square := dyad.Options{Epsilon: 1, Algorithm: algorithms.Moments{}, Loss: dyad.Loss{Name: "square", Formula: "exp(-u)"}}
	own := dyad.FigureData{Data: data}
	for _, c := range []struct {
		what string
		err  error
		says string
	}{
		{"figures of 95 percent", figures(own, dyad.FigureOptions{Confidence: 95}), "the confidence is 95"},
		{"figures with an empty aim", figures(own, dyad.FigureOptions{Aim: &evaluate.Aim{}}), "the aim is"},
		{"figures of other ranges", figures(dyad.FigureData{Data: wider}, dyad.FigureOptions{}), "of the records and of the model differ"},
		{"figures of other names", figures(dyad.FigureData{Data: swapped}, dyad.FigureOptions{}), "of the records and of the model differ"},
		{"exact figures of other ranges", second(model.Evaluate(t.Context(), wider, dyad.EvaluateOptions{})), "of the model differ"},
		{"influence of other ranges", second(model.Influence(t.Context(), data, dyad.InfluenceOptions{On: wider})), "of the model differ"},
		{"a choice among models with another encoding", func() error {
			s := must.Get(dyad.PlanSearch(data.Shape(), dyad.SearchOptions{Models: []*dyad.Model{model, model}, Epsilon: 1}))(t)
			return second(s.Run(t.Context(), []*dyad.Data{data, wider}, dyad.Run{Ledger: book}))
		}(), "of the model differ"},
		{"figures by a team", func() error {
			p := must.Get(dyad.PlanFigures(data.Shape(), dyad.FigureOptions{Model: model, Epsilon: 1}))(t)
			return second(p.Run(t.Context(), own, dyad.Run{Ledger: book, Team: &team.Leader{}}))
		}(), "one process"},
		{"a choice by a team", func() error {
			s := must.Get(dyad.PlanSearch(data.Shape(), dyad.SearchOptions{Models: []*dyad.Model{model, model}, Epsilon: 1}))(t)
			return second(s.Run(t.Context(), []*dyad.Data{data, data}, dyad.Run{Ledger: book, Team: &team.Leader{}}))
		}(), "one process"},
		{"a curve of 95 percent", second(dyad.PlanCurve(data.Shape(), dyad.CurveOptions{Settings: []dyad.Setting{{Name: "a"}},
			Epsilons: []float64{1}, Training: 80, HeldEpsilon: 1, Confidence: 95})), "the confidence is 95"},
		{"options that JSON has not", train(dyad.Run{Options: map[string]any{"a": math.NaN()}}), "unsupported value"},
		{"a page with control characters", train(dyad.Run{Approved: "a\x00"}), "approved"},
		{"an id that a model cannot have", train(dyad.Run{ID: "a b"}), "run"},
		{"a year that JSON has not", train(dyad.Run{Created: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}), "year"},
		{"moments with another formula", second(dyad.Plan(data.Shape(), square)), "only the plain square loss"},
		{"an algorithm that a file cannot name", func() error {
			p, err := dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1, Algorithm: renamed{}})
			if err == nil {
				_, err = p.Run(t.Context(), data, dyad.Run{Ledger: book, Out: "renamed.json"})
				err = errors.Join(err, second(dyad.Load("renamed.json")))
			}
			return err
		}(), "report.algorithm"},
		{"blocks of fewer features", moments(algorithms.Moments{Blocks: []int{3}}), "add up to 12"},
		{"a block of -3", moments(algorithms.Moments{Blocks: []int{-3, 15}}), "add up to 12"},
		{"intervals of moments-descent", second(dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1,
			Algorithm: algorithms.MomentsDescent{Moments: algorithms.Moments{Intervals: true}}})), "appends nothing"},
		{"a paper's weight whose square overflows", second(dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1,
			Mode: algorithms.Paper, Algorithm: algorithms.OffPairC{PaperAlpha: 1e300}})), "never takes a step"},
		{"that of a stream", second(dyad.Options{Epsilon: 1, Mode: algorithms.Paper}.PlanStream(data.Shape(),
			algorithms.OnPairC{PaperAlpha: 1e300}, algorithms.StreamOptions{})), "never takes a step"},
		{"a matrix of more rows than there are", second(dyad.PlanPairs(dyad.PairShape{Individuals: 100, Features: 3, Classes: true},
			pairs.Spec{Loss: embedding.Contrastive{Margin: 1}, AllPairs: true, Rows: 1 << 30, Budget: privacy.Budget{Epsilon: 1}})),
			"rows at most"},
		{"lines without blocks", moments(algorithms.Moments{Lines: make([]float64, 12)}), "lines need blocks"},
		{"lines of zeros", moments(algorithms.Moments{Blocks: []int{12}, Lines: make([]float64, 12)}), "other than 0"},
		{"a network for a stream", second(dyad.Options{Epsilon: 1, Network: &dyad.Network{}}.PlanStream(data.Shape(),
			algorithms.DefaultStream(algorithms.Certified), algorithms.StreamOptions{})), "Options.Network"},
		{"softplus of users", second(dyad.PlanStudy(data.Shape(), dyad.StudyOptions{Method: "prestige",
			Network: &dyad.Network{Hidden: []int{4}, Activation: "softplus"}})), "tanh"},
	} {
		if !errors.Is(c.err, dyad.ErrInput) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
	if charged, _ := charges(t, book); charged != 0 {
		t.Errorf("%d charges", charged)
	}
	// Control: the models of a choice need no names. A formula is the loss, whatever the name.
	must.Get(dyad.PlanSearch(data.Shape(), dyad.SearchOptions{Models: []*dyad.Model{model, model}, Epsilon: 1}))(t)
	for i, network := range []*dyad.Network{nil, {}, nil, {}} {
		l := dyad.Loss{Name: []string{"", "logistic"}[i/2], Formula: "exp(-u)"}
		p := must.Get(dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1, Loss: l, Network: network,
			Algorithm: algorithms.GradientPerturbation{}}))(t)
		if stated := p.Spec.Kernel.Problem().Loss.Definition(); p.Loss.Name != "custom" || !strings.Contains(stated, "exp(-u)") || strings.Contains(stated, "log1p") {
			t.Errorf("%+v is trained as %s", p.Loss, stated)
		}
	}
	must.Do(t, errors.Join(figures(own, dyad.FigureOptions{}), train(dyad.Run{ID: "A-1.figures"})))
}

// renamed is gradient perturbation under a name that a file of a model cannot have.
type renamed struct {
	algorithms.GradientPerturbation
}

func (a renamed) Info() algorithms.Info {
	i := a.GradientPerturbation.Info()
	i.Name = "My_Algorithm"
	return i
}

func (a renamed) Plan(s algorithms.Spec) (*algorithms.Plan, error) {
	p, err := a.GradientPerturbation.Plan(s)
	if err == nil {
		p.Algorithm = a.Info().Name
	}
	return p, err
}

// A verdict is of the model as it is, and goroutines may ask for it at once.
func TestVerdictsOfManyGoroutines(t *testing.T) {
	inClinic(t)
	data, plan, book := opened(t, dyad.Options{})
	m := must.Get(plan.Run(t.Context(), data, dyad.Run{Ledger: book, Out: "model.json"}))(t).Model
	for _, m := range []*dyad.Model{m, must.Get(dyad.Load("model.json"))(t)} {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if v := m.Verdict(); v.Verdict != checker.Verified {
					t.Errorf("%+v", v)
				}
			})
		}
		all.Wait()
	}
	m.Guarantee.Epsilon /= 2
	if v := m.Verdict(); v.Verdict != checker.Refused {
		t.Errorf("a model with half of its epsilon: %+v", v)
	}
}
