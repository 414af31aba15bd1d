package account

import (
	"fmt"
	"math"
)

// BoundedRangeEvent is a random choice among outcomes, such as a draw of the exponential mechanism. For
// every outcome, consider the difference between its log probabilities under two neighbouring data sets.
// The differences of all outcomes are within an interval of length Epsilon. The draw is
// Epsilon-differentially private. It is also mu-GDP for mu = PureGDPMu(Epsilon/2), which is less than
// PureGDPMu(Epsilon), the mu for an arbitrary mechanism with the same epsilon.
//
// Proof: docs/theory.md#bounded-range.
type BoundedRangeEvent struct {
	Epsilon float64 `json:"epsilon"` // Epsilon is > 0.
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
		// PLD and RDP treat the event as a pure event of the same epsilon.
		law:   PureEvent(e).facts().law,
		renyi: func(alpha float64) float64 { return pureRenyi(alpha, e.Epsilon) },
	}
}

func (recorded) BoundedRange() kind { return record[BoundedRangeEvent]("bounded-range") }
