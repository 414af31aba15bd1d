package privtest

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
)

// unknownEvent is an event that no accountant can know.
type unknownEvent struct{ account.Event }

// CheckAccountant runs the checks that every account.Accountant must pass. The function fresh returns an
// accountant with an empty composition. The accountant must support GaussianEvent, NonPrivateEvent,
// PublicEvent and ComposedEvent. The checks are:
//   - an empty composition, or public events only, costs epsilon 0 and delta 0;
//   - after a non-private release, the cost is epsilon +Inf and delta 1;
//   - an unknown or invalid event is an error that changes nothing, even as the last part
//     of a ComposedEvent; for an unknown event the error wraps ErrUnsupported;
//   - epsilon decreases with delta, delta decreases with epsilon, both increase with every
//     event, and less noise costs more;
//   - Delta(Epsilon(delta)) <= delta up to 1e-9 relative;
//   - the cost is the same in any order, nested or flat, and for Count as for repetition,
//     up to 1e-9 relative;
//   - one and many Gaussian releases cost at least the exact value.
func CheckAccountant(fresh func() account.Accountant) error {
	for _, check := range []struct {
		name string
		run  func(func() account.Accountant) error
	}{
		{"nothing released", checkEmpty},
		{"non-private release", checkNonPrivate},
		{"rejected events", checkRejected},
		{"monotone", checkMonotone},
		{"composition", checkComposition},
		{"lower bounds", checkLowerBounds},
	} {
		if err := check.run(fresh); err != nil {
			return fmt.Errorf("privtest: accountant, %s: %w", check.name, err)
		}
	}
	return nil
}

var (
	deltas = []float64{1e-12, 1e-9, 1e-6, 1e-5, 1e-3, 1e-2, 0.1, 0.5}
	base   = account.GaussianEvent{Sensitivity: 0.5, Sigma: 2}
)

func compose(a account.Accountant, events ...account.Event) error {
	for _, e := range events {
		if err := a.Compose(e); err != nil {
			return fmt.Errorf("composing %v: %w", e, err)
		}
	}
	return nil
}

// curve returns the answers of the accountant at fixed points.
func curve(a account.Accountant) []float64 {
	var v []float64
	for _, d := range deltas {
		v = append(v, a.Epsilon(d))
	}
	for _, e := range []float64{0, 0.01, 0.1, 1, 4} {
		v = append(v, a.Delta(e))
	}
	return v
}

func near(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] && !(math.Abs(a[i]-b[i]) <= 1e-9*max(math.Abs(a[i]), math.Abs(b[i]))) {
			return false
		}
	}
	return true
}

func checkEmpty(fresh func() account.Accountant) error {
	a := fresh()
	for range 2 {
		for _, d := range append([]float64{0}, deltas...) {
			if e := a.Epsilon(d); e != 0 {
				return fmt.Errorf("Epsilon(%v) = %v, want 0", d, e)
			}
		}
		for _, e := range []float64{0, 1} {
			if d := a.Delta(e); d != 0 {
				return fmt.Errorf("Delta(%v) = %v, want 0", e, d)
			}
		}
		if err := compose(a, account.PublicEvent{}, account.ComposedEvent{}); err != nil {
			return err
		}
	}
	return nil
}

func checkNonPrivate(fresh func() account.Accountant) error {
	a := fresh()
	for _, e := range []account.Event{
		account.ComposedEvent{Events: []account.Event{base, account.NonPrivateEvent{}}}, base, account.PublicEvent{},
	} {
		if err := compose(a, e); err != nil {
			return err
		}
		if e, d := a.Epsilon(0.1), a.Delta(100); !math.IsInf(e, 1) || d != 1 {
			return fmt.Errorf("epsilon %v and delta %v after a non-private release, want +Inf and 1", e, d)
		}
	}
	return nil
}

