package main

import (
	"fmt"
	"strings"

	lib "dyad"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/files"
)

type evaluateCmd struct {
	Model      string  `arg:"" help:"Model file."`
	Data       string  `required:"" placeholder:"FILE" help:"Data file in the format of the training data, with labels."`
	Threshold  float64 `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`
	Neighbours string  `placeholder:"FILE" help:"For a metric: labelled records among which the nearest neighbours are looked for, e.g. the training file; if it is the data file, each record is left out of its own neighbours."`
	Confidence float64 `positive:"" default:"0.95" help:"Level of the interval of the AUC."`
	labelsFlag
	Top int `positive:"" default:"10" help:"Ranks that count for NDCG and precision, with graded labels or query groups."`
}

// Help shows examples.
func (evaluateCmd) Help() string {
	return `The figures are computed from the records of the file and carry no privacy guarantee.

For a metric the accuracy of nearest neighbour classifiers is printed next to that of the identity metric.
Such a classifier consists of raw records: publishing it is not covered by the guarantee of the metric.

Examples:
  dyad evaluate model.json --data patients.csv
  dyad evaluate model.json --data patients.csv --threshold 0.01 --json
  dyad evaluate metric.json --data patients.csv --neighbours patients.csv`
}

// Run evaluates.
func (c *evaluateCmd) Run(a *app) error {
	m, err := readModel(c.Model)
	if err != nil {
		return err
	}
	if !(c.Confidence > 0 && c.Confidence < 1) || c.Top < 1 {
		return badInput("--confidence is %v and --top %d, want strictly between 0 and 1, and at least 1", c.Confidence, c.Top)
	}
	data, err := a.readTraining(c.Data, m.Encoder.Schema(), c.options(dataset.Options{}), true)
	if err != nil {
		return err
	}
	var among *engine.Records
	if m.Task == taskMetric {
		if c.Neighbours == "" {
			return badInput("a metric is evaluated by nearest neighbours: name the records to look among with --neighbours FILE")
		}
		if files.Same(c.Data, c.Neighbours) {
			among = data.Records
		} else {
			neighbours, err := a.readTraining(c.Neighbours, m.Encoder.Schema(), dataset.Options{}, true)
			if err != nil {
				return err
			}
			among = neighbours.Records
		}
	} else if c.Neighbours != "" {
		return badInput("--neighbours is for a metric, and %s is a model of task %s", c.Model, m.Task)
	}
	e, err := m.Evaluate(a.ctx, lib.NewData(data), lib.EvaluateOptions{Threshold: c.Threshold, Confidence: c.Confidence, Top: c.Top, Among: among})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("records    %d\n%s", e.Records, figures(e, "%-10s %s\n"))
	if e.Objective != nil {
		text += fmt.Sprintf("objective  %.6g (%s)\n", *e.Objective, e.ObjectiveOf)
	}
	return a.emit(e, text+fmt.Sprintf("guarantee  %s\n", e.Guarantee))
}

// figures are the task's figures, each line by the format of label and text.
func figures(e *evaluation, format string) string {
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
