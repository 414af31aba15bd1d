package algorithms

import (
	"dyad/engine"
	"dyad/privacy"
)

// update is one step of projected gradient descent on a pair loss with an L2 term
// (docs/theory.md#contraction, docs/theory.md#roundoff).
type update struct {
	domain    engine.Domain
	alpha     float64 // the weight of the L2 term
	radius    float64 // bound of ||w||
	lipschitz float64 // bound of the norm of a mean gradient, including roundoff
}

// newUpdate returns the update of a plan's objective. meanRoundoff bounds the error of a mean gradient.
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

// reach bounds the norm of w before the projection, including roundoff.
func (u update) reach(eta float64) float64 {
	return (u.radius + eta*(u.lipschitz+u.alpha*u.radius)) * (1 + 0x1p-40)
}

// roundoff bounds the Euclidean distance between the result of apply and the
// exact projected update for the same w in C and the same float64 gradient sum.
//
// Proof. Per coordinate there are six roundings (inverse, product, alpha w, sum, times eta, difference). So the
// update before projection is off by at most gamma_6 (|w_k| + eta (|g_k| + alpha |w_k|)), in norm at most
// gamma_6 reach. A fused multiply-add only removes a rounding. Projection is non-expansive and adds the
// domain's error. QED
func (u update) roundoff(eta float64) float64 {
	return 7*0x1p-53*u.reach(eta) + u.domain.ProjectError(u.reach(eta))
}

// gradientDescent returns the certificate of a descent over pairs with the given number of steps. Its UpdateError
// bounds, for every data set, the distance between a computed update and the exact projected update from the same w,
// where the kernel computes the gradient sum.
func (s Spec) gradientDescent(steps int, eta float64, pairs engine.Pairs) privacy.GradientDescent {
	mean := meanRoundoff(s.Kernel, pairs)
	return privacy.GradientDescent{
		Curvature: s.curvature(), PairFraction: pairFraction(pairs), Steps: steps, StepSize: eta,
		UpdateError: eta*mean + s.newUpdate(mean).roundoff(eta),
	}
}

// planParts plans the kernel for sums over parts of the records. sizes are the sizes of the parts.
func (s *Spec) planParts(name string, sizes ...int) (err error) {
	if s.Backend == nil {
		return Refused(name, " needs Spec.Backend; use NewSpec")
	}
	s.Kernel, err = engine.Parts{Backend: s.Backend, Sizes: sizes}.Plan(s.Kernel.Problem())
	return err
}

// averageDescent returns the certificate of the average iterate of a descent over pairs.
func (s Spec) averageDescent(steps int, eta float64, pairs engine.Pairs) privacy.AverageDescent {
	return privacy.AverageDescent{GradientDescent: s.gradientDescent(steps, eta, pairs),
		OutputError: averageError(steps, s.Kernel.Problem().Radius)}
}

// meanRoundoff bounds the error of a computed mean gradient over pairs, without the error of the division.
func meanRoundoff(k engine.Kernel, pairs engine.Pairs) float64 {
	return k.Bounds(engine.Query{Pairs: pairs}).Sum / float64(pairs.Len())
}

// pairFraction returns the largest share of the pairs that contain one record, rounded up, at most 1.
func pairFraction(p engine.Pairs) float64 {
	return min(1, float64(p.MaxPerRecord())/float64(p.Len())*(1+0x1p-51))
}

// MeanGradient returns the certificate of one computed gradient sum divided by the number of pairs
// (docs/theory.md#mean-gradient). The sum is over all pairs, or over all pairs within query groups. An
// algorithm that adds noise to every gradient releases this value.
func (s Spec) MeanGradient() (privacy.Certificate, error) {
	return s.meanGradient(s.Kernel.Problem().Pairs(), 0)
}

func (s Spec) meanGradient(pairs engine.Pairs, batch int) (privacy.Certificate, error) {
	return privacy.MeanGradient{
		Batch:        batch,
		Records:      s.Kernel.Problem().N,
		PairDiameter: s.Constants.PairDiameter,
		PairFraction: pairFraction(pairs),
		Error:        s.meanGradientError(pairs),
	}.Certify()
}

// meanGradientError bounds the error of a gradient sum over pairs divided by their
// number, or half of its change when one record is replaced (engine.QueryBounds.Neighbour).
//
// Proof. The computed sum divided exactly by the number of pairs is off by at most meanRoundoff, and its norm
// is at most G plus meanRoundoff. The conversion of the number and the division are two roundings. They add at
// most 2 u times the norm and a term for underflow. Half of the change of a sum of errors is at most half of
// the change of the first error plus the bound of the others. QED
func (s Spec) meanGradientError(pairs engine.Pairs) float64 {
	b, count := s.Kernel.Bounds(engine.Query{Pairs: pairs}), float64(pairs.Len())
	mean, own := b.Sum/count, b.OneRecord()/count
	return (own + 0x1p-52*(s.Constants.Lipschitz+mean) + 0x1p-1000*float64(s.coordinates())) * (1 + 0x1p-40)
}

// averageError bounds the error of the mean of n vectors of norm at most r, summed one after the other. The
// bound is gamma_n r.
func averageError(n int, radius float64) float64 {
	return float64(n+2) * 0x1p-53 * 1.01 * radius
}

// worstMeanRoundoff bounds the error of the mean gradient of every step of a
// pass over n records.
func worstMeanRoundoff(k engine.Kernel, n int) float64 {
	worst := 0.0
	for t := 1; t < n; t++ {
		worst = max(worst, meanRoundoff(k, engine.PrefixPairs{T: t}))
	}
	return worst
}

// curvature returns the constants of the objective for a certificate.
func (s Spec) curvature() privacy.Curvature {
	return privacy.Curvature{
		PairDiameter:    s.Constants.PairDiameter,
		Smoothness:      s.Constants.Smoothness,
		StrongConvexity: s.L2,
		Convex:          s.Constants.Convex,
		Diameter:        s.Kernel.Problem().Domain().Diameter(),
	}
}

// coordinates returns the number of released coordinates.
func (s Spec) coordinates() int {
	p := s.Kernel.Problem()
	return p.Loss.ParamDim(p.D)
}
