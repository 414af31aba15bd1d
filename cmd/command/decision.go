package command

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"io"
	"math"
	"slices"
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
			return nil, badInput("--threshold is %q, want a score such as 0.25, or a file of \"dyad threshold\", and there is "+
				"no such file; scores are not percentages", f.Threshold)
		}
		if err != nil {
			return nil, badInput("--threshold is neither a number nor a file of \"dyad threshold\" for this model: %v", err)
		}
		if r.Chosen == nil {
			return nil, badInput("%s has figures and no threshold; \"dyad threshold MODEL --figures %[1]s\" chooses "+
				"one at no cost", f.Threshold)
		}
		d.threshold = r.Chosen.Threshold
	}
	if math.IsNaN(d.threshold) || math.IsInf(d.threshold, 0) {
		return nil, badInput("--threshold is %v, want a finite number", d.threshold)
	}
	s := m.Encoder.Schema()
	i := slices.IndexFunc(s.Columns, func(c dataset.Column) bool { return c.Role == dataset.RoleLabel })
	if err := needs(m, input.Needs{TwoClasses: "--threshold is for two classes, and the labels of the model are grades"}); err != nil {
		return nil, err
	}
	switch {
	case i < 0 || s.Columns[i].Positive == "":
		d.positive, d.negative = "positive", "negative"
	default:
		d.positive = s.Columns[i].Positive
		d.negative = cmp.Or(s.Columns[i].Negative, "not "+d.positive)
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

// withClasses adds a column of classes to a table in CSV.
func withClasses(w io.Writer, ids []string, scores []float64, classes []string) error {
	if classes == nil {
		return writeScores(w, ids, scores)
	}
	var text bytes.Buffer
	if err := writeScores(&text, ids, scores); err != nil {
		return err
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		return err
	}
	for i, class := range append([]string{"class"}, classes...) {
		rows[i] = append(rows[i], class)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func writeScores(w io.Writer, ids []string, s []float64) error {
	return writeTable(w, ids, s, []string{"score"})
}
