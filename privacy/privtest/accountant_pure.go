package privtest

import (
	"fmt"
	"math"

	"dyad/privacy/account"
)

// CheckPureAccountant runs the checks that an account.Accountant must pass if it supports PureEvent and
// LaplaceEvent. The function fresh returns an accountant with an empty composition. The checks use two exact
// costs: the cost of randomised response with the given epsilon, and the cost of Laplace noise:
//   - k pure releases cost at least as much as k answers of randomised response, in
//     epsilon at any delta, including 0, and in delta at any epsilon;
//   - one Laplace release costs at least its exact curve;
//   - an event that is out of range is an error that changes nothing.
func CheckPureAccountant(fresh func() account.Accountant) error {
	for _, epsilon := range []float64{0.01, 0.3, 1, 3} {
		for _, k := range []int{1, 2, 20} {
			a := fresh()
			if err := a.Compose(account.Repeat(account.PureEvent{Epsilon: epsilon}, k)); err != nil {
				return fmt.Errorf("privtest: pure releases: %w", err)
			}
			exact := func(e float64) float64 { return responseDelta(epsilon, k, e) }
			if err := checkAgainstCurve(a, exact, float64(k)*epsilon); err != nil {
				return fmt.Errorf("privtest: %d pure releases of epsilon %v: %w", k, epsilon, err)
			}
		}
		a := fresh()
		if err := a.Compose(account.LaplaceEvent{Sensitivity: 3 * epsilon, Scale: 3}); err != nil {
			return fmt.Errorf("privtest: Laplace release: %w", err)
		}
		// delta(e) = 1 - exp((e - epsilon)/2) for e <= epsilon.
		exact := func(e float64) float64 { return max(0, -math.Expm1((e-epsilon)/2)) }
		if err := checkAgainstCurve(a, exact, epsilon); err != nil {
			return fmt.Errorf("privtest: Laplace release of epsilon %v: %w", epsilon, err)
		}
	}
	a := fresh()
	if err := compose(a, base); err != nil {
		return err
	}
	before := curve(a)
	for _, e := range []account.Event{
		account.PureEvent{}, account.PureEvent{Epsilon: -1}, account.PureEvent{Epsilon: math.NaN()},
		account.PureEvent{Epsilon: math.Inf(1)}, account.Repeat(account.PureEvent{Epsilon: 1}, 0),
		account.LaplaceEvent{Scale: 1}, account.LaplaceEvent{Sensitivity: 1},
		account.Repeat(account.LaplaceEvent{Sensitivity: 1, Scale: 1}, -1),
	} {
		if err := a.Compose(e); err == nil {
			return fmt.Errorf("privtest: accepted %#v", e)
		}
		if !near(curve(a), before) {
			return fmt.Errorf("privtest: rejected %#v changed the state", e)
		}
	}
	return nil
}

// checkAgainstCurve compares the accountant with the exact delta(epsilon) of one mechanism of pure epsilon
// total.
func checkAgainstCurve(a account.Accountant, exact func(float64) float64, total float64) error {
	if e := a.Epsilon(0); e < total*(1-1e-12) {
		return fmt.Errorf("epsilon at delta 0 is %v, but must be at least %v", e, total)
	}
	for _, d := range deltas {
		if e := a.Epsilon(d); exact(e) > d*(1+1e-9) {
			return fmt.Errorf("epsilon %v was given for delta %v, but its exact delta is %v",
				e, d, exact(e))
		}
	}
	for i := range 16 {
		e := total * float64(i) / 16
		if d := a.Delta(e); d < exact(e)*(1-1e-9) {
			return fmt.Errorf("delta %v was returned for epsilon %v, want at least the exact delta %v",
				d, e, exact(e))
		}
	}
	return nil
}

// responseDelta is the exact delta(e) of k answers of binary randomised response with P(true answer) = p =
// exp(epsilon)/(1+exp(epsilon)). With j false answers the loss is (k - 2j) epsilon.
func responseDelta(epsilon float64, k int, e float64) float64 {
	sum, binomial := 0.0, 1.0
	logNorm := float64(k) * math.Log1p(math.Exp(epsilon))
	for j := 0; float64(k-2*j)*epsilon > e; j++ {
		p := binomial * math.Exp(float64(k-j)*epsilon-logNorm)
		sum += p * -math.Expm1(e-float64(k-2*j)*epsilon)
		binomial *= float64(k-j) / float64(j+1)
	}
	return sum
}
