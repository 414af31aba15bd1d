package privtest_test

import (
	"math"
	"testing"

	"dyad/internal/must"
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
		must.CheckDo(t, privtest.CheckPureAccountant(fresh), name)
	}
}

// cheap is GDP with a defect in what it makes of pure events.
type cheap struct {
	account.GDP
	change func(one account.Event, count int) account.Event
}

func (c *cheap) Compose(e account.Event) error {
	if r, ok := e.(account.RepeatedEvent); ok {
		return c.GDP.Compose(c.change(r.Event, r.Count))
	}
	return c.GDP.Compose(c.change(e, 1))
}

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
			return &cheap{change: func(e account.Event, count int) account.Event {
				if p, ok := e.(account.PureEvent); ok {
					p.Epsilon *= 0.99
					e = p
				}
				return account.Repeat(e, count)
			}}
		}, "pure releases"},
		"forgets Count": {func() account.Accountant {
			return &cheap{change: func(e account.Event, count int) account.Event {
				if p, ok := e.(account.PureEvent); ok && p.Epsilon > 0 && count > 1 {
					count--
				}
				return account.Repeat(e, count)
			}}
		}, "pure releases"},
		"mu = epsilon": {func() account.Accountant { // not the theorem's 1.25 epsilon
			return &cheap{change: func(e account.Event, count int) account.Event {
				if p, ok := e.(account.PureEvent); ok && p.Epsilon > 0 && count > 0 {
					return account.Repeat(account.GaussianEvent{Sensitivity: p.Epsilon, Sigma: 1}, count)
				}
				return account.Repeat(e, count)
			}}
		}, "pure releases"},
		"Laplace as variance only": {func() account.Accountant {
			return &cheap{change: func(e account.Event, count int) account.Event {
				if l, ok := e.(account.LaplaceEvent); ok && l.Sensitivity > 0 && l.Scale > 0 && count > 0 {
					return account.Repeat(account.GaussianEvent{Sensitivity: l.Sensitivity, Sigma: l.Scale * math.Sqrt2}, count)
				}
				return account.Repeat(e, count)
			}}
		}, "Laplace release"},
		"rounds down at delta 0": {func() account.Accountant { return new(optimist) }, "delta 0"},
		"accepts anything": {func() account.Accountant {
			return &cheap{change: func(e account.Event, count int) account.Event {
				if p, ok := e.(account.PureEvent); ok && !(p.Epsilon > 0) {
					return account.PublicEvent{}
				}
				return account.Repeat(e, count)
			}}
		}, "accepted"},
	} {
		must.FailDo(t, privtest.CheckPureAccountant(c.fresh), c.want, name)
	}
}
