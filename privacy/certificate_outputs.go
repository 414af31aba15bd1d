package privacy

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/privacy/internal/round"
)

// StreamOutputs holds the public numbers of pairwise online descent. The descent keeps its
// noiseless iterates secret and releases a noisy copy of each (reading A of [Huai20] Algorithm
// 1, docs/theory.md#stream-outputs).
type StreamOutputs struct {
	Curvature
	// Eta holds the step sizes eta_t = Eta[t] > 0, t = 2..n. The number n = len(Eta) - 1 is public and at
	// most MaxStreamOutputs.
	Eta []float64
	// UpdateError holds rho_t = UpdateError[t] >= 0, as in PairwiseRecursion. If UpdateError is nil, all
	// rho_t are 0.
	UpdateError []float64
	// Radius bounds the norm of every iterate.
	Radius float64
}

// MaxStreamOutputs is the largest number n of records. Certify takes O(n^2) operations.
const MaxStreamOutputs = 1 << 14

// Certify returns the scales, and the joint certificate of the releases w_t/scale[t], t = 2..n. Each release
// is computed by one division per coordinate.
//
// Theorem. Take all released vectors together as one query. If record k is replaced, this query moves by at
// most (sum_t (delta_t(k)/scale_t)^2)^(1/2), with the delta_t(k) of PairwiseRecursion. The noise of each
// release is independent of all other noise and does not enter the iterates. So no release depends on the
// noise of earlier releases (the releases are not adaptive). The choice scale_t = max_k delta_t(k) gives
// every release noise in proportion to its own sensitivity. A division adds at most 2^-53 Radius/scale_t to
// the error on each of the two data sets.
func (r StreamOutputs) Certify() (Certificate, []float64, error) {
	n := len(r.Eta) - 1
	err := errors.Join(r.validate(), positive("radius", r.Radius))
	if n < 2 || n > MaxStreamOutputs || r.UpdateError != nil && len(r.UpdateError) != n+1 {
		return Certificate{}, nil, errors.Join(err,
			fmt.Errorf("%w: there are %d step sizes and %d update errors; want n+1 of each, with n from 2 to %d", errCertificate,
				len(r.Eta), len(r.UpdateError), MaxStreamOutputs))
	}
	for t := 2; t <= n; t++ {
		err = errors.Join(err, positive(fmt.Sprintf("step size %d", t), r.Eta[t]))
		if r.UpdateError != nil {
			err = errors.Join(err, nonNegative(fmt.Sprintf("update error %d", t), r.UpdateError[t]))
		}
	}
	if err != nil {
		return Certificate{}, nil, err
	}
	scale := make([]float64, n+1)
	delta := make([]float64, n+1) // delta_t of every record k at the current t
	r.each(true, delta, func(t int) { scale[t] = slices.Max(delta[1 : t+1]) })
	var joint [2]float64
	for i, withError := range []bool{false, true} {
		sums := make([]float64, n+1)
		clear(delta)
		r.each(withError, delta, func(t int) {
			division := 0.0
			if withError {
				division = 0x1p-52 * r.Radius
			}
			for k := 1; k <= t; k++ {
				u := (delta[k] + division) / scale[t]
				sums[k] += u * u
			}
		})
		joint[i] = round.Up(math.Sqrt(round.Up(slices.Max(sums), n+8)), 2)
	}
	c, err := newCertificate(joint[0], joint[1], "noisy copies of all iterates of pairwise online descent",
		fmt.Sprintf("the noiseless iterates are secret; if record k is replaced, iterate t moves by at most "+
			"delta_t(k), never by more than the diameter of C; delta_k(k) = Dg eta_k + 2 rho_k; for t > k: "+
			"delta_t(k) = c_t delta_(t-1)(k) + Dg eta_t/(t-1) + 2 rho_t; step t has contraction c_t, step size "+
			"eta_t and rounding error rho_t; with scale_t = max_k delta_t(k), the joint sensitivity is max_k "+
			"sqrt(sum_t (delta_t(k)/scale_t)^2); pair diameter Dg = %.6g, n = %d, smoothness L = %.6g, alpha = "+
			"%.6g, scale_n = %.6g (docs/theory.md#stream-outputs)",
			r.PairDiameter, n, r.Smoothness, r.StrongConvexity, scale[n]))
	c.form = stream{releases: n - 1}
	return c, scale, err
}

// each runs the recursion for all records, rounded up, and calls after for t = 2..n.
func (r StreamOutputs) each(withError bool, delta []float64, after func(t int)) {
	n := len(r.Eta) - 1
	for t := 2; t <= n; t++ {
		c, rho := r.contraction(r.Eta[t]), 0.0
		if withError && r.UpdateError != nil {
			rho = 2 * r.UpdateError[t]
		}
		own := r.PairDiameter * r.Eta[t]
		other := own/float64(t-1) + rho
		for k := 1; k < t; k++ {
			delta[k] = min(round.Up(c*delta[k]+other, 6), r.Diameter)
		}
		delta[t] = min(round.Up(own+rho, 3), r.Diameter)
		after(t)
	}
}
