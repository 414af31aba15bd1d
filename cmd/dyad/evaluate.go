package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/engine/objective"
)

type evaluateCmd struct {
	Model        string   `arg:"" help:"Model file."`
	Data         string   `placeholder:"FILE" help:"Data file in the format of the training data, with labels."`
	Threshold    float64  `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`
	PublicData   bool     `help:"The data are public: exact figures, and nothing is charged."`
	ExactFigures bool     `help:"Exact figures of private records. No guarantee covers them; do not publish them."`
	Holdout      *float64 `placeholder:"F" help:"Evaluate the fraction of the records that \"dyad train\" with this --holdout and the same --split-seed held out."`
	SplitSeed    uint64   `default:"1" help:"Seed of the split into training and held-out records."`
	Plan         bool     `help:"Print what a private evaluation of -n records would release and cost. No data are read."`
	N            int      `positive:"" short:"n" help:"Number of records, for --plan."`
	Out          string   `short:"o" placeholder:"FILE" help:"Keep the report of a private evaluation in this file (JSON), through any crash after its release."`
	Neighbours   string   `placeholder:"FILE" help:"For exact figures of a metric: labelled records among which the nearest neighbours are looked for, e.g. the training file; if it is the data file, each record is left out of its own neighbours."`
	Confidence   float64  `positive:"" default:"0.95" help:"Level of the intervals."`
	labelsFlag
	Top int `positive:"" default:"10" help:"Ranks that count for exact NDCG and precision, with graded labels or query groups."`
	privateFlags
	runFlags
}

// Help shows examples.
func (evaluateCmd) Help() string {
	return `With --epsilon the figures are private: AUC, operating points of the ROC curve, accuracies and, if asked for, the
mean loss are released with noise, with intervals that cover the sampling of the records and the noise, and charged to
the ledger like a training. --plan prints the charge before.

Exact figures are computed from the records of the file and carry no privacy guarantee. They are for public data
(--public-data, or a schema that says so); of private records they are printed only with --exact-figures.

For a metric the accuracy of nearest neighbour classifiers is printed next to that of the identity metric.
Such a classifier consists of raw records: publishing it is not covered by the guarantee of the metric.

Examples:
  dyad evaluate model.json --plan -n 2000 --epsilon 1
  dyad evaluate model.json --data patients.csv --epsilon 1
  dyad evaluate model.json --data patients.csv --epsilon 1 --mean-loss --threshold 0.01 --out figures.json
  dyad evaluate metric.json --data patients.csv --epsilon 1 --reference public.csv
  dyad evaluate model.json --data public.csv --public-data --json
  dyad evaluate metric.json --data patients.csv --neighbours patients.csv --exact-figures`
}

