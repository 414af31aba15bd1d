package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/engine"
	"dyad/engine/embedding"
)

// CompareNetworks computes the gradient sum of a small network of random records on the GPU and on the CPU, and
// describes the difference. It returns an error if the relative difference exceeds 1e-5, because rounding to
// float32 does not explain such a difference.
func (d *Device) CompareNetworks(ctx context.Context) (text string, err error) {
	const n, features, most = 400, 8, 1e-5
	net, err := embedding.NewMLP(embedding.MLP{In: features, Hidden: []int{16, 8}, Out: 1})
	if err != nil {
		return "", err
	}
	rng := rand.New(rand.NewPCG(5, 6))
	x, y := make([]float64, n*features), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = float64(2*rng.IntN(2) - 1)
	}
	r, err := engine.NewRecords(x, y, features, engine.UnitBounds())
	if err != nil {
		return "", err
	}
	loss := embedding.Loss{Model: embedding.Model{Network: net}, Pair: embedding.Score{Of: engine.Logistic{}},
		Clip: 0.5, Seed: 1}
	p := engine.Problem{N: n, D: features, Bounds: engine.UnitBounds(), Loss: loss, Radius: loss.Radius()}
	theta := net.Start(1)
	var sums [2][]float64
	for i, on := range []embedding.Accelerator{nil, Backend{Device: d}} {
		k, err := embedding.Backend{On: on}.Plan(p)
		if err != nil {
			return "", err
		}
		e, err := k.Bind(r)
		if err != nil {
			return "", err
		}
		sums[i] = make([]float64, len(theta))
		if err := errors.Join(e.Sum(ctx, sums[i], engine.Gradient(theta, p.Pairs())), e.Close()); err != nil {
			return "", err
		}
	}
	var apart, size float64
	for k, v := range sums[0] {
		apart, size = math.Hypot(apart, sums[1][k]-v), math.Hypot(size, v)
	}
	if !(apart <= most*size) {
		return "", fmt.Errorf("cuda: the sums of networks differ from the CPU's sums; relative difference %.2g, "+
			"limit %g",
			apart/size, float64(most))
	}
	return fmt.Sprintf("the gradient sums of networks agree with the CPU's sums; the relative difference is %.1g",
		apart/size), nil
}
