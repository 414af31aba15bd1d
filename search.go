package dyad

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/curve"
	"dyad/algorithms/search"
	"dyad/engine/metrics"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/internal/memory"
	"dyad/privacy"
)

// Setting is a candidate that a search trains. It holds options, and the public shape of the data.
type Setting struct {
	Name    string
	Options Options             // without Epsilon and Delta, which the search sets
	With    []algorithms.Option // options of the algorithm
	// Shape is the shape of the records as this setting encodes them. The zero value means the shape of the search.
	Shape Shape
	// Features are the names of the columns that the setting uses; nil for all. Features affects only the advice of
	// the plan. Shape and data must come from the schema restricted to these features (dataset.Schema.Restrict).
	Features []string
}

// SearchOptions decides what a search does and guarantees. All options are public. Set Settings or Models, not both.
type SearchOptions struct {
	Settings []Setting // settings to be trained
	Models   []*Model  // models that are public or were released
	// ModelNames are the names of Models in reports; a missing name is "model 1", "model 2", ...
	ModelNames []string
	Epsilon    float64
	Delta      *float64    // nil is privacy.DefaultDelta
	Road       search.Road // the method of the search; "" is the cheaper one, by a rule of public numbers
	Runs       int         // largest number of runs of random stopping; 0 means that a rule sets it
}

// Search is a planned search. Print Report().Text() before anything is charged.
type Search struct {
	*search.Plan
	options SearchOptions
	shape   Shape
	planned map[*algorithms.Plan]*Training // the trainings of every budget and road that was tried
}

// PlanSearch plans a private choice among settings or models. It reads no data and makes no charge.
func PlanSearch(shape Shape, o SearchOptions) (*Search, error) {
	s := &Search{options: o, shape: shape, planned: map[*algorithms.Plan]*Training{}}
	so := search.Options{Records: shape.Records, PersonRows: shape.PersonRows,
		Budget: Options{Epsilon: o.Epsilon, Delta: o.Delta}.Budget(shape.Records), Provenance: shape.Provenance,
		Road: o.Road, Runs: o.Runs}
	for _, setting := range o.Settings {
		if setting.Shape.Records == 0 {
			setting.Shape = shape
		}
		if err := searchable(setting, shape); err != nil {
			return nil, err
		}
		so.Settings = append(so.Settings, search.Setting{Name: setting.Name, Features: strings.Join(setting.Features, ", "), Plan: func(b privacy.Budget) (*algorithms.Plan, error) {
			t, err := setting.plan(b)
			if err != nil {
				return nil, err
			}
			s.planned[t.Plan] = t
			return t.Plan, nil
		}})
	}
	for i, m := range o.Models {
		if i == len(o.ModelNames) {
			o.ModelNames = append(slices.Clip(o.ModelNames), fmt.Sprint("model ", i+1))
			s.options.ModelNames = o.ModelNames
		}
		if err := scoring(m.Task, m.Network); err != nil {
			return nil, err
		}
		so.Models = append(so.Models, search.Model{Name: o.ModelNames[i], Digest: files.Digest(fmt.Append(nil, m.Weights))})
	}
	if len(o.Models) > 0 {
		if err := wholeRecords("a search", shape); err != nil {
			return nil, err
		}
	}
	plan, err := search.New(so)
	if err != nil {
		return nil, input.As(err)
	}
	s.Plan = plan
	return s, nil
}

// searchable refuses settings that a search does not compare.
func searchable(s Setting, first Shape) error {
	if err := scoring(s.Options.Task, s.Options.Network); err != nil {
		return err
	}
	switch {
	case s.Options.Mode != algorithms.Certified:
		return input.Errorf("dyad: setting %s has mode %s, but a search needs certified mode", s.Name, s.Options.Mode)
	case s.Shape.Records != first.Records || s.Shape.PersonRows != first.PersonRows:
		return input.Errorf("dyad: setting %s has Records %d and PersonRows %d, but the search has %d and %d; use "+
			"the same records for all settings", s.Name, s.Shape.Records, s.Shape.PersonRows, first.Records, first.PersonRows)
	}
	return wholeRecords("a search", s.Shape)
}

// wholeRecords refuses records whose private score has no certificate in this version.
func wholeRecords(what string, s Shape) error {
	return input.Needs{
		Ungrouped: what + " needs the AUC over all records, but the schema has query groups; give the group column " +
			"the role ignore",
		TwoClasses: what + " needs the AUC of two classes, but the labels are grades",
	}.Of(s.lacks())
}

