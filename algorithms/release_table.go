package algorithms

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table adds the rows to a report, as values and, before all other lines, as text. Consecutive equal rows become
// one row, whose share of the budget covers all of them.
func (r Releases) table(f *Facts) {
	var values []Facts
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%-11s name\tnumbers\ttimes\tbudget share\tsensitivity\tnoise (sigma or scale)\tmultiplier\n",
		"releases")
	for i := 0; i < len(r); {
		x, from, times := r[i], i, 0
		for ; i < len(r) && (i == from || r[i].like(x)); i++ {
			times += max(1, r[i].Times)
		}
		share, noise := x.Share*float64(times), ""
		times = max(times, x.Certificate.Releases())
		var v Facts
		v.Add("name", x.Name)
		v.AddSome("coordinates", x.Coordinates)
		v.Add("times", times)
		v.AddSome("share", share)
		v.AddSome("part", x.Part)
		if x.Noise == nil {
			noise = strings.TrimSuffix(x.Cost.String(), " x 1")
			v.Add("noise", noise)
		} else {
			noise = fmt.Sprintf("%s %.6g", x.Noise.Name(), recordNoise(x.Noise).Scale)
			v.Add("sensitivity", x.Certificate.Sensitivity())
			v.AddSome("roundoff_share", x.Certificate.RoundoffShare())
			v.Add("noise", x.Noise.String())
			v.NoiseMultiplier(x.Noise, x.Certificate)
			norm := x.Noise.NoiseNorm(x.Coordinates)
			v.Add("variance", norm*norm) // E ||Z||^2
		}
		fmt.Fprintf(w, "%-11s %s\t%s\t%d\t%s\t%s\t%s\t%s\n", "", x.Name, some(float64(x.Coordinates)), times, some(share),
			some(v.Number("sensitivity")), noise, some(v.Number("noise_multiplier")))
		values = append(values, v)
	}
	_ = w.Flush() // to memory
	f.values, f.lines = append([]fact{{"releases", values}}, f.values...),
		append([][2]string{{"releases", strings.TrimSpace(text.String()[len("releases"):])}}, f.lines...)
}

// some formats a number. It returns a dash for 0, which means that there is no number.
func some(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.6g", x)
}

// like reports whether y repeats x, so that the table has one line for both.
func (x Release) like(y Release) bool {
	return x.Noise != nil && x.Noise == y.Noise && x.Name == y.Name && x.Share == y.Share && x.Part == y.Part &&
		x.Certificate.Sensitivity() == y.Certificate.Sensitivity()
}
