package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// DPFTRL is follow-the-regularised-leader on noisy prefix sums of pairwise gradients. It uses the square-root
// Toeplitz factorisation A = B C of the prefix-sum matrix ([Kairouz21], [FHU23], docs/theory.md#prefix-sums).
// The release at update b is the vector y_b. It is row b of C g plus noise,
//
//	y_b = sum_(s<=b) c_(b-s) q_s + N(0, sigma^2 I),
//
// and all other outputs are functions of y_1..y_b. These outputs are the noisy prefix sum S_b = (A C^-1 y)_b
// and the iterate w_b = Pi_C[(w_0 - eta S_b)/(1 + eta alpha b)]. The iterate minimises <S_b, w> + b alpha/2
// ||w||^2 + 1/(2 eta) ||w - w_0||^2 over C. The noise of S_b is (B z)_b and is correlated between updates. Its
// norm grows with log b; the noise of OnPairC grows with sqrt(b).
//
// In Certified mode all releases together are (epsilon, delta)-DP for replacing one record. The certificate is
// privacy.PairwiseStream with a Factor. A record takes part in many updates, so the sensitivity is the norm of
// C u_k, not the norm of a column.
//
// The state holds noiseless sums of gradients, about 20 vectors of the model's size for any number of records
// (docs/theory.md#toeplitz-factor). It holds no noise, because the noise of every row is independent and was
// released with the row. A resumed stream draws fresh noise for rows that were never released.
type DPFTRL struct{}

// Info describes the algorithm.
func (DPFTRL) Info() Info { return Described("dpftrl", Info{Modes: []Mode{Certified}}) }

// Plan computes the factor, the step size, the certificate and the noise.
//
// Roundoff: the gradients of a row are off by at most rho each, and the filter adds its own rounding errors
// (ToeplitzFactor.RowError). The certificate includes both errors. Iterates are post-processing.
//
// Regret. Let w*_b be the iterate from the noiseless prefix sum of the gradients of the run. Then sum_b <g_b,
// w*_(b-1) - u> <= D^2/(2 eta) + eta T G~^2/2 (FTRL with a quadratic regulariser). Let N_b be the noise of
// S_b. Further ||w_b - w*_b|| <= eta ||N_b||, as Pi_C and the division are non-expansive. So the regret is at
// most D^2/(2 eta) + eta T G~ (G~/2 + mean_b ||N_b||), and eta is the minimiser of this bound.
func (a DPFTRL) Plan(s Spec) (*Plan, error) {
	i := a.Info()
	if err := checkStream(i, s, NoiseFedBack); err != nil {
		return nil, err
	}
	p := newStreamPlan(i, s, streamRule{secret: true, release: (*Online).prefixSum})
	updates := p.Schedule.Steps
	factor, err := privacy.SquareRootToeplitz(updates)
	if err != nil {
		return nil, Refused(i.Name, " with %d updates: %w", updates, err)
	}
	query := meanOfMeansError(worstMeanRoundoff(s.Kernel, s.largestT()+1), s)
	stream := s.pairwise(s.BurnIn, nil, factor.RowError(s.Constants.Lipschitz+query, query, updates))
	stream.Factor, p.stream().factor = factor, factor
	c, err := stream.Certify()
	if err != nil {
		return nil, Refused(i.Name, ": %w", err)
	}
	if p.Releases, err = s.calibrated(c); err != nil {
		return nil, err
	}
	pr := s.Kernel.Problem()
	last, noise := factor.PrefixNoise(updates)
	noise *= p.Noise().NoiseNorm(s.coordinates())
	gradient := s.Constants.Lipschitz + s.L2*pr.Radius
	length := math.Sqrt(float64(updates) * gradient * (gradient + 2*noise))
	eta := pr.Domain().Diameter() / length
	p.stream().eta, p.stream().last = func(int) float64 { return eta }, last*eta
	p.Schedule.Name = fmt.Sprintf("eta = ||C||/sqrt(T G~ (G~ + 2 N)) = %.6g; ||C|| = diameter, T = updates, G~ = G "+
		"+ alpha r = gradient bound, N = %.6g = mean noise of a prefix sum", eta, noise)
	if s.Constants.Convex {
		p.Regret = pr.Domain().Diameter() * length
	}
	return p, p.finish("update b releases row b of C g with its own noise, and nothing else; C = Toeplitz factor, "+
		"g = gradients of the updates; the sums of gradients stay secret; a saved state is kept as private as the "+
		"records", nil)
}

// prefixState is the state of DPFTRL between updates.
type prefixState struct {
	gradients *privacy.ToeplitzFilter // the filter of the noiseless q_s; secret
	noisy     *privacy.ToeplitzFilter // the filter of C^-1 y, a function of releases
	total     []float64               // S_b, a function of releases
}

// newPrefixState returns the initial state, or nil if f is nil.
func newPrefixState(f *privacy.ToeplitzFactor, d int) *prefixState {
	if f == nil {
		return nil
	}
	return &prefixState{privacy.NewToeplitzFilter(f, d), privacy.NewToeplitzFilter(f, d), make([]float64, d)}
}

// prefixSum releases row b of C g and makes the iterate from the noisy prefix sum.
func (o *Online) prefixSum() ([]float64, error) {
	s := o.prefix
	copy(o.sum, o.query)
	s.gradients.AddPast(o.query, 1)
	s.gradients.Push(o.sum)
	if err := o.session.Release(o.query, o.plan.Certificate(), o.plan.Noise()); err != nil {
		return nil, err
	}
	s.noisy.AddPast(o.query, -1) // row b of C^-1 y: a noisy gradient
	s.noisy.Push(o.query)
	eta := o.plan.stream().eta(o.updates)
	shrink := 1 + eta*o.update.alpha*float64(o.updates)
	for k, start := range o.update.domain.Start() {
		s.total[k] += o.query[k]
		o.w[k] = (start - eta*s.total[k]) / shrink
	}
	return o.publish(o.w)
}
