package account

import "fmt"

// PureStreamEvent is at most Count adaptive releases which together are
// Epsilon-differentially private: for every pair of neighbours there are public numbers
// e_1 + e_2 + ... <= Epsilon such that, whatever was released before, release i is
// e_i-DP. So are all together, by adaptive composition.
type PureStreamEvent struct {
	Epsilon float64 // of all releases, > 0
	Count   int     // >= 1
}

func (PureStreamEvent) event() {}

// String returns e.g. "pure DP stream(epsilon 0.5 in all) x 1000".
func (e PureStreamEvent) String() string {
	return fmt.Sprintf("pure DP stream(epsilon %.6g in all) x %d", e.Epsilon, e.Count)
}

// Validate returns an error unless all numbers are in range.
func (e PureStreamEvent) Validate() error {
	return checkEvent("a pure stream event", e.Count, "epsilon", e.Epsilon, "epsilon", e.Epsilon)
}
