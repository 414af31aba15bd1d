package pairs

import (
	"fmt"

	"dyad/algorithms"
	"dyad/engine/pairgraph"
	"dyad/privacy"
	"dyad/privacy/account"
)

// TuplePlan is what a training from classes will do, computed from public numbers.
type TuplePlan struct {
	Spec        TupleSpec
	Terms       int // tuples, or pairs, of an epoch
	Batches     int // of an epoch
	Certificate privacy.Certificate
	Noise       privacy.Mechanism // of one release of a batch, in units of the clip; nil if gradients get none
	Events      []account.Event
	Guarantee   privacy.Guarantee
}

// Plan validates s and computes certificate, noise and guarantee. It wraps ErrPlan.
//
// Every release is q = (sum over a batch of terms clipped to h)/(|B| h) and the step
// uses h times the noisy q. The unit is one record, that of an individual who is in at most one
// tuple of an epoch (privacy.TupleBatches), or in Individuals - 1 pairs of all
// (privacy.PairGroup). Which pairs and triplets the classes make inside of a tuple
// changes its own term only, so classes are as private as features (docs/theory.md#tuples,
// docs/theory.md#all-pairs).
func (s TupleSpec) Plan() (*TuplePlan, error) {
	if err := s.fill(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	p := &TuplePlan{Spec: s}
	p.Terms, p.Batches, _ = s.epoch()
	if s.Mode == algorithms.NonPrivate {
		p.Events = []account.Event{account.NonPrivateEvent{}}
		p.Guarantee = privacy.Guarantee{Kind: privacy.None, Unit: "nobody", Released: "exact gradients of all batches", Warnings: []string{"non-private baseline: the model may reveal its records"}}
		return p, nil
	}
	if err := p.certify(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return p, nil
}

func (p *TuplePlan) certify() error {
	s := p.Spec
	_, batches, batch := s.epoch()
	var steps interface {
		Certify() (privacy.Certificate, error)
		CertifyPure() (privacy.Certificate, error)
	} = privacy.TupleBatches{Batch: batch, Batches: batches, Epochs: s.Epochs, Manhattan: s.Norm() == pairgraph.L1, Roundoff: p.roundoff()}
	if s.AllPairs {
		steps = privacy.PairGroup{Group: s.Individuals - 1, Batch: batch, Batches: 1, Epochs: s.Epochs, Roundoff: p.roundoff()}
	}
	var err error
	if s.Budget.Delta > 0 {
		if p.Certificate, err = steps.Certify(); err != nil {
			return err
		}
		p.Noise, err = gaussian(p.Certificate, s.Budget)
	} else {
		if p.Certificate, err = steps.CertifyPure(); err != nil {
			return err
		}
		p.Noise, err = privacy.CalibratePure(p.Certificate, s.Budget.Epsilon, s.Rows*s.Dim, s.Noise)
	}
	if err != nil {
		return err
	}
	return p.account()
}

// roundoff bounds the error of one computed release, relative to the clip: the sum of
// the terms, and three roundings a coordinate of a vector of norm at most 1.
func (p *TuplePlan) roundoff() float64 {
	s := p.Spec
	terms, batches, batch := s.epoch()
	rho := 0.0
	if s.AllPairs {
		rho = pairgraph.AllPairsError(s.Individuals, s.Rows, s.Dim, s.Clip) / (s.Clip * float64(batch))
	} else {
		for _, b := range []int{batch, terms - (batches-1)*batch} {
			rho = max(rho, pairgraph.SumError(s.Rows, s.Dim, b, s.Clip)/(s.Clip*float64(b)))
		}
	}
	return (rho + 3.1*0x1p-53*(1+rho)) * (1 + 0x1p-40)
}

func (p *TuplePlan) account() error {
	s := p.Spec
	p.Events = []account.Event{p.Noise.Event(p.Certificate)}
	var total account.GDP
	if err := total.Compose(p.Events[0]); err != nil {
		return err
	}
	draw := fmt.Sprintf("tuples of %d drawn by ids and a public seed", s.Tuple)
	if s.AllPairs {
		draw = "all pairs are used"
	}
	p.Guarantee = privacy.Guarantee{
		Kind: privacy.PureDP, Epsilon: total.Epsilon(s.Budget.Delta), Delta: s.Budget.Delta,
		Unit:       "one record", // runs of other algorithms on the same records add up
		Relation:   "same n and ids, one record replaced, features and label",
		Released:   fmt.Sprintf("the matrix after each of %d batches in %d epochs, with %s noise", p.Batches*s.Epochs, s.Epochs, p.Noise.Name()),
		Derivation: p.Certificate.Derivation(),
		Assumptions: []string{
			fmt.Sprintf("public: %d records and their ids, d = %d, %s norm bound R = %g, %d rows, loss %s with its parameters, clip h = %g, batches and all options; rows were scaled down to R", s.Individuals, s.Dim, s.Norm(), s.Bound, s.Rows, s.Loss.Name(), s.Clip),
			identity(s.Identity),
			draw + ", whatever the records are",
			"the noise bits are secret",
		},
	}
	g := &p.Guarantee
	g.Assumptions = append(g.Assumptions, selection(s.SelectedByLabel)...)
	g.Warnings = append(g.Warnings, says(s.BoundsFromData, algorithms.BoundsFromData)...)
	if s.Budget.Delta > 0 {
		g.Kind, g.Mu = privacy.ApproxDP, total.Mu()
		if w := privacy.DeltaWarning(s.Budget.Delta, s.Individuals); w != "" {
			g.Warnings = append(g.Warnings, w)
		}
	}
	return nil
}

// Algorithm names the plan in ledgers and models.
func (p *TuplePlan) Algorithm() string {
	if p.Spec.AllPairs {
		return "all-pairs"
	}
	return "tuples"
}

// NoiseToSignal is the root mean square norm of the noise of one release over the
// largest norm of its mean gradient: above 1 a single step is mostly noise.
func (p *TuplePlan) NoiseToSignal() float64 {
	if p.Noise == nil {
		return 0
	}
	return p.Noise.NoiseNorm(p.Spec.Rows * p.Spec.Dim)
}
