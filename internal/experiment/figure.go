package experiment

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // for the formats of Save
	_ "gonum.org/v1/plot/vg/vgpdf"
	_ "gonum.org/v1/plot/vg/vgsvg"

	"dyad/internal/input"
)

// Figure is a plot of means with bands. Its legend is outside the axes.
type Figure struct {
	Title, X, Y string
	// LogX and LogY select logarithmic axes, for positive numbers.
	LogX, LogY bool
	// Ticks are the ticks of the x axis. If Ticks is nil, the ticks are chosen automatically.
	Ticks []float64
	// Top limits the y axis: if curves go above Top, the axis ends at Top. If Top is 0, there is no limit.
	Top    float64
	Curves []Curve

	name string // the name of its file, without the prefix
}

// Curve is a line of a figure.
type Curve struct {
	Name     string
	X, Y, SE []float64 // the band is Y - SE to Y + SE; nil means no band
	// Low and High are the lower and the upper ends of the band. If they are nil, the band is Y - SE to Y + SE.
	Low, High []float64
	// Points draws marks without a line and a band.
	Points bool
	// Smooth draws a line without marks. Each such line has different dashes.
	Smooth bool
	// Marks are the indices of the points with a mark. If Marks is nil, all points have a mark.
	Marks []int
	// Bare draws the band alone.
	Bare bool
	// Level draws a horizontal line at Y[0] across the whole figure, with its band.
	Level bool
}

// Colours that colour-blind people can distinguish (Okabe and Ito 2008). Each colour has a different mark, for
// prints without colour.
var (
	palette = [...]color.RGBA{
		{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255},
		{86, 180, 233, 255}, {0, 0, 0, 255},
	}
	marks = [...]draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{},
		draw.CrossGlyph{},
	}
)

// Formats returns the file endings that Save supports.
func Formats() []string { return []string{"svg", "pdf", "png"} }

// Save writes the figure to a file. The ending of the file's name selects the format, one of Formats. Save writes the
// whole file or no file.
func (f Figure) Save(path string) error {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if !slices.Contains(Formats(), format) {
		return input.As(fmt.Errorf("experiment: a figure can be written as %s, but the name %s has none of these "+
			"endings", strings.Join(Formats(), ", "), path))
	}
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		return err
	}
	return replace(path, b.Bytes())
}

// plot returns the figure without its legend, and the legend.
func (f Figure) plot() (*plot.Plot, plot.Legend, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = vg.Points(8), vg.Points(4), vg.Points(6)
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 11, &p.X.Label.TextStyle: 10, &p.Y.Label.TextStyle: 10, &p.X.Tick.Label: 9, &p.Y.Tick.Label: 9,
	} {
		style.Font = sans(size)
	}
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if p.Y.Tick.Marker = plot.TickerFunc(roundTicks); f.LogY {
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
		if len(c.X) == 0 || len(c.Y) != len(c.X) || c.Low == nil && c.SE != nil && len(c.SE) != len(c.X) ||
			c.Low != nil && (len(c.Low) != len(c.X) || len(c.High) != len(c.X)) {
			return nil, plot.Legend{}, fmt.Errorf("experiment: curve %s has %d x values, %d y values and %d "+
				"errors; want equal numbers", c.Name, len(c.X), len(c.Y), max(len(c.SE), len(c.Low)))
		}
		left, right = min(left, slices.Min(c.X)), max(right, slices.Max(c.X))
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.YOffs, legend.Padding, legend.ThumbnailWidth = true, true, -vg.Points(28),
		vg.Points(4), vg.Points(26)
	legend.TextStyle.Font = sans(9)
	var lines []plot.Plotter // above all bands
	for i, c := range f.Curves {
		thumbs, err := f.add(p, c, i, left, right)
		if err != nil {
			return nil, legend, fmt.Errorf("experiment: curve %s: %w", c.Name, err)
		}
		for _, t := range thumbs {
			lines = append(lines, t.(plot.Plotter))
		}
		legend.Add(c.Name, thumbs...)
	}
	if p.Add(lines...); f.LogX && left == right { // otherwise the axis would begin at left - 1
		p.X.Min, p.X.Max = left/2, 2*right
	}
	if f.Top != 0 {
		p.Y.Max = min(p.Y.Max, f.Top)
	}
	return p, legend, nil
}

// Curve returns the curve with the given name. If the figure has no such curve, Curve adds one.
func (f *Figure) Curve(name string) *Curve {
	k := slices.IndexFunc(f.Curves, func(c Curve) bool { return c.Name == name })
	if k < 0 {
		k, f.Curves = len(f.Curves), append(f.Curves, Curve{Name: name})
	}
	return &f.Curves[k]
}

// roundTicks are about six round numbers.
func roundTicks(low, high float64) (ticks []plot.Tick) {
	unit := math.Pow(10, math.Floor(math.Log10(high-low))-1)
	step := 2 * unit
	for _, by := range []float64{5, 10, 20} {
		if (high-low)/step > 7 {
			step = by * unit
		}
	}
	digits := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	for k := int(math.Ceil(low/step - 1e-9)); float64(k)*step <= high+1e-9*step; k++ {
		ticks = append(ticks, plot.Tick{Value: float64(k) * step,
			Label: strconv.FormatFloat(float64(k)*step, 'f', digits, 64)})
	}
	return ticks
}

