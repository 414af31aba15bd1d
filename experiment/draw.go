package experiment

import (
	"fmt"
	"image/color"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that colour-blind people can tell apart (Okabe and Ito 2008).
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255},
}

// Draw draws the score against epsilon for each data set and n: a line a private method
// with a band of one standard error up and down, and a horizontal line a method that is
// not private. The files are prefix-DATA-N.svg; it returns their names. Cells with fewer
// than two epsilons have no picture.
func (p *Plan) Draw(prefix string, summary []Summary) ([]string, error) {
	var files []string
	for _, d := range p.Data {
		for _, n := range d.N {
			var cell []Summary
			for _, s := range summary {
				if s.Data == d.Name && s.N == n && s.Splits > 0 {
					cell = append(cell, s)
				}
			}
			if len(cell) == 0 || len(p.Epsilon) < 2 {
				continue
			}
			path := fmt.Sprintf("%s-%s-%d.svg", prefix, d.Name, n)
			if err := p.drawCell(path, cell); err != nil {
				return files, fmt.Errorf("experiment: %s: %w", path, err)
			}
			files = append(files, path)
		}
	}
	return files, nil
}

// drawCell draws the methods of one training size.
func (p *Plan) drawCell(path string, cell []Summary) error {
	f := plot.New()
	score := "AUC"
	if p.Task == taskMetric {
		score = "accuracy of nearest neighbours"
	}
	f.Title.Text = fmt.Sprintf("%s, n = %d, delta %.3g", cell[0].Data, cell[0].N, p.delta(cell[0].N))
	f.Title.Padding = vg.Points(6)
	f.X.Label.Text, f.Y.Label.Text = "epsilon", score+", mean over splits"
	f.X.Scale, f.X.Tick.Marker = plot.LogScale{}, p.ticks()
	f.X.Min, f.X.Max = slices.Min(p.Epsilon), slices.Max(p.Epsilon)
	f.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.YOffs = true, true, -vg.Points(24)
	legend.Padding = vg.Points(3)
	k := 0
	for i := range p.all {
		m := &p.all[i]
		var xys, band plotter.XYs
		for _, s := range cell {
			if s.label() == m.label() {
				xys = append(xys, plotter.XY{X: s.Epsilon, Y: s.Mean})
				band = append(band, plotter.XY{X: s.Epsilon, Y: s.Mean + s.SE})
			}
		}
		if len(xys) == 0 {
			continue
		}
		colour := palette[k%len(palette)]
		style := draw.LineStyle{Color: colour, Width: vg.Points(1.2)}
		if m.nonPrivate {
			style.Dashes = []vg.Length{vg.Points(6), vg.Points(2), vg.Points(1), vg.Points(2)}
			for j, e := range p.Epsilon { // as wide as the picture, also without a reference to pair with
				if j == 0 {
					xys = plotter.XYs{{X: e, Y: xys[0].Y}}
				} else {
					xys = append(xys, plotter.XY{X: e, Y: xys[0].Y})
				}
			}
		} else {
			if k/len(palette)%2 == 1 {
				style.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
			}
			for _, s := range slices.Backward(cell) {
				if s.label() == m.label() {
					band = append(band, plotter.XY{X: s.Epsilon, Y: s.Mean - s.SE})
				}
			}
			area, err := plotter.NewPolygon(band)
			if err != nil {
				return err
			}
			area.Color, area.LineStyle.Width = color.NRGBA{colour.R, colour.G, colour.B, 40}, 0
			f.Add(area)
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		line.LineStyle = style
		f.Add(line)
		legend.Add(m.label(), line)
		k++
	}
	return save(path, f, legend)
}

// save draws the plot with its legend at its right. Programs that show an SVG may have
// another font, so the legend has room for one that is wider.
func save(path string, f *plot.Plot, legend plot.Legend) error {
	size := legend.TextStyle.Font.Size
	legend.TextStyle.Font.Size = min(size, vg.Points(9))
	wide := legend.Rectangle(draw.New(vgsvg.New(vg.Centimeter, vg.Centimeter))).Size().X*1.25 + vg.Centimeter
	const width, height = 15 * vg.Centimeter, 11 * vg.Centimeter
	canvas := vgsvg.New(width+wide, height)
	c := draw.New(canvas)
	f.Draw(draw.Crop(c, vg.Points(4), -wide, vg.Points(4), -vg.Points(6)))
	legend.Draw(draw.Crop(c, width+vg.Points(8), 0, 0, 0))
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// ticks are the epsilons of the plan.
func (p *Plan) ticks() plot.ConstantTicks {
	var out plot.ConstantTicks
	for _, e := range p.Epsilon {
		out = append(out, plot.Tick{Value: e, Label: fmt.Sprintf("%g", e)})
	}
	return out
}
