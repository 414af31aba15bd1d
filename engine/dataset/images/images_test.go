package images_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/images"
	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

// encoded is a PNG of 2 x 2 pixels in a colour model.
func encoded(t testing.TB, m interface {
	image.Image
	Set(x, y int, c color.Color)
}) string {
	t.Helper()
	for k, c := range []color.Color{color.Gray{Y: 255}, color.RGBA{R: 255, A: 255}, color.RGBA{G: 255, A: 255}, color.Gray{}} {
		m.Set(k%2, k/2, c)
	}
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, m))
	return b.String()
}

func TestRead(t *testing.T) {
	square := image.Rect(0, 0, 2, 2)
	red, green := 76.2, 149.7 // as grey
	colours := []float64{255, 255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 0}
	palette := color.Palette{color.Gray{}, color.Gray{Y: 255}, color.RGBA{R: 255, A: 255}, color.RGBA{G: 255, A: 255}}
	for name, c := range map[string]struct {
		text string
		want []float64
		rule string
	}{
		"grey":             {encoded(t, image.NewGray(square)), []float64{255, red, green, 0}, ""},
		"colours":          {encoded(t, image.NewNRGBA(square)), colours, ""},
		"colours as grey":  {encoded(t, image.NewRGBA(square)), []float64{255, red, green, 0}, ""},
		"palette":          {encoded(t, image.NewPaletted(square, palette)), colours, ""},
		"PGM":              {"P5\n# a comment\n2 2\n255\n\xff\x01\x02\x00", []float64{255, 1, 2, 0}, ""},
		"PPM":              {"P6 2 2 255 \xff\xff\xff\xff\x00\x00\x00\xff\x00\x00\x00\x00", colours, ""},
		"grey as colours":  {"P5 2 2 255 \x01\x02\x03\x04", []float64{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, ""},
		"another size":     {encoded(t, image.NewGray(image.Rect(0, 0, 2, 3))), make([]float64, 4), "must be 2 x 2"},
		"another PGM":      {"P5 3 2 255 \x01\x02\x03\x04\x05\x06", make([]float64, 4), "must be 2 x 2"},
		"truncated":        {encoded(t, image.NewGray(square))[:60], make([]float64, 4), "truncated"},
		"PGM that is cut":  {"P5 2 2 255 \x01\x02", make([]float64, 4), "truncated"},
		"PGM of two bytes": {"P5 2 2 65535 \x01\x02\x01\x02\x01\x02\x01\x02", make([]float64, 4), "not an image"},
		"text":             {"a,b,c", make([]float64, 4), "not an image"},
		"not square":       {encoded(t, image.NewGray(square)), make([]float64, 6), "6 features do not form a square image"},
	} {
		row := make([]float64, len(c.want))
		err := images.Read("x", strings.NewReader(c.text), row)
		var refused *source.ParseError
		switch {
		case c.rule == "" && (err != nil || !slices.EqualFunc(row, c.want, func(a, b float64) bool { return a-b < 1 && b-a < 1 })):
			t.Errorf("%s: %v, %v, want %v", name, row, err, c.want)
		case c.rule != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.rule)):
			t.Errorf("%s: %v, want %q", name, err, c.rule)
		}
	}
}

// A number of features is grey or of three colours, never both.
func TestShapes(t *testing.T) {
	for features := range 1 << 16 {
		channels, side, ok := images.Shape(features)
		if ok && (channels*side*side != features || channels != 1 && channels != 3) {
			t.Errorf("%d features: %d channels of side %d", features, channels, side)
		}
	}
	for features, want := range map[int]int{64: 8, 784: 28, 3072: 32, 3: 1} {
		if _, side, ok := images.Shape(features); !ok || side != want {
			t.Errorf("%d features: side %d, %t, want %d", features, side, ok, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encoded(f, image.NewGray(image.Rect(0, 0, 2, 2))))
	f.Add("P5 2 2 255 \x01\x02\x03\x04")
	f.Add("P6\n#\n2 2 255\n")
	f.Fuzz(func(t *testing.T, text string) {
		row := make([]float64, 4)
		if images.Read("x", strings.NewReader(text), row) == nil && slices.ContainsFunc(row, func(v float64) bool { return !(v >= 0 && v <= 255) }) {
			t.Errorf("%q has the pixels %v", text, row)
		}
	})
}
