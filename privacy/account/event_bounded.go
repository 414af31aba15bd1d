package account

import (
	"fmt"
	"math"
)

// BoundedRangeEvent is one draw whose log probabilities under two neighbours differ by numbers within an interval of length Epsilon, such
// as that of the exponential mechanism. It is Epsilon-differentially private and, with less than that takes for any such mechanism,
// mu-GDP for mu = PureGDPMu(Epsilon/2).
//
// Proof: docs/theory.md#bounded-range.
type BoundedRangeEvent struct {
	Epsilon float64 `json:"epsilon"` // > 0
}

// String returns e.g. "exponential mechanism(epsilon 0.5) x 1".
func (e BoundedRangeEvent) String() string {
	return fmt.Sprintf("exponential mechanism(epsilon %.6g) x 1", e.Epsilon)
}

func (e BoundedRangeEvent) validate() error {
	return positive("epsilon of an exponential mechanism", e.Epsilon)
}

func (e BoundedRangeEvent) facts() facts {
	return facts{
		event: e, count: 1,
		mu:   max(PureGDPMu(e.Epsilon/2), math.SmallestNonzeroFloat64),
		pure: &purity{epsilon: e.Epsilon},
		// PLD and RDP know it as any pure event of Epsilon.
		law:   PureEvent(e).facts().law,
		renyi: func(alpha float64) float64 { return pureRenyi(alpha, e.Epsilon) },
	}
}

func (recorded) BoundedRange() kind { return record[BoundedRangeEvent]("bounded-range") }
