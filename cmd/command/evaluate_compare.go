package command

import (
	"errors"
	"fmt"
	"slices"

	"dyad/engine/metrics"
)

type evaluateCompareCmd struct {
	With string `required:"" aliases:"compare" placeholder:"MODEL" help:"The other model. The result is the AUC of the first model minus the AUC of this model."`
	evaluatedFlags
	releaseFlags
	ExactFigures bool `not:"epsilon report track" why:"a page or a run folder is a release, and must not have exact figures of private records"`
}

// Run evaluates the difference.
func (c *evaluateCompareCmd) Run(a *app) error {
	if c.Epsilon == nil && (c.Resume != "" || c.Seed != nil) {
		return badInput("--resume and --seed need a private difference; add --epsilon")
	}
	m, err := a.openModel(c.Model, c.Ledger)
	if err != nil {
		return err
	}
	other, err := a.openModel(c.With, c.Ledger)
	if err != nil {
		return err
	}
	p := evaluatePrivateCmd{evaluatedFlags: c.evaluatedFlags, releaseFlags: c.releaseFlags, with: c.With}
	if err := p.asks(m, other).Comparable(); err != nil {
		return err
	}
	switch {
	case c.Epsilon != nil:
		return p.private(a, m, other, c.PublicData)
	case !c.PublicData && !c.ExactFigures:
		return errCountsAsPrivate
	case c.Report != "" || c.Track != "":
		return badInput("an exact comparison of two models takes no --report and no --track; leave them out")
	}
	return c.exactDifference(a, m, other)
}

// differenceResult is the JSON output of an exact comparison.
type differenceResult struct {
	Model      string   `json:"model"`
	Compared   string   `json:"compared"`
	Records    int      `json:"records"`
	Unit       string   `json:"unit,omitempty"` // "person" if Records counts persons
	Difference float64  `json:"auc_difference"`
	Low        *float64 `json:"auc_difference_low,omitempty"`
	High       *float64 `json:"auc_difference_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Guarantee  string   `json:"guarantee"`
}

// exactDifference prints the exact difference of two AUCs with DeLong's interval.
func (c *evaluateCompareCmd) exactDifference(a *app, m, other *model) error {
	o := exactReading(m, c.Holdout == nil)
	held, rest, err := c.read(a, m, c.Data, o)
	if err != nil {
		return err
	}
	noteOtherSplit(a, m, rest)
	first, err := metrics.Scores(held.Records, m.Weights)
	if err != nil {
		return err
	}
	again, _, err := c.read(a, other, c.Data, o)
	if err != nil {
		return err
	}
	rows := held.Records.FirstRows()
	if again.Records.Len() != held.Records.Len() || !slices.Equal(again.Records.FirstRows(), rows) {
		return badInput("%s and %s cannot be compared: their schemas select different rows of %s", c.Model, c.With, c.Data)
	}
	second, err := metrics.Scores(again.Records, other.Weights)
	if err != nil {
		return err
	}
	d, err := metrics.DeLongDifference(first, second, held.Records.Labels(), rows)
	if err != nil {
		return asInput(err)
	}
	r := differenceResult{Model: c.Model, Compared: c.With, Records: held.Records.Units(), Difference: d.Difference,
		Guarantee: "none: computed from the records"}
	if rows != nil {
		r.Unit = "person"
	} else if m.Encoder.Schema().ByPerson() {
		d.Variance = 0 // the rows of a person are not independent, and the persons are not known
	}
	text := fmt.Sprintf("%-10s %d\nAUC        %s less %s: %+.6f", pick(rows != nil, "persons", "records"), r.Records, c.Model,
		c.With, d.Difference)
	low, high, err := d.Interval(c.Confidence)
	if err == nil {
		r.Low, r.High, r.Confidence = &low, &high, c.Confidence
		text += fmt.Sprintf(" (%g %% interval %+.4f to %+.4f, DeLong)", 100*c.Confidence, low, high)
	} else if !errors.Is(err, metrics.ErrDegenerate) {
		return err
	}
	return a.emit(r, text+"\nguarantee  "+r.Guarantee+"\n")
}
