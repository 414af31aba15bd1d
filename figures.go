package dyad

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// FigureOptions decides which private figures of a model are released, and what they guarantee. All options are public.
type FigureOptions struct {
	Model   *Model   // public, or released before
	Epsilon float64  // to spend; required
	Delta   *float64 // nil is privacy.DefaultDelta, 0 asks for pure epsilon
	// Thresholds are the thresholds of the ROC curve. If Thresholds is nil, the mean and the spread of the scores
	// are released, and the thresholds are computed from these two numbers. The operating point at Threshold is
	// always released.
	Thresholds []float64
	Threshold  float64
	// Aim chooses a threshold among the operating points, at no further charge. A nil Aim chooses no threshold.
	Aim        *evaluate.Aim
	Confidence float64 `within:"(0,1)" called:"confidence"` // level of the confidence intervals; 0 means 0.95
	// If MeanLoss is true, the mean loss over pairs of a positive and a negative record is released, too. Each
	// loss is clipped to LossRange, which holds the lower and the upper limit. A nil LossRange means 0 to twice
	// the loss of equal scores.
	MeanLoss  bool
	LossRange []float64
	Compare   *Model // a second model of scores: only the difference of the AUCs of the two models is released
	// Reference is the name of a public file, which a metric needs. The nearest neighbours are searched among the
	// records of this file.
	Reference string
	// Names holds the names that the report gives to the data, the ledger and the files of both models.
	Names struct{ Data, Ledger, Model, Compare string }
}

// FigurePlan is a planned private evaluation. Print Report().Text() before anything is charged.
type FigurePlan struct {
	*evaluate.Plan
	options FigureOptions
	model   judged
}

// FigureData holds the records that a model is evaluated on.
type FigureData struct {
	*Data
	Reference *Data // reference records of a metric, which are public
	Compared  *Data // the same records, as the second model encodes them
	// Rest is the number of records or persons that remained for the training when a split held out the records of
	// Data. Without a split, Rest is 0.
	Rest int
	// Apart is true if the caller has just trained the model on other records. The training run is then not looked up
	// in the ledger.
	Apart bool
}

