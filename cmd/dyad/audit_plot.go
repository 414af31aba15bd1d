package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dyad/algorithms/audit"
	"dyad/privacy"
)

// checkPlot refuses a plot file that writeAuditPlot cannot write.
func checkPlot(path string) error {
	if !strings.EqualFold(filepath.Ext(path), ".svg") {
		return badInput("--plot writes SVG; give a file name that ends in .svg")
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
		most = min(most, privacy.GDPTradeoff(r.Mu, alarm))
	}
	return most
}

// writeAuditPlot draws the rates of the attack on the runs that did not choose it,
// and the limit of the claim, as SVG.
func writeAuditPlot(path string, r *audit.Report) error {
	const size, margin = 480.0, 60.0
	x := func(v float64) float64 { return margin + v*size }
	y := func(v float64) float64 { return margin/2 + (1-v)*size }
	line := func(xs, ys []float64) string {
		var b strings.Builder
		for i := range xs {
			fmt.Fprintf(&b, "%.2f,%.2f ", x(xs[i]), y(ys[i]))
		}
		return strings.TrimSpace(b.String())
	}
	var grid, limit []float64
	for i := range 401 {
		grid = append(grid, float64(i)/400)
		limit = append(limit, allowed(r, grid[i]))
	}
	alarms, hits := rates(r.Scores)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="13">`+"\n", size+2*margin, size+2*margin)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="#999"/>`+"\n", x(0), y(1), size, size)
	for i := 0; i <= 10; i += 2 {
		v := float64(i) / 10
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%.1f</text><text x="%g" y="%g" text-anchor="end">%.1f</text>`+"\n", x(v), y(0)+18, v, x(0)-6, y(v)+4, v)
	}
	fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#bbb" stroke-dasharray="4 4"/>`+"\n", line([]float64{0, 1}, []float64{0, 1}))
	fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#c22" stroke-width="2"/>`+"\n", line(grid, limit))
	fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#147" stroke-width="2"/>`+"\n", line(alarms, hits))
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">false alarms: guesses "neighbour" on the data</text>`+"\n", x(0.5), y(0)+38)
	fmt.Fprintf(&b, `<text x="16" y="%g" text-anchor="middle" transform="rotate(-90 16 %g)">hits: guesses "neighbour" on the neighbour</text>`+"\n", y(0.5), y(0.5))
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end" fill="#c22">most that the claim allows (epsilon %.4g, delta %.3g)</text>`+"\n", x(0.98), y(0.10), r.Epsilon, r.Delta)
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end" fill="#147">attack on %s, %d runs on each side</text>`+"\n", x(0.98), y(0.05), r.Algorithm, len(r.Scores[0]))
	b.WriteString("</svg>\n")
	return writeFile(path, []byte(b.String()))
}
