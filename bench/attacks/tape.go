package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"dyad/engine/terms"
	"dyad/privacy"
)

// tape is a session that records a run, or answers a run on a neighbour with what was
// recorded, so that both have the same past and the same secret coins and only the
// queries differ. Its noise is small: a guarantee holds whatever was released before.
type tape struct {
	coins        *privacy.Source
	noise        *rand.Rand
	first        *tape // the recorded run, nil while it is recorded
	queries      [][]float64
	released     [][]float64
	laws         []privacy.Mechanism
	certificates []privacy.Certificate
	batches      [][]int32 // Poisson samples
}

func newTape(seed uint64, first *tape) *tape {
	return &tape{coins: privacy.NewSeededSource(seed), noise: rand.New(rand.NewPCG(seed, 3)), first: first}
}

var _ privacy.Session = (*tape)(nil)

// Permutation implements privacy.Session.
func (t *tape) Permutation(n int) []int32 { return t.coins.Permutation(n) }

// UniformBall implements privacy.Session.
func (t *tape) UniformBall(dst []float64, radius float64) { t.coins.UniformBall(dst, radius) }

// Sample implements privacy.Session.
func (t *tape) Sample(order []int32, m int) error { return t.coins.Sample(order, m) }

// SamplePoisson implements privacy.Session.
func (t *tape) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	dst, err := t.coins.SamplePoisson(dst, n, rate)
	t.batches = append(t.batches, slices.Clone(dst))
	return dst, err
}

// HiddenStep implements privacy.Session.
func (t *tape) HiddenStep(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	return t.Release(x, c, m)
}

// Release implements privacy.Session.
func (t *tape) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	t.queries, t.laws, t.certificates = append(t.queries, slices.Clone(x)), append(t.laws, m), append(t.certificates, c)
	if at := len(t.queries) - 1; t.first != nil && at < len(t.first.released) {
		copy(x, t.first.released[at])
		return nil
	}
	for k := range x {
		x[k] += 0.1 * t.noise.NormFloat64()
	}
	t.released = append(t.released, slices.Clone(x))
	return nil
}

// ReleaseExact implements privacy.Session; attacked plans never ask for it.
func (t *tape) ReleaseExact(x []float64) error { return t.Release(x, privacy.Certificate{}, nil) }

// Choose implements privacy.Session; attacked plans never ask for it.
func (t *tape) Choose([]int64, privacy.Certificate, float64) (int, error) {
	return 0, privacy.ErrUnplanned
}

// Best implements privacy.Session; attacked plans never ask for it.
func (t *tape) Best(privacy.Selection, func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
	return 0, nil, privacy.ErrUnplanned
}

// moves are the distances of the queries of two runs in a norm, or a violation if the
// runs did not ask for the same things.
func moves(a, b *tape, norm terms.Norm) ([]float64, string) {
	if len(a.queries) != len(b.queries) || !slices.Equal(a.laws, b.laws) || !slices.EqualFunc(a.batches, b.batches, slices.Equal) {
		return nil, "the number of releases, their noise or their batches depend on the data"
	}
	all := make([]float64, len(a.queries))
	for i, q := range a.queries {
		for k, v := range q {
			d := math.Abs(v - b.queries[i][k])
			if norm == terms.L1 {
				all[i] += d
			} else {
				all[i] += d * d
			}
		}
		if norm != terms.L1 {
			all[i] = math.Sqrt(all[i])
		}
	}
	return all, ""
}

// joint is how far all releases moved together: the root of the sum of squares for
// Gaussian noise, the sum for pure noise.
func joint(moves []float64, gaussian bool) float64 {
	total := 0.0
	for _, m := range moves {
		if gaussian {
			m *= m
		}
		total += m
	}
	if gaussian {
		return math.Sqrt(total)
	}
	return total
}
