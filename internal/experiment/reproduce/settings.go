package reproduce

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// settingsItems are the items whose methods all have radius 1: items of scores, of metrics and of streams.
var settingsItems = []string{"huai-figure1", "huai-figure2", "huai-figure5", "huai-figure6", "xue-table2", "xue-table3",
	"xue-table4-radius1"}

// writeSettings writes the comparison under the papers' own settings as Markdown. For each algorithm it lists the
// claim of the paper, the results of the paper's formulas, the results with proved noise, and the results of the
// program's choice.
func writeSettings(w io.Writer, items []Item, out string) error {
	var b strings.Builder
	b.WriteString("# Under the papers' own settings\n\nRadius 1 for every method, and the papers' n, d, epsilon and " +
		"delta. Written by `dyad lab reproduce` from result files\n(bench/results/reproduce); do not edit this " +
		"file. ± is one standard error over splits. Claimed: the number that the paper\nprints. Literal: the " +
		"paper's formulas. Certified: the same algorithm with proved noise. Figures have no printed numbers, so " +
		"only their largest n\nis shown. Scores are judged by AUC, metrics by the accuracy of 3 nearest neighbours, " +
		"where higher is better; an objective is better when lower.\nHan 2019 and Li 2020 are run by commands of " +
		"their own ([Han](reproduce-han.html), [Li](reproduce-li.html)); Kang 2021 has no experiments with " +
		"noise\n([Kang](reproduce-kang.html)).\n\nAssumption 1 of Huai 2020 allows Y(y, y') = y y' in the place of y " +
		"- y'. For scores, this objective ignores the labels and has its minimum at the model " +
		"0\n([theory](theory.md#product-of-labels); `go test ./engine -run TestProductOfLabelsLearnsNothing`). So " +
		"all tables of scores use y - y', and all tables of metrics use y y'.\n")
	for _, p := range parts(items, settingsItems...) {
		r, err := p.read(out)
		if err != nil {
			return err
		}
		if r.rows != nil {
			r.settings(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// settings writes the table of a part.
func (r results) settings(b *strings.Builder) {
	d, largest := map[string]int{}, map[string]int{}
	for _, row := range r.rows {
		d[row.Data] = row.D
	}
	for _, data := range r.Plan.Data {
		largest[data.Name] = slices.Max(data.N)
	}
	fmt.Fprintf(b, "\n## %s\n\n| data | n | d | epsilon | delta | algorithm | claimed | literal | epsilon that its noise "+
		"proves | certified | %s |\n|%s\n", r.Title, r.ours(), strings.Repeat("---|", 11))
	for _, c := range r.compare() {
		claimed := number(c.paper)
		if len(r.Paper.Rows) == 0 {
			claimed = "figure"
		}
		if c.literal == nil || claimed == "figure" && c.n != largest[c.data] {
			continue
		}
		proved := c.proved
		if c.literal.Splits == 0 {
			proved = "–"
		}
		fmt.Fprintf(b, "| %s | %d | %d | %g | %.3g | %s | %s | %s | %s | %s | %s |\n", c.data, c.n, d[c.data], c.epsilon,
			r.delta(c), c.algorithm, claimed,
			mean(c.literal, c.proved), cmp.Or(proved, "–"), mean(c.certified, ""), mean(c.ours, ""))
	}
}

// delta returns the delta of a point.
func (r results) delta(c comparison) float64 {
	for _, g := range r.gives {
		if g.Data == c.data && g.N == c.n && g.Epsilon == c.epsilon {
			return g.Delta
		}
	}
	return 0
}
