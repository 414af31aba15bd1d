//go:build linux

package embedding_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// BenchmarkGradient is one gradient of a network with 64 features and 32 hidden units over all pairs: of
// NETWORK_RECORDS records if that is set, else of 4,096.
func BenchmarkGradient(b *testing.B) {
	n := 4096
	if s, err := strconv.Atoi(os.Getenv("NETWORK_RECORDS")); err == nil {
		n = s
	}
	const d = 64
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64() / math.Sqrt(d)
	}
	for i := range y {
		y[i] = float64(2*(i%2) - 1)
	}
	r := must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(b)
	own := must.Get(engine.NewExpression("own", "log1p(exp(-3*(u-0.2)))", engine.ExpressionOptions{}))(b)
	for _, c := range []struct {
		name string
		dim  int
		pair embedding.PairLoss
		out  embedding.Output
		clip float64 // of pairs
	}{
		{"distance-logistic", 16, embedding.Distance{Of: engine.Logistic{}}, embedding.Output{}, 0},
		{"distance-logistic-within-6", 16, embedding.Distance{Of: engine.Logistic{}}, embedding.Output{Within: 6}, 0},
		{"cosine-logistic", 16, embedding.Bilinear{Of: engine.Logistic{}}, embedding.Output{Unit: true}, 0},
		{"cosine-own", 16, embedding.Bilinear{Of: own}, embedding.Output{Unit: true}, 0},
		{"contrastive", 16, embedding.Contrastive{Margin: 1}, embedding.Output{}, 0},
		{"score-logistic", 1, embedding.Score{Of: engine.Logistic{}}, embedding.Output{}, 0},
		{"score-logistic-pair-clip", 1, embedding.Score{Of: engine.Logistic{}}, embedding.Output{}, 1},
		{"cosine-logistic-pair-clip", 16, embedding.Bilinear{Of: engine.Logistic{}}, embedding.Output{Unit: true}, 1},
	} {
		net := must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: []int{32}, Out: c.dim, Radii: []float64{8, 4}}))(b)
		l := embedding.Loss{Model: embedding.Model{Network: net, Output: c.out}, Pair: c.pair, Clip: 1, PairClip: c.clip}
		for _, workers := range []int{2, 1} {
			b.Run(fmt.Sprintf("%s/n=%d/workers=%d", c.name, n, workers), func(b *testing.B) {
				k := must.Get(embedding.Backend{Workers: workers}.Plan(engine.Problem{N: n, D: d, Bounds: r.Bounds(), Loss: l, Radius: l.Radius()}))(b)
				e := must.Get(k.Bind(r))(b)
				defer e.Close()
				theta := l.Domain(d, l.Radius()).Start()
				dst := make([]float64, len(theta))
				start, _ := usage()
				for b.Loop() {
					must.Do(b, e.Sum(context.Background(), dst, engine.Gradient(theta, engine.AllPairs{N: n})))
				}
				end, memory := usage()
				b.ReportMetric(1e3*(end-start)/float64(b.N), "cpu-ms/op")
				b.ReportMetric(memory, "peak-MB")
			})
		}
	}
}
