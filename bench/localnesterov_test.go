package bench_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dyad/algorithms/local"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/privacy"
)

// nesterovError is the error rate on other records of a linear model that momentum makes of one epoch of messages, with a standard
// error over repeats. Users get the point ahead, as Nesterov's step asks; at momentum 0 that is the model. Steps are of the
// protocol times length; all of it is post-processing of messages.
func nesterovError(t *testing.T, epsilon, momentum, length float64) []float64 {
	const users, repeats, batch = 4000, 10, 40
	protocol := local.Protocol{Method: local.DJW, Loss: engine.Logistic{}, Dim: 8, FeatureNorm: 1, Radius: 5, L2: 0.01, Users: users, Epochs: 1, Batch: batch, Epsilon: epsilon}
	if epsilon == 0 {
		protocol.Method = local.SGD
	}
	p := must.Get(protocol.Plan())(t)
	var errors []float64
	for seed := range uint64(repeats) {
		all := must.Get(dataset.SyntheticScores(2*users, p.Dim, 1))(t)
		train, test := must.Get2(bench.Split(all, users, seed))(t)
		src := privacy.NewSeededSource(seed)
		client, st := local.NewClient(p, src), p.Start()
		x, g, v, sum := make([]float64, p.Dim), make([]float64, p.Dim), make([]float64, p.Dim), make([]float64, p.Dim)
		for from, order := 0, src.Permutation(users); from < users; from += batch {
			clear(g)
			for _, u := range order[from : from+batch] {
				train.Row(int(u), x)
				m := must.Get(client.Message(st, engine.Record{X: x, Y: train.Label(int(u))}))(t)
				must.Do(t, p.AddEstimate(g, m))
			}
			before := slices.Clone(v)
			for k, w := range st.W {
				v[k] = w - length*p.StepSize(int64(from/batch+1))*(p.L2*w+g[k]/batch)
			}
			p.Project(v)
			for k := range v {
				st.W[k] = v[k] + momentum*(v[k]-before[k])
				sum[k] += v[k]
			}
			p.Project(st.W)
		}
		wrong := 0
		for i := range test.Len() {
			test.Row(i, x)
			s := 0.0
			for k := range x {
				s += x[k] * sum[k]
			}
			if (s > 0) != (test.Label(i) > 0) {
				wrong++
			}
		}
		errors = append(errors, float64(wrong)/float64(test.Len()))
	}
	mean, square := 0.0, 0.0
	for _, e := range errors {
		mean, square = mean+e/repeats, square+e*e/repeats
	}
	return []float64{mean, math.Sqrt(max(0, square-mean*mean) / (repeats - 1))}
}

// TestGainOfNesterov measures the step that Han 2019 names as future work: the same messages with momentum and without, at the
// protocol's steps and at a tenth and a hundredth of them.
func TestGainOfNesterov(t *testing.T) {
	c := claim{file: "localnesterov.csv", keys: 3, columns: "epsilon,momentum,length,error,standard_error"}
	for _, epsilon := range []float64{0, 1, 4} {
		for _, momentum := range []float64{0, 0.5, 0.9} {
			for _, length := range []float64{1, 0.1, 0.01} {
				c.lines = append(c.lines, claimed{fmt.Sprintf("%g,%g,%g", epsilon, momentum, length), epsilon == 1 && length == 0.1, func(t *testing.T) []float64 {
					return nesterovError(t, epsilon, momentum, length)
				}})
			}
		}
	}
	c.check(t, 0.01, 1e-9)
}