// lacks returns what records of the shape lack.
func (s Shape) lacks() input.Lacks {
	return input.Lacks{Ungrouped: len(s.Groups) > 0, TwoClasses: s.graded(), Rows: s.PersonRows > 0}
}

// scoring refuses models that have no scores, and models whose scores a search does not compute.
func scoring(task string, n *Network) error {
	return input.Needs{
		Scores: "a search compares settings by the AUC of their scores, but a metric has no scores",
		Linear: "a search compares only linear models of scores; evaluate each network alone (each evaluation is " +
			"charged)",
	}.Of(input.Lacks{Scores: task == Metric, Linear: n != nil})
}

// plan plans the setting for a budget.
func (s Setting) plan(b privacy.Budget) (*Training, error) {
	o := s.Options
	o.Task, o.Epsilon, o.Delta = AUC, b.Epsilon, &b.Delta
	c, err := o.Choose(s.Shape)
	if err != nil {
		return nil, err
	}
	if c, err = c.With(s.With...); err != nil {
		return nil, input.As(err)
	}
	t, err := o.Plan(c, s.Shape)
	if err == nil {
		err = input.As(algorithms.CheckTried(t.algorithm, t.Plan))
	}
	return t, err
}

// Chosen holds the result of a search.
type Chosen struct {
	*Trained        // the model; with Models, the chosen model
	Winner   string // name of the chosen setting or model
	Index    int    // index of the winner
	// AUC is the released AUC of the winner on the records of the training. It is 0 unless the search
	// used random stopping, because nothing else releases an AUC.
	AUC float64
	// ChargedRun is the id of the run of the search, and Promise is the guarantee of the search. If the search chose
	// one of Models, the chosen model still states the run and the guarantee of its own training.
	ChargedRun string
	Promise    privacy.Guarantee

	size func() ([]byte, int, error) // content of the model's file, and an upper bound of its length
}

// Run carries out a planned search. data has one element for each candidate. All elements hold the same records, each
// in the encoding of its candidate. The charge, the release, the files and the errors are as in Training.Run, except
// that a resumed run starts again, because a checkpoint would hold numbers that must stay secret even from its owner.
func (s *Search) Run(ctx context.Context, data []*Data, o Run) (*Chosen, error) {
	data, err := s.fits(data)
	if err != nil {
		return nil, err
	}
	o.Progress = nil
	of := data[0].Source()
	for _, d := range data[1:] {
		of = of.using(d.Source())
	}
	found, end, err := kind[*Chosen]{
		of: of, fresh: true, text: func(c *Chosen) ([]byte, int, error) { return c.size() },
		load: func(file string) (*Chosen, error) {
			m, err := Load(file)
			return &Chosen{Trained: &Trained{Model: m}}, err
		},
		made: func(o Run, r *algorithms.Result) (*Chosen, error) {
			found, err := s.Read(r.Weights)
			if err != nil {
				return nil, err
			}
			return &Chosen{
				Trained: &Trained{Model: s.model(data, found, r, o)}, Winner: s.name(found.Winner), Index: found.Winner,
				AUC: found.AUC, ChargedRun: r.Run, Promise: r.Guarantee,
				size: func() ([]byte, int, error) { return s.size(data, found, r, o) },
			}, nil
		},
		work: func(p algorithms.Options) (*algorithms.Result, error) {
			return algorithms.Execute(ctx, s.Job(s.records(data)), p)
		},
	}.run(ctx, o)
	if end == nil {
		return nil, err
	}
	found.Outcome = *end
	return found, err
}

// training returns the training of a setting.
func (s *Search) training(i int) *Training { return s.planned[s.Trainings[i]] }

func (s *Search) name(i int) string {
	if len(s.options.Settings) > 0 {
		return s.options.Settings[i].Name
	}
	return s.options.ModelNames[i]
}

