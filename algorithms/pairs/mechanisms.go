package pairs

import (
	"errors"
	"math"

	"dyad/algorithms"
	"dyad/privacy"
)

// Staircase is the epsilon-DP noise of Soria-Comas and Domingo-Ferrer 2013 (SCDF), and of Geng and Viswanath, for
// one number of sensitivity 1. For a vector, every coordinate gets noise with its share of epsilon. Any shift of a
// coordinate, however small, may cost the whole epsilon of this coordinate (docs/theory.md#coordinate-mechanisms).
type Staircase struct{ Epsilon float64 }

// Gamma returns the width of the upper part of a stair, in (0, 1). This width minimises the variance for small
// epsilon. Its limit at epsilon 0 is 1/2.
func (s Staircase) Gamma() float64 { return 1 / (1 + math.Exp(s.Epsilon/2)) }

// Variance returns E X^2. It is computed from E K = b/(1-b) and E K^2 = b(1+b)/(1-b)^2 of the geometric K.
func (s Staircase) Variance() float64 {
	b, g := math.Exp(-s.Epsilon), s.Gamma()
	one := -math.Expm1(-s.Epsilon)
	k1, k2 := b/one, b*(1+b)/(one*one)
	between := func(lo, hi float64) float64 { // E (K + U)^2, U uniform
		return k2 + k1*(lo+hi) + (lo*lo+lo*hi+hi*hi)/3
	}
	p := g / (g + (1-g)*b)
	return p*between(0, g) + (1-p)*between(g, 1)
}

// Duchi is the mechanism of Duchi, Jordan and Wainwright 2018 for one number in [-1, 1]. It returns Size or -Size
// and is unbiased. It is epsilon-DP for any two numbers.
type Duchi struct{ Epsilon float64 }

// Size returns (e^epsilon + 1)/(e^epsilon - 1).
func (m Duchi) Size() float64 { return (math.Exp(m.Epsilon) + 1) / math.Expm1(m.Epsilon) }

// MechanismNoise is the noise that a mechanism needs for the guarantee of a plan.
type MechanismNoise struct {
	Name string `json:"name"`
	// RMS is the root mean square error of one coordinate of the mean gradient of a batch, in units of the clip. A
	// coordinate of the mean gradient is at most 1.
	RMS float64 `json:"rms"`
	// Trains reports whether training supports this mechanism, so that flags of the plan can select it.
	Trains bool `json:"trains"`
}

var errNoMechanisms = errors.New("pairs: to compare mechanisms, leave out --mode, --method, --sampling, --tuple " +
	"and --all-pairs")

// Mechanisms compares mechanisms at the epsilon of a plan: the mechanisms of [Li20] Figure 10, K-norm noise and
// Gaussian noise. The guarantee of every mechanism is proved (docs/theory.md#coordinate-mechanisms). Gaussian noise
// is at the plan's delta, if it has one, and the other mechanisms are at delta = 0.
func (p *Plan) Mechanisms() ([]MechanismNoise, error) {
	s := p.Spec
	if !s.listed() || s.Method != Gradients || s.Sampling != Fixed || s.Mode != algorithms.Certified {
		return nil, errNoMechanisms
	}
	m := float64(s.weights())
	var all []MechanismNoise
	if s.Budget.Delta > 0 {
		all = append(all, MechanismNoise{"Gaussian", p.Noise().NoiseNorm(s.weights()) / math.Sqrt(m), true})
	}
	s.Budget.Delta = 0
	for _, kind := range []privacy.PureNoise{privacy.KNormNoise, privacy.LaplaceNoise} {
		s.Noise = kind
		pure, err := s.Plan()
		if err != nil {
			return nil, err
		}
		all = append(all, MechanismNoise{pure.Noise().Name(), pure.Noise().NoiseNorm(s.weights()) / math.Sqrt(m), true})
	}
	stairs, coin := s.shares()
	return append(all,
		MechanismNoise{"SCDF", 2 / float64(s.Batch) * math.Sqrt(stairs.Variance()), false},
		MechanismNoise{"Duchi", coin.Size(), false}), nil
}

// shares returns the mechanisms for a coordinate of one batch, with their part of epsilon. The stairs are as wide as
// the move of the mean gradient by one pair. So all pairs of a unit together cost Kappa shares in an epoch, whether
// the pairs are in one batch or in several. The mechanism of Duchi costs its share in each batch that has a pair of
// the unit.
func (s Spec) shares() (Staircase, Duchi) {
	_, batches, _ := s.epoch()
	each := s.Budget.Epsilon / float64(s.weights()*s.Epochs)
	return Staircase{each / float64(s.Kappa)}, Duchi{each / float64(min(s.Kappa, batches))}
}
