package bench_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
)

const (
	xorRecords  = 400
	xorFeatures = 4
	xorSteps    = 60  // steps
	xorRate     = 2.0 // of each step
)

// TestWaysToClipNetworks compares the two ways to clip gradients of networks at equal privacy: the Jacobian of
// every record, and the gradient of every pair (docs/theory.md#networks). For a network at its public start, and
// after steps of plain descent on XOR-like public data, and for each clipping norm a line has the length of the
// mean gradient along the one that is not clipped (signal), the expected length of the noise of one 1-GDP
// release, and their quotient; the best norm of each way is what counts.
func TestWaysToClipNetworks(t *testing.T) {
	c := claim{file: "networks-clipping.csv", columns: "loss,theta,way,clip,sensitivity,signal,noise,signal_to_noise", keys: 4}
	r := must.Get(xor())(t)
	for _, at := range []struct {
		dim  int
		pair embedding.PairLoss
		out  embedding.Output
	}{
		{1, embedding.Score{Of: engine.Logistic{}}, embedding.Output{}},
		{4, embedding.Bilinear{Of: engine.Logistic{}}, embedding.Output{Unit: true}},
		{4, embedding.Distance{Of: engine.Logistic{}}, embedding.Output{Within: 1}},
	} {
		net := must.Get(embedding.NewMLP(embedding.MLP{In: xorFeatures, Hidden: []int{8}, Out: at.dim}))(t)
		free := embedding.Loss{Model: embedding.Model{Network: net, Output: at.out}, Pair: at.pair, Clip: 1e6, Seed: 1}
		for _, name := range []string{"start", "trained"} {
			theta := pointOf(t, free, r, name == "trained")
			whole, _ := must.Get2(meanOfNetwork(free, r, theta))(t)
			for exponent := -8; exponent <= 4; exponent++ {
				for _, way := range []string{"jacobians", "pairs"} {
					l := free
					if l.Clip = math.Exp2(float64(exponent)); way == "pairs" {
						l.PairClip = l.Clip
					}
					key := fmt.Sprintf("%s,%s,%s,%g", at.pair.Name(), name, way, l.Clip)
					c.lines = append(c.lines, claimed{key, name == "start" && exponent%4 == 0, func(t *testing.T) []float64 {
						g, sensitivity := must.Get2(meanOfNetwork(l, r, theta))(t)
						signal, noise := product(g, whole)/math.Sqrt(product(whole, whole)), sensitivity*math.Sqrt(float64(len(g)))
						return []float64{sensitivity, signal, noise, signal / noise}
					}})
				}
			}
		}
	}
	c.check(t, 1e-4, 0)
}

// pointOf is the start of a loss, or where plain descent leads from there.
func pointOf(t *testing.T, l embedding.Loss, r *engine.Records, trained bool) []float64 {
	domain := l.Domain(xorFeatures, l.Radius())
	theta := domain.Start()
	for range xorSteps {
		if !trained {
			break
		}
		g, _ := must.Get2(meanOfNetwork(l, r, theta))(t)
		for k, v := range g {
			theta[k] -= xorRate * v
		}
		must.Do(t, domain.Project(theta, math.Inf(1)))
	}
	return theta
}

// xor are records whose class is that of the signs of two features.
func xor() (*engine.Records, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := make([]float64, xorRecords*xorFeatures), make([]float64, xorRecords)
	for i := range y {
		row := x[i*xorFeatures:][:xorFeatures]
		for k := range row {
			row[k] = 0.3 * rng.NormFloat64()
		}
		a, b := float64(2*rng.IntN(2)-1), float64(2*rng.IntN(2)-1)
		row[0], row[1], y[i] = row[0]+0.6*a, row[1]+0.6*b, a*b
	}
	return engine.AdoptRecords(x, y, xorFeatures, engine.UnitBounds())
}

// mean is the mean gradient over all pairs and the sensitivity that one release of it is certified for.
func meanOfNetwork(l embedding.Loss, r *engine.Records, theta []float64) ([]float64, float64, error) {
	p := engine.Problem{N: xorRecords, D: xorFeatures, Bounds: r.Bounds(), Loss: l, Radius: l.Radius()}
	spec, err := algorithms.NewSpec(embedding.Backend{}, p, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)
	if err != nil {
		return nil, 0, err
	}
	c, err := spec.MeanGradient()
	if err != nil {
		return nil, 0, err
	}
	e, err := spec.Kernel.Bind(r)
	if err != nil {
		return nil, 0, err
	}
	defer e.Close()
	g := make([]float64, len(theta))
	if err := e.Sum(context.Background(), g, engine.Gradient(theta, p.Pairs())); err != nil {
		return nil, 0, err
	}
	for k := range g {
		g[k] /= float64(p.Pairs().Len())
	}
	return g, c.Sensitivity(), nil
}

func product(a, b []float64) (sum float64) {
	for k, v := range a {
		sum += v * b[k]
	}
	return sum
}
