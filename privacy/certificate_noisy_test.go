package privacy

import (
	"math"
	"testing"

	"dyad/internal/must"
)

// The linear pair loss (a + a') w attains the certificate, and a share that forgets
// one of the two argument orders is too small.
func TestMeanGradientIsAttainedByLinearLoss(t *testing.T) {
	const n, dg = 9, 3.0
	mean := func(a []float64) float64 {
		var sum float64
		for i := range a {
			for j := range a {
				if i != j {
					sum += a[i] + a[j]
				}
			}
		}
		return sum / float64(n*(n-1))
	}
	a := make([]float64, n)
	a[4] = dg / 2
	high := mean(a)
	a[4] = -dg / 2
	moved := high - mean(a)
	certify := func(share, rho float64) float64 {
		c := must.Get(MeanGradient{PairDiameter: dg, PairFraction: share, Error: rho}.Certify())(t)
		return c.Sensitivity()
	}
	must.Within(t, certify(2.0/n, 0), moved-1e-15, moved*(1+1e-12), "certificate, attained %.15g", moved)
	if got := certify(1.0/n, 0); got > 0.6*moved {
		t.Errorf("the control, half the share, certifies %.6g of %.6g", got, moved)
	}
	must.Near(t, certify(2.0/n, 0.01), moved+0.02, 1e-12, "with roundoff 0.01 the certificate is")
	for _, bad := range []MeanGradient{{PairFraction: 0.1}, {PairDiameter: 1}, {PairDiameter: 1, PairFraction: 1.5}, {PairDiameter: 1, PairFraction: 1, Error: -1}, {PairDiameter: math.NaN(), PairFraction: 1}} {
		must.Err(bad.Certify())(t, "%+v was certified", bad)
	}
}
