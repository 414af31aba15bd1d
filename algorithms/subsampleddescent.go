package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// SubsampledDescent is noisy gradient descent on all pairs within a few records, drawn
// anew without replacement in every step (docs/theory.md#subsampled-descent). A step costs BatchRecords^2
// pairs instead of n^2, and its noise is amplified by the secrecy of the draw.
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, by
// privacy.MeanGradient on a batch and the composition of T privacy loss distributions of
// batches without replacement (account.WithoutReplacementEvent). It covers every
// iterate.
type SubsampledDescent struct {
	// BatchRecords is m. 0 means the public rule: n min(1/2, 2 mu/sqrt(T)), at least
	// 2, where the noise is about one sensitivity of a step and amplification begins.
	BatchRecords int
	// Steps, StepSize and TotalStep are as in GradientPerturbation.
	Steps               int
	StepSize, TotalStep float64
	Optimizer           `options:"Update Momentum Decay Tail"`
}

// Info describes the algorithm.
func (SubsampledDescent) Info() Info {
	return Info{
		Name:       "subsampled-descent",
		NoGroups:   "gradient-perturbation",
		OwnKernels: true,
		Title:      "noisy gradient descent on all pairs within a few records, drawn anew in every step",
		Paper:      "[BBG18] Theorems 2 and 9 for [Kang21] Algorithm 1; composition by privacy loss distributions",
		Assumptions: []string{
			"the pair gradients have replace-one diameter Dg on the ball of radius r; no convexity, no smoothness",
			"records are drawn without replacement, by secret coins, anew in every step; all pairs within the batch are used",
			"n is public; data-independent start",
		},
		Released: "every noisy gradient, so every iterate; the last is returned; never the batches",
		Claim:    "none for pairs: [Kang21]'s moments accountant is about sampled losses of one record",
		Verdict:  "valid for sampled records. Not valid for sampled pairs, which cannot be chosen here: a record is in many pairs, so its chance to be in a batch of B pairs is about 2B/n, and it can be hit several times. For n <= 512 full batches (gradient-perturbation) are better",
		Maths: `w_t = Pi_C[w_(t-1) - eta (g_t + alpha w_(t-1))],  g_t = grad L(w_(t-1); S_t) + N(0, sigma^2 I),  t = 1..T
S_t: m of the n records, uniform without replacement, secret; L(.; S) the mean over the m(m-1) ordered pairs within S
two batches that differ in one record: Delta = 2 Dg/m + 2 rho;  gamma = m/n
one step: (e, d) on its batch is (ln(1 + gamma (exp(e)-1)), gamma d) on the data, for every e; its privacy loss is at most that of
          ((1-gamma) N(0,1) + gamma N(Delta/sigma,1), N(0,1)) above 0, and mirrored below
T steps: convolution of these losses, with bounds of all numerical errors; sigma is the smallest for which the result meets (epsilon, delta)`,
		Modes:     []Mode{Certified},
		Withholds: true,
		DefaultL2: usualL2,
	}
}

// batch is m.
func (a SubsampledDescent) batch(s Spec, steps int) (int, error) {
	n := s.Kernel.Problem().N
	m := a.BatchRecords
	if m == 0 {
		m = max(2, int(float64(n)*min(0.5, 2*noiseMu(s.Budget, s.coordinates())/math.Sqrt(float64(steps)))))
	}
	switch {
	case m < 2:
		return 0, fmt.Errorf("%w: subsampled-descent: a batch of %d records has no pair; draw at least 2", ErrAssumption, m)
	case m >= n:
		return 0, fmt.Errorf("%w: subsampled-descent: a batch of %d of %d records is not a sample; draw fewer, or use gradient-perturbation for full batches", ErrAssumption, m, n)
	}
	return m, nil
}

// Plan computes schedule, certificate and noise.
func (a SubsampledDescent) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	schedule, err := a.Optimizer.schedule(a.Info().Name, descentOptions{a.Steps, a.StepSize, a.TotalStep}, s)
	if err != nil {
		return nil, err
	}
	d := noisyDescent{name: a.Info().Name, Optimizer: a.Optimizer}
	if d.batch, err = a.batch(s, schedule.Steps); err != nil {
		return nil, err
	}
	if s.Kernel, err = (engine.Parts{Backend: s.Backend, Sizes: []int{d.batch}}).Plan(problem); err != nil {
		return nil, err
	}
	c, err := d.certificate(s)
	if err != nil {
		return nil, err
	}
	noise, err := privacy.CalibrateGaussian(c, s.Budget, schedule.Steps)
	if err != nil {
		return nil, err
	}
	p, err := d.plan(s, schedule, c, noise, "")
	if err != nil {
		return nil, err
	}
	p.Guarantee.Assumptions = append(p.Guarantee.Assumptions, "which records were in which batch stays secret")
	p.Guarantee.Derivation += fmt.Sprintf("; %d releases on secret batches of %d of %d records, composed by privacy loss distributions; basic composition of amplified steps would need sigma = %.6g, known batches %.6g",
		schedule.Steps, d.batch, problem.N, privacy.BasicBatchSigma(c, s.Budget, schedule.Steps), privacy.UnsampledSigma(c, s.Budget, schedule.Steps))
	return p, nil
}

// Train runs the descent and returns its last iterate, or the mean of the last ones (Optimizer.Tail).
func (a SubsampledDescent) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	batch, _ := p.Certificate().Batch()
	return noisyDescent{name: a.Info().Name, batch: batch, Optimizer: a.Optimizer}.train(ctx, ev, p, s, t)
}
