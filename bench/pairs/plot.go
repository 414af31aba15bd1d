package main

import (
	"maps"
	"math"
	"slices"

	"dyad/internal/experiment"
)

// curves are the means of the methods' values over repeats, by x.
func curves(rows []row) []experiment.Curve {
	var order []string
	values := map[string]map[float64][]float64{}
	for _, r := range rows {
		if values[r.method] == nil {
			values[r.method] = map[float64][]float64{}
			order = append(order, r.method)
		}
		values[r.method][r.x] = append(values[r.method][r.x], r.value)
	}
	var out []experiment.Curve
	for _, m := range order {
		c := experiment.Curve{Name: m, X: slices.Sorted(maps.Keys(values[m]))}
		for _, x := range c.X {
			mean, se := experiment.MeanAndError(values[m][x])
			c.Y, c.SE = append(c.Y, mean), append(c.SE, se)
		}
		out = append(out, c)
	}
	return out
}

func plotRows(path string, rows []row, a axes) error {
	lowest, highest := math.Inf(1), 0.0
	for _, r := range rows {
		lowest, highest = min(lowest, r.value), max(highest, r.value)
	}
	return experiment.Figure{Title: a.title, X: a.x, Y: a.value, LogY: lowest > 0 && highest > 100*lowest,
		Curves: curves(rows)}.Save(path)
}