func checkRejected(fresh func() account.Accountant) error {
	nan, inf := math.NaN(), math.Inf(1)
	type testCase struct {
		event   account.Event
		unknown bool
	}
	cases := []testCase{{event: nil, unknown: true}, {event: unknownEvent{base}, unknown: true}}
	for _, v := range []float64{0, -1, nan, inf} {
		cases = append(cases,
			testCase{event: account.GaussianEvent{Sensitivity: v, Sigma: 1}},
			testCase{event: account.GaussianEvent{Sensitivity: 1, Sigma: v}})
	}
	cases = append(cases,
		testCase{event: account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 1}, 0)},
		testCase{event: account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 1}, -1)})
	a := fresh()
	if err := compose(a, base); err != nil {
		return err
	}
	before := curve(a)
	for _, c := range cases {
		nested := account.ComposedEvent{Events: []account.Event{base,
			account.ComposedEvent{Events: []account.Event{base, c.event}}}}
		for _, e := range []account.Event{c.event, nested} {
			err := a.Compose(e)
			if err == nil {
				return fmt.Errorf("accepted %#v", e)
			}
			if c.unknown && !errors.Is(err, account.ErrUnsupported) {
				return fmt.Errorf("an unknown event gives an error that does not wrap ErrUnsupported: %w", err)
			}
			after := curve(a)
			for i := range after {
				if after[i] != before[i] {
					return fmt.Errorf("the rejected event %#v changed the state from %v to %v", e, before[i], after[i])
				}
			}
		}
	}
	return nil
}

func checkMonotone(fresh func() account.Accountant) error {
	a := fresh()
	last := curve(a)
	for i := range 6 {
		e := base
		e.Sigma *= float64(1 + i%3)
		if err := compose(a, account.Repeat(e, 1+i)); err != nil {
			return err
		}
		now := curve(a)
		for j := range now {
			if now[j] < last[j] || math.IsNaN(now[j]) {
				return fmt.Errorf("one more release must not lower the cost, but it fell from %v to %v", last[j], now[j])
			}
		}
		last = now
		for j, d := range deltas[1:] {
			if a.Epsilon(d) > a.Epsilon(deltas[j]) {
				return fmt.Errorf("epsilon is larger at delta %v than at delta %v", d, deltas[j])
			}
		}
		for eps := 0.0; eps < 3; eps += 0.25 {
			if a.Delta(eps+0.25) > a.Delta(eps) {
				return fmt.Errorf("delta is larger at epsilon %v than at epsilon %v", eps+0.25, eps)
			}
		}
		for _, d := range deltas {
			if got := a.Delta(a.Epsilon(d)); got > d*(1+1e-9) {
				return fmt.Errorf("Delta(Epsilon(%v)) = %v", d, got)
			}
		}
	}
	noisy, quiet := fresh(), fresh()
	if err := errors.Join(compose(noisy, base), compose(quiet,
		account.GaussianEvent{Sensitivity: 0.5, Sigma: 1})); err != nil {
		return err
	}
	if !(noisy.Epsilon(1e-5) < quiet.Epsilon(1e-5)) {
		return errors.New("the cost must grow when the noise is halved, but it did not")
	}
	return nil
}

func checkComposition(fresh func() account.Accountant) error {
	one := account.GaussianEvent{Sensitivity: 1, Sigma: 7}
	other := account.Repeat(one, 3)
	want := fresh()
	if err := compose(want, base, other); err != nil {
		return err
	}
	for name, events := range map[string][]account.Event{
		"another order":   {other, base},
		"repetition":      {one, base, one, one},
		"ComposedEvent":   {account.ComposedEvent{Events: []account.Event{base, account.PublicEvent{}, other}}},
		"nested composed": {account.ComposedEvent{Events: []account.Event{account.ComposedEvent{Events: []account.Event{other}}, base}}},
	} {
		a := fresh()
		if err := compose(a, events...); err != nil {
			return err
		}
		if w, g := curve(want), curve(a); !near(w, g) {
			return fmt.Errorf("%s: %v, want %v", name, g, w)
		}
	}
	return nil
}

// checkLowerBounds compares with docs/theory.md#gdp. For Gaussian releases mu = sqrt(Count) Sensitivity/Sigma
// is exact. So no sound accountant is below these (epsilon, delta, mu) reference values by more than their
// rounding.
func checkLowerBounds(fresh func() account.Accountant) error {
	for _, r := range []struct{ epsilon, delta, mu float64 }{
		{1, 1. / 64, .577560}, {1, 1. / 512, .419846}, {1, 1e-5, .268051},
		{2, 1e-5, .501552}, {2.5, 1e-5, .611994}, {1, 1e-6, .236704},
	} {
		for _, count := range []int{1, 100} {
			a := fresh()
			sigma := 3 * math.Sqrt(float64(count)) / r.mu
			if err := compose(a, account.Repeat(account.GaussianEvent{Sensitivity: 3, Sigma: sigma}, count)); err != nil {
				return err
			}
			if got := a.Epsilon(r.delta); got < r.epsilon*(1-1e-5) {
				return fmt.Errorf("mu %v: epsilon %v at delta %v is below the exact %v", r.mu, got, r.delta, r.epsilon)
			}
		}
	}
	return nil
}
