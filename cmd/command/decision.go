package command

import (
	"cmp"
	"math"
	"strconv"

	"dyad/engine/dataset"
	"dyad/internal/input"
)

// decision is a threshold with the names of the classes on both sides.
type decision struct {
	threshold          float64
	positive, negative string
}

// decisionFlag is the --threshold flag of predict.
type decisionFlag struct {
	Threshold string `placeholder:"T|FILE" help:"Also print the class of each record: positive from this score on. A number, or a file that \"dyad threshold\" wrote."`
}

// decision parses the flag for a model. It returns nil without the flag.
func (f decisionFlag) decision(m *model) (*decision, error) {
	if f.Threshold == "" {
		return nil, nil
	}
	d := &decision{}
	var err error
	if d.threshold, err = strconv.ParseFloat(f.Threshold, 64); err != nil {
		r, err := readFigures(f.Threshold, m)
		if !exists(f.Threshold) {
			return nil, badInput("--threshold is %q; want a score such as 0.25 (not a percentage) or a file of "+
				`"dyad threshold"`, f.Threshold)
		}
		if err != nil {
			return nil, badInput(`--threshold must be a number or a file of "dyad threshold" for this model: %v`, err)
		}
		if r.Chosen == nil {
			return nil, badInput(`%s has no threshold; "dyad threshold MODEL --figures %[1]s" chooses one at no cost`,
				f.Threshold)
		}
		d.threshold = r.Chosen.Threshold
	}
	if math.IsNaN(d.threshold) || math.IsInf(d.threshold, 0) {
		return nil, badInput("--threshold is %v, want a finite number", d.threshold)
	}
	if err := needs(m, input.Needs{TwoClasses: "--threshold is only for two classes, but the labels of the model are " +
		"grades"}); err != nil {
		return nil, err
	}
	d.positive, d.negative = "positive", "negative"
	if c := m.Encoder.Schema().ColumnOf(dataset.RoleLabel); c != nil && c.Positive != "" {
		d.positive, d.negative = c.Positive, cmp.Or(c.Negative, "not "+c.Positive)
	}
	return d, nil
}

// classes returns the predicted classes for scores.
func (d *decision) classes(scores []float64) []string {
	if d == nil {
		return nil
	}
	out := make([]string, len(scores))
	for i, s := range scores {
		if out[i] = d.negative; s >= d.threshold {
			out[i] = d.positive
		}
	}
	return out
}
