package bench_test

import (
	"bytes"
	"flag"
	"fmt"
	"image/color"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"dyad/internal/must"
)

var shares = flag.Bool("shares", false, "write the table and the plot of TestAuditShares")

// auditShare is what the audits of one algorithm in one mode show of its claims.
type auditShare struct {
	name          string
	rows, refuted int
	proved        float64 // the largest audited lower bound of epsilon over its claim
}

// auditShares summarises the rows of results/audits.csv.
func auditShares(rows []map[string]string) []auditShare {
	all := map[string]*auditShare{}
	for _, l := range rows {
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(l[name], 64)
			if err != nil {
				return math.NaN() // "inf" of a claim that is none, or empty
			}
			return v
		}
		name := l["algorithm"] + ", " + l["mode"]
		s := all[name]
		if s == nil {
			s = &auditShare{name: name}
			all[name] = s
		}
		s.rows++
		if l["claim_holds"] == "false" {
			s.refuted++
		}
		if v := number("audited_epsilon") / number("claimed_epsilon"); v > s.proved && !math.IsInf(v, 0) {
			s.proved = v
		}
	}
	var out []auditShare
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}

// TestAuditShares: the table and the plot of how much of each claim the audits show are those of the raw audits, and
// none is refuted. With -shares it writes them: make nightly does after the audits.
func TestAuditShares(t *testing.T) {
	rows := rawRows(t, "audits.csv")
	all := auditShares(rows)
	var table bytes.Buffer
	fmt.Fprintln(&table, "algorithm and mode,audits,refuted,largest proved share of epsilon")
	for _, s := range all {
		fmt.Fprintf(&table, "%q,%d,%d,%.4g\n", s.name, s.rows, s.refuted, s.proved)
		if s.refuted > 0 {
			t.Errorf("%s: %d claims are refuted", s.name, s.refuted)
		}
	}
	path := filepath.Join("results", "audits-share")
	if *shares {
		must.Do(t, os.WriteFile(path+".csv", table.Bytes(), 0o644))
		drawShares(t, path+".svg", all)
	}
	if got, err := os.ReadFile(path + ".csv"); err != nil || !bytes.Equal(got, table.Bytes()) {
		t.Errorf("%v: results/audits-share.csv is not that of results/audits.csv; run go -C bench test . -run TestAuditShares -shares", err)
	}
	if _, err := os.Stat(path + ".svg"); err != nil {
		t.Error(err)
	}
	rows[len(rows)-1]["claim_holds"] = "false" // the guard catches a refuted claim
	if !slices.ContainsFunc(auditShares(rows), func(s auditShare) bool { return s.refuted > 0 }) {
		t.Error("a refuted claim is not seen")
	}
}

// drawShares draws the proved share of every algorithm, with a line at the claim.
func drawShares(t *testing.T, path string, all []auditShare) {
	t.Helper()
	p := plot.New()
	p.Title.Text, p.X.Label.Text = "What audits prove of each claim", "lower bound of epsilon over the claim (1: all of it)"
	values, names := make(plotter.Values, len(all)), make([]string, len(all))
	for i, s := range all {
		k := len(all) - 1 - i // from top to bottom
		values[k], names[k] = s.proved, s.name
	}
	bars := must.Get(plotter.NewBarChart(values, vg.Points(8)))(t)
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, color.RGBA{0, 114, 178, 255}, 0
	claim := must.Get(plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(all)) - 0.5}}))(t)
	claim.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(bars, claim)
	p.NominalY(names...)
	p.Y.Label.Text = " " // room for the longest name
	p.X.Min, p.X.Max = 0, 1.05
	must.Do(t, p.Save(16*vg.Centimeter, vg.Length(len(all)+5)*12, path))
}
