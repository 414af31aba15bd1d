package algorithms

import "dyad/engine"

// update is one step of projected gradient descent on a pair loss with an L2 term
// (docs/theory.md#contraction, docs/theory.md#roundoff).
type update struct {
	domain    engine.Domain
	alpha     float64 // of the L2 term
	radius    float64 // bound of ||w||
	lipschitz float64 // bound of the norm of a mean gradient, roundoff included
}

// newUpdate is the update of a plan's objective, where meanRoundoff bounds the
// error of a mean gradient.
func (s Spec) newUpdate(meanRoundoff float64) update {
	p := s.Kernel.Problem()
	return update{domain: p.Domain(), alpha: s.L2, radius: p.Radius, lipschitz: s.Constants.Lipschitz + meanRoundoff}
}

// apply performs, in place,
//
//	w = Pi_C[w - eta (sum/pairs + alpha w)]
func (u update) apply(w, sum []float64, eta, pairs float64) error {
	inverse := 1 / pairs
	for k := range w {
		w[k] -= eta * (sum[k]*inverse + u.alpha*w[k])
	}
	return u.domain.Project(w, u.reach(eta))
}

// reach bounds the norm of w before the projection, roundoff included.
func (u update) reach(eta float64) float64 {
	return (u.radius + eta*(u.lipschitz+u.alpha*u.radius)) * (1 + 0x1p-40)
}

// roundoff bounds the Euclidean distance between the result of apply and the
// exact projected update for the same w in C and the same float64 gradient sum.
//
// Proof. Per coordinate there are six roundings (inverse, product, alpha w, sum,
// times eta, difference), so the update before projection is off by at most
// gamma_6 (|w_k| + eta (|g_k| + alpha |w_k|)), in norm at most gamma_6 reach; a
// fused multiply-add only removes a rounding. Projection is non-expansive and
// adds the domain's error. QED
func (u update) roundoff(eta float64) float64 {
	return 7*0x1p-53*u.reach(eta) + u.domain.ProjectError(u.reach(eta))
}

// updateError bounds, for every data set, the distance between one computed
// update and the exact projected update from the same w, where the gradient sum
// over pairs is computed by the kernel.
func (s Spec) updateError(eta float64, pairs engine.Pairs) float64 {
	mean := meanRoundoff(s.Kernel, pairs)
	return eta*mean + s.newUpdate(mean).roundoff(eta)
}

// meanRoundoff bounds the error of a computed mean gradient over pairs, the
// division aside.
func meanRoundoff(k engine.Kernel, pairs engine.Pairs) float64 {
	return k.Bounds(engine.Query{Pairs: pairs}).Sum / float64(pairs.Len())
}

// pairFraction is the largest share of the pairs that contain one record, rounded up, at
// most 1.
func pairFraction(p engine.Pairs) float64 {
	return min(1, float64(p.MaxPerRecord())/float64(p.Len())*(1+0x1p-51))
}
