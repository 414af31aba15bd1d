package account

import (
	"cmp"
	"fmt"
	"math"
)

// PureEvent is one release by a mechanism that is Epsilon-differentially private under
// replace-one and of which nothing else is known: K-norm noise of scale sensitivity/Epsilon,
// randomised response, a sum of such parts.
type PureEvent struct {
	Epsilon float64 `json:"epsilon"` // > 0
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

// PureStreamEvent is at most Count adaptive releases which together are
// Epsilon-differentially private: for every pair of neighbours there are public numbers
// e_1 + e_2 + ... <= Epsilon such that, whatever was released before, release i is
// e_i-DP. So are all together, by adaptive composition.
type PureStreamEvent struct {
	Epsilon float64 `json:"epsilon"` // of all releases, > 0
	Count   int     `json:"count"`   // >= 1
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
