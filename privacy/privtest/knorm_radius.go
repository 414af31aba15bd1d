package privtest

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// KNormRadius is the law of the length of K-norm noise in the L2 norm, of density
// proportional to exp(-|z|/Scale) in Dim dimensions: Gamma(Dim, Scale), with a
// uniform direction. Scale = sensitivity/epsilon makes a query of that L2
// sensitivity epsilon-DP [Chaudhuri and Monteleoni 2008; docs/theory.md#k-norm-noise].
type KNormRadius struct {
	Dim   int     // >= 1, released coordinates
	Scale float64 // > 0
}

// Validate returns an error unless the fields are in range.
func (r KNormRadius) Validate() error {
	if r.Dim < 1 || !(r.Scale > 0) || math.IsInf(r.Scale, 1) {
		return fmt.Errorf("privtest: K-norm noise in %d dimensions with scale %v: want at least 1 and a positive finite scale", r.Dim, r.Scale)
	}
	return nil
}

// Mean is Dim Scale.
func (r KNormRadius) Mean() float64 { return float64(r.Dim) * r.Scale }

// Variance is Dim Scale^2.
func (r KNormRadius) Variance() float64 { return float64(r.Dim) * r.Scale * r.Scale }

// Quantile is the length that is not exceeded with probability p of (0, 1), within
// 1e-9 relative.
func (r KNormRadius) Quantile(p float64) float64 {
	d := float64(r.Dim)
	x := mathext.GammaIncRegInv(d, p)
	// Newton steps on the distribution function, for the last digits.
	lg, _ := math.Lgamma(d)
	for range 3 {
		density := math.Exp((d-1)*math.Log(x) - x - lg)
		if !(density > 0) {
			break
		}
		x -= (mathext.GammaIncReg(d, x) - p) / density
	}
	return x * r.Scale
}
