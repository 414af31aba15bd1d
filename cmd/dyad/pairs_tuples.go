package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// tupleFlags choose to learn from the classes of records instead of pairs.
type tupleFlags struct {
	Tuple       int     `positive:"" placeholder:"B" help:"Learn from the labels of the records, without pairs: every epoch draws disjoint tuples of this many records, by ids only."`
	AllPairs    bool    `help:"Learn from the labels of the records by all their pairs in every epoch (contrastive); takes time by the square of the records."`
	Temperature float64 `positive:"" default:"1" help:"Temperature of the softmax of npair; public."`
}

// fromClasses says that no pairs are asked for.
func (f pairFlags) fromClasses() (bool, error) {
	classes := f.Tuple != 0 || f.AllPairs
	if !classes && (f.Loss == lossTriplet || f.Loss == lossNPair) {
		return false, badInput("%s compares the records of a tuple: draw tuples with --tuple, for example --tuple 4", f.Loss)
	}
	return classes, nil
}

// tupleOptions are the flags that have a meaning with --tuple and --all-pairs.
var tupleOptions = []string{
	"data", "schema", "look-alike-ids", "public-data", "out", "force", "data-id", "workers", "seed", "ledger", "resume", "checkpoint-every", "n", "d", "json", "quiet",
	"loss", "margin", "temperature", "rows", "tuple", "all-pairs", "pair-seed", "mode", "epsilon", "delta", "noise", "batch", "epochs", "clip", "step-size",
	"runs", "time", "confidence", "black-box", "plot",
}

// planOfTuples is the plan for individuals without pairs.
func (f pairFlags) planOfTuples(command *kong.Context, s pairShape) (*pairs.TuplePlan, error) {
	for _, given := range command.Path {
		if f := given.Flag; f != nil && !slices.Contains(tupleOptions, f.Name) {
			return nil, badInput("--%s is about pairs that are listed or drawn; leave it out with --tuple and --all-pairs", f.Name)
		}
	}
	spec := pairs.TupleSpec{
		Individuals: s.individuals, Dim: s.features, Rows: f.Rows, Tuple: f.Tuple, AllPairs: f.AllPairs,
		Batch: f.Batch, Epochs: f.Epochs, Clip: f.Clip, StepSize: f.StepSize,
		SelectedByLabel: s.selected, BoundsFromData: s.boundsFromData, Identity: s.identity,
	}
	if !f.AllPairs {
		spec.Seed = f.PairSeed
	}
	if spec.Rows == 0 {
		spec.Rows = min(16, s.features)
	}
	switch f.Loss {
	case lossTriplet:
		spec.Loss = pairgraph.Triplet{Margin: f.Margin}
	case lossNPair:
		spec.Loss = pairgraph.NPair{Temperature: f.Temperature}
	case lossContrastive:
		spec.Loss = pairgraph.MeanContrastive{Margin: f.Margin}
	default:
		return nil, badInput("%s takes preferences from --pairs; with --tuple choose contrastive, triplet or npair", f.Loss)
	}
	var err error
	if spec.Mode, err = algorithms.ParseMode(f.Mode); err != nil {
		return nil, asInput(err)
	}
	if spec.Budget, err = f.budget(s.individuals, false); err != nil {
		return nil, err
	}
	if f.Noise == "laplace" {
		spec.Noise = privacy.LaplaceNoise
	}
	spec.Bound = publicBound(spec.Norm(), s.features)
	p, err := spec.Plan()
	return p, asInput(err)
}

// planTuples prints the report.
func (c *pairsPlanCmd) planTuples(a *app, command *kong.Context, s pairShape) error {
	p, err := c.planOfTuples(command, s)
	if err != nil {
		return err
	}
	r := p.Report()
	return a.emit(r, r.Text()+"nothing     was charged or read: this is a plan\n")
}

type tuplesTrainResult struct {
	runOutcome
	Report pairs.TupleReport `json:"report"`
}

