package page

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/experiment"
	"dyad/internal/must"
)

// luminance is the relative luminance of a colour (WCAG 2.2).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var rgb [3]int
	must.Get(fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]))(t)
	l := 0.0
	for k, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[k]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		l += weight * c
	}
	return l
}

// TestContrast: text has a contrast of at least 4.5 on both of its backgrounds, in light and dark.
func TestContrast(t *testing.T) {
	modes := 0
	for _, root := range regexp.MustCompile(`:root \{([^}]*)\}`).FindAllStringSubmatch(style, -1) {
		colours := map[string]string{}
		for _, c := range regexp.MustCompile(`--(\w+): (#\w{6})`).FindAllStringSubmatch(root[1], -1) {
			colours[c[1]] = c[2]
		}
		for _, text := range []string{"text", "won", "lost"} {
			for _, back := range []string{"back", "soft"} {
				x, y := luminance(t, colours[text]), luminance(t, colours[back])
				if contrast := (max(x, y) + 0.05) / (min(x, y) + 0.05); contrast < 4.5 {
					t.Errorf("--%s on --%s: contrast %.2f", text, back, contrast)
				}
			}
		}
		modes++
	}
	if modes != 2 {
		t.Errorf("%d sets of colours, want light and dark", modes)
	}
}

// TestEverythingIsEscaped: no field of a report brings markup.
func TestEverythingIsEscaped(t *testing.T) {
	const bad = `"><script>alert('x')</script>`
	f := experiment.Figure{Title: bad, X: bad, Y: bad, Curves: []experiment.Curve{{Name: bad, X: []float64{0, 1}, Y: []float64{0, 1}}}}
	svg := must.Get(SVG(&f, bad, bad))(t)
	cells := [][]Cell{{{Text: bad, Head: true}, {Text: bad, Class: bad}, {Bar: &Bar{0.5, -2, 2}}}}
	table := Table{Caption: bad, Head: []string{bad}, Rows: cells}
	r := Report{Title: bad, About: bad, Words: []Word{{bad, bad}}, Sections: []Section{{
		ID: "one", Title: bad, Warnings: []string{bad}, Quote: []string{bad}, Text: []string{bad}, List: []string{bad}, Code: []string{bad}, Tables: []Table{table}, Figures: append(Section{}.Figures, svg),
	}}}
	var b bytes.Buffer
	must.Do(t, r.Write(&b))
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, `""><`) || strings.Contains(page, "ZgotmplZ") {
		t.Error("markup came through:", page)
	}
	if !strings.Contains(page, `M-100,0H100`) {
		t.Error("an interval beyond the bar is not cut off at its ends")
	}
}
