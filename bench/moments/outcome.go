package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/metrics"
	"dyad/experiment"
	"dyad/privacy"
)

// outcome compares models on synthetic records with correlated features: AR(1) with
// coefficient 0.9, alternating weights, a logit of standard deviation 2, encoded as by a schema
// with the ranges [-4, 4].
func outcome(n, repeats, steps int, alone bool, epsilon, delta float64) error {
	const d, held = 20, 50_000
	fmt.Println("repeat,n,epsilon,method,auc,seconds,processor_seconds")
	aucs := map[string][]float64{}
	var order []string
	for repeat := range repeats {
		seed := uint64(repeat)
		train, err := autoregressive(n, d, 2*seed+1)
		if err != nil {
			return err
		}
		test, err := autoregressive(held, d, 2*seed+2)
		if err != nil {
			return err
		}
		for _, m := range []struct {
			a    algorithms.Algorithm
			mode algorithms.Mode
			l2   float64
		}{{algorithms.Moments{}, algorithms.Certified, 0}, {algorithms.Moments{Steps: steps}, algorithms.Certified, 0}, {algorithms.DPGDSC{}, algorithms.Certified, 0.001}, {algorithms.ProjectedGradient{}, algorithms.NonPrivate, 0}} {
			name := m.a.Info().Name
			if moments, ok := m.a.(algorithms.Moments); ok {
				if moments.Steps > 0 {
					name = fmt.Sprintf("%s %d steps", name, moments.Steps)
				}
			} else if alone || n > 1_000_000 {
				continue // minutes each
			}
			b := privacy.Budget{Epsilon: epsilon, Delta: delta}
			start, used := time.Now(), bench.ProcessorTime()
			s, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{
				N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: algorithms.DefaultRadius(name, n, d, b, m.mode, engine.Logistic{}),
			}, m.l2, b, m.mode)
			if err != nil {
				return err
			}
			p, err := m.a.Plan(s)
			if err != nil {
				return err
			}
			if repeat == 0 && p.Moments != nil {
				fmt.Printf("# %s\n", p.Guarantee)
			}
			result, err := algorithms.Run(context.Background(), train, m.a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)})
			if err != nil {
				return err
			}
			seconds, used := time.Since(start).Seconds(), bench.ProcessorTime()-used
			scores, err := metrics.Scores(test, result.Weights)
			if err != nil {
				return err
			}
			auc, err := metrics.AUC(scores, test.Labels())
			if err != nil {
				return err
			}
			fmt.Printf("%d,%d,%g,%s,%.6f,%.3f,%.3f\n", repeat, n, epsilon, name, auc, seconds, used)
			if aucs[name] == nil {
				order = append(order, name)
			}
			aucs[name] = append(aucs[name], auc)
		}
	}
	for _, name := range order {
		mean, se := experiment.MeanAndError(aucs[name])
		fmt.Printf("# mean AUC %.4f, standard error %.4f over %d repeats: %s\n", mean, se, repeats, name)
	}
	return nil
}

// autoregressive makes the records of outcome.
func autoregressive(n, d int, seed uint64) (*engine.Records, error) {
	const rho, reach = 0.9, 4
	rng := rand.New(rand.NewPCG(seed, 99))
	x, y := make([]float64, n*d), make([]float64, n)
	// The variance of sum of (-1)^k x_k, from the correlations rho^|i-j|.
	variance := 0.0
	for i := range d {
		for j := range d {
			variance += math.Pow(-1, float64(i+j)) * math.Pow(rho, math.Abs(float64(i-j)))
		}
	}
	factor := math.Sqrt(3 / float64(d))
	for i := range y {
		row := x[i*d:][:d]
		sum := 0.0
		for k := range row {
			row[k] = rng.NormFloat64()
			if k > 0 {
				row[k] = rho*row[k-1] + math.Sqrt(1-rho*rho)*row[k]
			}
			sum += row[k] * float64(1-2*(k%2))
		}
		y[i] = -1
		if rng.Float64() < 1/(1+math.Exp(-2*sum/math.Sqrt(variance))) {
			y[i] = 1
		}
		for k, v := range row {
			row[k] = factor * min(max(v/reach, -1), 1)
		}
	}
	return engine.AdoptRecords(x, y, d, engine.UnitBounds())
}
