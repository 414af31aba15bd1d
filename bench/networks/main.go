// Command networks compares the two ways to clip gradients of networks at equal privacy: the Jacobian of
// every record, and the gradient of every pair (docs/theory.md#networks).
//
//	go run ./bench/networks > bench/results/networks-clipping.csv
//
// For a network at its public start and after steps of plain descent on XOR-like public data, and for each
// clipping norm, a row has the mean gradient's length along the unclipped one (signal), the expected length of the noise of
// one 1-GDP release (noise), and their quotient; the best norm of each way is what counts.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"

	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/privacy"
)

const (
	records  = 400
	features = 4
	descent  = 60  // steps
	rate     = 2.0 // of each step
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("networks: ")
	bench.Header(os.Stdout, "networks", os.Args[1:])
	fmt.Println("loss,theta,way,clip,sensitivity,signal,noise,signal_to_noise")
	for _, c := range []struct {
		dim  int
		pair embedding.PairLoss
		out  embedding.Output
	}{
		{1, embedding.Score{Of: engine.Logistic{}}, embedding.Output{}},
		{4, embedding.Bilinear{Of: engine.Logistic{}}, embedding.Output{Unit: true}},
		{4, embedding.Distance{Of: engine.Logistic{}}, embedding.Output{Within: 1}},
	} {
		if err := compare(c.dim, c.pair, c.out); err != nil {
			log.Fatal(err)
		}
	}
}

// compare prints the rows of a loss.
func compare(dim int, pair embedding.PairLoss, out embedding.Output) error {
	net, err := embedding.NewMLP(embedding.MLP{In: features, Hidden: []int{8}, Out: dim})
	if err != nil {
		return err
	}
	r, err := xor()
	if err != nil {
		return err
	}
	free := embedding.Loss{Model: embedding.Model{Network: net, Output: out}, Pair: pair, Clip: 1e6, Seed: 1}
	domain := free.Domain(features, free.Radius())
	theta := domain.Start()
	for step := range 2 {
		whole, _, err := mean(free, r, theta)
		if err != nil {
			return err
		}
		for exponent := -8; exponent <= 4; exponent++ {
			clip := math.Exp2(float64(exponent))
			for _, way := range []string{"jacobians", "pairs"} {
				l := free
				if l.Clip = clip; way == "pairs" {
					l.PairClip = clip
				}
				g, sensitivity, err := mean(l, r, theta)
				if err != nil {
					return err
				}
				signal := dot(g, whole) / math.Sqrt(dot(whole, whole))
				noise := sensitivity * math.Sqrt(float64(len(g)))
				fmt.Printf("%s,%s,%s,%g,%.4g,%.4g,%.4g,%.4g\n", pair.Name(), [...]string{"start", "trained"}[step], way, clip, sensitivity, signal, noise, signal/noise)
			}
		}
		for range descent {
			g, _, err := mean(free, r, theta)
			if err != nil {
				return err
			}
			for k, v := range g {
				theta[k] -= rate * v
			}
			if err := domain.Project(theta, math.Inf(1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// xor are records whose class is that of the signs of two features.
func xor() (*engine.Records, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := make([]float64, records*features), make([]float64, records)
	for i := range y {
		row := x[i*features:][:features]
		for k := range row {
			row[k] = 0.3 * rng.NormFloat64()
		}
		a, b := float64(2*rng.IntN(2)-1), float64(2*rng.IntN(2)-1)
		row[0], row[1], y[i] = row[0]+0.6*a, row[1]+0.6*b, a*b
	}
	return engine.AdoptRecords(x, y, features, engine.UnitBounds())
}

// mean is the mean gradient over all pairs and the sensitivity that one release of it is certified for.
func mean(l embedding.Loss, r *engine.Records, theta []float64) ([]float64, float64, error) {
	p := engine.Problem{N: records, D: features, Bounds: r.Bounds(), Loss: l, Radius: l.Radius()}
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
	if err := e.GradSum(context.Background(), g, theta, p.Pairs()); err != nil {
		return nil, 0, err
	}
	for k := range g {
		g[k] /= float64(p.Pairs().Len())
	}
	return g, c.Sensitivity(), nil
}

func dot(a, b []float64) (sum float64) {
	for k, v := range a {
		sum += v * b[k]
	}
	return sum
}
