package account_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
	"dyad/privacy/privtest"
)

func TestGDPAccountant(t *testing.T) {
	must.CheckDo(t, privtest.CheckAccountant(func() account.Accountant { return new(account.GDP) }))
}

// broken is a GDP accountant with one defect.
type broken struct {
	account.GDP
	compose func(*account.GDP, account.Event) error
	epsilon func(*account.GDP, float64) float64
}

func (b *broken) Compose(e account.Event) error {
	if b.compose != nil {
		return b.compose(&b.GDP, e)
	}
	return b.GDP.Compose(e)
}

func (b *broken) Epsilon(delta float64) float64 {
	if b.epsilon != nil {
		return b.epsilon(&b.GDP, delta)
	}
	return b.GDP.Epsilon(delta)
}

// Accountants with a known defect, each rejected by the check that is about it.
func TestCheckAccountantRejectsDefects(t *testing.T) {
	for _, c := range []struct {
		name, check string
		broken      broken
	}{
		{"forgets the state", "non-private", broken{compose: func(a *account.GDP, e account.Event) error {
			*a = account.GDP{}
			return a.Compose(e)
		}}},
		{"ignores non-private releases", "non-private", broken{compose: func(a *account.GDP, e account.Event) error {
			if _, ok := e.(account.NonPrivateEvent); ok {
				return nil
			}
			if c, ok := e.(account.ComposedEvent); ok {
				for _, p := range c.Events {
					if _, ok := p.(account.NonPrivateEvent); !ok {
						if err := a.Compose(p); err != nil {
							return err
						}
					}
				}
				return nil
			}
			return a.Compose(e)
		}}},
		{"charges public events", "nothing released", broken{compose: func(a *account.GDP, e account.Event) error {
			if _, ok := e.(account.PublicEvent); ok {
				e = account.GaussianEvent{Sensitivity: 1, Sigma: 100}
			}
			return a.Compose(e)
		}}},
		{"keeps the parts of a rejected composition", "rejected events", broken{compose: func(a *account.GDP, e account.Event) error {
			if c, ok := e.(account.ComposedEvent); ok {
				for _, p := range c.Events {
					if err := a.Compose(p); err != nil {
						return err
					}
				}
				return nil
			}
			return a.Compose(e)
		}}},
		{"skips unknown events", "rejected events", broken{compose: func(a *account.GDP, e account.Event) error {
			if err := a.Compose(e); err != nil && !errors.Is(err, account.ErrUnsupported) {
				return err
			}
			return nil
		}}},
		{"counts a repeated release once", "composition", broken{compose: func(a *account.GDP, e account.Event) error {
			if r, ok := e.(account.RepeatedEvent); ok && r.Count > 0 {
				e = r.Event
			}
			return a.Compose(e)
		}}},
		{"half the epsilon", "monotone", broken{epsilon: func(a *account.GDP, delta float64) float64 { return a.Epsilon(delta) / 2 }}},
		{"epsilon grows with delta", "monotone", broken{epsilon: func(a *account.GDP, delta float64) float64 { return a.Epsilon((1 - delta) / 1e3) }}},
		{"half the sensitivity", "lower bounds", broken{compose: func(a *account.GDP, e account.Event) error {
			return a.Compose(halve([]account.Event{e})[0])
		}}},
	} {
		err := privtest.CheckAccountant(func() account.Accountant {
			b := c.broken
			return &b
		})
		if err == nil {
			t.Errorf("%s: not rejected", c.name)
		} else if !strings.Contains(err.Error(), c.check) {
			t.Errorf("%s: rejected by another check: %v", c.name, err)
		}
	}
}

func halve(events []account.Event) []account.Event {
	out := make([]account.Event, len(events))
	for i, e := range events {
		switch g := e.(type) {
		case account.GaussianEvent:
			g.Sensitivity /= 2
			e = g
		case account.RepeatedEvent:
			e = account.Repeat(halve([]account.Event{g.Event})[0], g.Count)
		case account.ComposedEvent:
			e = account.ComposedEvent{Events: halve(g.Events)}
		}
		out[i] = e
	}
	return out
}

// Mu is never below the real sqrt(sum Count (Sensitivity/Sigma)^2), and close.
func TestGDPMuIsRoundedUp(t *testing.T) {
	var a account.GDP
	const n = 10_000
	for range n {
		must.Do(t, a.Compose(account.Repeat(account.GaussianEvent{Sensitivity: 0.1, Sigma: 0.3}, 3)))
	}
	want := bigNew().Quo(bigf(0.1), bigf(0.3))
	want.Mul(want, want).Mul(want, bigf(3*n)).Sqrt(want)
	if rel := relative(a.Mu(), want); rel < 0 || rel > 1e-11 {
		t.Errorf("mu = %v, off by %v relative", a.Mu(), rel)
	}
	for _, c := range []struct {
		e     account.GaussianEvent
		count int
	}{{account.GaussianEvent{Sensitivity: 5e-324, Sigma: 1e300}, 1}, {account.GaussianEvent{Sensitivity: 1e-200, Sigma: 1}, 1}, {account.GaussianEvent{Sensitivity: 1, Sigma: 1e308}, math.MaxInt}} {
		var a account.GDP
		e := account.Repeat(c.e, c.count)
		if err := a.Compose(e); err != nil || !(a.Mu() > 0) || a.Mu() < math.Sqrt(float64(c.count))*(c.e.Sensitivity/c.e.Sigma) {
			t.Errorf("%v: mu = %v, error %v", e, a.Mu(), err)
		}
	}
	a = account.GDP{}
	if err := a.Compose(account.GaussianEvent{Sensitivity: 1e200, Sigma: 1e-200}); err != nil || !math.IsInf(a.Epsilon(0.1), 1) {
		t.Errorf("an overflowing mu must cost +Inf, got %v, error %v", a.Epsilon(0.1), err)
	}
}
