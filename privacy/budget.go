package privacy

import (
	"fmt"
	"math"
)

// Budget is the total (epsilon, delta) that a run may spend.
type Budget struct {
	Epsilon float64 `json:"epsilon"` // Epsilon is positive and finite.
	Delta   float64 `json:"delta"`   // Delta is in (0, 1) for Gaussian noise. The value 0 asks for pure epsilon-DP.
}

// Validate returns an error unless the budget is in range.
func (b Budget) Validate() error {
	if !(b.Epsilon > 0) || math.IsInf(b.Epsilon, 0) {
		return fmt.Errorf("privacy: epsilon is %v, must be positive and finite", b.Epsilon)
	}
	if !(b.Delta >= 0 && b.Delta < 1) {
		return fmt.Errorf("privacy: delta is %v, must be at least 0 and below 1", b.Delta)
	}
	return nil
}

// DefaultDelta returns min(1e-5, n^-1.5) for n records (design rule 3).
func DefaultDelta(n int) float64 {
	return min(1e-5, math.Pow(float64(n), -1.5))
}

// DeltaWarning returns a warning of one sentence if delta > 1/(10 n), and "" otherwise. With such a delta,
// even a mechanism that publishes one random record without any protection satisfies the guarantee
// (docs/theory.md#delta).
func DeltaWarning(delta float64, n int) string {
	if n > 0 && delta > 1/(10*float64(n)) {
		return fmt.Sprintf("delta = %.4g is so large (above 1/(10 n) = %.4g) that it allows the leak of a random "+
			"record; prefer %.3g", delta, 1/(10*float64(n)), DefaultDelta(n))
	}
	return ""
}
