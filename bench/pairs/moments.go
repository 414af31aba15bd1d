package main

import (
	"context"
	"fmt"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/engine/metrics"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// Public constants of -figure moments.
const (
	momentDensity = 2 // pairs drawn per individual
	momentDegree  = 5 // of one individual, at most: kappa
	momentTest    = 1000
	momentDelta   = 1e-5
)

// pairMoments compares one release of moments with gradients at the program's defaults, on
// synthetic data where a metric matters, by the accuracy of 3 nearest neighbours among the
// individuals. x is epsilon, 0 without noise.
func (s settings) pairMoments() ([]row, axes, error) {
	a := axes{title: "Metrics from pairs", x: "epsilon", value: "accuracy of 3 nearest neighbours",
		other: "that of the identity"}
	var jobs []func() ([]row, error)
	for _, c := range []struct {
		kind string
		n    int
	}{{"lin16", 500}, {"lin16", 2000}, {"lin16", 8000}, {"scaled12", 4000}, {"twovar25", 2000}, {"shell20", 4000}, {"none12", 1000}} {
		for repeat := range s.repeats {
			jobs = append(jobs, func() ([]row, error) { return pairMomentsOf(c.kind, c.n, repeat) })
		}
	}
	rows, err := s.each(jobs)
	return rows, a, err
}

// pairMomentsOf is one repeat: records, pairs and noise of its own.
func pairMomentsOf(kind string, n, repeat int) ([]row, error) {
	all, err := dataset.SyntheticMetric(kind, n+momentTest, uint64(repeat)+1)
	if err != nil {
		return nil, err
	}
	d, order := all.Dim(), make([]int, n+momentTest)
	for i := range order {
		order[i] = i
	}
	train, test := all.Subset(order[:n]), all.Subset(order[n:])
	list, err := pairgraph.Draw(n, momentDensity, momentDegree, uint64(repeat)+1)
	if err != nil {
		return nil, err
	}
	g, err := pairgraph.New(n, list)
	if err != nil {
		return nil, err
	}
	x, labels := make([]float64, n*d), make([]bool, len(list))
	for i := range n {
		train.Row(i, x[i*d:(i+1)*d])
	}
	for i, p := range list {
		labels[i] = train.Label(int(p.A)) != train.Label(int(p.B))
	}
	accuracy := func(metric []float64) (float64, error) {
		c, err := metrics.KNN(context.Background(), train, test, metrics.KNNOptions{K: 3, Metric: metric})
		return c.Accuracy(), err
	}
	plain, err := accuracy(nil)
	if err != nil {
		return nil, err
	}
	data, err := embedding.NewData(x, d, embedding.L2, 1, g, slices.Clone(labels))
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, method := range []pairs.Method{pairs.Moments, pairs.Gradients} {
		for _, epsilon := range []float64{0.5, 1, 2, 4, 0} {
			spec := pairs.Spec{
				Individuals: n, Pairs: len(list), Dim: d, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Kappa: momentDegree,
				Method: method,
				Budget: privacy.Budget{Epsilon: epsilon, Delta: momentDelta},
			}
			if method == pairs.Gradients {
				spec.Rows, spec.Batch = min(16, d), max(50, len(list)/20)
			}
			if epsilon == 0 {
				spec.Mode = algorithms.NonPrivate
			}
			p, err := spec.Plan()
			if err != nil {
				return nil, err
			}
			r, err := pairs.Run(context.Background(), data, nil, p,
				pairs.Options{Options: algorithms.Options{Public: true, Source: privacy.NewSeededSource(uint64(repeat) + 1)}})
			if err != nil {
				return nil, err
			}
			got, err := accuracy(square(r.Weights, p.Spec.Rows, d))
			if err != nil {
				return nil, err
			}
			rows = append(rows, row{method: fmt.Sprintf("%s-%d %s", kind, n, method), x: epsilon, repeat: repeat,
				value: got, other: plain})
		}
	}
	return rows, nil
}

// square is W^T W of a row-major rows x d matrix.
func square(w []float64, rows, d int) []float64 {
	m := make([]float64, d*d)
	for r := range rows {
		v := w[r*d : (r+1)*d]
		for i, a := range v {
			for j, b := range v {
				m[i*d+j] += a * b
			}
		}
	}
	return m
}
