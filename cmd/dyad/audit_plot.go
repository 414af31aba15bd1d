package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"dyad/algorithms/audit"
	"dyad/internal/files"
	"dyad/privacy/account"
)

// plotFormat is the format that a plot file's name asks for.
func plotFormat(path string) string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
}

// checkPlot refuses a plot file that writeAuditPlot cannot write.
func checkPlot(path string) error {
	if f := plotFormat(path); f != "svg" && f != "png" {
		return badInput("--plot writes SVG or PNG; give a file name that ends in .svg or .png")
	}
	return checkOut(path, true)
}

// rates are the points (false alarms, hits) of the attack that guesses the neighbour
// when the score reaches a threshold, for all thresholds from the highest down.
func rates(scores [2][]float64) (alarms, hits []float64) {
	type scored struct {
		value     float64
		neighbour bool
	}
	var all []scored
	for side, values := range scores {
		for _, v := range values {
			all = append(all, scored{v, side == 1})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return 0
	})
	alarms, hits = []float64{0}, []float64{0}
	alarm, hit := 0.0, 0.0
	for i, s := range all {
		if s.neighbour {
			hit++
		} else {
			alarm++
		}
		if i+1 < len(all) && all[i+1].value == s.value {
			continue
		}
		alarms = append(alarms, alarm/float64(len(scores[0])))
		hits = append(hits, hit/float64(len(scores[1])))
	}
	return alarms, hits
}

// allowed is the largest rate of hits that the claim allows at a rate of false alarms.
func allowed(r *audit.Report, alarm float64) float64 {
	most := min(1, math.Exp(r.Epsilon)*alarm+r.Delta, 1-math.Exp(-r.Epsilon)*(1-r.Delta-alarm))
	if r.Mu > 0 {
		most = min(most, account.GDPTradeoff(r.Mu, alarm))
	}
	return most
}

// writeAuditPlot draws the rates of the attack on the runs that did not choose it,
// and the limit of the claim, as SVG or PNG by the name of the file.
func writeAuditPlot(path string, r *audit.Report) error {
	var grid, limit []float64
	for i := range 401 {
		grid = append(grid, float64(i)/400)
		limit = append(limit, allowed(r, grid[i]))
	}
	alarms, hits := rates(r.Scores)
	// Massart 1990: P[sup |empirical - true| > e] <= 2 exp(-2 n e^2), for each axis.
	sampling := math.Sqrt(math.Log(2/0.05) / (2 * float64(min(len(r.Scores[0]), len(r.Scores[1])))))
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Attack on %s (%s loss), %d runs on each side", r.Algorithm, r.Loss, len(r.Scores[0]))
	p.X.Label.Text = "false alarms: guesses \"neighbour\" on the data"
	p.Y.Label.Text = "hits: guesses \"neighbour\" on the neighbour"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(8), vg.Points(4)
	for _, c := range []struct {
		name   string
		xs, ys []float64
		color  color.Color
		dashes []vg.Length
	}{
		{fmt.Sprintf("most that the claim allows (epsilon %.4g, delta %.3g)", r.Epsilon, r.Delta), grid, limit, color.RGBA{R: 200, G: 30, B: 30, A: 255}, nil},
		{fmt.Sprintf("attack (each rate within %.2g, 95 %%)", sampling), alarms, hits, color.RGBA{R: 20, G: 70, B: 120, A: 255}, nil},
		{"guessing", []float64{0, 1}, []float64{0, 1}, color.Gray{Y: 160}, []vg.Length{vg.Points(4), vg.Points(4)}},
	} {
		points := make(plotter.XYs, len(c.xs))
		for i := range points {
			points[i].X, points[i].Y = c.xs[i], c.ys[i]
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("plotting %s: %w", c.name, err)
		}
		line.Color, line.Width, line.Dashes = c.color, vg.Points(1.5), c.dashes
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	w, err := p.WriterTo(6*vg.Inch, 6*vg.Inch, plotFormat(path))
	if err != nil {
		return fmt.Errorf("plotting: %w", err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return fmt.Errorf("plotting: %w", err)
	}
	return files.Replace(path, b.Bytes())
}
