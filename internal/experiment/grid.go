package experiment

import (
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Grid is a figure that consists of small figures without legends, three in a row.
type Grid []Figure

// Write writes the grid in one of Formats.
func (g Grid) Write(w io.Writer, format string) error {
	columns := min(len(g), 3)
	if columns == 0 {
		return fmt.Errorf("experiment: a grid needs at least one figure")
	}
	rows := (len(g) + columns - 1) / columns
	const width, height = 7.5 * vg.Centimeter, 6 * vg.Centimeter
	plots := make([][]*plot.Plot, rows)
	for k, f := range g {
		p, _, err := f.plot()
		if err != nil {
			return err
		}
		plots[k/columns] = append(plots[k/columns], p)
	}
	last := &plots[rows-1]
	*last = append(*last, make([]*plot.Plot, columns-len(*last))...)
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: vg.Points(10), PadY: vg.Points(10), PadTop: vg.Points(6),
		PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(6)}
	return onWhite(w, vg.Length(columns)*width, vg.Length(rows)*height, format, func(c draw.Canvas) {
		for i, row := range plot.Align(plots, tiles, c) {
			for j, p := range plots[i] {
				if p != nil {
					p.Draw(row[j])
				}
			}
		}
	})
}
