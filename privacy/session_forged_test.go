package privacy_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

type forgedEvent struct{ account.GaussianEvent }

// What is not an event of package account, in range and nested as it must be, gets no
// session, no charge, no total and no record, whatever it is wrapped in.
func TestForgedEvents(t *testing.T) {
	g := account.GaussianEvent{Sensitivity: 1, Sigma: 1}
	poisson := func(e account.Event, rate float64) account.Event {
		return account.PoissonEvent{Event: e, Rate: rate, Relation: account.ReplaceOne}
	}
	subset := func(e account.Event) account.Event {
		return account.WithoutReplacementEvent{Event: e, Batch: 1, Records: 9}
	}
	twice := func(e account.Event) account.Event { return account.RepeatedEvent{Event: e, Count: 2} }
	once := account.RepeatedEvent{Event: g, Count: 1}
	for name, e := range map[string]account.Event{
		"nil": nil, "pointer": &g, "embedded": forgedEvent{g}, "anonymous": struct{ account.Event }{g},
		"unknown": account.UnknownEvent{Kind: "gaussian"}, "not a number": account.GaussianEvent{Sensitivity: math.NaN(), Sigma: 1},
		"embedded, repeated": twice(forgedEvent{g}), "embedded in a batch": poisson(forgedEvent{g}, 0.1),
		"embedded, composed": account.ComposedEvent{Events: []account.Event{g, forgedEvent{g}}},
		"embedded, parallel": account.ParallelEvent{Parts: []account.Event{g, forgedEvent{g}}},
		"pointer in a batch": poisson(&g, 0.1), "nil in a batch": poisson(nil, 0.1), "nil in a subset": subset(nil),
		"nil, repeated": twice(nil), "nil, composed": account.ComposedEvent{Events: []account.Event{g, nil}},
		"repeated twice": twice(twice(g)), "once, repeated": twice(once), "composed, repeated": twice(account.ComposedEvent{Events: []account.Event{g}}),
		"parallel, repeated": twice(account.ParallelEvent{Parts: []account.Event{g}}), "stream, repeated": twice(account.StreamEvent{Sensitivity: 1, Sigma: 1, Count: 3}),
		"non-private, repeated": twice(account.NonPrivateEvent{}), "public, repeated": twice(account.PublicEvent{}),
		"no times": account.RepeatedEvent{Event: g}, "negative times": account.RepeatedEvent{Event: g, Count: -1},
		"batch of a batch": poisson(poisson(g, 0.1), 0.1), "subset of a batch": subset(poisson(g, 0.1)),
		"batch of releases": poisson(twice(g), 0.1), "subset of releases": subset(twice(g)),
		"batch of a count": poisson(once, 0.1), "subset of a count": subset(once),
		"batch of exact releases": poisson(account.NonPrivateEvent{}, 0.1), "batch of public releases": poisson(account.PublicEvent{}, 0.1),
		"batch of parts": poisson(account.ParallelEvent{Parts: []account.Event{g}}, 0.1), "rate": poisson(g, math.NaN()),
	} {
		charged := false
		s, err := privacy.NewSession(privacy.NewSeededSource(1), []account.Event{e}, func() (privacy.Receipt, error) {
			charged = true
			return privacy.Receipt{}, nil
		})
		if err == nil || s != nil || charged {
			t.Errorf("%s: session %v, charged %v, error %v", name, s != nil, charged, err)
		}
		must.ErrDo(t, new(account.Total).Compose(e), "%s: has a total", name)
		if raw, err := account.Encode(e); err == nil {
			t.Errorf("%s: is recorded as %s", name, raw)
		}
	}
}
