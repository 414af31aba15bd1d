package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// privateFlags decide what a private evaluation releases.
type privateFlags struct {
	Epsilon    *float64  `placeholder:"EPSILON" help:"Release private figures with this epsilon, charged to the ledger."`
	Delta      *float64  `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Thresholds []float64 `name:"roc-thresholds" placeholder:"T,..." help:"Public thresholds of the ROC curve. Default: placed by a released mean and deviation of the scores."`
	MeanLoss   bool      `name:"mean-loss" help:"Release the mean loss over pairs of classes, too, for a fifth of the budget."`
	LossRange  []float64 `name:"loss-range" placeholder:"LOW,HIGH" help:"Public range to which the loss of every pair is clipped. Default: 0 to twice that of equal scores."`
	Reference  dataFiles `placeholder:"FILE" help:"For a metric: a public file of labelled records among which the nearest neighbours are looked for."`
}

// set names a flag that is given, or is "".
func (f privateFlags) set() string {
	for flag, given := range map[string]bool{"--delta": f.Delta != nil, "--roc-thresholds": f.Thresholds != nil, "--mean-loss": f.MeanLoss, "--loss-range": f.LossRange != nil, "--reference": f.Reference.given()} {
		if given {
			return flag
		}
	}
	return ""
}

// scored is a released model that is evaluated.
type scored struct {
	task    string
	loss    engine.Loss // nil: no mean loss judges it
	weights []float64
	matrix  []float64 // of a metric
	schema  *dataset.Schema
	other   *model     // whose AUC is compared; nil for none
	network *lib.Model // maps records to those that weights are for; nil for a linear model
}

// neighbourRanks are the numbers of neighbours of the classifiers of a metric.
var neighbourRanks = []int{3, 5}

// plan plans the private evaluation of a model on n records.
func (f privateFlags) plan(m scored, n int, threshold float64) (*evaluate.Plan, error) {
	o := evaluate.Options{Records: n, PersonRows: m.schema.PersonCap(), Provenance: lib.ProvenanceOf(m.schema), Model: files.Digest(m.identity())}
	o.Budget = privacy.Budget{Epsilon: *f.Epsilon, Delta: privacy.DefaultDelta(max(n, 2))}
	if f.Delta != nil {
		o.Budget.Delta = *f.Delta
	}
	if err := m.evaluable(f.Reference.given()); err != nil {
		return nil, err
	}
	if m.task == taskMetric {
		for _, k := range neighbourRanks {
			o.Classifiers = append(o.Classifiers, fmt.Sprintf("%d-NN with the metric", k), fmt.Sprintf("%d-NN with the identity", k))
		}
		if f.Thresholds != nil || f.MeanLoss || f.LossRange != nil {
			return nil, badInput("--roc-thresholds, --mean-loss and --loss-range are for scores; a metric has none")
		}
		p, err := evaluate.New(o)
		return p, asInput(err)
	}
	if m.other != nil {
		var err error
		if o.Compared, err = digest(m.other); err != nil {
			return nil, err
		}
		p, err := evaluate.New(o)
		return p, asInput(err)
	}
	o.ScoreBound = scoreBound(m.weights)
	o.Thresholds = f.Thresholds
	if !slices.Contains(f.Thresholds, threshold) {
		o.At = []float64{threshold}
	}
	var err error
	if o.Loss, err = f.lossOf(m); err != nil {
		return nil, err
	}
	p, err := evaluate.New(o)
	return p, asInput(err)
}

// scoreBound is at least ||w|| R, R the norm bound of records, and positive: no score is larger.
func scoreBound(w []float64) float64 {
	norm := 0.0
	for _, v := range w {
		norm = math.Hypot(norm, v)
	}
	if norm *= engine.UnitBounds().FeatureNorm * (1 + 0x1p-20); norm > 0 {
		return norm
	}
	return 1
}

// evaluable refuses what has no private figures, with the reason.
func (m scored) evaluable(reference bool) error {
	groups := slices.ContainsFunc(m.schema.Columns, func(c dataset.Column) bool { return c.Role == dataset.RoleGroup })
	switch {
	case m.schema.IsGraded():
		return badInput("private figures are those of two classes, and the labels are grades: NDCG and the ranking accuracy of graded labels have no certificate in this version")
	case groups:
		return badInput("private figures compare all records, and the schema has query groups: NDCG and precision would protect whole query groups only, which this version does not offer; give the column the role ignore")
	case m.task == taskMetric && !reference:
		return badInput("a metric is evaluated privately against a public file, --reference FILE: a nearest neighbour classifier of private records consists of these records, so its accuracy depends on all of them at once")
	case m.task != taskMetric && reference:
		return badInput("--reference is for a metric, and the model has task %s", m.task)
	}
	return nil
}

// lossOf is the loss whose mean is released; nil for none.
func (f privateFlags) lossOf(m scored) (*evaluate.Loss, error) {
	if !f.MeanLoss {
		if f.LossRange != nil {
			return nil, badInput("--loss-range is for --mean-loss")
		}
		return nil, nil
	}
	score, ok := m.loss.(engine.ScoreLoss)
	if !ok {
		return nil, badInput("--mean-loss is for models whose loss is a function of a difference of scores and was learned from records; the length of a model of moments has no meaning")
	}
	l := &evaluate.Loss{Name: score.Name(), Phi: score.Phi, High: 2 * score.Phi(0)}
	switch {
	case len(f.LossRange) == 2:
		l.Low, l.High = f.LossRange[0], f.LossRange[1]
	case f.LossRange != nil:
		return nil, badInput("--loss-range wants two numbers, LOW,HIGH")
	case !(l.High > 0):
		return nil, badInput("the loss %s of equal scores is not positive; say its public range with --loss-range LOW,HIGH", l.Name)
	}
	return l, nil
}

// privateResult is the JSON output of a private evaluation, and its file.
type privateResult struct {
	Task string `json:"task"`
	runOutcome
	Evaluated string            `json:"evaluated,omitempty"`        // model file
	Digest    string            `json:"evaluated_digest,omitempty"` // of that model, for dyad report
	Report    algorithms.Report `json:"report"`
	Figures   *evaluate.Figures `json:"figures"`
	Chosen    *evaluate.Chosen  `json:"threshold,omitempty"`
	Out       string            `json:"out,omitempty"`

	aim   *evaluate.Aim
	whole bool // all figures are printed without --verbose
}

func (r privateResult) saved() (run, file string) { return r.Run, r.Out }

// sources are the records of a private evaluation.
type sources struct {
	records   *engine.Records
	reference *engine.Records // of a metric
	other     *engine.Records // the same records as the other model encodes them
	from      lib.Source      // of the reference
	// model is one from a file, nil for one that this command trained. If the records are the part that
	// its training held out, rest is the number of the others, else 0.
	model *model
	rest  int
}

// checkReference refuses a reference that the ledger knows as private records: a classifier
// consists of them, and the guarantee is for others.
func (s sources) checkReference(l *lib.Ledger) error {
	if s.reference == nil || l == nil {
		return nil
	}
	print, err := s.from.Fingerprint(l)
	if err != nil {
		return err
	}
	entries, _, err := l.History()
	for _, e := range entries {
		if e.Charge != nil && e.Charge.Fingerprint == print {
			return badInput("--reference %s: run %s was charged for this file, so it is private, and the accuracy of its nearest neighbours would depend on all of its records; name a public file", s.from.Files[0], e.Run)
		}
	}
	return err
}

// checkTraining compares the files of an evaluation with those that the ledger has for the training of a model, and
// the records that a split leaves with the number that was trained on. A note says where figures may be too
// good. Persons with private ids are split by their order in the file, so that another file may hold out persons of
// the training.
func (a *app) checkTraining(l *lib.Ledger, s sources, of lib.Source) error {
	m := s.model
	if l == nil || m == nil || m.Run == "" {
		return nil
	}
	entries, _, err := l.History()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(entries, func(e ledger.Entry) bool {
		return e.Run == m.Run && e.Charge != nil && e.Charge.Fingerprint != ""
	})
	if at < 0 {
		return nil
	}
	print, err := of.Fingerprint(l)
	if err != nil {
		return err
	}
	unit := "records"
	if m.Encoder.Schema().ByPerson() {
		unit = "persons"
	}
	switch same, trained := print == entries[at].Charge.Fingerprint, int(m.Report.Number(unit)); {
	case same && s.rest == 0:
		a.note("dyad: warning: the model was trained on records of this file (run %s), so these figures are too good; if the training had --holdout F, the same --holdout F evaluates the records that it left out", m.Run)
	case same && trained != 0 && trained != s.rest:
		a.note("dyad: warning: run %s trained the model on %d %s of this file, and this --holdout leaves %d: it is not that of the training, so that some of those trained on may be evaluated, and these figures are too good", m.Run, trained, unit, s.rest)
	case !same && s.rest > 0 && m.Encoder.Schema().Persons > 0:
		return badInput("the ids of the persons are private, so --holdout splits them by their order in the file, and this is not the file of run %s, which trained the model: persons of the training could be held out here; name that file, unchanged, or train with ids: public, whose split depends on the ids alone", m.Run)
	case !same && s.rest > 0:
		a.note("dyad: warning: this is not the file of run %s, which trained the model: --holdout gives what that training held out only if both files have the same %s; otherwise some of those trained on may be evaluated, and these figures are too good", m.Run, map[string]string{"persons": "ids", "records": "records, in one order"}[unit])
	}
	return nil
}

// identity is what a plan of an evaluation knows the model by.
func (m scored) identity() []byte {
	text := fmt.Append(nil, m.task, m.weights)
	if m.network != nil {
		text = fmt.Append(text, m.network.Network, m.network.Weights)
	}
	return text
}

// mapped are the records, or what a network maps each of them to.
func (m scored) mapped(s sources) (to sources, err error) {
	if m.network == nil {
		return s, nil
	}
	to = s
	if to.records, err = m.network.Embed(s.records); err == nil && s.reference != nil {
		to.reference, err = m.network.Embed(s.reference)
	}
	return to, err
}

// data computes what the model says of each record: a function of that record and of released
// numbers.
func (m scored) data(ctx context.Context, s sources) (d evaluate.Data, err error) {
	labels, raw := s.records.Labels(), s
	d.First = s.records.FirstRows()
	if s, err = m.mapped(s); err != nil {
		return d, err
	}
	if m.task != taskMetric {
		d.Scores, err = metrics.Scores(s.records, m.weights)
		for _, y := range labels {
			d.Positive = append(d.Positive, y > 0)
		}
		if m.other != nil && err == nil {
			d.Other, err = metrics.Scores(s.other, m.other.Weights)
		}
		return d, err
	}
	for _, k := range neighbourRanks {
		for i, among := range []sources{s, raw} {
			o := metrics.KNNOptions{K: k}
			if i == 0 {
				o.Metric = m.matrix
			}
			found, err := metrics.KNN(ctx, among.reference, among.records, o)
			if err != nil {
				return d, err
			}
			var correct []bool
			for i, y := range found.Predicted {
				correct = append(correct, y == labels[i])
			}
			d.Correct = append(d.Correct, correct)
		}
	}
	return d, nil
}

// reportBytes is what every report of an evaluation has room in: whether it can be kept does
// not depend on its numbers.
const reportBytes = 2 << 20

// evaluatePrivately carries out a plan: it is charged, kept, released and named.
func (a *app) evaluatePrivately(f runFlags, p *evaluate.Plan, m scored, s sources, r *privateResult, as target, confidence float64, of lib.Source) error {
	o, err := f.execution(a, &r.runOutcome, as, 0)
	if err != nil {
		return err
	}
	if err := s.checkReference(o.Ledger); err != nil {
		return err
	}
	if err := a.checkTraining(o.Ledger, s, of); err != nil {
		return err
	}
	o.Progress = a.tracker("evaluating").OnStep
	fill := func(r *privateResult, res *algorithms.Result) (err error) {
		if r.Guarantee, r.Run = res.Guarantee, res.Run; r.Public {
			r.Seconds = res.Seconds
		}
		r.Report = p.Report()
		r.Report.Guarantee = res.Guarantee
		if r.Figures, err = p.Figures(res.Weights, confidence); err == nil && r.aim != nil {
			r.Chosen, err = r.Figures.Threshold(*r.aim)
		}
		return err
	}
	res, name, away := o.Keep(a.ctx, of, func(res *algorithms.Result) ([]byte, int, error) {
		kept := *r // r itself gets figures only when they are released
		if err := fill(&kept, res); err != nil {
			return nil, 0, err
		}
		text, err := json.MarshalIndent(&kept, "", "  ")
		return append(text, '\n'), max(len(text)+1, reportBytes), err
	}, func(o algorithms.Options) (*algorithms.Result, error) {
		return algorithms.Execute(a.ctx, p.Job(func(ctx context.Context) (evaluate.Data, error) { return m.data(ctx, s) }), o)
	})
	if res == nil {
		return away
	}
	if err := fill(r, res); err != nil {
		return err
	}
	a.saved = cmp.Or(a.saved, name)
	if r.Out = name; away != nil && !isElsewhere(away) {
		return away
	}
	r.spent(a, o.Ledger, p.Options.Budget.Delta, p.Options.Records)
	return asResult(away)
}

func between(x evaluate.Figure) string {
	return fmt.Sprintf("%.4f (%.4f to %.4f)", x.Value, x.Low, x.High)
}

// writeFigures writes the figures of a private evaluation.
func writeFigures(b *strings.Builder, f *evaluate.Figures) {
	if f.AUC != nil {
		line(b, "AUC", "%s; the noise alone has standard deviation %.2g", between(*f.AUC), f.AUCNoise)
		of := "records"
		if f.Unit != "" {
			of = f.Unit + "s, by the shares of their rows"
		}
		line(b, "positives", "about %.0f of %d %s, noise %.2g", f.Positives, f.Records, of, f.PositivesNoise)
	}
	if f.Difference != nil {
		line(b, "AUC", "less that of the other model: %s; the noise alone has standard deviation %.2g", between(*f.Difference), f.DifferenceNoise)
		line(b, "order", "they disagree on %.3g of the pairs of a positive and a negative", f.Disagreement)
	}
	for i, p := range f.Points {
		label := ""
		if i == 0 {
			label = "ROC"
		}
		line(b, label, "score >= %-10.4g sensitivity %s, specificity %s, accuracy %s", p.Threshold, between(p.Sensitivity), between(p.Specificity), between(p.Accuracy))
	}
	if f.MeanLoss != nil {
		line(b, "mean loss", "%s of %s over pairs of a positive and a negative, each clipped to %.4g to %.4g", between(*f.MeanLoss), f.LossOf, f.LossLow, f.LossHigh)
	}
	for _, r := range f.Right {
		line(b, "accuracy", "%s, %s", between(r.Figure), r.Classifier)
	}
	line(b, "intervals", "%g %%, covering the sampling of the records and the noise", 100*f.Confidence)
	if f.Wide {
		line(b, "", "few records or a rare class: these intervals are wider than most laws of scores need")
	}
}
