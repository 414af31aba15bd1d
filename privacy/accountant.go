package privacy

import (
	"errors"
	"fmt"
	"math"
)

// ErrUnsupported is wrapped by Accountant.Compose for an event that the
// accountant does not know.
var ErrUnsupported = errors.New("privacy: the accountant does not support this event")

// Accountant composes events adaptively and states what they cost together.
// Both answers are upper bounds: never below the real number.
type Accountant interface {
	// Compose adds an event. On error (wrapping ErrUnsupported for an event that
	// it does not know) nothing was added, not even parts of a ComposedEvent.
	Compose(Event) error
	// Epsilon is an epsilon >= 0 such that everything composed is (epsilon,
	// delta)-DP, +Inf if there is none.
	Epsilon(delta float64) float64
	// Delta is a delta of [0, 1] such that everything composed is (epsilon,
	// delta)-DP.
	Delta(epsilon float64) float64
}

// GDP accounts by Gaussian differential privacy: releases with parameters mu_t
// compose adaptively to mu^2 = sum mu_t^2, and this is exact for Gaussian noise
// [Dong, Roth and Su 2022, Corollary 3.3; privacy.md 1.4]. The zero value has
// composed nothing.
type GDP struct {
	mu2 float64 // sum of Count (Sensitivity/Sigma)^2, rounded up; +Inf: no guarantee
}

var _ Accountant = (*GDP)(nil)

// Compose adds the event. It knows GaussianEvent, NonPrivateEvent, PublicEvent
// and ComposedEvent.
func (a *GDP) Compose(e Event) error {
	mu2, err := composeGDP(a.mu2, e)
	if err != nil {
		return err
	}
	a.mu2 = mu2
	return nil
}

// Mu is the mu of everything composed, rounded up: 0 for nothing, +Inf for a
// non-private release.
func (a *GDP) Mu() float64 {
	if a.mu2 == 0 {
		return 0
	}
	return roundUp(math.Sqrt(a.mu2), 1)
}

// Epsilon is GDPEpsilon(Mu, delta).
func (a *GDP) Epsilon(delta float64) float64 { return GDPEpsilon(a.Mu(), delta) }

// Delta is GDPDelta(epsilon, Mu).
func (a *GDP) Delta(epsilon float64) float64 { return GDPDelta(epsilon, a.Mu()) }

func composeGDP(mu2 float64, e Event) (float64, error) {
	switch e := e.(type) {
	case GaussianEvent:
		if err := e.validate(); err != nil {
			return 0, err
		}
		ratio := e.Sensitivity / e.Sigma
		return roundUp(mu2+roundUp(float64(e.Count)*ratio*ratio, 6), 1), nil
	case NonPrivateEvent:
		return math.Inf(1), nil
	case PublicEvent:
		return mu2, nil
	case ComposedEvent:
		for i, part := range e.Events {
			var err error
			if mu2, err = composeGDP(mu2, part); err != nil {
				return 0, fmt.Errorf("part %d of %d: %w", i+1, len(e.Events), err)
			}
		}
		return mu2, nil
	default:
		return 0, fmt.Errorf("%w: %T", ErrUnsupported, e)
	}
}

func (e GaussianEvent) validate() error {
	if err := positive("sensitivity of a Gaussian event", e.Sensitivity); err != nil {
		return err
	}
	if err := positive("sigma of a Gaussian event", e.Sigma); err != nil {
		return err
	}
	if e.Count < 1 {
		return fmt.Errorf("privacy: count of a Gaussian event is %d, must be at least 1", e.Count)
	}
	return nil
}