// evaluation are figures of a model on labelled records.
type evaluation struct {
	Task    string `json:"task"`
	Records int    `json:"records"`
	// Objective is a mean loss without the L2 term, ObjectiveOf says which; a model of
	// pairs that does not name its loss has none, nor has one of moments.
	Objective   *float64 `json:"objective,omitempty"`
	ObjectiveOf string   `json:"objective_of,omitempty"`

	// For scores of two classes:
	AUC        *float64 `json:"auc,omitempty"`
	AUCLow     *float64 `json:"auc_low,omitempty"` // DeLong interval
	AUCHigh    *float64 `json:"auc_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Threshold  float64  `json:"threshold"`
	Accuracy   *float64 `json:"accuracy,omitempty"`

	// For graded labels or query groups, means over groups:
	Ranking   *float64 `json:"ranking_accuracy,omitempty"`
	Top       int      `json:"top,omitempty"`
	NDCG      *float64 `json:"ndcg,omitempty"`
	Precision *float64 `json:"precision,omitempty"`

	// For a metric:
	KNN []knnAccuracy `json:"knn,omitempty"`

	Guarantee string `json:"guarantee"`
}

// knnAccuracy compares a metric with the identity.
type knnAccuracy struct {
	K        int     `json:"k"`
	Learned  float64 `json:"accuracy"`
	Identity float64 `json:"accuracy_identity"`
}

const notCovered = "none: computed from the records themselves"

// Run evaluates.
func (c *evaluateCmd) Run(a *app) error {
	m, err := readModel(c.Model)
	if err != nil {
		return err
	}
	loss, err := m.pairLoss()
	if err != nil {
		return err
	}
	if !(c.Confidence > 0 && c.Confidence < 1) || c.Top < 1 {
		return badInput("--confidence is %v and --top %d, want strictly between 0 and 1, and at least 1", c.Confidence, c.Top)
	}
	// The schema of the model speaks of the records that it was trained on. Who asks for private
	// figures gets them, whatever the model was trained on.
	public := c.PublicData || c.Epsilon == nil && m.Encoder.Schema().Public
	if err := c.checkFlags(public); err != nil {
		return err
	}
	if c.Epsilon != nil {
		return c.private(a, m, scored{m.Task, loss, m.ownLoss(), m.Weights, m.Encoder.Schema()}, public)
	}
	_, held, err := c.read(a, m, true)
	if err != nil {
		return err
	}
	var among *engine.Records
	if m.Task == taskMetric {
		if c.Neighbours == "" {
			return badInput("a metric is evaluated by nearest neighbours: name the records to look among with --neighbours FILE")
		}
		if sameFile(c.Data, c.Neighbours) {
			among = held.records
		} else {
			neighbours, err := a.readTraining(c.Neighbours, m.Encoder.Schema(), dataset.Options{Persons: dataset.IgnorePersons}, true)
			if err != nil {
				return err
			}
			among = neighbours.Records
		}
	} else if c.Neighbours != "" {
		return badInput("--neighbours is for a metric, and %s is a model of task %s", c.Model, m.Task)
	}
	e, err := evaluateExactly(a.ctx, m.Task, loss, m.Weights, held, among, evaluationOptions{c.Threshold, c.Confidence, c.Top, m.ownLoss()})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("records    %d\n%s", e.Records, e.figures("%-10s %s\n"))
	if e.Objective != nil {
		text += fmt.Sprintf("objective  %.6g (%s)\n", *e.Objective, e.ObjectiveOf)
	}
	return a.emit(e, text+fmt.Sprintf("guarantee  %s\n", e.Guarantee))
}

// checkFlags refuses flags that contradict each other, before a file is read.
func (c *evaluateCmd) checkFlags(public bool) error {
	switch {
	case c.Plan && (c.Epsilon == nil || c.N == 0 || c.Data != ""):
		return badInput("--plan needs --epsilon and -n, and no --data: it reads no data")
	case !c.Plan && c.N != 0:
		return badInput("-n is for --plan; else the number of records is that of the file")
	case !c.Plan && c.Data == "":
		return badInput("name the data file with --data")
	case c.Epsilon != nil && (c.ExactFigures || c.Neighbours != ""):
		return badInput("--exact-figures and --neighbours are for exact figures, and --epsilon asks for private ones; a metric is evaluated privately with --reference")
	case c.Epsilon != nil:
		return nil
	case c.set() != "" || c.Out != "" || c.Resume != "" || c.Seed != nil:
		return badInput("%s is for private figures; say --epsilon", cmp.Or(c.set(), "--out, --resume or --seed"))
	case !public && !c.ExactFigures:
		return badInput("the data are private: --epsilon EPSILON releases private figures, and --plan with -n shows before what it costs; --exact-figures prints exact ones, which no guarantee covers; --public-data says that the data are public")
	}
	return nil
}

// read reads the data, or the part of them that a training held out.
func (c *evaluateCmd) read(a *app, m *model, public bool) (*dataset.Dataset, sample, error) {
	persons := dataset.IgnorePersons // exact figures count rows
	if c.Holdout != nil {
		persons = dataset.KeepPersons // the split of the training is one of persons
	}
	schema := *m.Encoder.Schema()
	schema.Public = schema.Public && public // what it says of these records
	data, err := a.readTraining(c.Data, &schema, c.options(dataset.Options{Persons: persons}), public)
	if err != nil {
		return nil, sample{}, err
	}
	all := sampleOf(data)
	if c.Holdout == nil {
		return data, all, nil
	}
	if !(*c.Holdout > 0 && *c.Holdout < 1) {
		return nil, sample{}, badInput("--holdout is %v, want above 0 and below 1", *c.Holdout)
	}
	_, held, err := all.split(*c.Holdout, c.SplitSeed)
	return data, held, asInput(err)
}

// private releases private figures, or prints their plan.
func (c *evaluateCmd) private(a *app, m *model, s scored, public bool) error {
	if c.Plan {
		p, err := c.plan(s, c.N, c.Threshold)
		if err != nil {
			return err
		}
		return a.emitPlan(&p.Plan)
	}
	out, err := newOutput(c.Out, c.Force, c.Data, c.Labels, c.Model, c.Reference, c.Ledger)
	if err != nil {
		return err
	}
	r := &privateResult{Task: m.Task, Evaluated: c.Model, runOutcome: runOutcome{Data: c.Data, DataID: m.DataID, Public: public}}
	if name, e, _, err := c.recovered(a, out, &r.runOutcome); name != "" || err != nil {
		if name == "" {
			return err
		}
		a.note("dyad: run %s was released on %s, and its report is saved as %s; nothing more was charged", e.Run, e.Time.Format("2006-01-02"), name)
		return err
	}
	if s.task == taskMetric && c.Reference != "" && sameFile(c.Data, c.Reference) {
		return badInput("%s is both the data and the public reference", c.Data)
	}
	if err := s.evaluable(c.Reference != ""); err != nil {
		return err
	}
	data, records, err := c.read(a, m, public)
	if err != nil {
		return err
	}
	from := sources{records: records.records}
	if s.task == taskMetric {
		// What a classifier would refuse after the charge is refused before.
		if _, err := metrics.FactorMetric(metricMatrix(m.Weights, m.Encoder.Dim()), m.Encoder.Dim()); err != nil {
			return asInput(err)
		}
		reference, err := a.readTraining(c.Reference, m.Encoder.Schema(), dataset.Options{}, true)
		if err != nil {
			return err
		}
		from.files = []string{c.Reference, reference.LabelsFile}
		if from.reference = reference.Records; from.reference.Len() < slices.Max(neighbourRanks) {
			return badInput("%s has %d records, and up to %d neighbours vote", c.Reference, from.reference.Len(), slices.Max(neighbourRanks))
		}
	}
	p, err := c.plan(s, from.records.Len(), c.Threshold)
	if err != nil {
		return err
	}
	err = a.evaluatePrivately(c.runFlags, p, s, from, r, out, c.Confidence, c.Data, data.LabelsFile)
	if err != nil && !errors.Is(err, errElsewhere) {
		return err
	}
	return errors.Join(err, a.emit(r, r.text()))
}

func (r *privateResult) text() string {
	var b strings.Builder
	r.writeData(&b, fmt.Sprintf(": %d records", r.Figures.Records))
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	writeFigures(&b, r.Figures)
	if r.Out != "" {
		line(&b, "report", "%s", r.Out)
	}
	return b.String()
}

// ownLoss is the loss of a metric that was learned from pairs or tuples, without a name
// if the file has none, and for a model of moments, whose length has no meaning or is that for
// records around a centre; nil for other models.
func (m *model) ownLoss() *pairLoss {
	if m.PairLoss == nil && (m.Pairs != nil && m.Task == taskMetric || m.Report.Value("moments") != nil) {
		return &pairLoss{}
	}
	return m.PairLoss
}

// sameFile says that two names lead to one file.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// evaluationOptions say how scores are judged.
type evaluationOptions struct {
	threshold, confidence float64
	top                   int
	own                   *pairLoss // takes the place of the pair loss
}

var defaultEvaluation = evaluationOptions{threshold: 0, confidence: 0.95, top: 10}

// evaluateExactly computes the figures of a task; among are the records among which
// neighbours are looked for, leaving out the record itself if they are those of s.
func evaluateExactly(ctx context.Context, task string, loss engine.Loss, w []float64, s sample, among *engine.Records, o evaluationOptions) (*evaluation, error) {
	r := s.records
	e := &evaluation{Task: task, Records: r.Units(), Guarantee: notCovered}
	if err := e.meanLoss(ctx, loss, w, r, o.own); err != nil {
		return nil, err
	}
	if task == taskMetric {
		return e, e.neighbours(ctx, w, r, among)
	}
	scores, err := metrics.Scores(r, w)
	if err != nil {
		return nil, err
	}
	if s.graded || s.groups != nil {
		return e, asInput(e.ranking(scores, s, o.top))
	}
	auc, err := metrics.AUC(scores, r.Labels())
	if err != nil {
		return nil, asInput(err)
	}
	accuracy, err := metrics.Accuracy(scores, r.Labels(), o.threshold)
	if err != nil {
		return nil, asInput(err)
	}
	e.AUC, e.Accuracy, e.Threshold = &auc, &accuracy, o.threshold
	return e, e.interval(scores, r.Labels(), o.confidence)
}

// meanLoss adds the mean of the loss that w was learned with.
func (e *evaluation) meanLoss(ctx context.Context, loss engine.Loss, w []float64, r *engine.Records, own *pairLoss) error {
	var mean float64
	var err error
	switch {
	case own == nil:
		e.ObjectiveOf = "mean pair loss"
		mean, err = objective.Mean(ctx, loss, w, r)
	case own.Name == "":
		return nil
	default:
		mean, e.ObjectiveOf, err = own.mean(w, r)
	}
	e.Objective = &mean
	return err
}

// relevanceScale maps labels in [-1, 1] to relevances in [0, 4], the usual range
// of graded judgements.
const relevanceScale = 4

// ranking adds the figures within groups, or of all records as one group.
func (e *evaluation) ranking(scores []float64, s sample, top int) error {
	labels, g := s.records.Labels(), metrics.Grouping{IDs: s.groups}
	e.Top = top
	accuracy, err := metrics.RankingAccuracy(scores, labels, metrics.Equal, g)
	if err != nil {
		return err
	}
	e.Ranking = &accuracy.Mean
	relevance, err := metrics.Relevance(labels, relevanceScale)
	if err != nil {
		return err
	}
	ndcg, err := metrics.NDCG(scores, relevance, top, metrics.Exponential, g)
	if err != nil {
		return err
	}
	e.NDCG = &ndcg.Mean
	if s.graded {
		return nil
	}
	precision, err := metrics.PrecisionAt(scores, labels, top, g)
	if err != nil {
		return err
	}
	e.Precision = &precision.Mean
	return nil
}

// interval adds the DeLong interval where the records allow one.
func (e *evaluation) interval(scores, labels []float64, confidence float64) error {
	estimate, err := metrics.DeLong(scores, labels)
	if errors.Is(err, metrics.ErrOneRecord) {
		return nil
	}
	if err != nil {
		return err
	}
	low, high, err := estimate.Interval(confidence, metrics.Logit)
	if errors.Is(err, metrics.ErrDegenerate) {
		return nil
	}
	e.AUCLow, e.AUCHigh, e.Confidence = &low, &high, confidence
	return err
}

// neighbours adds the accuracy of nearest neighbour classifiers.
func (e *evaluation) neighbours(ctx context.Context, w []float64, r, among *engine.Records) error {
	for _, k := range []int{3, 5} {
		row := knnAccuracy{K: k}
		for _, learned := range []bool{true, false} {
			o := metrics.KNNOptions{K: k}
			if learned {
				o.Metric = metricMatrix(w, r.Dim())
			}
			var found metrics.Classification
			var err error
			if among == r {
				found, err = metrics.KNNLeaveOneOut(ctx, r, o)
			} else {
				found, err = metrics.KNN(ctx, among, r, o)
			}
			if err != nil {
				return asInput(err)
			}
			if learned {
				row.Learned = found.Accuracy()
			} else {
				row.Identity = found.Accuracy()
			}
		}
		e.KNN = append(e.KNN, row)
	}
	return nil
}

// figures are the task's figures, each line by the format of label and text.
func (e *evaluation) figures(format string) string {
	var b strings.Builder
	for _, k := range e.KNN {
		fmt.Fprintf(&b, format, fmt.Sprintf("%d-NN", k.K), fmt.Sprintf("accuracy %.6f with the metric, %.6f with the identity", k.Learned, k.Identity))
	}
	line := func(label, text string, args ...any) {
		fmt.Fprintf(&b, format, label, fmt.Sprintf(text, args...))
	}
	if e.AUC != nil {
		interval := ""
		if e.AUCLow != nil {
			interval = fmt.Sprintf(" (%g %% interval %.4f to %.4f, DeLong)", 100*e.Confidence, *e.AUCLow, *e.AUCHigh)
		}
		line("AUC", "%.6f%s", *e.AUC, interval)
		line("accuracy", "%.6f (score >= %g counts as positive)", *e.Accuracy, e.Threshold)
	}
	if e.Ranking != nil {
		line("ranking", "%.6f of the pairs with different labels in the right order, mean over groups", *e.Ranking)
		line("NDCG", "%.6f at %d", *e.NDCG, e.Top)
	}
	if e.Precision != nil {
		line("precision", "%.6f at %d", *e.Precision, e.Top)
	}
	return b.String()
}

// metricMatrix is the row-major d x d matrix of a metric model's weights.
func metricMatrix(w []float64, d int) []float64 {
	m := make([]float64, d*d)
	engine.Symmetric{Dim: d}.Unpack(m, w)
	return m
}
