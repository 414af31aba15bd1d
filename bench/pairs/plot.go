package main

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"dyad/bench"
)

// curve is the mean of a method's values over repeats, by x.
type curve struct {
	method      string
	x, mean, se []float64
}

func curves(rows []row) []curve {
	var order []string
	values := map[string]map[float64][]float64{}
	for _, r := range rows {
		if values[r.method] == nil {
			values[r.method] = map[float64][]float64{}
			order = append(order, r.method)
		}
		values[r.method][r.x] = append(values[r.method][r.x], r.value)
	}
	var out []curve
	for _, m := range order {
		c := curve{method: m}
		for x := range values[m] {
			c.x = append(c.x, x)
		}
		slices.Sort(c.x)
		for _, x := range c.x {
			mean, se := values[m][x][0], 0.0
			if len(values[m][x]) > 1 {
				mean, se = bench.MeanAndError(values[m][x])
			}
			c.mean, c.se = append(c.mean, mean), append(c.se, se)
		}
		out = append(out, c)
	}
	return out
}

// points are those of a curve with one standard error up and down.
type points struct {
	plotter.XYs
	plotter.YErrors
}

func plotRows(path string, rows []row, a axes) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = a.title, a.x, a.value
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	lowest, highest := math.Inf(1), 0.0
	for _, r := range rows {
		lowest, highest = min(lowest, r.value), max(highest, r.value)
	}
	if lowest > 0 && highest > 100*lowest {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	for i, c := range curves(rows) {
		at := points{make(plotter.XYs, len(c.x)), make(plotter.YErrors, len(c.x))}
		for k, x := range c.x {
			at.XYs[k] = plotter.XY{X: x, Y: c.mean[k]}
			at.YErrors[k].Low, at.YErrors[k].High = min(c.se[k], 0.9*c.mean[k]), c.se[k]
		}
		line, marks, err := plotter.NewLinePoints(at.XYs)
		if err != nil {
			return err
		}
		bars, err := plotter.NewYErrorBars(at)
		if err != nil {
			return err
		}
		line.Color, marks.Color, bars.Color = plotutil.Color(i), plotutil.Color(i), plotutil.Color(i)
		line.Dashes, marks.Shape = plotutil.Dashes(i/7), plotutil.Shape(i)
		p.Add(line, marks, bars)
		p.Legend.Add(c.method, line, marks)
	}
	return p.Save(18*vg.Centimeter, 12*vg.Centimeter, path)
}
