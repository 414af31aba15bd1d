package local

import (
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// ShuffleEpsilon returns the central epsilon of n messages, one from each of n users, if one user's
// record is replaced. Each message is epsilon0-locally private, and the analyst gets the messages
// in a uniformly random order that stays hidden. The epsilon is
//
//	ln(1 + (e^e0 - 1)/(e^e0 + 1) (8 sqrt(e^e0 ln(4/delta))/sqrt n + 8 e^e0/n)),
//
// rounded up, at most epsilon0 (Feldman, McMillan and Talwar, "Hiding among the clones", FOCS 2021,
// Theorem 3.1; cited, not proved again here). It holds for adaptive messages, where the randomiser
// of a user may depend on earlier messages of the shuffled order. It assumes that everybody who
// sees the messages knows neither the order nor the sender of a message. So the result does not
// hold for a server that receives the messages one by one from known users. Repeated epochs with
// fresh orders compose.
//
// It returns an error if the theorem does not apply: epsilon0 > ln(n/(16 ln(2/delta))).
func ShuffleEpsilon(epsilon0 float64, n int, delta float64) (float64, error) {
	if err := checkLocalEpsilon(epsilon0); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) || n < 1 {
		return 0, fmt.Errorf("local: shuffle amplification got %d messages and delta %v; want at least 1 message "+
			"and 0 < delta < 1", n, delta)
	}
	limit := math.Log(float64(n) / (16 * math.Log(2/delta)))
	if !(epsilon0 < limit*(1-0x1p-40)) {
		return 0, fmt.Errorf("local: shuffling %d messages at delta %g helps only below the local epsilon %.4g; "+
			"here it is %g, so the guarantee stays at epsilon %g", n, delta, max(limit, 0), epsilon0, epsilon0)
	}
	e := math.Exp(epsilon0)
	gain := math.Tanh(epsilon0/2) * (8*math.Sqrt(e*math.Log(4/delta)/float64(n)) + 8*e/float64(n))
	return min(epsilon0, round.Up(math.Log1p(gain), 32)), nil
}
