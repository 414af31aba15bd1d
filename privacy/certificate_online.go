package privacy

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/privacy/internal/round"
)

// PairwiseRecursion holds the public numbers of one pass of pairwise online descent (pairwise GIGA,
// [Huai20]). For t = 2..n, in an order that does not depend on the data,
//
//	w_t = Pi_C[w_{t-1} - eta_t (1/(t-1) sum_{i<t} grad l(w_{t-1}; z_t, z_i) + alpha w_{t-1})].
//
// One weighted sum, sum_t Weight(t) w_t, is released.
type PairwiseRecursion struct {
	Curvature
	// Eta holds the step sizes eta_t = Eta[t], t = 2..n, where n = len(Eta) - 1 >= 2. Entries 0 and 1 are
	// ignored. Leading zeros mean a burn-in without updates, so that w_t does not depend on the data. Every
	// step after the burn-in is positive.
	Eta []float64
	// UpdateError holds rho_t = UpdateError[t] >= 0. Each rho_t bounds the error of computing update t,
	// for every data set. If UpdateError is nil, the arithmetic is exact.
	UpdateError []float64
	// Average is true if (w_1 + ... + w_n)/n is released instead of w_n.
	Average bool
	// OutputError bounds the error of computing the released vector from the computed iterates.
	OutputError float64
}

// Certify returns the certificate of the released vector.
//
// Theorem (docs/theory.md#pairwise-recursion). Let record k be replaced, and let delta_t = ||w_t - w_t'||.
// The iterates before w_k are equal. In step k, every pair of the loss term changes. In every later step t,
// only one of t - 1 pairs changes. So
//
//	delta_k <= Dg eta_k + 2 rho_k,
//	delta_t <= c_t delta_{t-1} + Dg eta_t/(t-1) + 2 rho_t   (t > k),
//
// and a step with eta_t = 0 has delta_t = 0. Let p_t be the weight of w_t in the released sum, and let a_n =
// p_n and a_t = p_t + c_{t+1} a_{t+1}, where c_{t+1} = 0 if step t + 1 makes no update. Then the released sum
// moves by at most
//
//	S(k) = a_k (Dg eta_k + 2 rho_k) + sum_{t>k} a_t (Dg eta_t/(t-1) + 2 rho_t).
//
// The released vector is in the convex set C, so the certificate is min(max_k S(k), diam C) + 2 OutputError.
// Linear pair losses with an L2 term attain this bound. The computation takes O(n) operations.
func (r PairwiseRecursion) Certify() (Certificate, error) {
	n := len(r.Eta) - 1
	err := r.validate()
	if n < 2 || r.UpdateError != nil && len(r.UpdateError) != n+1 {
		return Certificate{}, errors.Join(err, fmt.Errorf("%w: %d step sizes and %d update errors, want n+1 >= 3 of each",
			errCertificate, len(r.Eta), len(r.UpdateError)))
	}
	err = errors.Join(err, nonNegative("output error", r.OutputError))
	var largest, path float64
	for t := 2; t <= n; t++ {
		if r.Eta[t] == 0 && path > 0 {
			err = errors.Join(err, fmt.Errorf("%w: step size %d is 0, but only the first steps (the burn-in) may be 0",
				errCertificate, t))
		}
		err = errors.Join(err, nonNegative(fmt.Sprintf("step size %d", t), r.Eta[t]))
		if r.UpdateError != nil {
			err = errors.Join(err, nonNegative(fmt.Sprintf("update error %d", t), r.UpdateError[t]))
		}
		largest, path = max(largest, r.Eta[t]), path+r.Eta[t]
	}
	err = errors.Join(err, refuse(path == 0, "all step sizes are 0, so no step uses the records"))
	if err != nil {
		return Certificate{}, err
	}
	exact := round.Up(slices.Max(r.replaced(false)), 2)
	total := round.Up(slices.Max(r.replaced(true))+2*r.OutputError, 2)
	released := "last iterate of pairwise online descent"
	if r.Average {
		released = "average iterate of pairwise online descent"
	}
	// The computed vector is within OutputError of the domain C.
	limit := round.Up(r.Diameter+2*r.OutputError, 2)
	if r.OutputError == 0 {
		limit = r.Diameter
	}
	return newCertificate(min(exact, r.Diameter), min(total, limit), released,
		fmt.Sprintf("max_k of delta_t(k) = c_t delta_(t-1)(k) + Dg eta_t/(t-1) (Dg eta_k at t = k) + 2 rho_t, at most diam "+
			"C; Dg = %.6g, n = %d, sum eta = %.6g, max eta = %.6g, L = %.6g, alpha = %.6g, diam C = %.6g "+
			"(docs/theory.md#pairwise-recursion)",
			r.PairDiameter, n, path, largest, r.Smoothness, r.StrongConvexity, r.Diameter))
}

// replaced returns S(k) for k = 1..n, with every operation rounded up. Entry 0 is 0.
func (r PairwiseRecursion) replaced(withError bool) []float64 {
	n := len(r.Eta) - 1
	rho := func(t int) float64 {
		if !withError || r.UpdateError == nil {
			return 0
		}
		return r.UpdateError[t]
	}
	s := make([]float64, n+1)
	var later float64   // sum_{t>k} a_t (Dg eta_t/(t-1) + 2 rho_t)
	var adjoint float64 // a_t
	for t := n; t >= 1; t-- {
		weight := 0.0
		switch {
		case r.Average:
			weight = math.Nextafter(1/float64(n), 1)
		case t == n:
			weight = 1
		}
		c := 0.0
		if t < n && r.Eta[t+1] > 0 {
			c = r.contraction(r.Eta[t+1])
		}
		adjoint = round.Up(weight+c*adjoint, 2)
		if t == 1 || r.Eta[t] == 0 {
			s[t] = later
			continue
		}
		move := r.PairDiameter * r.Eta[t]
		s[t] = round.Up(adjoint*(move+2*rho(t))+later, 4)
		later = round.Up(later+adjoint*(move/float64(t-1)+2*rho(t)), 5)
	}
	return s
}
