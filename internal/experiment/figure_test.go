package experiment

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// edge is the number of pixels along the edge of a picture that are not white.
func edge(t *testing.T, path string) (dark int) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	m := must.Get(png.Decode(f))(t)
	inner := m.Bounds().Inset(3)
	for y := range m.Bounds().Max.Y {
		for x := range m.Bounds().Max.X {
			if r, g, b, _ := m.At(x, y).RGBA(); !(image.Pt(x, y).In(inner)) && min(r, g, b) < 0xf000 {
				dark++
			}
		}
	}
	return dark
}

// TestOnePoint draws a curve of one point on a logarithmic axis.
func TestOnePoint(t *testing.T) {
	for _, x := range []float64{0.01, 1, 30} {
		f := Figure{Title: "one", X: "epsilon", Y: "AUC", LogX: true, Ticks: []float64{x}, Curves: []Curve{{Name: "a", X: []float64{x}, Y: []float64{0.7}, Low: []float64{0.6}, High: []float64{0.8}}}}
		must.CheckDo(t, f.Save(filepath.Join(t.TempDir(), "f.svg")))
	}
}

// TestNothingIsCutOff draws many curves with long names: nothing reaches the edge.
func TestNothingIsCutOff(t *testing.T) {
	f := Figure{Title: "a title, n = 100000\nmean of 20 splits; band: one standard error", X: "epsilon", Y: "AUC", LogX: true, Ticks: []float64{0.1, 1, 10}}
	for k := range 24 {
		v := 0.5 + 0.02*float64(k)
		f.Curves = append(f.Curves, Curve{Name: strings.Repeat("gradient-perturbation ", 1+k%5), X: []float64{0.1, 1, 10}, Y: []float64{v, v, v}, SE: []float64{0.01, 0, 0.1}, Level: k%7 == 6})
	}
	dir := t.TempDir()
	for _, format := range Formats() {
		must.Do(t, f.Save(filepath.Join(dir, "f."+format)))
	}
	if dark := edge(t, filepath.Join(dir, "f.png")); dark > 0 {
		t.Errorf("%d pixels at the edge", dark)
	}
	f.Y = strings.Repeat("a label that is longer than its axis ", 5) // the known defect
	must.Do(t, f.Save(filepath.Join(dir, "g.png")))
	if edge(t, filepath.Join(dir, "g.png")) == 0 {
		t.Error("a label that is cut off is not found")
	}
	must.ErrDo(t, f.Save(filepath.Join(dir, "f.jpg")), "another format is written")
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0.5, 0.8, "0.50 0.55 0.60 0.65 0.70 0.75 0.80"}, {0.61, 0.68, "0.62 0.64 0.66 0.68"}, {0, 100, "0 20 40 60 80 100"}, {0.9871, 0.9899, "0.9875 0.9880 0.9885 0.9890 0.9895"}} {
		var labels []string
		for _, tick := range roundTicks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		must.Equal(t, strings.Join(labels, " "), c.want, "%g to %g", c.low, c.high)
	}
}

// TestTheCeilingIsTheBestOfItsSettings: a poor setting must not flatter private models.
func TestTheCeilingIsTheBestOfItsSettings(t *testing.T) {
	p := must.Get(New("x", Plan{
		Data: []Data{{Name: "d", Synthetic: "scores", Records: 100, Features: 2, N: []int{50}}}, Epsilon: []float64{1}, Splits: 1,
		Algorithms: []Algorithm{{Name: "auto"}, {Name: "projected-gradient", Options: map[string]any{"ridge": []any{3.0, 0.3}}}},
	}))(t)
	all := []Summary{
		{Data: "d", N: 50, Epsilon: 1, Algorithm: "projected-gradient", Options: "ridge=3", Splits: 1, Mean: 0.7},
		{Data: "d", N: 50, Epsilon: 1, Algorithm: "projected-gradient", Options: "ridge=0.3", Splits: 1, Mean: 0.8},
		{Data: "d", N: 50, Epsilon: 1, Algorithm: "auto", Splits: 1, Mean: 0.6},
	}
	if best := p.Best(all); len(best) != 2 || best[0].Mean != 0.8 || best[1].Algorithm != "auto" {
		t.Errorf("%+v", best)
	}
}
