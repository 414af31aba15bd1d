package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms/attack"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// At all sizes, and wherever the record stands, replacing it moves the sums of every round by no more than the certificate, and
// by all of it in the first one. The neighbours are records at the radius, opposite ones, much longer ones and ones that are not
// numbers; with the same releases the result has the same bits.
func TestClustersOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 1.5e6, 1) {
		for _, delta := range []float64{0, 1e-5} {
			d := min(c.D, maxDim)
			p := planned(t, Options{Records: c.N, Clusters: 2, Dim: d, Radius: 3, Rounds: 2, Seed: 1, Budget: privacy.Budget{Epsilon: 1, Delta: delta}})
			rng := rand.New(rand.NewPCG(1, 2))
			rows := make([]float64, c.N*d)
			for i := range c.N {
				x := direction(rng, d)
				for k, v := range x {
					rows[i*d+k] = 2 * v
				}
			}
			of := func(scale float64) []float64 {
				other := slices.Clone(rows)
				for k := range d {
					other[c.Unit*d+k] = scale / math.Sqrt(float64(d))
				}
				return other
			}
			whole, result := runOn(t, p, of(3), nil)
			closest := 0.0
			for _, scale := range []float64{-3, -1e6, 1e300, 0, math.NaN(), math.Inf(-1)} {
				next, same := runOn(t, p, of(scale), whole)
				if !slices.Equal(result, same) {
					t.Fatalf("%v: with the same releases the result is another one", c)
				}
				again := next.Made(attack.Release)
				for round, c := range whole.Made(attack.Release) {
					closest = max(closest, moved(c.Before, again[round].Before)/p.Certificate().Sensitivity())
				}
			}
			if !(closest <= 1) || closest < 0.99 {
				t.Errorf("%v, delta %v: a record moves a round by %v of the certificate", c, delta, closest)
			}
		}
	}
}
