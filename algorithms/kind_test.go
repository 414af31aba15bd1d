package algorithms_test

import (
	"fmt"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

// toy has the methods of a kind of one number; kinds of tests embed it.
type toy struct{}

func (toy) Info() algorithms.Info { return algorithms.Info{Name: "toy", Title: "Toy"} }

func (toy) Rows(s algorithms.KindShape) (algorithms.Releases, error) {
	c, err := privacy.RecordSum{Radius: 1, Weight: 1, Error: 1e-9, Name: "sum"}.Certify()
	return algorithms.Releases{{Name: "sum", Coordinates: 1, Certificate: c}}, err
}

func (toy) Exact(*engine.Records, int, [][]float64) []float64 { return []float64{0} }

func (toy) Figures(algorithms.KindShape, algorithms.Releases, [][]float64) (f algorithms.Facts) {
	return f
}

type (
	inner  struct{ A, B string }
	simple struct {
		toy
		Yes    bool
		Number int
		Length float64
		in     inner
	}
	hidden struct { // whose text is always the same
		toy
		Number int
	}
	pointing struct {
		toy
		At *float64
	}
	listed struct {
		toy
		In struct{ Of []float64 }
	}
	mapped struct {
		toy
		Of map[string]int
	}
	calling struct {
		toy
		Of func()
	}
	anything struct {
		toy
		Of any
	}
)

func (hidden) String() string { return "hidden" }

// The objective of a plan tells any two kinds apart; PlanKind refuses kinds for which it could not.
func TestPlansNameAllFieldsOfAKind(t *testing.T) {
	shape := algorithms.KindShape{Records: 9, Features: 2, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}
	seen := map[string]algorithms.Kind{}
	for _, k := range []algorithms.Kind{
		toy{}, simple{}, simple{Yes: true}, simple{Number: 1}, simple{Length: 1}, simple{Length: 1 + 0x1p-52}, simple{in: inner{A: "a"}}, simple{in: inner{B: "a"}},
		simple{in: inner{A: "a B:b"}}, simple{in: inner{A: "a", B: "b"}}, simple{in: inner{A: `"a B:b"`}}, hidden{}, hidden{Number: 1},
	} {
		p := must.Get(algorithms.PlanKind(k, shape))(t, fmt.Sprintf("%#v", k))
		if other, there := seen[p.Objective]; there {
			t.Errorf("%#v and %#v are both %q", k, other, p.Objective)
		}
		seen[p.Objective] = k
	}
	if p, err := algorithms.PlanKind(simple{Number: 2}, shape); err != nil || p.Objective != fmt.Sprintf("toy %+v of 9 records, 2 features", simple{Number: 2}) {
		t.Errorf("an earlier version wrote another objective than %v: %v", p, err)
	}
	for want, k := range map[string]algorithms.Kind{
		"it is a ptr": &simple{}, "it is a invalid": nil, "field At": pointing{}, "field Of of struct": listed{}, "map[string]int": mapped{}, "func()": calling{}, "interface": anything{},
	} {
		must.Fail(algorithms.PlanKind(k, shape))(t, want, fmt.Sprintf("%T: want %q", k, want))
	}
}

// The digest of a plan, by which an approved page is compared, tells whatever the guarantee and the result rest on.
func TestDigestsTellPlansApart(t *testing.T) {
	seen := map[string]string{}
	for what, change := range map[string]func(*algorithms.Plan){
		"nothing":         func(*algorithms.Plan) {},
		"the algorithm":   func(p *algorithms.Plan) { p.Algorithm = "other" },
		"the mode":        func(p *algorithms.Plan) { p.Mode = algorithms.NonPrivate },
		"the objective":   func(p *algorithms.Plan) { p.Objective += ", 3 features" },
		"the steps":       func(p *algorithms.Plan) { p.Schedule.Steps++ },
		"the step sizes":  func(p *algorithms.Plan) { p.Schedule.Eta = []float64{1} },
		"the budget":      func(p *algorithms.Plan) { p.Spec.Budget.Epsilon *= 2 },
		"a name":          func(p *algorithms.Plan) { p.Releases[0].Name = "other" },
		"a number of it":  func(p *algorithms.Plan) { p.Releases[0].Coordinates++ },
		"its share":       func(p *algorithms.Plan) { p.Releases[0].Share /= 2 },
		"its noise":       func(p *algorithms.Plan) { p.Releases[0].Noise = privacy.Gaussian{Sigma: 3} },
		"one row more":    func(p *algorithms.Plan) { p.Releases = append(p.Releases, p.Releases[0]) },
		"ranges of data":  func(p *algorithms.Plan) { p.Guarantee.Warnings = []string{algorithms.BoundsFromData} },
		"a draft is away": func(p *algorithms.Plan) { p.Guarantee.Warnings = []string{algorithms.DraftAway} },
	} {
		p := must.Get(algorithms.PlanKind(toy{}, algorithms.KindShape{Records: 9, Features: 2, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}))(t)
		change(&p.Plan)
		digest := must.Get(p.Digest())(t)
		must.Equal(t, seen[digest], "", "%s and another plan have one digest", what)
		seen[digest] = what
	}
}
