package account

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// ErrUnsupported is wrapped by the error that Compose returns for an event that the accountant does not support.
var ErrUnsupported = errors.New("account: the accountant does not support this event")

// Accountant computes the privacy cost of an adaptive composition of events. Epsilon and Delta are upper
// bounds: they are never below the exact value.
type Accountant interface {
	// Compose adds an event. If it returns an error, the accountant is unchanged, and no part of a
	// ComposedEvent is added. If the accountant does not support the event, the error wraps
	// ErrUnsupported.
	Compose(Event) error
	// Epsilon returns an epsilon >= 0 for which the whole composition is (epsilon, delta)-DP. It returns
	// +Inf if there is no such epsilon.
	Epsilon(delta float64) float64
	// Delta returns a delta in [0, 1] for which the whole composition is (epsilon, delta)-DP.
	Delta(epsilon float64) float64
}

// GDP is an accountant for Gaussian differential privacy. An adaptive composition of mu_t-GDP releases is
// mu-GDP with mu^2 = sum mu_t^2, which is exact for Gaussian noise [Dong, Roth and Su 2022, Corollary 3.3;
// docs/theory.md#gdp]. An epsilon-DP release with delta = 0 (a pure release) is PureGDPMu(epsilon)-GDP. This
// bound is proved, but it is not tight.
//
// So Epsilon and Delta return the smaller of two valid bounds. The first bound treats every release as a GDP
// release. The second bound adds the epsilons of the pure releases to an epsilon for all other releases. The
// second bound is valid by basic composition: an (e1, 0)-DP release and an (e2, delta)-DP release are
// (e1+e2, delta)-DP together. The zero value is an empty composition.
type GDP struct {
	mu2  float64 // sum of mu_t^2 over all releases, rounded up; +Inf means no guarantee
	rest float64 // the same sum without the pure releases
	pure upSum   // sum of the pure epsilons

	sampled bool // batches were counted as if they were known
}

var _ Accountant = (*GDP)(nil)

// Compose adds the event. It supports all events except those about secret batches.
func (a *GDP) Compose(e Event) error {
	next := *a
	if err := next.compose(e, false); err != nil {
		return err
	}
	*a = next
	return nil
}

// Mu returns a value, rounded up, for which the whole composition is mu-GDP. It is 0 for an empty composition
// and +Inf after a non-private release. If pure releases were composed, Epsilon and Delta can be smaller than
// the values that follow from Mu.
func (a *GDP) Mu() float64 { return rootUp(a.mu2) }

func rootUp(mu2 float64) float64 {
	if mu2 == 0 {
		return 0
	}
	return round.Up(math.Sqrt(mu2), 1)
}

// Epsilon returns the smaller of two bounds. The first bound is GDPEpsilon(Mu, delta). The second bound is
// the sum of the pure epsilons plus GDPEpsilon for the releases that are not pure. At delta = 0 the result is
// finite if all releases are pure.
func (a *GDP) Epsilon(delta float64) float64 {
	all, pure := GDPEpsilon(a.Mu(), delta), a.pure.value()
	if pure == 0 {
		return all
	}
	return min(all, addUp(pure, GDPEpsilon(rootUp(a.rest), delta)))
}

// Delta returns the smaller of two bounds. The first bound is GDPDelta(epsilon, Mu). The second bound is
// GDPDelta for the releases that are not pure, at epsilon minus the sum of the pure epsilons.
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

// compose adds e. If known is true, batches count as if they were known.
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
			return fmt.Errorf("%w: GDP does not support the neighbouring relation of %v", ErrUnsupported, e)
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

// composePure adds count releases of pure epsilon each, which are mu-GDP. Uniform randomised response has
// epsilon 0 and costs nothing.
func (a *GDP) composePure(epsilon, mu float64, count int) {
	if epsilon == 0 {
		return
	}
	a.mu2 = round.Up(a.mu2+round.Up(float64(count)*mu*mu, 6), 1)
	a.pure.addTimes(count, epsilon)
}
