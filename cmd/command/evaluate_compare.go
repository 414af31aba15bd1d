package command

import (
	"errors"
	"fmt"

	lib "dyad"
	"dyad/engine/metrics"
	"dyad/internal/files"
)

// compareFlag names a second model.
type compareFlag struct {
	Compare string `placeholder:"MODEL" help:"Another model of scores: evaluate the difference of the AUCs of both on the same records, and nothing else."`
}

// other reads the second model; nil without one.
func (c *evaluateCmd) other(a *app, m *model) (*model, error) {
	if c.Compare == "" {
		return nil, nil
	}
	other, err := a.openModel(c.Compare, c.Ledger)
	if err != nil {
		return nil, err
	}
	schema, with := m.Encoder.Schema(), other.Encoder.Schema()
	switch {
	case m.Task == taskMetric || other.Task == taskMetric:
		return nil, badInput("--compare is for models of scores, and a metric has none")
	case m.Network != nil || other.Network != nil:
		return nil, badInput("--compare is for linear models of scores in this version; evaluate a network alone: both evaluations are charged")
	case schema.ByPerson() || with.ByPerson():
		return nil, badInput("the private difference of two models compares rows, and the schema has persons with several; evaluate each model alone: both are charged")
	case schema.IsGraded() || with.IsGraded():
		return nil, badInput("--compare is about two classes, and the labels are grades")
	case classes(schema) != classes(with):
		return nil, badInput("%s and %s take other labels for the two classes: one AUC cannot compare them", c.Model, c.Compare)
	case c.Threshold != 0 || c.Neighbours.given() || c.Thresholds != nil || c.MeanLoss || c.LossRange != nil || c.Reference.given():
		return nil, badInput("--compare gives the difference of two AUCs alone; leave out --threshold, --roc-thresholds, --mean-loss, --loss-range, --neighbours and --reference")
	}
	return other, nil
}

// compared are the same records by the second model's encoding of the file; nil without one.
func (c *evaluateCmd) compared(a *app, other *model, held *lib.Data, public bool) (*lib.Data, error) {
	if other == nil {
		return nil, nil
	}
	again, _, err := c.read(a, other, public)
	if err != nil {
		return nil, err
	}
	if again.Records.Len() != held.Records.Len() {
		return nil, badInput("the schemas of %s and %s take different rows of %s", c.Model, c.Compare, c.Data)
	}
	return again, nil
}

// differenceResult is the JSON output of an exact comparison.
type differenceResult struct {
	Model      string   `json:"model"`
	Compared   string   `json:"compared"`
	Records    int      `json:"records"`
	Difference float64  `json:"auc_difference"`
	Low        *float64 `json:"auc_difference_low,omitempty"`
	High       *float64 `json:"auc_difference_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Guarantee  string   `json:"guarantee"`
}

// exactDifference prints the exact difference of two AUCs with DeLong's interval.
func (c *evaluateCmd) exactDifference(a *app, m, other *model, held *lib.Data) error {
	first, err := metrics.Scores(held.Records, m.Weights)
	if err != nil {
		return err
	}
	again, err := c.compared(a, other, held, true)
	if err != nil {
		return err
	}
	second, err := metrics.Scores(again.Records, other.Weights)
	if err != nil {
		return err
	}
	d, err := metrics.DeLongDifference(first, second, held.Records.Labels())
	if err != nil {
		return asInput(err)
	}
	r := differenceResult{Model: c.Model, Compared: c.Compare, Records: held.Records.Len(), Difference: d.Difference, Guarantee: "none: computed from the records"}
	text := fmt.Sprintf("records    %d\nAUC        %s less %s: %+.6f", r.Records, c.Model, c.Compare, d.Difference)
	low, high, err := d.Interval(c.Confidence)
	if err == nil {
		r.Low, r.High, r.Confidence = &low, &high, c.Confidence
		text += fmt.Sprintf(" (%g %% interval %+.4f to %+.4f, DeLong)", 100*c.Confidence, low, high)
	} else if !errors.Is(err, metrics.ErrDegenerate) {
		return err
	}
	return a.emit(r, text+"\nguarantee  "+r.Guarantee+"\n")
}

// digest names a second model to the last digit, with its encoding.
func digest(m *model) (string, error) {
	text, err := m.Encoder.MarshalJSON()
	return files.Digest(fmt.Append(text, m.Weights)), err
}
