package main

import (
	"bytes"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"dyad/internal/files"
)

// plotReach is the largest |u| of the curves of dyad losses.
const plotReach = 3.0

// sparkline draws f on [-plotReach, plotReach] in one line, scaled to its range there.
func sparkline(f func(float64) float64) string {
	const width = 25
	levels := []rune("▁▂▃▄▅▆▇█")
	var values [width]float64
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range values {
		v := f(plotReach * (2*float64(i)/(width-1) - 1))
		values[i] = v
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	line := make([]rune, width)
	for i, v := range values {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			line[i] = '?'
		case hi > lo:
			line[i] = levels[int(math.Round((v-lo)/(hi-lo)*float64(len(levels)-1)))]
		default:
			line[i] = levels[0]
		}
	}
	return string(line)
}

// curve is a function to plot.
type curve struct {
	name string
	f    func(float64) float64
}

// writeLossPlot draws curves on [lo, hi], as SVG or PNG by the name of the file.
func writeLossPlot(path, title string, lo, hi float64, curves []curve) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, "u"
	p.X.Min, p.X.Max = lo, hi
	p.Legend.Top = true
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(8), -vg.Points(4)
	for i, c := range curves {
		const points = 600
		var xys plotter.XYs
		for k := range points + 1 {
			u := lo + (hi-lo)*float64(k)/points
			if v := c.f(u); !math.IsNaN(v) && !math.IsInf(v, 0) {
				xys = append(xys, plotter.XY{X: u, Y: v})
			}
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return fmt.Errorf("plotting %s: %w", c.name, err)
		}
		line.Color, line.Width, line.Dashes = plotutil.Color(i), vg.Points(1.5), plotutil.Dashes(i/len(plotutil.DefaultColors))
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	if len(curves) > 2 { // the steep ones would hide the others
		p.Y.Max = min(p.Y.Max, 2*plotReach)
	}
	w, err := p.WriterTo(8*vg.Inch, 6*vg.Inch, plotFormat(path))
	if err != nil {
		return fmt.Errorf("plotting: %w", err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return fmt.Errorf("plotting: %w", err)
	}
	return files.Replace(path, b.Bytes())
}
