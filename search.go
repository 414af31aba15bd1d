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

// Setting is a candidate of a search that is trained: options and public data of a shape.
type Setting struct {
	Name    string
	Options Options             // Epsilon and Delta come from the search
	With    []algorithms.Option // of the algorithm
	Shape   Shape               // of the records as this setting encodes them; the zero value takes the search's
	// Features are the columns that the setting uses; nil for all. They only decide what the plan advises:
	// Shape and data are of the schema with these features (dataset.Schema.Restrict).
	Features []string
}

// SearchOptions decide what a search does and guarantees. All of them are public.
type SearchOptions struct {
	Settings []Setting // to be trained, or
	Models   []*Model  // that are public or were released, with ModelNames
	// ModelNames tell the models apart in reports.
	ModelNames []string
	Epsilon    float64
	Delta      *float64    // nil is privacy.DefaultDelta
	Road       search.Road // "" is the cheaper one, by a rule of public numbers
	Runs       int         // most runs of random stopping; 0 is a rule
}

// Search is a search that is planned. Print Report().Text() before anything is charged.
type Search struct {
	*search.Plan
	options SearchOptions
	shape   Shape
	planned map[*algorithms.Plan]*Training // of every budget and road that was tried
}

// PlanSearch plans a private choice among settings or models. No data are read and nothing is charged.
func PlanSearch(shape Shape, o SearchOptions) (*Search, error) {
	s := &Search{options: o, shape: shape, planned: map[*algorithms.Plan]*Training{}}
	so := search.Options{Records: shape.Records, PersonRows: shape.PersonRows, Budget: Options{Epsilon: o.Epsilon, Delta: o.Delta}.Budget(shape.Records), Provenance: shape.Provenance, Road: o.Road, Runs: o.Runs}
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

// searchable refuses what a search does not compare.
func searchable(s Setting, first Shape) error {
	if err := scoring(s.Options.Task, s.Options.Network); err != nil {
		return err
	}
	switch {
	case s.Options.Mode != algorithms.Certified:
		return input.Errorf("dyad: setting %s has mode %s; a search trains in certified mode only", s.Name, s.Options.Mode)
	case s.Shape.Records != first.Records || s.Shape.PersonRows != first.PersonRows:
		return input.Errorf("dyad: setting %s is for %d records, of persons with up to %d rows (0: of rows), the search for %d and %d; all settings are compared on the same records", s.Name, s.Shape.Records, s.Shape.PersonRows, first.Records, first.PersonRows)
	}
	return wholeRecords("a search", s.Shape)
}

// wholeRecords refuses records whose private score has no certificate in this version.
func wholeRecords(what string, s Shape) error {
	return input.Needs{
		Ungrouped:  what + " needs the AUC over all records, but the schema has query groups; give the column of the groups the role ignore",
		TwoClasses: what + " needs the AUC of two classes, but the labels are grades",
	}.Of(s.lacks())
}

// lacks is what records of the shape lack.
func (s Shape) lacks() input.Lacks {
	return input.Lacks{Ungrouped: len(s.Groups) > 0, TwoClasses: s.graded(), Rows: s.PersonRows > 0}
}

// scoring refuses models that have no scores, or none that a search computes.
func scoring(task string, n *Network) error {
	return input.Needs{
		Scores: "a search compares settings by the AUC of their scores, but a metric has no scores",
		Linear: "a search compares linear models of scores in this version; evaluate a network alone: both are charged",
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
	*Trained        // the model; of Models the one that was chosen
	Winner   string // name of the setting or model
	Index    int    // its place
	// AUC as random stopping released it, on the records that the settings were trained on; 0 on other roads.
	AUC float64
	// ChargedRun and Promise are the run of the search and its guarantee. A model of Models keeps those of
	// its own training.
	ChargedRun string
	Promise    privacy.Guarantee

	size func() ([]byte, int, error) // of the model's file
}

// Run carries out a planned search on data: one for each candidate, all of the same records as that candidate encodes
// them. Charge, release, files and errors are as in Training.Run, but a resumed run begins again: a checkpoint would
// hold numbers that are secret from its owner as well.
func (s *Search) Run(ctx context.Context, data []*Data, o Run) (*Chosen, error) {
	if err := s.fits(data); err != nil {
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
				Trained: &Trained{Model: s.model(data, found, r, o)}, Winner: s.name(found.Winner), Index: found.Winner, AUC: found.AUC, ChargedRun: r.Run, Promise: r.Guarantee,
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

func (s *Search) fits(data []*Data) error {
	if want := len(s.options.Settings) + len(s.options.Models); len(data) != want {
		return input.Errorf("dyad: %d data for a search among %d candidates", len(data), want)
	}
	for i, d := range data {
		if len(s.options.Models) > 0 {
			if got, want := d.Shape(), s.shape; got.Records != want.Records || got.PersonRows != want.PersonRows || !d.labelled {
				return input.Errorf("dyad: the plan is for %d labelled records, of persons with up to %d rows (0: of rows)", want.Records, want.PersonRows)
			}
			continue
		}
		if err := s.training(i).fits(d); err != nil {
			return err
		}
		if err := memory.Check(s.training(i).Coordinates(), 0); err != nil {
			return prefixed(err)
		}
	}
	return nil
}

// records are what the job of a search needs of data.
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

// model is the model of a result.
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
	m.Format, m.Version, m.Created, m.DataID, m.Run = modelFormat, Version, o.Created.UTC().Truncate(time.Second), o.DataID, r.Run
	if m.DataID == "" {
		m.DataID = d.Source().DataID
	}
	return m
}

// size is the content of the model's file, and a length that no candidate exceeds: whether there is
// room must not depend on which one was chosen.
func (s *Search) size(data []*Data, found search.Found, r *algorithms.Result, o Run) (text []byte, most int, err error) {
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

// CurveOptions decide what a curve of private data shows and guarantees: every setting is trained with every epsilon, and the
// private AUC on the records that are left is released. All of them are public.
type CurveOptions struct {
	Settings      []Setting // Shape and Features are not used
	Epsilons      []float64 // of the trainings
	Delta         *float64  // of each training and of its figures; nil is privacy.DefaultDelta of their records
	Training      int       // records that each run trains on
	Splits, Draws int       // of records, and of noise for each split; 0 means 1
	// HeldEpsilon is the epsilon of the figures of every run, besides the epsilon of its training.
	HeldEpsilon float64
	Confidence  float64 // level of the intervals; 0 means 0.95
	// Names are the names of the data and of the ledger in the file.
	Names struct{ Data, Ledger string }
}

// Curve is a curve that is planned. Print Report().Text() before anything is charged.
type Curve struct {
	*curve.Plan
	shape   Shape
	options CurveOptions
}

// PlanCurve plans the curve of records of a shape. It reads no data and makes no charge. Everything is charged at once, and
// released at the end.
func PlanCurve(s Shape, o CurveOptions) (*Curve, error) {
	if err := (input.Needs{Rows: "a curve of private data protects rows, but the schema has persons with several rows; make the curve on synthetic visits (dyad data synth --visits), which are public"}).Of(s.lacks()); err != nil {
		return nil, err
	}
	if err := wholeRecords("a curve", s); err != nil {
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
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	return &Curve{Plan: p, shape: s, options: o}, input.As(err)
}

// curved refuses settings that a curve of private data does not have.
func curved(s Setting) error {
	if err := (input.Needs{Scores: "the curve of a metric needs the accuracy of neighbours among private records, which depends on all records at once; draw the curve on public data"}).Of(input.Lacks{Scores: s.Options.Task == Metric}); err != nil {
		return err
	}
	if a := s.Options.Algorithm; s.Options.Mode != algorithms.Certified || a != nil && !a.Info().Supports(algorithms.Certified) {
		return input.Errorf("dyad: %s is not private and would publish exact figures; leave this algorithm out on private data", s.Name)
	}
	return scoring(s.Options.Task, s.Options.Network)
}

// Run releases the curve. Charge, release, files and errors are as in Training.Run, but a resumed run begins again.
func (c *Curve) Run(ctx context.Context, d *Data, o Run) (*curve.Released, error) {
	if err := c.shape.same(d); err != nil {
		return nil, err
	}
	of := d.Source()
	r, end, err := kind[*curve.Released]{
		of: of, fresh: true,
		text: func(r *curve.Released) ([]byte, int, error) { return reported(r) },
		load: func(file string) (*curve.Released, error) {
			r := &curve.Released{}
			seal, err := files.ReadSealed(file, r)
			if err == nil && !seal.Intact(r.Plan != nil) {
				err = fmt.Errorf("dyad: %s was changed since it was written", file)
			}
			return r, input.As(err)
		},
		made: func(o Run, r *algorithms.Result) (*curve.Released, error) {
			out := &curve.Released{Data: c.options.Names.Data, DataID: cmp.Or(o.DataID, of.DataID), Public: r.Guarantee.Kind == privacy.Public, Guarantee: r.Guarantee, Run: r.Run, Report: c.Report(), Plan: r.Record, Out: o.Out}
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
