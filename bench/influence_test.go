package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/engine/influence"
	"dyad/internal/must"
)

// TestInfluenceOnPima leaves each of 200 records of Pima out of a regularised logistic AUC, linear and with one hidden layer, and
// compares the change of the mean loss on the other 568 with what influence functions predict.
func TestInfluenceOnPima(t *testing.T) {
	const data = "../../shared/data/pima/pima-indians-diabetes.data"
	if _, err := os.Stat(data); err != nil {
		t.Skip("the data set is not here")
	}
	c := claim{file: "influence-pima.csv", keys: 2, columns: "model,record,predicted,exact",
		comments: "# 200 records of Pima (dyad/bench.Split, seed 1), logistic AUC, L2 0.01; the change of the mean loss on the other 568 when a record\n" +
			"# is left out; network: 8-4-1 tanh, start of seed 1\n"}
	all := must.Get(bench.Load(data, "schemas/pima.yaml"))(t)
	train, test := must.Get2(bench.Split(all, 200, 1))(t)
	mlp := must.Get(embedding.NewMLP(embedding.MLP{In: train.Dim(), Hidden: []int{4}, Out: 1, Radii: []float64{100, 100}}))(t)
	for _, m := range []struct {
		name    string
		loss    engine.Loss
		backend engine.Backend
		start   []float64
	}{
		{"linear", engine.Logistic{}, cpu.Backend{}, make([]float64, train.Dim())},
		{"network", embedding.Loss{Model: embedding.Model{Network: mlp}, Pair: embedding.Score{Of: engine.Logistic{}}, Clip: 1}, embedding.Backend{}, mlp.Start(1)},
	} {
		fit := sync.OnceValue(func() func(i int) []float64 { return leftOut(t, m.backend, m.loss, train, test, m.start) })
		for i := range train.Len() {
			c.lines = append(c.lines, claimed{fmt.Sprintf("%s,%d", m.name, i+1), i%100 == 7, func(*testing.T) []float64 { return fit()(i) }})
		}
	}
	c.check(t, 1e-3, 1e-7)
	for model, least := range map[string]float64{"linear": 0.95, "network": 0.8} {
		pearson, rank := correlations(t, filepath.Join("results", c.file), model)
		t.Logf("%s: Pearson %.4f, ranks %.4f", model, pearson, rank)
		if !(pearson >= least && rank >= least) {
			t.Errorf("%s: correlations %.4f and %.4f of ranks, want at least %v", model, pearson, rank, least)
		}
	}
}

// leftOut fits a loss and returns what gives the predicted and the exact change without a record.
func leftOut(t *testing.T, b engine.Backend, loss engine.Loss, train, test *engine.Records, w []float64) func(i int) []float64 {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := influence.NewObjective(b, loss, train, 0.01, 20)
	must(err)
	t.Cleanup(func() { must(f.Close()) })
	on, err := influence.NewObjective(b, loss, test, 0, 20)
	must(err)
	t.Cleanup(func() { must(on.Close()) })
	must(f.Minimise(ctx, w))
	before, err := on.Value(ctx, w)
	must(err)
	gradient := make([]float64, len(w))
	must(on.Gradient(ctx, gradient, w))
	changes, err := f.Changes(ctx, w, gradient)
	must(err)
	without := make([]float64, len(w))
	return func(i int) []float64 {
		must(f.Refit(ctx, without, w, i))
		after, err := on.Value(ctx, without)
		must(err)
		return []float64{changes[i], after - before}
	}
}

// correlations are those of predicted and exact changes in the raw file.
func correlations(t *testing.T, path, model string) (pearson, rank float64) {
	var both [2][]float64
	for _, row := range must.Get(bench.ReadRows(path))(t) {
		if row[0] == model {
			for k := range both {
				v := must.Get(strconv.ParseFloat(row[2+k], 64))(t)
				both[k] = append(both[k], v)
			}
		}
	}
	ranks := func(values []float64) []float64 {
		sorted, out := slices.Sorted(slices.Values(values)), make([]float64, len(values))
		for i, v := range values {
			at, _ := slices.BinarySearch(sorted, v)
			out[i] = float64(at)
		}
		return out
	}
	return stat.Correlation(both[0], both[1], nil), stat.Correlation(ranks(both[0]), ranks(both[1]), nil)
}
