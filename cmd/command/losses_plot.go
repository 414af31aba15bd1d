package command

import (
	"math"

	"dyad/internal/experiment"
)

// plotReach is the largest |u| of the curves of dyad lab losses.
const plotReach = 3.0

// sparkline draws f on [-plotReach, plotReach] in one line of text, scaled to the range of f there.
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

// plotted is a function to plot.
type plotted struct {
	name string
	f    func(float64) float64
}

// writeLossPlot draws curves on [lo, hi], in the format of the file's ending.
func writeLossPlot(path, title string, lo, hi float64, curves []plotted) error {
	figure := experiment.Figure{Title: title, X: "u", Y: "loss"}
	for _, c := range curves {
		const points = 600
		drawn := experiment.Curve{Name: c.name, Smooth: true}
		for k := range points + 1 {
			u := lo + (hi-lo)*float64(k)/points
			if v := c.f(u); !math.IsNaN(v) && !math.IsInf(v, 0) {
				drawn.X, drawn.Y = append(drawn.X, u), append(drawn.Y, v)
			}
		}
		figure.Curves = append(figure.Curves, drawn)
	}
	if len(curves) > 2 { // steep curves would hide the others
		figure.Top = 2 * plotReach
	}
	return figure.Save(path)
}
