package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// staircase draws pairs.Staircase from an ordinary generator, for comparisons only.
type staircase struct{ pairs.Staircase }

func (s staircase) draw(r *rand.Rand) float64 {
	b, g := math.Exp(-s.Epsilon), s.Gamma()
	steps := math.Floor(math.Log(1-r.Float64()) / -s.Epsilon) // geometric, P(k) = (1-b) b^k
	at := 0.0
	if r.Float64() < g/(g+(1-g)*b) {
		at = steps + g*r.Float64()
	} else {
		at = steps + g + (1-g)*r.Float64()
	}
	if r.IntN(2) == 0 {
		return -at
	}
	return at
}

// duchi draws pairs.Duchi likewise.
type duchi struct{ pairs.Duchi }

func (m duchi) draw(t float64, r *rand.Rand) float64 {
	c := m.Size()
	if r.Float64() < 0.5+max(-1, min(1, t))/(2*c) {
		return c
	}
	return -c
}

// mechanismTable compares the noise of one coordinate of the mean clipped gradient, in
// units of the clip, at equal budgets: kappa = 1, one epoch, |B| = 50, d = 33, d' = 16
// (Bank in Table I).
func (s settings) mechanismTable() ([]row, axes, error) {
	a := axes{title: "Noise of a coordinate", x: "epsilon", value: "rms", other: "noise_to_spread_gradient"}
	const batch, coordinates = 50, 33 * 16
	// A gradient of the largest norm with equal coordinates: Laplace, SCDF and Duchi clip
	// in the L1 norm, the others in the L2 norm.
	spread := func(name string, rms float64) float64 {
		if name == "K-norm" || name == "Gaussian" {
			return rms * math.Sqrt(coordinates)
		}
		return rms * coordinates
	}
	fmt.Printf("# root mean square of the noise of one of %d coordinates of the mean gradient of %d pairs, in units of "+
		"the clip; kappa = 1, one release, so L1 (or L2) sensitivity 2/%d\n", coordinates, batch, batch)
	fmt.Println("# scdf and duchi get epsilon/528 for each coordinate; printed: the whole epsilon for each (SCDF, Duchi) " +
		"or for each row (Laplace), which gives 528 and 16 times epsilon")
	var out []row
	for _, e := range []float64{0.5, 1, 2, 4} {
		spec := pairs.Spec{
			Individuals: 100, Pairs: batch, Dim: 33, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 16,
			Unit:  pairs.OnePair,
			Batch: batch, Epochs: 1, Budget: privacy.Budget{Epsilon: e}, Noise: privacy.LaplaceNoise,
		}
		for _, m := range methods[1:4] {
			c := spec
			m.change(&c)
			p, err := c.Plan()
			if err != nil {
				return nil, a, err
			}
			out = append(out, row{m.name[len("DPP "):], e, 0, p.NoiseToSignal() / math.Sqrt(coordinates), 0})
		}
		delta := 2.0 / batch
		share := e / coordinates
		out = append(out,
			row{"SCDF", e, 0, delta * math.Sqrt(pairs.Staircase{Epsilon: share}.Variance()), 0},
			row{"Duchi", e, 0, pairs.Duchi{Epsilon: share}.Size(), 0},
			row{"Laplace printed", e, 0, math.Sqrt2 * delta / e, 0},
			row{"SCDF printed", e, 0, delta * math.Sqrt(pairs.Staircase{Epsilon: e}.Variance()), 0},
			row{"Duchi printed", e, 0, pairs.Duchi{Epsilon: e}.Size(), 0})
	}
	for i, r := range out {
		out[i].other = spread(r.method, r.value)
	}
	return out, a, nil
}

// mechanismsTrained is Figure 10: the objective after one epoch.
func (s settings) mechanismsTrained() ([]row, axes, error) {
	a := axes{title: "Objective after one epoch", x: "epsilon", value: "objective"}
	tasks, err := s.tasks()
	if err != nil {
		return nil, a, err
	}
	fmt.Println("# SCDF and Duchi get their share of epsilon for each coordinate, and Duchi, whose noise does not shrink " +
		"with |B|, for each of kappa batches")
	var jobs []func() ([]row, error)
	for i, t := range tasks {
		for _, e := range []float64{0.5, 1, 2, 4} {
			spec := t.spec()
			spec.Epochs, spec.Budget.Epsilon = 1, e
			coordinates := float64(spec.Rows * spec.Dim)
			scdf := staircase{pairs.Staircase{Epsilon: e / coordinates}}
			two := duchi{pairs.Duchi{Epsilon: e / coordinates / float64(spec.Kappa)}}
			sensitivity := 2 * float64(spec.Kappa) / float64(spec.Batch)
			for _, m := range []struct {
				method
				replace noiser
			}{
				{methods[1], nil}, {methods[2], nil}, {methods[3], nil},
				{method{"SCDF", func(*pairs.Spec) {}}, func(q []float64, r *rand.Rand) {
					for k := range q {
						q[k] += sensitivity * scdf.draw(r)
					}
				}},
				{method{"Duchi", func(*pairs.Spec) {}}, func(q []float64, r *rand.Rand) {
					for k := range q {
						q[k] = two.draw(q[k], r)
					}
				}},
			} {
				jobs = append(jobs, func() ([]row, error) {
					spec := spec
					m.change(&spec)
					r, err := t.train(spec, i, m.replace, 0)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", m.name, err)
					}
					v, err := t.objective(spec, r.w)
					return []row{{m.name, e, i, v, 0}}, err
				})
			}
		}
	}
	rows, err := s.each(jobs)
	return rows, a, err
}