// PrivateFigures is the content of the file of a private evaluation (docs/formats.md). It may be published.
type PrivateFigures struct {
	Task      string            `json:"task"`
	Name      string            `json:"data"`
	DataID    string            `json:"data_id"`
	Public    bool              `json:"public"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	Run       string            `json:"run,omitempty"`
	Ledger    string            `json:"ledger,omitempty"`
	Spent     json.RawMessage   `json:"spent_in_all,omitempty"` // total spent on the data id, if the program prints it
	Seconds   float64           `json:"training_seconds,omitempty"`
	Evaluated string            `json:"evaluated,omitempty"`        // the model file
	Digest    string            `json:"evaluated_digest,omitempty"` // digest of the model
	Report    algorithms.Report `json:"report"`
	Figures   *evaluate.Figures `json:"figures"`
	Chosen    *evaluate.Chosen  `json:"threshold,omitempty"`
	Plan      json.RawMessage   `json:"plan,omitempty"` // algorithms.Plan.Record of a charged run; the file of a charged run ends with a checksum
	Out       string            `json:"out,omitempty"`  // the file, "" without Run.Out
}

// judged is a released model in the form that an evaluation needs.
type judged struct {
	*Model
	loss    engine.Loss // nil if the model has no mean loss
	weights []float64   // weights of linear scores, or of the outputs of a network if there is one
}

// judged returns the model with the loss and the weights of its scores.
func (m *Model) judged() (j judged, err error) {
	if j = (judged{Model: m, weights: m.Weights}); m.Network != nil {
		j.weights, j.loss, err = m.Readout()
		return j, err
	}
	j.loss, err = m.Objective()
	return j, err
}

// identity returns the digest by which the plan of an evaluation identifies the model.
func (m judged) identity() string {
	text := fmt.Append(nil, m.Task, m.weights)
	if m.Network != nil {
		text = fmt.Append(text, "&"+m.Network.identity(), m.Weights)
	}
	return files.Digest(text)
}

// PlanFigures plans the private evaluation of a model on records of shape s. It reads no data and makes no charge. The
// releases and their cost do not depend on the weights.
func PlanFigures(s Shape, o FigureOptions) (*FigurePlan, error) {
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	if err := cmp.Or(o.check(s.Groups != nil, s.graded()), prefixed(input.As(input.Ranges(o))),
		input.As(o.Aim.Validate())); err != nil {
		return nil, err
	}
	m, err := o.Model.judged()
	if err != nil {
		return nil, err
	}
	e := evaluate.Options{
		Records: s.Records, PersonRows: s.PersonRows, Provenance: s.Provenance, Model: m.identity(),
		Budget: Options{Epsilon: o.Epsilon, Delta: o.Delta}.Budget(s.Records),
	}
	switch {
	case m.Task == Metric:
		for _, k := range metrics.NeighbourRanks {
			e.Classifiers = append(e.Classifiers, fmt.Sprintf("%d-NN with the metric", k),
				fmt.Sprintf("%d-NN with the identity", k))
		}
	case o.Compare != nil: // identified by its exact weights and its encoding
		text, err := o.Compare.Encoder.MarshalJSON()
		if err != nil {
			return nil, err
		}
		e.Compared = files.Digest(fmt.Append(text, o.Compare.Weights))
	default:
		e.ScoreBound, e.Thresholds = evaluate.ScoreBound(m.weights, engine.UnitBounds().FeatureNorm), o.Thresholds
		if !slices.Contains(o.Thresholds, o.Threshold) {
			e.At = []float64{o.Threshold}
		}
		if e.Loss, err = o.meanLoss(m); err != nil {
			return nil, err
		}
	}
	p, err := evaluate.New(e)
	if err != nil {
		return nil, input.As(err)
	}
	return &FigurePlan{Plan: p, options: o, model: m}, nil
}

// Check returns an error with the reason if these options cannot give private figures of the model. It reads no data.
func (o FigureOptions) Check() error {
	s := o.Model.Encoder.Schema()
	return o.check(s.ColumnOf(dataset.RoleGroup) != nil, s.IsGraded())
}

func (o FigureOptions) check(groups, graded bool) error {
	// a model that is not trained yet has no encoder
	lacks := input.Lacks{Scores: o.Model.Task == Metric, Metric: o.Model.Task != Metric, TwoClasses: graded,
		Ungrouped: groups}
	needs := input.Needs{
		TwoClasses: "private figures need two classes, but the labels are grades; private NDCG and ranking " +
			"accuracy are not available",
		Ungrouped: "private figures cannot use query groups; set role: ignore for the group column",
	}
	switch {
	case o.Reference == "":
		needs.Scores = "private figures of a metric need --reference FILE, a public file"
	case o.Thresholds != nil || o.MeanLoss || o.LossRange != nil:
		needs.Scores = "--roc-thresholds, --mean-loss and --loss-range are for scores; a metric has no scores"
		fallthrough
	default:
		needs.Metric = fmt.Sprintf("--reference is for a metric, but the model has task %s", o.Model.Task)
	}
	if err := needs.Of(lacks); err != nil || o.Compare == nil {
		return err
	}
	return o.Comparable()
}

// Comparable refuses two models whose AUCs cannot be compared. It also refuses options that do not apply to
// a comparison.
func (o FigureOptions) Comparable() error {
	needs := input.Needs{
		Scores: "only models with scores can be compared, but a metric has no scores",
		Linear: "this version compares only linear models of scores; evaluate each network alone (two charges)",
		Rows: map[bool]string{true: "two models cannot be compared privately on persons with several rows; evaluate each " +
			"model alone (two charges)"}[o.Epsilon != 0], // without an epsilon, the difference is exact
		TwoClasses: "only models of two classes are compared, but the labels are grades",
	}
	if err := cmp.Or(needs.Of(o.Model.lacks()), needs.Of(o.Compare.lacks())); err != nil {
		return err
	}
	switch {
	case !o.Model.Encoder.Schema().SameRows(o.Compare.Encoder.Schema()):
		return input.Errorf("dyad: %s and %s use different labels for the two classes, or different query groups or persons, so "+
			"their AUCs cannot be compared", o.Names.Model, o.Names.Compare)
	case o.Threshold != 0 || o.Thresholds != nil || o.MeanLoss || o.LossRange != nil || o.Reference != "":
		return input.Errorf("dyad: a comparison gives only the difference of two AUCs; leave out threshold, thresholds, " +
			"loss and reference")
	}
	return nil
}

// lacks returns what a model and the records of its schema lack.
func (m *Model) lacks() input.Lacks {
	s := m.Encoder.Schema()
	return input.Lacks{Scores: m.Task != AUC, Metric: m.Task != Metric, Linear: m.Network != nil, TwoClasses: s.IsGraded(),
		Rows: s.ByPerson()}
}

// SameClasses reports whether two models use the same labels for the same class, and leave out the same rows.
func (m *Model) SameClasses(other *Model) bool {
	return m.Encoder.Schema().Classes() == other.Encoder.Schema().Classes()
}

// meanLoss returns the loss whose mean is released; nil for none.
func (o FigureOptions) meanLoss(m judged) (*evaluate.ClampedLoss, error) {
	if !o.MeanLoss {
		if o.LossRange != nil {
			return nil, input.Errorf("dyad: --loss-range is for --mean-loss")
		}
		return nil, nil
	}
	score, ok := m.loss.(engine.ScoreLoss)
	if !ok {
		return nil, input.Errorf("dyad: this model has no loss of score differences, which --mean-loss needs")
	}
	l := &evaluate.ClampedLoss{Name: score.Name(), Phi: score.Phi, High: 2 * score.Phi(0)}
	switch {
	case len(o.LossRange) == 2:
		l.Low, l.High = o.LossRange[0], o.LossRange[1]
	case o.LossRange != nil:
		return nil, input.Errorf("dyad: --loss-range wants two numbers, LOW,HIGH")
	case !(l.High > 0):
		return nil, input.Errorf("dyad: loss %s has no default range; give a public range with --loss-range LOW,HIGH", l.Name)
	}
	return l, nil
}

// Fits returns an error if the records do not match the plan. It also returns an error if the plan's classifiers
// cannot use the metric or the reference. Without this check, the classifiers would fail after the charge.
func (p *FigurePlan) Fits(d FigureData) error {
	m, o := p.model, p.options
	_, wrong := p.encoded(d)
	if err := cmp.Or(evaluated.Of(d.lacks()), wrong); err != nil {
		return err
	}
	switch got := d.Shape(); {
	case got.Records != p.Options.Records || got.PersonRows != p.Options.PersonRows ||
		got.Provenance != p.Options.Provenance:
		return input.Errorf("dyad: the data have another schema or size than the plan (Records %d, PersonRows %d); "+
			"make the plan with Data.Shape", p.Options.Records, p.Options.PersonRows)
	case (o.Compare != nil) != (d.Compared != nil):
		return input.Errorf("dyad: set both FigureData.Compared and FigureOptions.Compare, or neither")
	case d.Compared != nil && (d.Compared.Records.Len() != d.Records.Len() || !d.Schema().SameRows(d.Compared.Schema())):
		return input.Errorf("dyad: %s and %s cannot be compared, because their schemas keep different rows of %s", o.Names.Model,
			o.Names.Compare, o.Names.Data)
	case m.Task != Metric:
		return nil
	case d.Reference == nil:
		return input.Errorf("dyad: the evaluation of a metric needs public records as neighbours; set " +
			"FigureData.Reference")
	case d.Reference.Records.Len() < slices.Max(metrics.NeighbourRanks):
		return input.Errorf("dyad: %s has %d records; evaluation by neighbours needs at least %d", o.Reference,
			d.Reference.Records.Len(),
			slices.Max(metrics.NeighbourRanks))
	case m.Network != nil:
		return nil
	}
	_, err := metrics.FactorMetric(m.Matrix(), m.Encoder.Dim())
	return input.As(err)
}

// encoded returns the records as the models encode them.
func (p *FigurePlan) encoded(d FigureData) (_ FigureData, err error) {
	for data, m := range map[**Data]*Model{&d.Data: p.model.Model, &d.Reference: p.model.Model,
		&d.Compared: p.options.Compare} {
		if *data != nil && m != nil && err == nil {
			*data, err = (*data).as(m.Encoder)
		}
	}
	return d, err
}

// Run releases the figures. The charge, the release, the files and the errors are as in Training.Run, except that a
// resumed run starts again from the beginning. Run refuses a reference that the ledger records as private. If the
// ledger shows that the model was trained on these records, Run calls Run.Note with a warning that the figures may be
// too good.
func (p *FigurePlan) Run(ctx context.Context, d FigureData, o Run) (*PrivateFigures, error) {
	if err := p.Fits(d); err != nil {
		return nil, err
	}
	of := d.Source()
	if d.Compared != nil {
		of = of.using(d.Compared.Source())
	}
	if err := p.checkReference(o.Ledger, d); err != nil {
		return nil, err
	}
	if err := p.checkTraining(o, d, of); err != nil {
		return nil, err
	}
	if d.Reference != nil {
		of = of.using(d.Reference.Source())
	}
	public := o.Public || of.Public
	f, end, err := kind[*PrivateFigures]{
		of: of, fresh: true, text: func(f *PrivateFigures) ([]byte, int, error) { return files.SealedReport(f) },
		load: func(file string) (*PrivateFigures, error) { return LoadFigures(file, p.model.Model) },
		made: func(o Run, r *algorithms.Result) (*PrivateFigures, error) {
			f := &PrivateFigures{
				Task: p.model.Task, Name: p.options.Names.Data, DataID: cmp.Or(o.DataID, of.DataID), Public: public,
				Guarantee: r.Guarantee, Run: r.Run,
				Evaluated: p.options.Names.Model, Digest: p.model.identity(), Report: p.Report(), Plan: r.Record,
			}
			if f.Report.Guarantee = r.Guarantee; public {
				f.Seconds = r.Seconds
			} else {
				f.Ledger = cmp.Or(p.options.Names.Ledger, o.Ledger.Path())
			}
			var err error
			if f.Figures, err = p.Figures(r.Weights, p.options.Confidence); err == nil && p.options.Aim != nil {
				f.Chosen, err = f.Figures.Threshold(*p.options.Aim)
			}
			return f, err
		},
		work: func(a algorithms.Options) (*algorithms.Result, error) {
			return algorithms.Execute(ctx, p.Job(func(ctx context.Context) (evaluate.Data, error) { return p.data(ctx, d) }), a)
		},
	}.run(ctx, o)
	if end == nil {
		return nil, err
	}
	f.Out = end.File
	return f, err
}

// checkReference refuses a reference that the ledger records as private: the classifier would contain its records,
// which the guarantee of the evaluation does not protect.
func (p *FigurePlan) checkReference(l *Ledger, d FigureData) error {
	if d.Reference == nil || l == nil {
		return nil
	}
	from := d.Reference.Source()
	print, err := from.fingerprint(l)
	if err != nil {
		return err
	}
	entries, _, err := l.History()
	for _, e := range entries {
		if e.Charge != nil && e.Charge.Fingerprint == print {
			return input.Errorf("dyad: --reference %s: run %s was charged for this file, so it is private; name a "+
				"public file", from.Files[0], e.Run)
		}
	}
	return err
}

// checkTraining compares the files of an evaluation with the files that the ledger has for the training of the model.
// It also compares the number of records that a split leaves with the number of records of the training. A note says
// where figures may be too good. Persons with private ids are split by their order in the file, so another file may
// hold out persons of the training.
func (p *FigurePlan) checkTraining(o Run, d FigureData, of Source) error {
	m := p.model
	if o.Ledger == nil || d.Apart || m.Run == "" {
		return nil
	}
	entries, _, err := o.Ledger.History()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(entries, func(e ledger.Entry) bool {
		return e.Run == m.Run && e.Charge != nil && e.Charge.Fingerprint != ""
	})
	if at < 0 {
		return nil
	}
	print, err := of.fingerprint(o.Ledger)
	if err != nil {
		return err
	}
	unit := "records"
	if m.Encoder.Schema().ByPerson() {
		unit = "persons"
	}
	note := func(format string, args ...any) { o.note(fmt.Sprintf("dyad: warning: "+format, args...)) }
	switch same, trained := print == entries[at].Charge.Fingerprint, int(m.Report.Number(unit)); {
	case same && d.Rest == 0:
		note("run %s trained on records of this file, so these figures are too good; if it had --holdout F, add "+
			"--holdout F", m.Run)
	case same && trained != 0 && trained != d.Rest:
		note("run %s trained the model on %d %s of this file, but this --holdout leaves %d to train; repeat the "+
			"--holdout of that run, or these figures may flatter the model", m.Run, trained, unit, d.Rest)
	case !same && d.Rest > 0 && m.Encoder.Schema().Persons > 0: // no refusal: its exit code would tell what differs
		note("run %s used another file, so --holdout could evaluate training persons; use the file of the run, or "+
			"train with ids: public", m.Run)
	case !same && d.Rest > 0:
		note("run %s trained the model on another file; unless both files have the same %s, these figures may "+
			"include training records and flatter the model", m.Run,
			map[string]string{"persons": "ids", "records": "records in the same order"}[unit])
	}
	return nil
}

// data computes what the model predicts for each record: a function of the record and of released numbers.
func (p *FigurePlan) data(ctx context.Context, d FigureData) (out evaluate.Data, err error) {
	if d, err = p.encoded(d); err != nil {
		return out, err
	}
	m, labels, raw := p.model, d.Records.Labels(), d.Records
	out.First = raw.FirstRows()
	seen := raw
	if m.Network != nil {
		if seen, err = m.Embed(raw); err != nil {
			return out, err
		}
	}
	if m.Task != Metric {
		out.Scores, err = metrics.Scores(seen, m.weights)
		for _, y := range labels {
			out.Positive = append(out.Positive, y > 0)
		}
		if d.Compared != nil && err == nil {
			out.Other, err = metrics.Scores(d.Compared.Records, p.options.Compare.Weights)
		}
		return out, err
	}
	among := d.Reference.Records
	if m.Network != nil {
		if among, err = m.Embed(among); err != nil {
			return out, err
		}
	}
	found, err := metrics.Neighbours(ctx, m.Matrix(), [2]*engine.Records{seen, among},
		[2]*engine.Records{raw, d.Reference.Records})
	for _, both := range found {
		for _, by := range both {
			var correct []bool
			for i, y := range by.Predicted {
				correct = append(correct, y == labels[i])
			}
			out.Correct = append(out.Correct, correct)
		}
	}
	return out, err
}

// LoadFigures reads the file of a private evaluation of a model.
func LoadFigures(path string, m *Model) (*PrivateFigures, error) {
	f := &PrivateFigures{}
	seal, err := files.ReadSealed(path, f)
	if err == nil && (f.Figures == nil || f.Figures.Records < 1 || !seal.Intact(f.Plan != nil)) {
		err = errors.New("the file has no figures, or was changed after the release")
	}
	if err != nil {
		return nil, input.Errorf(`dyad: %s is not a private report from "dyad evaluate --epsilon E --out FILE": %v`, path,
			err)
	}
	of, err := m.judged()
	if err != nil {
		return nil, err
	}
	if f.Digest != of.identity() {
		return nil, input.Errorf("dyad: the figures in %s belong to another model", path)
	}
	return f, nil
}