// fits returns the data as the candidates encode them, or an error if they are not the data of the plan.
func (s *Search) fits(data []*Data) (as []*Data, err error) {
	if want := len(s.options.Settings) + len(s.options.Models); len(data) != want {
		return nil, input.Errorf("dyad: %d data for a search among %d candidates", len(data), want)
	}
	for i, d := range data {
		if len(s.options.Models) > 0 {
			if got, want := d.Shape(), s.shape; got.Records != want.Records || got.PersonRows != want.PersonRows || !d.labelled ||
				!d.Schema().SameRows(data[0].Schema()) {
				return nil, input.Errorf("dyad: the data do not fit the plan; want labels, Records %d, PersonRows %d, and the "+
					"same classes, query groups and persons for all models; plan with Data.Shape", want.Records, want.PersonRows)
			}
			if d, err = d.as(s.options.Models[i].Encoder); err != nil {
				return nil, err
			}
		} else if err = cmp.Or(s.training(i).fits(d), prefixed(memory.Check(s.training(i).Coordinates(), 0))); err != nil {
			return nil, err
		}
		as = append(as, d)
	}
	return as, nil
}

// records returns what the job of a search needs of the data.
func (s *Search) records(data []*Data) search.Records {
	r := search.Records{
		Train: func(ctx context.Context, i int, p *algorithms.Plan, session privacy.Session) ([]float64, error) {
			ev, err := p.Spec.Kernel.Bind(data[i].Records)
			if err != nil {
				return nil, err
			}
			w, err := s.planned[p].algorithm.Train(ctx, ev, p, session, algorithms.Tracker{})
			return w, errors.Join(err, ev.Close())
		},
		Scores: func(_ context.Context, i int, w []float64) ([]float64, error) {
			if len(s.options.Models) > 0 {
				w = s.options.Models[i].Weights
			}
			return metrics.Scores(data[i].Records, w)
		},
	}
	for _, y := range data[0].Records.Labels() {
		r.Positive = append(r.Positive, y > 0)
	}
	r.First = data[0].Records.FirstRows()
	return r
}

// model returns the model of a result.
func (s *Search) model(data []*Data, f search.Found, r *algorithms.Result, o Run) *Model {
	i := f.Winner
	report := s.Report()
	report.Guarantee = r.Guarantee
	if len(s.options.Models) > 0 {
		m := *s.options.Models[i] // released before: the file is a copy
		return &m
	}
	d := data[i]
	m := d.model(AUC, &algorithms.Result{Weights: f.Weights, Guarantee: r.Guarantee})
	m.Loss, m.Report, m.Plan = &s.training(i).Loss, report, r.Record
	m.Format, m.Version, m.Created, m.DataID, m.Run = modelFormat, Version, o.Created.UTC().Truncate(time.Second),
		cmp.Or(o.DataID, d.Source().DataID), r.Run
	m.Options, m.Approved = o.Options, o.Approved
	return m
}

// size returns the content of the model's file, and an upper bound of the lengths for all candidates: whether the file
// can be stored must not depend on the chosen candidate.
func (s *Search) size(data []*Data, found search.Found, r *algorithms.Result,
	o Run) (text []byte, most int, err error) {
	if text, most, err = s.model(data, found, r, o).Size(); err != nil {
		return nil, 0, err
	}
	for i := range data {
		other := search.Found{Winner: i}
		if len(s.Trainings) > 0 {
			other.Weights = slices.Repeat([]float64{0}, s.training(i).Coordinates())
		}
		_, length, err := s.model(data, other, r, o).Size()
		if err != nil {
			return nil, 0, err
		}
		most = max(most, length)
	}
	return text, most, nil
}

// CurveOptions holds the options of a learning curve of private data. All of them are public. Every setting is trained
// with every epsilon, and the private AUC on the remaining records is released.
type CurveOptions struct {
	Settings []Setting // without Shape and Features, which are not used
	Epsilons []float64 // epsilons of the trainings
	// Delta is the delta of each training and of its figures. If it is nil, each delta is privacy.DefaultDelta(n) for
	// the number n of records that the training or the figures use.
	Delta         *float64
	Training      int // number of records that each run trains on
	Splits, Draws int // numbers of splits of the records, and of noise draws for each split; 0 means 1
	// HeldEpsilon is the epsilon of the figures of every run. It is spent in addition to the epsilon of the training.
	HeldEpsilon float64
	Confidence  float64 `within:"(0,1)" called:"confidence"` // level of the confidence intervals; 0 means 0.95
	// Names holds the names of the data and of the ledger in the file of the curve.
	Names struct{ Data, Ledger string }
}

// Curve is a planned learning curve. Print Report().Text() before anything is charged.
type Curve struct {
	*curve.Plan
	shape   Shape
	options CurveOptions
}

