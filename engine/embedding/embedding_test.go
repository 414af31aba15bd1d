package embedding_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// models are networks of three features.
func models(t testing.TB, m int) []embedding.Model {
	t.Helper()
	var all []embedding.Model
	for _, hidden := range [][]int{nil, {5}, {6, 5}} {
		for _, act := range []embedding.Activation{embedding.Tanh, embedding.Softplus} {
			if hidden == nil && act != embedding.Tanh {
				continue
			}
			net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: hidden, Out: m, Activation: act}))(t)
			for _, out := range []embedding.Output{{}, {Unit: true}, {Within: 0.7}} {
				all = append(all, embedding.Model{Network: net, Output: out})
			}
		}
	}
	return all
}

func expression(t testing.TB, text string) engine.Scalar {
	t.Helper()
	return must.Get(engine.NewExpression("own", text, engine.ExpressionOptions{}))(t)
}

// losses are pair losses with smooth phi for embeddings of m numbers.
func losses(t testing.TB, m int) []embedding.PairLoss {
	own := expression(t, "log1p(exp(-u)) + 0.1*tanh(u)")
	all := []embedding.PairLoss{
		embedding.Bilinear{Of: engine.Logistic{}}, embedding.Bilinear{Of: own},
		embedding.Distance{Of: engine.Logistic{}}, embedding.Distance{Of: own},
		embedding.Contrastive{Margin: 1.5},
	}
	if m == 1 {
		all = append(all, embedding.Score{Of: engine.Logistic{}}, embedding.Score{Of: own})
	}
	return all
}

func describe(l embedding.Loss) string { return fmt.Sprintf("%s %+v", l.Name(), l.Model.Output) }

// TestGradientsAreDerivatives compares the gradient of a pair, without clipping, with central
// differences of its value.
func TestGradientsAreDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, m := range []int{1, 4} {
		for _, model := range models(t, m) {
			for _, pair := range losses(t, m) {
				l := embedding.Loss{Model: model, Pair: pair, Clip: 1e9}
				theta := l.Domain(3, l.Radius()).Start()
				for i := range theta {
					theta[i] += 0.1 * rng.NormFloat64()
				}
				for _, labels := range [][2]float64{{1, 1}, {1, -1}} {
					z := engine.Record{X: []float64{0.5, -0.3, 0.6}, Y: labels[0]}
					zp := engine.Record{X: []float64{-0.2, 0.7, 0.1}, Y: labels[1]}
					got := make([]float64, len(theta))
					l.AddGrad(got, theta, z, zp)
					var worst float64
					for k := range theta {
						h, keep := 1e-5, theta[k]
						theta[k] = keep + h
						above := l.Value(theta, z, zp)
						theta[k] = keep - h
						below := l.Value(theta, z, zp)
						theta[k] = keep
						worst = max(worst, math.Abs(got[k]-(above-below)/(2*h)))
					}
					if !(worst < 1e-6*max(1, entrywise(embedding.L2, got))) {
						t.Errorf("%s, m %d, labels %v: a partial derivative is off by %g", describe(l), m, labels, worst)
					}
				}
			}
		}
	}
}
