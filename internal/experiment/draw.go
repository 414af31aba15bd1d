package experiment

import (
	"fmt"
	"slices"
)

// Draw draws a figure of the score against epsilon for each data set and each n. The curve of a private method
// has a band of one standard error above and below. A method that is not private has a horizontal line. The files
// are prefix-DATA-N.FORMAT in the given Formats. Draw returns their names. There is no figure if the plan has
// fewer than two epsilons.
func (p *Plan) Draw(prefix string, summary []Summary, formats ...string) ([]string, error) {
	var files []string
	for _, f := range p.Figures(summary) {
		for _, format := range formats {
			path := fmt.Sprintf("%s-%s.%s", prefix, f.name, format)
			if err := f.Save(path); err != nil {
				return files, err
			}
			files = append(files, path)
		}
	}
	return files, nil
}

// Figures returns the pictures that Draw writes.
func (p *Plan) Figures(summary []Summary) (figures []Figure) {
	for _, d := range p.Data {
		for _, n := range d.N {
			f := Figure{
				Title: fmt.Sprintf("%s, n = %d, delta = %.3g", d.Name, n, p.delta(n)),
				X:     "epsilon", Y: p.Unit(), LogX: true, Ticks: slices.Sorted(slices.Values(p.Epsilon)),
			}
			if p.Task == taskMetric && p.Measure == "" {
				f.Y = fmt.Sprintf("accuracy of %d nearest neighbours", p.Neighbours)
			}
			if d.Splits > 1 {
				f.Title += fmt.Sprintf("\nmean of %d splits; band: one standard error", d.Splits)
			}
			for i := range p.all {
				m := &p.all[i]
				c := Curve{Name: m.label(), Level: m.nonPrivate}
				if m.nonPrivate && m.choose != nil {
					c.Name = "without privacy (" + c.Name + ")"
				}
				for _, s := range summary {
					if s.Data == d.Name && s.N == n && s.Splits > 0 && s.Label() == m.label() {
						c.X, c.Y, c.SE = append(c.X, s.Epsilon), append(c.Y, s.Mean), append(c.SE, s.SE)
					}
				}
				if len(c.X) > 0 {
					f.Curves = append(f.Curves, c)
				}
			}
			if len(f.Curves) == 0 || len(p.Epsilon) < 2 {
				continue
			}
			f.name = fmt.Sprintf("%s-%d", d.Name, n)
			figures = append(figures, f)
		}
	}
	return figures
}