func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// add draws the band of curve i and returns its line and marks.
func (f Figure) add(p *plot.Plot, c Curve, i int, left, right float64) ([]plot.Thumbnailer, error) {
	bare := c.Low == nil && c.SE == nil
	if c.Low == nil && !bare {
		for k, y := range c.Y {
			c.Low, c.High = append(c.Low, y-c.SE[k]), append(c.High, y+c.SE[k])
		}
	}
	if c.Level {
		twice := func(v []float64) []float64 { return []float64{v[0], v[0]} }
		if c.X, c.Y = []float64{left, right}, twice(c.Y); !bare {
			c.Low, c.High = twice(c.Low), twice(c.High)
		}
	}
	line, err := plotter.NewLine(points(c.X, c.Y))
	if err != nil {
		return nil, err
	}
	colour := palette[i%len(palette)]
	line.Color, line.Width = colour, vg.Points(1.4)
	switch {
	case c.Level:
		line.Dashes = []vg.Length{vg.Points(6), vg.Points(2), vg.Points(1), vg.Points(2)}
	case c.Smooth:
		line.Dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)},
			{vg.Points(8), vg.Points(2), vg.Points(2), vg.Points(2)}}[i%4]
	case i/len(palette)%3 == 2:
		line.Dashes = []vg.Length{vg.Points(1), vg.Points(2)}
	case i/len(palette)%3 == 1:
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
	}
	if c.Points {
		dots, err := f.dots(c, i)
		return []plot.Thumbnailer{dots}, err
	}
	if !bare {
		band, err := plotter.NewPolygon(f.band(c))
		if err != nil {
			return nil, err
		}
		band.Color, band.LineStyle.Width = color.NRGBA{colour.R, colour.G, colour.B, 45}, 0
		p.Add(band)
		if c.Bare {
			return []plot.Thumbnailer{patch{band}}, nil
		}
	}
	if c.Level || c.Smooth {
		return []plot.Thumbnailer{line}, nil
	}
	dots, err := f.dots(c, i)
	return []plot.Thumbnailer{line, dots}, err
}

// patch is the entry of a band in the legend. The band itself is drawn below all lines.
type patch struct{ *plotter.Polygon }

func (patch) Plot(draw.Canvas, *plot.Plot) {}

// dots are the marks of curve i.
func (f Figure) dots(c Curve, i int) (*plotter.Scatter, error) {
	at := points(c.X, c.Y)
	if c.Marks != nil {
		var marked plotter.XYs
		for _, k := range c.Marks {
			marked = append(marked, at[k])
		}
		at = marked
	}
	dots, err := plotter.NewScatter(at)
	if err != nil {
		return nil, err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: palette[i%len(palette)], Radius: vg.Points(2.6), Shape: marks[i%len(marks)]}
	return dots, nil
}

// band goes along the upper edge and back along the lower edge, which is kept positive for a logarithmic axis.
func (f Figure) band(c Curve) plotter.XYs {
	var down []float64
	for i, low := range c.Low {
		if f.LogY {
			low = max(low, c.Y[i]/10)
		}
		down = append(down, low)
	}
	back := points(c.X, down)
	slices.Reverse(back)
	return append(points(c.X, c.High), back...)
}

func points(x, y []float64) plotter.XYs {
	out := make(plotter.XYs, len(x))
	for i := range x {
		out[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return out
}

// Write writes the figure in one of Formats. The legend is to the right of the axes. Programs that show an SVG may
// use another font, so the legend has room for a wider font.
func (f Figure) Write(w io.Writer, format string) error {
	p, legend, err := f.plot()
	if err != nil {
		return err
	}
	const width, height = 12.5 * vg.Centimeter, 9.5 * vg.Centimeter
	scratch, err := draw.NewFormattedCanvas(vg.Centimeter, vg.Centimeter, format)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	wide := legend.Rectangle(draw.New(scratch)).Size().X*1.2 + vg.Points(24)
	tall := max(height, legend.Rectangle(draw.New(scratch)).Size().Y+vg.Points(44))
	return onWhite(w, width+wide, tall, format, func(c draw.Canvas) {
		p.Draw(draw.Crop(c, vg.Points(6), -wide, vg.Points(6), -vg.Points(8)))
		legend.Draw(draw.Crop(c, width+vg.Points(10), 0, 0, 0))
	})
}

// onWhite writes a white picture that paint draws on.
func onWhite(w io.Writer, width, height vg.Length, format string, paint func(draw.Canvas)) error {
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if err == nil {
		c := draw.New(canvas)
		c.SetColor(color.White)
		c.Fill(c.Rectangle.Path())
		paint(c)
		_, err = canvas.WriteTo(w)
	}
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	return nil
}
