package experiment

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a plot of means with bands, its legend outside the axes.
type Figure struct {
	Title, X, Y string
	// LogX and LogY are for axes of positive numbers.
	LogX, LogY bool
	// Ticks of the x axis; nil chooses.
	Ticks  []float64
	Curves []Curve
}

// Curve is a line of a figure.
type Curve struct {
	Name     string
	X, Y, SE []float64 // the band is Y - SE to Y + SE
	// Level draws Y[0] across the figure, without a band.
	Level bool
}

// Colours that colour-blind people can tell apart (Okabe and Ito 2008).
var palette = [...]color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255},
}

// Save writes the figure as SVG.
func (f Figure) Save(path string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	p.Title.Padding = vg.Points(6)
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	var ticks plot.ConstantTicks
	for _, x := range f.Ticks {
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'g', -1, 64)})
	}
	if ticks != nil {
		p.X.Tick.Marker = ticks
	}
	left, right := math.Inf(1), math.Inf(-1)
	for _, c := range f.Curves {
		if len(c.X) == 0 || len(c.Y) != len(c.X) || len(c.SE) != len(c.X) {
			return fmt.Errorf("experiment: curve %s has %d, %d and %d numbers, want the same number of each", c.Name, len(c.X), len(c.Y), len(c.SE))
		}
		left, right = min(left, slices.Min(c.X)), max(right, slices.Max(c.X))
	}
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.YOffs, legend.Padding = true, true, -vg.Points(24), vg.Points(3)
	for i, c := range f.Curves {
		if c.Level {
			c.X, c.Y = []float64{left, right}, []float64{c.Y[0], c.Y[0]}
		}
		line, err := plotter.NewLine(points(c.X, c.Y))
		if err != nil {
			return fmt.Errorf("experiment: curve %s: %w", c.Name, err)
		}
		colour := palette[i%len(palette)]
		line.Color, line.Width = colour, vg.Points(1.2)
		switch {
		case c.Level:
			line.Dashes = []vg.Length{vg.Points(6), vg.Points(2), vg.Points(1), vg.Points(2)}
		case i/len(palette)%2 == 1:
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		}
		if !c.Level {
			band, err := plotter.NewPolygon(f.band(c))
			if err != nil {
				return fmt.Errorf("experiment: curve %s: %w", c.Name, err)
			}
			band.Color, band.LineStyle.Width = color.NRGBA{colour.R, colour.G, colour.B, 40}, 0
			p.Add(band)
		}
		p.Add(line)
		legend.Add(c.Name, line)
	}
	return save(path, p, legend)
}

// band goes along the upper edge and back along the lower one, which a logarithmic axis
// keeps positive.
func (f Figure) band(c Curve) plotter.XYs {
	var up, down []float64
	for i, y := range c.Y {
		low := y - c.SE[i]
		if f.LogY {
			low = max(low, y/10)
		}
		up, down = append(up, y+c.SE[i]), append(down, low)
	}
	back := points(c.X, down)
	slices.Reverse(back)
	return append(points(c.X, up), back...)
}

func points(x, y []float64) plotter.XYs {
	out := make(plotter.XYs, len(x))
	for i := range x {
		out[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return out
}

// save draws the plot with its legend at its right. Programs that show an SVG may have
// another font, so the legend has room for one that is wider.
func save(path string, p *plot.Plot, legend plot.Legend) error {
	legend.TextStyle.Font.Size = vg.Points(9)
	wide := legend.Rectangle(draw.New(vgsvg.New(vg.Centimeter, vg.Centimeter))).Size().X*1.25 + vg.Centimeter
	const width, height = 15 * vg.Centimeter, 11 * vg.Centimeter
	canvas := vgsvg.New(width+wide, height)
	c := draw.New(canvas)
	p.Draw(draw.Crop(c, vg.Points(4), -wide, vg.Points(4), -vg.Points(6)))
	legend.Draw(draw.Crop(c, width+vg.Points(8), 0, 0, 0))
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if _, err := canvas.WriteTo(out); err != nil {
		out.Close()
		return fmt.Errorf("experiment: %w", err)
	}
	return out.Close()
}
