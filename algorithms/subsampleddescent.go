package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// SubsampledDescent is noisy gradient descent on random batches: a step uses all pairs within a few records,
// which are drawn anew without replacement in every step (docs/theory.md#subsampled-descent). A step costs
// BatchRecords^2 pairs instead of n^2, and privacy is amplified by the secret draw (sub-sampling).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record. The guarantee follows from
// privacy.MeanGradient on a batch and the composition of T privacy loss distributions of batches without
// replacement (account.WithoutReplacementEvent). It covers every iterate.
type SubsampledDescent struct {
	descends
	// BatchRecords is the batch size m. If it is 0, the public rule is m = n min(1/2, 2 mu/sqrt(T)), but at
	// least 2. The noise is then about the sensitivity of a step. At this noise, amplification begins.
	BatchRecords int
	// Steps, StepSize and TotalStep have the same meaning as in GradientPerturbation.
	Steps               int
	StepSize, TotalStep float64
	Optimizer           `options:"Update Momentum Decay Tail"`
}

// Info describes the algorithm.
func (SubsampledDescent) Info() Info {
	return Described("subsampled-descent", Info{Modes: []Mode{Certified}, DefaultL2: usualL2, Withholds: true})
}

// batch returns the batch size m.
func (a SubsampledDescent) batch(s Spec, steps int) (int, error) {
	n := s.Kernel.Problem().N
	m := a.BatchRecords
	if m == 0 {
		m = max(2, int(float64(n)*min(0.5, 2*noiseMu(s.Budget, s.coordinates())/math.Sqrt(float64(steps)))))
	}
	switch {
	case m < 2:
		return 0, Refused("subsampled-descent", ": a batch of %d records has no pair; draw at least 2", m)
	case m >= n:
		return 0, Refused("subsampled-descent", ": the batch size %d must be below the number of records, %d; draw "+
			"fewer, or use gradient-perturbation", m, n)
	}
	return m, nil
}

// Plan computes the schedule, the certificate and the noise.
func (a SubsampledDescent) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := a.Optimizer.schedule(a.Info().Name, descentOptions{a.Steps, a.StepSize, a.TotalStep}, s)
	if err != nil {
		return nil, err
	}
	d := descent{noise: onGradients, Optimizer: a.Optimizer}
	if d.batch, err = a.batch(s, schedule.Steps); err != nil {
		return nil, err
	}
	if err := s.planParts(a.Info().Name, d.batch); err != nil {
		return nil, err
	}
	p, err := d.planGradients(a.Info(), s, schedule)
	if err != nil {
		return nil, err
	}
	c := p.Certificate()
	p.Guarantee.Assumptions = append(p.Guarantee.Assumptions, "which records were in which batch stays secret")
	p.Guarantee.Derivation += fmt.Sprintf("; each of %d releases uses a secret batch of %d of %d records, and "+
		"privacy loss distributions compose the releases; basic composition would need sigma = %.6g, and batches "+
		"without secrecy would need sigma = %.6g",
		schedule.Steps, d.batch, s.Kernel.Problem().N, privacy.BasicBatchSigma(c, s.Budget, schedule.Steps),
		privacy.UnsampledSigma(c, s.Budget, schedule.Steps))
	return p, nil
}
