package account

import (
	"fmt"
	"math"
	"slices"

	"dyad/privacy/internal/round"
)

// LaplaceEvent is Count adaptive releases, each of a query with replace-one L1
// sensitivity Sensitivity plus exact independent Laplace noise of density
// exp(-|x|/Scale)/(2 Scale) in every coordinate, rounded to a grid after the
// addition. Each one is (Sensitivity/Scale)-DP.
type LaplaceEvent struct {
	Sensitivity float64 // L1, > 0, roundoff included
	Scale       float64 // > 0
	Count       int     // >= 1
}

// PureEvent is Count adaptive releases, each by a mechanism that is
// Epsilon-differentially private under replace-one and of which nothing else is
// known: K-norm noise of scale sensitivity/Epsilon, randomised response, a sum of
// such parts.
type PureEvent struct {
	Epsilon float64 // > 0
	Count   int     // >= 1
}

// RandomizedResponseEvent is Count adaptive releases, each the answer of one
// record to a question with Buckets possible answers: uniform over all of them
// with probability Uniform, else the true one. Under replace-one the true answer
// may change into any other.
type RandomizedResponseEvent struct {
	Buckets int     // >= 2
	Uniform float64 // in (0, 1]
	Count   int     // >= 1
}

func (LaplaceEvent) event()            {}
func (PureEvent) event()               {}
func (RandomizedResponseEvent) event() {}

// String returns e.g. "Laplace(sensitivity 1, scale 2) x 10".
func (e LaplaceEvent) String() string {
	return fmt.Sprintf("Laplace(sensitivity %.6g, scale %.6g) x %d", e.Sensitivity, e.Scale, e.Count)
}

// String returns e.g. "pure DP(epsilon 0.5) x 1".
func (e PureEvent) String() string {
	return fmt.Sprintf("pure DP(epsilon %.6g) x %d", e.Epsilon, e.Count)
}

// String returns e.g. "randomized response(10 buckets, uniform 0.3) x 1".
func (e RandomizedResponseEvent) String() string {
	return fmt.Sprintf("randomized response(%d buckets, uniform %.6g) x %d", e.Buckets, e.Uniform, e.Count)
}

// Validate returns an error unless all numbers are in range.
func (e LaplaceEvent) Validate() error {
	return checkEvent("a Laplace event", e.Count, "sensitivity", e.Sensitivity, "scale", e.Scale)
}

// Validate returns an error unless all numbers are in range.
func (e PureEvent) Validate() error {
	return checkEvent("a pure event", e.Count, "epsilon", e.Epsilon, "epsilon", e.Epsilon)
}

// Validate returns an error unless all numbers are in range.
func (e RandomizedResponseEvent) Validate() error {
	if e.Buckets < 2 {
		return fmt.Errorf("account: a randomized response has %d buckets, must be at least 2", e.Buckets)
	}
	if !(e.Uniform > 0 && e.Uniform <= 1) {
		return fmt.Errorf("account: a randomized response is uniform with probability %v, must be in (0, 1]", e.Uniform)
	}
	return checkEvent("a randomized response", e.Count, "probability", e.Uniform, "probability", e.Uniform)
}

func positive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("account: %s is %v, must be positive and finite", name, v)
	}
	return nil
}

// checkEvent checks the count and two numbers that must be positive and finite.
func checkEvent(what string, count int, name1 string, v1 float64, name2 string, v2 float64) error {
	if err := positive(name1+" of "+what, v1); err != nil {
		return err
	}
	if err := positive(name2+" of "+what, v2); err != nil {
		return err
	}
	if count < 1 {
		return fmt.Errorf("account: count of %s is %d, must be at least 1", what, count)
	}
	return nil
}

// probabilities returns the chance of the true answer and of each other one.
func (e RandomizedResponseEvent) probabilities() (same, other float64) {
	other = e.Uniform / float64(e.Buckets)
	return 1 - e.Uniform + other, other
}

// pureEpsilon is the epsilon of a leaf event by itself, all its releases counted:
// basic composition, rounded up. It is +Inf for a mechanism without pure epsilon.
// e has been validated.
func pureEpsilon(e Event) float64 {
	switch e := e.(type) {
	case LaplaceEvent:
		return round.Up(float64(e.Count)*round.Up(e.Sensitivity/e.Scale, 1), 1)
	case PureEvent:
		return round.Up(float64(e.Count)*e.Epsilon, 1)
	case PureStreamEvent:
		return e.Epsilon
	case RandomizedResponseEvent:
		if e.Uniform == 1 {
			return 0
		}
		// (same-other)/other = (1-Uniform) Buckets/Uniform; in this form nothing
		// cancels: 1-Uniform is exact from 1/2 on and within 2 ulp below.
		return round.Up(float64(e.Count)*math.Log1p((1-e.Uniform)*float64(e.Buckets)/e.Uniform), 16)
	case PoissonEvent:
		if e.Law == LaplaceLaw {
			return round.Up(float64(e.Count)*e.base().lossBound(), 1)
		}
	case WithoutReplacementEvent:
		if e.Law == LaplaceLaw {
			return round.Up(float64(e.Count)*e.base().lossBound(), 1)
		}
	}
	return math.Inf(1)
}

// addUp adds two nonnegative numbers, rounded up; adding 0 changes nothing.
func addUp(a, b float64) float64 {
	if b == 0 {
		return a
	}
	if a == 0 {
		return b
	}
	return round.Up(a+b, 1)
}

// leaves calls add for every event of e that is not composed, in order, and stops
// at the first error. It leaves out public releases.
func leaves(e Event, add func(Event) error) error {
	switch e := e.(type) {
	case PublicEvent:
		return nil
	case ComposedEvent:
		for i, part := range e.Events {
			if err := leaves(part, add); err != nil {
				return fmt.Errorf("part %d of %d: %w", i+1, len(e.Events), err)
			}
		}
		return nil
	}
	return add(e)
}

// Repeat is count adaptive releases of an event that Mechanism.Event returned for one.
func Repeat(one Event, count int) Event {
	switch e := one.(type) {
	case GaussianEvent:
		e.Count = count
		return e
	case WithoutReplacementEvent:
		e.Count = count
		return e
	case PoissonEvent:
		e.Count = count
		return e
	case LaplaceEvent:
		e.Count = count
		return e
	case PureEvent:
		e.Count = count
		return e
	}
	return ComposedEvent{Events: slices.Repeat([]Event{one}, count)}
}
