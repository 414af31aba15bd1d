package account

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// The quantile is the last float64 at which the loss is at most eps, whatever point the search starts from.
func TestBetweenQuantileIsTheLastFloat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		d := dominatingPair{kind: subset, law: GaussianLaw, m: math.Exp(8*r.Float64() - 6), q: math.Pow(10, -4*r.Float64())}
		d.r = d.m * (1 + r.Float64())
		eps := math.Exp(12*r.Float64() - 8)
		want := d.betweenQuantile(eps, 0)
		if next := math.Nextafter(want, math.Inf(1)); d.loss(want) > eps || d.loss(next) <= eps {
			t.Fatalf("%+v, %v: the losses at %v and the next float are %v and %v", d, eps, want, d.loss(want), d.loss(next))
		}
		for _, near := range []float64{-want, want * r.Float64(), 3 * want, 1e300, math.Inf(1)} {
			must.Equal(t, d.betweenQuantile(eps, near), want, "%+v, %v: from %v the quantile is, from 0", d, eps, near)
		}
	}
}
