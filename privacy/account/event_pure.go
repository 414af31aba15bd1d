package account

import (
	"cmp"
	"fmt"
	"math"
)

// PureEvent is one release by any mechanism that is Epsilon-differentially private (with delta = 0) under
// replace-one. Examples are K-norm noise of scale sensitivity/Epsilon, randomised response, and a composition
// of such mechanisms.
type PureEvent struct {
	Epsilon float64 `json:"epsilon"` // Epsilon is > 0.
}

// String returns e.g. "pure DP(epsilon 0.5) x 1".
func (e PureEvent) String() string { return fmt.Sprintf("pure DP(epsilon %.6g) x 1", e.Epsilon) }

func (e PureEvent) validate() error { return positive("epsilon of a pure event", e.Epsilon) }

func (e PureEvent) facts() facts {
	return facts{
		event: e, count: 1,
		pure: &purity{epsilon: e.Epsilon},
		// Randomised response dominates [Kairouz, Oh and Viswanath 2015].
		law: func() releaseLaw {
			p := 1 / (1 + math.Exp(-e.Epsilon))
			return releaseLaw{atoms: []lossAtom{{e.Epsilon, p}, {-e.Epsilon, math.Exp(-e.Epsilon) * p}}}
		},
		renyi: func(alpha float64) float64 { return pureRenyi(alpha, e.Epsilon) },
	}
}

func (recorded) Pure() kind { return record[PureEvent]("pure") }

// PureStreamEvent is a sequence of at most Count adaptive releases that together are Epsilon-differentially
// private. For every pair of neighbouring data sets there are public numbers e_1 + e_2 + ... <= Epsilon such
// that release i is e_i-DP for every outcome of the earlier releases. By adaptive composition, all releases
// together are Epsilon-DP.
type PureStreamEvent struct {
	Epsilon float64 `json:"epsilon"` // Epsilon covers all releases and is > 0.
	Count   int     `json:"count"`   // Count is >= 1.
}

// String returns e.g. "pure DP stream(epsilon 0.5 in all) x 1000".
func (e PureStreamEvent) String() string {
	return fmt.Sprintf("pure DP stream(epsilon %.6g in all) x %d", e.Epsilon, e.Count)
}

func (e PureStreamEvent) validate() error {
	return cmp.Or(positive("epsilon of a pure stream event", e.Epsilon), counted("a pure stream event", e.Count))
}

func (e PureStreamEvent) facts() facts {
	return facts{event: e, count: e.Count, joint: true, pure: &purity{epsilon: e.Epsilon}}
}

func (recorded) PureStream() kind { return record[PureStreamEvent]("pure-stream") }