// PlanCurve plans the curve of records of a shape. It reads no data and makes no charge. The whole curve is charged at
// once and released at the end.
func PlanCurve(s Shape, o CurveOptions) (*Curve, error) {
	if err := (input.Needs{Rows: "a private curve does not support persons with several rows; use synthetic visits " +
		"(dyad data synth --visits)"}).Of(s.lacks()); err != nil {
		return nil, err
	}
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	if err := cmp.Or(wholeRecords("a curve", s), prefixed(input.As(input.Ranges(o)))); err != nil {
		return nil, err
	}
	var names []string
	for _, e := range o.Epsilons {
		names = append(names, fmt.Sprintf("epsilon %g", e))
	}
	for _, s := range o.Settings {
		names = append(names, s.Name)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, input.Errorf("dyad: %s is there twice", name)
		}
	}
	c := curve.Options{Records: s.Records, Training: o.Training, Splits: cmp.Or(o.Splits, 1), Provenance: s.Provenance}
	c.Held = Options{Epsilon: o.HeldEpsilon, Delta: o.Delta}.Budget(s.Records - o.Training)
	train := s
	train.Records = o.Training
	for split := range c.Splits {
		for _, epsilon := range o.Epsilons {
			for range cmp.Or(o.Draws, 1) {
				for _, setting := range o.Settings {
					setting.Shape = train
					if err := curved(setting); err != nil {
						return nil, err
					}
					t, err := setting.plan(Options{Epsilon: epsilon, Delta: o.Delta}.Budget(o.Training))
					if err != nil {
						return nil, input.Errorf("dyad: epsilon %g, %s: %w", epsilon, setting.Name, err)
					}
					c.Runs = append(c.Runs, curve.Run{Name: setting.Name, Split: split, Algorithm: t.algorithm, Training: t.Plan})
				}
			}
		}
	}
	p, err := curve.New(c)
	return &Curve{Plan: p, shape: s, options: o}, input.As(err)
}

// curved refuses settings that a curve of private data cannot have.
func curved(s Setting) error {
	if err := (input.Needs{Scores: "a metric has no private curve; draw the curve on public data"}).Of(input.Lacks{Scores: s.Options.Task == Metric}); err != nil {
		return err
	}
	if a := s.Options.Algorithm; s.Options.Mode != algorithms.Certified ||
		a != nil && !a.Info().Supports(algorithms.Certified) {
		return input.Errorf("dyad: %s is not private and would publish exact figures; use this algorithm only on "+
			"public data", s.Name)
	}
	return scoring(s.Options.Task, s.Options.Network)
}

// Run releases the curve. It charges the ledger, writes files and returns errors as Training.Run does, but a
// resumed run starts again from the beginning.
func (c *Curve) Run(ctx context.Context, d *Data, o Run) (*curve.Released, error) {
	if err := c.shape.same(d); err != nil {
		return nil, err
	}
	of := d.Source()
	r, end, err := kind[*curve.Released]{
		of: of, fresh: true,
		text: func(r *curve.Released) ([]byte, int, error) { return files.SealedReport(r) },
		load: func(file string) (*curve.Released, error) {
			r := &curve.Released{}
			seal, err := files.ReadSealed(file, r)
			if err == nil && !seal.Intact(r.Plan != nil) {
				err = fmt.Errorf("dyad: %s was changed since it was written", file)
			}
			return r, input.As(err)
		},
		made: func(o Run, r *algorithms.Result) (*curve.Released, error) {
			out := &curve.Released{Data: c.options.Names.Data, DataID: cmp.Or(o.DataID, of.DataID),
				Public: r.Guarantee.Kind == privacy.Public, Guarantee: r.Guarantee, Run: r.Run, Report: c.Report(),
				Plan: r.Record, Out: o.Out}
			if out.Report.Guarantee = r.Guarantee; o.Ledger != nil {
				out.Ledger = cmp.Or(c.options.Names.Ledger, o.Ledger.Path())
			}
			var err error
			out.Rows, err = c.Rows(r.Weights, c.options.Confidence)
			return out, err
		},
		work: func(a algorithms.Options) (*algorithms.Result, error) {
			return algorithms.Execute(ctx, c.Job(d.Records), a)
		},
	}.run(ctx, o)
	if end == nil {
		return nil, err
	}
	r.Out = end.File
	return r, err
}
