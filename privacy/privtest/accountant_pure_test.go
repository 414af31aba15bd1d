package privtest_test

import (
	"math"
	"strings"
	"testing"

	"dyad/privacy/account"
	"dyad/privacy/privtest"
)

func TestAccountantsPassThePureChecks(t *testing.T) {
	for name, fresh := range map[string]func() account.Accountant{
		"GDP":  func() account.Accountant { return new(account.GDP) },
		"zCDP": func() account.Accountant { return new(account.ZCDP) },
		"RDP":  func() account.Accountant { return new(account.RDP) },
		"PLD":  func() account.Accountant { return new(account.PLD) },
	} {
		if err := privtest.CheckPureAccountant(fresh); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// cheap is GDP with a defect in what it makes of pure events.
type cheap struct {
	account.GDP
	change func(account.Event) account.Event
}

func (c *cheap) Compose(e account.Event) error { return c.GDP.Compose(c.change(e)) }

// optimist promises nothing wrong but at delta = 0.
type optimist struct{ account.GDP }

func (o *optimist) Epsilon(delta float64) float64 {
	if delta == 0 {
		return 0.9 * o.GDP.Epsilon(0)
	}
	return o.GDP.Epsilon(delta)
}

func TestCheckPureAccountantRejectsDefects(t *testing.T) {
	for name, c := range map[string]struct {
		fresh func() account.Accountant
		want  string
	}{
		"1 % too little epsilon": {func() account.Accountant {
			return &cheap{change: func(e account.Event) account.Event {
				if p, ok := e.(account.PureEvent); ok {
					p.Epsilon *= 0.99
					return p
				}
				return e
			}}
		}, "pure releases"},
		"forgets Count": {func() account.Accountant {
			return &cheap{change: func(e account.Event) account.Event {
				if p, ok := e.(account.PureEvent); ok && p.Count > 1 {
					p.Count--
					return p
				}
				return e
			}}
		}, "pure releases"},
		"mu = epsilon": {func() account.Accountant { // not the theorem's 1.25 epsilon
			return &cheap{change: func(e account.Event) account.Event {
				if p, ok := e.(account.PureEvent); ok && p.Epsilon > 0 && p.Count > 0 {
					return account.GaussianEvent{Sensitivity: p.Epsilon, Sigma: 1, Count: p.Count}
				}
				return e
			}}
		}, "pure releases"},
		"Laplace as variance only": {func() account.Accountant {
			return &cheap{change: func(e account.Event) account.Event {
				if l, ok := e.(account.LaplaceEvent); ok && l.Sensitivity > 0 && l.Scale > 0 && l.Count > 0 {
					return account.GaussianEvent{Sensitivity: l.Sensitivity, Sigma: l.Scale * math.Sqrt2, Count: l.Count}
				}
				return e
			}}
		}, "Laplace release"},
		"rounds down at delta 0": {func() account.Accountant { return new(optimist) }, "delta 0"},
		"accepts anything": {func() account.Accountant {
			return &cheap{change: func(e account.Event) account.Event {
				if p, ok := e.(account.PureEvent); ok && !(p.Epsilon > 0) {
					return account.PublicEvent{}
				}
				return e
			}}
		}, "accepted"},
	} {
		if err := privtest.CheckPureAccountant(c.fresh); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error about %q", name, err, c.want)
		}
	}
}
