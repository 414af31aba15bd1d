package reproduce

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"dyad/internal/experiment"
)

// group is a mean of the runs of a command with the same values of the columns By.
type group struct {
	at       []string
	mean, se float64
	runs     int
	paper    float64 // NaN if it is only in a figure
}

// lines reads the result of a command. It returns nil if there is no result. Lines that begin with # are comments.
func (p Part) lines(out, committed string) ([][]string, string, error) {
	path := p.resultOf(out, committed)
	f, err := os.Open(path)
	if err != nil {
		return nil, path, nil
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment, r.FieldsPerRecord = '#', -1
	lines, err := r.ReadAll()
	if err != nil || len(lines) < 2 {
		return nil, path, fmt.Errorf("reproduce: %s: not a table: %w", path, err)
	}
	return lines, path, nil
}

// groups returns the means of the result of a command, or nil if there is no result.
func (p Part) groups(out, committed string) ([]group, string, error) {
	t := p.Paper.Table
	lines, path, err := p.lines(out, committed)
	if err != nil || lines == nil {
		return nil, path, err
	}
	column := func(name string) int { return slices.Index(lines[0], name) }
	value := column(t.Value)
	by := make([]int, len(t.By))
	for i, name := range t.By {
		if by[i] = column(name); by[i] < 0 || value < 0 {
			return nil, path, fmt.Errorf("reproduce: %s: want columns %s and %s", path, strings.Join(t.By, ", "), t.Value)
		}
	}
	var order []string
	values := map[string][]float64{}
	for _, l := range lines[1:] {
		if len(l) != len(lines[0]) {
			continue
		}
		var at []string
		for _, c := range by {
			at = append(at, l[c])
		}
		v, err := strconv.ParseFloat(l[value], 64)
		if err != nil || math.IsNaN(v) {
			continue
		}
		key := strings.Join(at, "\x00")
		if values[key] == nil {
			order = append(order, key)
		}
		values[key] = append(values[key], v)
	}
	var all []group
	for _, key := range order {
		g := group{at: strings.Split(key, "\x00"), runs: len(values[key]), paper: math.NaN()}
		g.mean, g.se = experiment.MeanAndError(values[key])
		if i := slices.IndexFunc(t.Cells, func(c experiment.PaperCell) bool { return slices.Equal(c.At, g.at) }); i >= 0 {
			g.paper = t.Cells[i].Value
		}
		all = append(all, g)
	}
	return all, path, nil
}

// figureOf draws the groups against the column X, with a curve for each value of the other columns. It returns nil
// if the column has no numbers or only one.
func (p Part) figureOf(all []group) *experiment.Figure {
	x := slices.Index(p.Paper.Table.By, p.Paper.Table.X)
	if x < 0 {
		return nil
	}
	f := &experiment.Figure{Title: "mean and one standard error", X: p.Paper.Table.X, Y: p.Paper.Table.Value}
	points := map[float64]bool{}
	for _, g := range all {
		v, err := strconv.ParseFloat(g.at[x], 64)
		if err != nil {
			continue
		}
		points[v] = true
		name := strings.Join(slices.Delete(slices.Clone(g.at), x, x+1), " ")
		c := f.Curve(name)
		c.X, c.Y, c.SE = append(c.X, v), append(c.Y, g.mean), append(c.SE, g.se)
	}
	if len(points) < 2 || len(f.Curves) == 0 {
		return nil
	}
	return f
}

// panels draws every run as a point. There is a figure for each value of the first column of By, and a mark for
// each value of the other columns.
func (p Part) panels(out, committed string) ([]*experiment.Figure, error) {
	t := p.Paper.Table
	lines, _, err := p.lines(out, committed)
	if err != nil || lines == nil {
		return nil, err
	}
	column := func(name string) int { return slices.Index(lines[0], name) }
	x, y := column(t.X), column(t.Value)
	if x < 0 || y < 0 {
		return nil, fmt.Errorf("reproduce: %s: want columns %s and %s", t.File, t.X, t.Value)
	}
	var all []*experiment.Figure
	for _, l := range lines[1:] {
		title, name := l[column(t.By[0])], ""
		for _, by := range t.By[1:] {
			name += by + " " + l[column(by)]
		}
		k := slices.IndexFunc(all, func(f *experiment.Figure) bool { return f.Title == title })
		if k < 0 {
			k, all = len(all), append(all, &experiment.Figure{Title: title, X: t.X, Y: t.Value})
		}
		px, errX := strconv.ParseFloat(l[x], 64)
		py, errY := strconv.ParseFloat(l[y], 64)
		if errX != nil || errY != nil {
			return nil, fmt.Errorf("reproduce: %s: %s and %s are not numbers", t.File, l[x], l[y])
		}
		c := all[k].Curve(name)
		c.X, c.Y, c.SE, c.Points = append(c.X, px), append(c.Y, py), append(c.SE, 0), true
	}
	return all, nil
}

// sameBudgets names the groups of private results whose mean is the same at every budget, to the digits of the
// table. The records then have no influence on the result.
func (p Part) sameBudgets(all []group) []string {
	k := slices.Index(p.Paper.Table.By, "budget")
	if k < 0 {
		return nil
	}
	means, budgets := map[string][]string{}, map[string]int{}
	var order []string
	for _, g := range all {
		if !strings.HasPrefix(g.at[k], "paper:") {
			continue
		}
		name := strings.Join(slices.Delete(slices.Clone(g.at), k, k+1), ", ")
		if budgets[name]++; budgets[name] == 1 {
			order = append(order, name)
		}
		if m := number(g.mean); !slices.Contains(means[name], m) {
			means[name] = append(means[name], m)
		}
	}
	var out []string
	for _, name := range order {
		if len(means[name]) == 1 && budgets[name] > 1 {
			out = append(out, fmt.Sprintf("%s: all %d budgets of the paper have the same mean, %s", name, budgets[name],
				means[name][0]))
		}
	}
	return out
}
