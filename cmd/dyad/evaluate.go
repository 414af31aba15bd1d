package main

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/engine/objective"
)

type evaluateCmd struct {
	Model     string  `arg:"" help:"Model file."`
	Data      string  `required:"" placeholder:"FILE" help:"Data file in the format of the training data, with labels."`
	Threshold float64 `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`
}

// Help shows examples.
func (evaluateCmd) Help() string {
	return `The figures are computed from the records of the file and carry no privacy guarantee.

Examples:
  dyad evaluate model.json --data patients.csv
  dyad evaluate model.json --data patients.csv --threshold 0.01 --json`
}

// evaluation are figures of a model on labelled records.
type evaluation struct {
	Records   int     `json:"records"`
	AUC       float64 `json:"auc"`
	Threshold float64 `json:"threshold"`
	Accuracy  float64 `json:"accuracy"`
	Objective float64 `json:"objective"` // mean pair loss, without the L2 term
	Guarantee string  `json:"guarantee"`
}

const notCovered = "none: computed from the records themselves"

// Run evaluates.
func (c *evaluateCmd) Run(a *app) error {
	m, err := readModel(c.Model)
	if err != nil {
		return err
	}
	data, err := a.readData(c.Data, m.Encoder.Schema(), dataset.Options{})
	if err != nil {
		return err
	}
	e, err := evaluate(a.ctx, data.Records, m.Weights, c.Threshold, engine.Problem{Loss: engine.Logistic{}, Radius: m.Report.Radius})
	if err != nil {
		return err
	}
	return a.emit(e, fmt.Sprintf("records    %d\nAUC        %.6f\naccuracy   %.6f (score >= %g counts as positive)\nobjective  %.6g (mean pair loss)\nguarantee  %s\n", e.Records, e.AUC, e.Accuracy, e.Threshold, e.Objective, e.Guarantee))
}

func evaluate(ctx context.Context, r *engine.Records, w []float64, threshold float64, p engine.Problem) (*evaluation, error) {
	s, err := metrics.Scores(r, w)
	if err != nil {
		return nil, err
	}
	auc, err := metrics.AUC(s, r.Labels())
	if err != nil {
		return nil, asInput(err)
	}
	accuracy, err := metrics.Accuracy(s, r.Labels(), threshold)
	if err != nil {
		return nil, asInput(err)
	}
	mean, err := objective.Mean(ctx, p.Loss, w, r)
	if err != nil {
		return nil, err
	}
	return &evaluation{Records: r.Len(), AUC: auc, Threshold: threshold, Accuracy: accuracy, Objective: mean, Guarantee: notCovered}, nil
}