// trainTuples trains a model from classes.
func (c *pairsTrainCmd) trainTuples(a *app, command *kong.Context) error {
	out, err := newOutput(c.Out, c.Force, c.Data, c.Schema, c.Ledger)
	if err != nil {
		return err
	}
	if done, err := c.republish(a, out, &runOutcome{Data: c.Data, Public: c.PublicData}); done || err != nil {
		return err
	}
	schema, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return asInput(err)
	}
	if schema.IsGraded() {
		return badInput("tuples compare two classes, and the labels of this schema are graded")
	}
	d, err := a.readTraining(c.Data, schema, dataset.Options{KeepIDs: true, Labels: dataset.LabelsRequired}, c.PublicData)
	if err != nil {
		return err
	}
	plan, err := c.planOfTuples(command, pairShape{
		individuals: d.Records.Len(), features: d.Encoder.Dim(), selected: schema.SelectsByLabel(), boundsFromData: schema.BoundsFromData, identity: c.identity(),
	})
	if err != nil {
		return err
	}
	order, err := c.orderOfIDs(d)
	if err != nil {
		return err
	}
	data, classes, err := inOrder(d.Records, order, plan.Spec.Norm(), plan.Spec.Bound)
	if err != nil {
		return err
	}
	result := tuplesTrainResult{runOutcome: runOutcome{Data: c.Data, DataID: schema.DataID, Public: c.PublicData || schema.Public}}
	result.Report = plan.Report()
	shelf := a.newShelf(out, func(o *algorithms.Outcome) *model {
		result.ran(o.Guarantee, o.Run, 0)
		result.Report.Guarantee = o.Guarantee
		return tupleModel(d.Encoder, plan, &result, a.began, o.Weights)
	})
	how, err := c.execution(a, &result.runOutcome, shelf, c.Checkpoint, c.Data)
	if err != nil {
		return err
	}
	options := pairs.Options{Options: how, Workers: c.Workers}
	run, err := pairs.RunTuples(a.ctx, data, classes, plan, options)
	if err != nil {
		return a.charged(err)
	}
	a.noteRestored(run.Run, run.Restored, plan.Batches*plan.Spec.Epochs)
	result.ran(run.Guarantee, run.Run, run.Seconds)
	result.Report.Guarantee = run.Guarantee
	var away error
	if result.Model, away = shelf.saved(run.W, run.Guarantee, run.Run); away != nil && !errors.Is(away, errElsewhere) {
		return away
	}
	if err := result.spent(options.Ledger, plan.Spec.Budget.Delta, d.Records.Len()); err != nil {
		return errors.Join(away, err)
	}
	return errors.Join(away, a.emit(result, result.text()))
}

// inOrder are the records, in an order, as individuals with classes: equal labels are one
// class.
func inOrder(r *engine.Records, order []int32, norm pairgraph.Norm, bound float64) (*pairgraph.Data, []int32, error) {
	x, classes := make([]float64, r.Len()*r.Dim()), make([]int32, r.Len())
	known := map[float64]int32{}
	for to, from := range order {
		r.Row(int(from), x[to*r.Dim():(to+1)*r.Dim()])
		label := r.Label(int(from))
		if _, ok := known[label]; !ok {
			known[label] = int32(len(known))
		}
		classes[to] = known[label]
	}
	g, err := pairgraph.New(r.Len(), nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := pairgraph.NewData(x, r.Dim(), norm, bound, g, nil)
	return data, classes, err
}

// tupleModel is the model file: the coordinates of W^T W, whose distances are those of
// W x.
func tupleModel(e *dataset.Encoder, p *pairs.TuplePlan, r *tuplesTrainResult, began time.Time, w []float64) *model {
	s := p.Spec
	return &model{
		Format: modelFormat, Version: version, Created: began,
		Task: taskMetric, DataID: r.DataID, Run: r.Run,
		Features: e.FeatureNames(), Weights: metricOf(w, s.Rows, s.Dim), Encoder: e,
		Report: algorithms.Report{
			Algorithm: p.Algorithm(), Mode: r.Report.Mode, Records: s.Individuals, Features: s.Dim,
			Norm: 1, Loss: r.Report.Loss, Rule: "eta0/sqrt(tau) at batch tau", Steps: p.Batches * s.Epochs, Noise: r.Report.Noise,
			Events: r.Report.Events, Guarantee: r.Guarantee,
		},
		Tuples: &r.Report, PairLoss: &pairLoss{Name: s.Loss.Name(), Margin: r.Report.Margin, Temperature: r.Report.Temperature, Tuple: s.Tuple},
		Guarantee: r.Guarantee,
	}
}

func (r *tuplesTrainResult) text() string {
	var b strings.Builder
	r.writeData(&b, ", classes of the records")
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	r.writeModel(&b, taskMetric)
	r.writeTime(&b)
	return b.String()
}
