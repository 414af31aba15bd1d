package account

import (
	"errors"
	"math"
	"testing"

	"dyad/internal/must"
)

func TestParallelEventCostsItsWorstPart(t *testing.T) {
	gauss := func(mu float64) Event { return GaussianEvent{Sensitivity: mu, Sigma: 1} }
	of := func(events ...Event) *GDP {
		t.Helper()
		var a GDP
		for _, e := range events {
			must.Do(t, a.Compose(e))
		}
		return &a
	}
	near := func(what string, got, want float64) {
		must.Within(t, got, want, want*(1+1e-12), "%s", what)
	}
	parts := ParallelEvent{Parts: []Event{gauss(0.3), gauss(0.5), gauss(0.4)}}
	near("mu of the parts", of(parts).Mu(), 0.5)
	near("mu of the sequence, the control", of(ComposedEvent{Events: parts.Parts}).Mu(), math.Sqrt(0.5))
	near("two runs", of(parts, parts).Mu(), math.Sqrt(0.5))
	near("a part of two releases", of(ParallelEvent{Parts: []Event{gauss(0.5), Repeat(GaussianEvent{Sensitivity: 0.4, Sigma: 1}, 2)}}).Mu(), 0.4*math.Sqrt2)
	pure := of(ParallelEvent{Parts: []Event{PureEvent{Epsilon: 0.2}, PureEvent{Epsilon: 0.7}}}, PureEvent{Epsilon: 0.1})
	near("pure", pure.Epsilon(0), 0.8)
	must.Above(t, of(ParallelEvent{Parts: []Event{gauss(1), NonPrivateEvent{}}}).Mu(), math.MaxFloat64, "a non-private part costs")
	mixed := of(ParallelEvent{Parts: []Event{gauss(0.3), PureEvent{Epsilon: 0.2}}})
	for _, e := range []Event{gauss(0.3), PureEvent{Epsilon: 0.2}} {
		if got, part := mixed.Epsilon(1e-5), of(e).Epsilon(1e-5); got < part {
			t.Errorf("the parts cost %.6g and %v alone costs %.6g", got, e, part)
		}
	}
	var a GDP
	must.ErrDo(t, a.Compose(ParallelEvent{}), "a parallel event without parts was composed")
	if err := a.Compose(ParallelEvent{Parts: []Event{gauss(1), UnknownEvent{}}}); !errors.Is(err, ErrUnsupported) || a != (GDP{}) {
		t.Errorf("an unknown part: %v, account %+v", err, a)
	}
	// The other accountants refuse rather than add up something else.
	for _, other := range []Accountant{&ZCDP{}, &RDP{}, &PLD{}} {
		if err := other.Compose(parts); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%T: %v", other, err)
		}
	}
}
