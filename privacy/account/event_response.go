package account

import (
	"fmt"
	"math"
)

// RandomizedResponseEvent is the randomised answer of one record to a question with Buckets possible answers.
// With probability Uniform the answer is uniform over all possible answers. Otherwise it is the true answer.
// When the record is replaced, the true answer may change to any other answer.
type RandomizedResponseEvent struct {
	Buckets int     // Buckets is >= 2.
	Uniform float64 // Uniform is in (0, 1].
}

// String returns e.g. "randomized response(10 buckets, uniform 0.3) x 1".
func (e RandomizedResponseEvent) String() string {
	return fmt.Sprintf("randomized response(%d buckets, uniform %.6g) x 1", e.Buckets, e.Uniform)
}

func (e RandomizedResponseEvent) validate() error {
	if e.Buckets < 2 {
		return fmt.Errorf("account: a randomized response has %d buckets, but must have at least 2", e.Buckets)
	}
	if !(e.Uniform > 0 && e.Uniform <= 1) {
		return fmt.Errorf("account: the probability of a random answer is %v, but must be in (0, 1]", e.Uniform)
	}
	return nil
}

func (e RandomizedResponseEvent) facts() facts {
	other := e.Uniform / float64(e.Buckets) // the probability of each false answer
	same, rest := 1-e.Uniform+other, float64(e.Buckets-2)*other
	// (same-other)/other = (1-Uniform) Buckets/Uniform; the right-hand form has no cancellation. 1-Uniform is
	// exact for Uniform >= 1/2 and within 2 ulp for smaller values. The expression is 0 for Uniform = 1.
	return facts{
		event: e, count: 1,
		pure: &purity{math.Log1p((1 - e.Uniform) * float64(e.Buckets) / e.Uniform), 16},
		law: func() releaseLaw {
			loss := math.Log1p((same - other) / other)
			return releaseLaw{atoms: []lossAtom{{loss, same}, {0, rest}, {-loss, other}}}
		},
		renyi: func(alpha float64) float64 {
			return finiteRenyi(alpha, []float64{same, other, rest}, []float64{other, same, rest})
		},
		barred: "sessions have no mechanism for randomised responses",
	}
}
