package account

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// ErrUnsupported is wrapped by Accountant.Compose for an event that the
// accountant does not know.
var ErrUnsupported = errors.New("account: the accountant does not support this event")

// Accountant composes events adaptively and states what they cost together.
// Both answers are upper bounds: never below the real number.
type Accountant interface {
	// Compose adds an event. On error (wrapping ErrUnsupported for an event that it does
	// not know) the accountant is unchanged; no part of a ComposedEvent is added.
	Compose(Event) error
	// Epsilon is an epsilon >= 0 such that everything composed is (epsilon,
	// delta)-DP, +Inf if there is none.
	Epsilon(delta float64) float64
	// Delta is a delta of [0, 1] such that everything composed is (epsilon,
	// delta)-DP.
	Delta(epsilon float64) float64
}

// GDP accounts by Gaussian differential privacy: releases with parameters mu_t compose
// adaptively to mu^2 = sum mu_t^2, and this is exact for Gaussian noise [Dong, Roth and
// Su 2022, Corollary 3.3; docs/theory.md#gdp]. A release with pure epsilon is
// PureGDPMu(epsilon)-GDP, which is proved but not tight. So the answers are the better of
// two bounds that both hold: everything as GDP, or the pure epsilons added to the epsilon
// of the rest. The second is basic composition: an (e1, 0)-DP and an (e2, delta)-DP
// release are (e1+e2, delta)-DP together. The zero value has composed nothing.
type GDP struct {
	mu2  float64 // sum of mu_t^2 over all releases, rounded up; +Inf: no guarantee
	rest float64 // the same without the pure releases
	pure upSum   // of the pure epsilons

	sampled bool // batches were counted as if they were known
}

var _ Accountant = (*GDP)(nil)

// Compose adds the event. It knows all events but those about secret batches.
func (a *GDP) Compose(e Event) error {
	next := *a
	if err := next.compose(e, false); err != nil {
		return err
	}
	*a = next
	return nil
}

// Mu is a mu such that everything composed is mu-GDP, rounded up: 0 for nothing,
// +Inf for a non-private release. Epsilon and Delta can be better than what
// follows from it if pure releases were composed.
func (a *GDP) Mu() float64 { return rootUp(a.mu2) }

func rootUp(mu2 float64) float64 {
	if mu2 == 0 {
		return 0
	}
	return round.Up(math.Sqrt(mu2), 1)
}

// Epsilon is the smaller of GDPEpsilon(Mu, delta) and, with the pure releases
// counted by their epsilons, the sum of these and GDPEpsilon of the rest. At
// delta = 0 it is finite if all releases are pure.
func (a *GDP) Epsilon(delta float64) float64 {
	all, pure := GDPEpsilon(a.Mu(), delta), a.pure.value()
	if pure == 0 {
		return all
	}
	return min(all, addUp(pure, GDPEpsilon(rootUp(a.rest), delta)))
}

// Delta is the smaller of GDPDelta(epsilon, Mu) and GDPDelta of what the pure
// releases leave of epsilon for the rest.
func (a *GDP) Delta(epsilon float64) float64 {
	all, pure := GDPDelta(epsilon, a.Mu()), a.pure.value()
	if pure == 0 || !(epsilon >= pure) {
		return all
	}
	left := epsilon - pure
	if left > 0 {
		left = math.Nextafter(left, 0)
	}
	return min(all, GDPDelta(left, rootUp(a.rest)))
}

// compose adds e; with known, batches count as if they were known.
func (a *GDP) compose(e Event, known bool) error {
	f, err := describe(e)
	if err != nil {
		return err
	}
	switch {
	case f.shape == public:
	case f.shape == nonPrivate:
		a.mu2, a.rest = math.Inf(1), math.Inf(1)
	case f.shape == composed:
		return each(f.parts, func(part Event) error { return a.compose(part, known) })
	case f.shape == parallel:
		return a.composeParallel(f.parts, known)
	case f.known != nil && known:
		if f.neighbours() != ReplaceOne {
			return fmt.Errorf("%w: %v counts neighbours that GDP does not", ErrUnsupported, e)
		}
		a.sampled = true
		return a.compose(Repeat(f.known, f.count), known)
	case f.known != nil:
		return f.unsupported()
	case f.pure != nil:
		mu := f.mu
		if mu == 0 {
			mu = PureGDPMu(f.pure.one())
		}
		a.composePure(f.pure.one(), mu, f.times())
	case f.mu > 0:
		mu2 := round.Up(float64(f.times())*f.mu*f.mu, 6)
		a.mu2, a.rest = round.Up(a.mu2+mu2, 1), round.Up(a.rest+mu2, 1)
	default:
		return f.unsupported()
	}
	return nil
}

// composePure adds count releases of pure epsilon each, which are mu-GDP. Uniform randomised
// response has epsilon 0 and costs nothing.
func (a *GDP) composePure(epsilon, mu float64, count int) {
	if epsilon == 0 {
		return
	}
	a.mu2 = round.Up(a.mu2+round.Up(float64(count)*mu*mu, 6), 1)
	a.pure.addTimes(count, epsilon)
}
