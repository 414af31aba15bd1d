package command

import (
	"errors"
	"fmt"

	lib "dyad"
	"dyad/engine/metrics"
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
	o := c.privateFlags.of(m)
	o.Compare, o.Threshold, o.Names.Model, o.Names.Compare = other, c.Threshold, c.Model, c.Compare
	if err := o.Comparable(); err != nil {
		return nil, err
	}
	if c.Neighbours.given() {
		return nil, badInput("--compare gives the difference of two AUCs alone; leave out --threshold, --roc-thresholds, --mean-loss, --loss-range, --neighbours and --reference")
	}
	return other, nil
}

// compared are the same records by the second model's encoding of the file; nil without one.
func (c *evaluateCmd) compared(a *app, other *model, public bool) (*lib.Data, error) {
	if other == nil {
		return nil, nil
	}
	again, _, err := c.read(a, other, public)
	return again, err
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
	again, err := c.compared(a, other, true)
	if err != nil {
		return err
	}
	if again.Records.Len() != held.Records.Len() {
		return badInput("the schemas of %s and %s take different rows of %s", c.Model, c.Compare, c.Data)
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
