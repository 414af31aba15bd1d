package command

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine/curves"
	"dyad/internal/experiment"
	"dyad/internal/files"
	"dyad/internal/page"
)

// mostCurves is the largest number of curves on a page.
const mostCurves = 12

// curvesFlag is the flag that requests the curves of a model.
type curvesFlag struct {
	Curves string `writes:"curves" placeholder:"FILE" help:"Write what each column adds to a linear score. .json: all columns and interactions. .svg, .pdf, .png: a plot of the numeric columns."`
}

// check returns an error if the file cannot be written or the model has no curves.
func (f curvesFlag) check(m *model, force bool, others ...string) (*files.Output, error) {
	if f.Curves == "" {
		return nil, nil
	}
	if err := checkPicture("curves", f.Curves, "json"); err != nil {
		return nil, err
	}
	if _, err := m.Curves(); err != nil {
		return nil, err
	}
	return files.NewOutput(f.Curves, force, others...)
}

// write writes the curves.
func (f curvesFlag) write(m *model, out *files.Output) error {
	if out == nil {
		return nil
	}
	all, err := m.Curves()
	if err != nil {
		return err
	}
	if strings.HasSuffix(strings.ToLower(f.Curves), ".json") {
		values := map[string]any{"confidence": curves.Confidence, "band": bandWords, "curves": all}
		if surfaces := curves.Surfaces(m.Encoder, m.Weights); surfaces != nil {
			values["surfaces"] = surfaces
		}
		text, err := indented(values)
		if err != nil {
			return err
		}
		return out.Write(files.Shared, text)
	}
	var grid experiment.Grid
	for _, c := range all {
		if c.X != nil {
			grid = append(grid, curveFigure(c))
		}
	}
	if grid == nil {
		return badInput("the model has no numeric column, so there is no curve; name a .json file instead")
	}
	var b bytes.Buffer
	if err := grid.Write(&b, strings.ToLower(strings.TrimPrefix(filepath.Ext(f.Curves), "."))); err != nil {
		return err
	}
	return out.Write(files.Shared, b.Bytes())
}

// bandWords describe the coverage of a band.
const bandWords = "bands of 95 %, each for a whole curve. A band covers the noise of the signed sum and of " +
	"gradients, and to first order that of second moments. A band does not cover other noise, the ridge's " +
	"shrinkage or the sampling. The released matrix, ridge, damping and length count as exact"

// curveFigure returns the figure of a numeric column.
func curveFigure(c curves.Curve) experiment.Figure {
	f := experiment.Figure{Title: c.Name, X: c.Name, Y: "adds to the score"}
	x := c.X
	switch {
	case c.LogX:
		f.X, x = "log(1 + "+c.Name+")", nil
		for _, v := range c.X {
			x = append(x, math.Log1p(v))
		}
	case c.Date:
		f.X += ", days from January 1, 1970"
	}
	if c.Bend != "" {
		f.Title += ": " + c.Bend
	}
	f.Curves = []experiment.Curve{{Name: "curve", X: x, Y: c.Y, Low: c.Low, High: c.High, Smooth: true}}
	return f
}

// curvesSection returns the section of a page with the curves of a model whose schema has a basis.
func curvesSection(m *model) (s page.Section, err error) {
	if !m.Encoder.IsCurved() || m.Pairs != nil || m.Tuples != nil {
		return s, nil
	}
	all, err := m.Curves()
	if err != nil {
		return s, nil // a metric or a network has no curves
	}
	s = page.Section{ID: "curves", Title: "Curves", Text: []string{
		"A score is the sum of the terms of all columns and interactions. The sum is divided by the norm of the " +
			"record if this norm is above 1. Each curve has mean 0 over its range.",
	}}
	if m.CurveNoise != nil {
		s.Text = append(s.Text, "The bands are "+bandWords+". \""+curves.NoBend+`" means that a straight line fits `+
			"into the band.")
	} else {
		s.Text = append(s.Text, "There are no bands, because this model has no covariance of the noise.")
	}
	all = slices.DeleteFunc(all, func(c curves.Curve) bool { return c.X == nil })
	span := func(c curves.Curve) float64 { return slices.Max(c.Y) - slices.Min(c.Y) }
	slices.SortStableFunc(all, func(a, b curves.Curve) int { return cmp.Compare(span(b), span(a)) })
	t := page.Table{Caption: "Numeric columns, by their effect on scores",
		Head: []string{"column", "from lowest to highest", "shape"}}
	for k, c := range all {
		t.Add(c.Name, fmt.Sprintf("%.4g", span(c)), c.Bend)
		if k < mostCurves {
			if err := drawn(&s, curveFigure(c), "What each value of the column adds to the score."); err != nil {
				return s, err
			}
		}
	}
	if len(all) > mostCurves {
		s.Text = append(s.Text, fmt.Sprintf("The first %d of %d are drawn; \"dyad report --curves FILE\" writes all.",
			mostCurves, len(all)))
	}
	s.Tables = append(s.Tables, t)
	if pairs := curves.Surfaces(m.Encoder, m.Weights); pairs != nil {
		t := page.Table{Caption: "Interactions: what a pair of columns adds to the curves of its two columns",
			Head: []string{"columns", "from lowest to highest"}}
		for _, p := range pairs {
			values := slices.Concat(p.Z...)
			t.Add(p.A.Name+" and "+p.B.Name, fmt.Sprintf("%.4g", slices.Max(values)-slices.Min(values)))
		}
		s.Tables = append(s.Tables, t)
		s.Text = append(s.Text,
			`Interactions are not drawn; "dyad report --curves FILE.json" writes their values.`)
	}
	return s, nil
}
