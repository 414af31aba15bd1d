package experiment

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine"
	catalogue "dyad/engine/dataset/catalog/schemas"
	"dyad/internal/must"
)

// printedObjective is equation 1 of Huai 2020 for phi(u) = log(1 + e^-u) plus lambda/2 |w|^2, pair by pair: u is
// (y - y') w.(x - x'), or y y' (1 - (x - x')' W (x - x')) for a metric. It calls nothing of this module.
func printedObjective(w []float64, x [][]float64, y []float64, metric bool, lambda float64) float64 {
	sum := 0.0
	for i := range y {
		for j := range y {
			if i == j {
				continue
			}
			s, d := 0.0, len(x[i])
			for a := range d {
				if !metric {
					s += w[a] * (x[i][a] - x[j][a])
					continue
				}
				for b := range d {
					s += (x[i][a] - x[j][a]) * w[a*d+b] * (x[i][b] - x[j][b])
				}
			}
			u := (y[i] - y[j]) * s
			if metric {
				u = y[i] * y[j] * (1 - s)
			}
			sum += math.Log1p(math.Exp(-u))
		}
	}
	norm := 0.0
	for _, v := range w {
		norm += v * v
	}
	n := float64(len(y))
	return sum/(n*(n-1)) + lambda/2*norm
}

// TestPrintedObjectiveOfModels: the models of the literal cells of Huai 2020 come out again from the plan, and the committed
// objective of each is that of the printed formula, to all digits.
func TestPrintedObjectiveOfModels(t *testing.T) {
	const data = "../../../shared/data"
	if _, err := os.Stat(data); err != nil {
		t.Skip("the data are not here")
	}
	for _, name := range []string{"huai-figure1", "huai-figure2", "huai-figure3", "huai-figure5"} {
		p := must.Get(Load("reproduce/plans/" + name + ".yaml"))(t)
		p.UseSchemas(catalogue.Files)
		sets := must.Get(p.load(t.Context(), []string{data}))(t)
		committed := must.Get(p.Rows(filepath.FromSlash("../../bench/results/reproduce/" + name + ".csv")))(t)
		want := map[Row]float64{}
		for _, r := range committed {
			want[r.key()] = r.Value
		}
		w, cells := &worker{runner: &runner{plan: p, data: sets}}, 0
		for _, b := range p.blocks() {
			if b.split > 0 {
				continue
			}
			w.train, w.test = must.Get2(sets[b.data].split(b.n, b.split))(t)
			for _, one := range b.runs {
				if !one.method.settings.unsound {
					continue
				}
				fit := w.fit
				if one.method.stream != nil {
					fit = w.fitStream
				}
				out := must.Get(fit(t.Context(), one))(t)
				metric, weights := p.Task == taskMetric, out.weights
				if metric {
					weights = make([]float64, w.train.Dim()*w.train.Dim())
					engine.Symmetric{Dim: w.train.Dim()}.Unpack(weights, out.weights)
				}
				x := make([][]float64, w.train.Len())
				for i := range x {
					x[i] = make([]float64, w.train.Dim())
					w.train.Row(i, x[i])
				}
				got := fmt.Sprintf("%.6f", printedObjective(weights, x, w.train.Labels(), metric, p.ObjectiveL2))
				if committed := fmt.Sprintf("%.6f", want[one.row.key()]); got != committed {
					t.Errorf("%s %s: objective %s, the print gives %s", name, strings.TrimSpace(one.row.line()), committed, got)
				}
				cells++
			}
		}
		t.Logf("%s: %d literal cells", name, cells)
		if cells < 36 {
			t.Errorf("%s: %d literal cells", name, cells)
		}
	}
}
