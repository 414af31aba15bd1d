package local

import (
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// EpsilonAgainstZero returns the largest ln(P(message | g)/P(message | 0)) over all vectors g and messages, rounded up:
// ln(2m e^Epsilon/(k e^Epsilon + 2m - k)). For k = m it is ln(2/(1 + e^-Epsilon)), which is less than half of Epsilon.
//
// Proof. The law of the seed is the same for both. Given the seed, 0 sends every candidate with
// probability 1/2m (Direction). A vector g sends no candidate with a probability above e^Epsilon/(k
// e^Epsilon + 2m - k). A favoured candidate has this probability if the sign of g~ is certain. QED
func (c *DirectionChannel) EpsilonAgainstZero() float64 {
	few := float64(c.m.Favoured) / float64(2*c.m.Pairs)
	return round.Up(-math.Log1p((1-few)*math.Expm1(-c.m.Epsilon)), 1<<12) // 1 + (...) loses up to 11 bits
}

// ParticipationEpsilon returns the epsilon of a visit, rounded up. A user first answers, by a
// randomised response of epsilon e_p, whether the record takes part. If this randomised answer is
// yes, the user also sends the private direction of the record's vector. The vector of a record
// that does not take part is 0. The epsilon is max(e_s, e_p + EpsilonAgainstZero), where e_s is the
// epsilon of c. It is exact if two records that take part can have opposite vectors of norm Bound,
// and a record that does not take part can replace one of them.
//
// Proof. Let t = 1/(1 + e^-e_p). A record that takes part answers yes with probability t, and a
// record that does not take part answers yes with probability 1 - t. Let p(x|g) be the probability
// of direction x. First case: both records take part. Silence is equally likely, and t p(x|g)/(t
// p(x|g')) <= e^e_s. Second case: neither takes part. The laws are equal. Third case: one record
// takes part and the other does not. Then t p(x|g)/((1-t) p(x|0)) <= e^e_p e^EpsilonAgainstZero. In
// the other direction, (1-t) p(x|0)/(t p(x|g)) <= e^-e_p (k e^e_s + 2m - k)/2m < e^e_s, since g
// sends no candidate with a probability below 1/(k e^e_s + 2m - k). Silence has the ratios
// e^(+-e_p), and EpsilonAgainstZero >= 0. QED
//
// The proof needs that the law of 0, given the seed, is uniform. For k < m without the shift of
// Direction, a candidate can have probability 1/(k e^e_s + 2m - k) from 0, and e^e_s times this
// probability from g. Then no epsilon below e_p + e_s holds.
func (c *DirectionChannel) ParticipationEpsilon(response float64) float64 {
	return max(c.m.Epsilon, round.Up(response+c.EpsilonAgainstZero(), 1))
}

// Participation splits epsilon between a randomised response, which tells whether a record takes
// part, and the direction m. It sets Epsilon in the response and in the direction so that
// ParticipationEpsilon is at most epsilon. share, in (0, 1), is the fraction of epsilon that the
// response gets. The direction gets what remains. If share is 0, the direction gets all of
// epsilon, and the response gets the largest epsilon that is then still possible, ln(1 + k/2m
// (e^epsilon - 1)). For k = m this is ln((1 + e^epsilon)/2), which is more than half of epsilon.
// EpsilonAgainstZero grows with the direction's epsilon. So for the same k, a larger epsilon for
// the response means a smaller epsilon for the direction, and conversely.
func (m Direction) Participation(epsilon, share float64) (RandomizedResponse, *DirectionChannel, error) {
	m.Epsilon = epsilon
	c, err := m.Channel()
	if err != nil {
		return RandomizedResponse{}, nil, err
	}
	const slack = 0x1p-48 // of epsilon: above the rounding of sums
	r := RandomizedResponse{Epsilon: epsilon*(1-slack) - c.EpsilonAgainstZero()}
	left := r.Epsilon
	if share != 0 {
		r.Epsilon = share * epsilon
	}
	if r.Epsilon > left {
		m.Favoured = c.m.Favoured
		few := float64(m.Favoured) / float64(2*c.m.Pairs)
		against := (epsilon-r.Epsilon)*(1-0x1p-38) - epsilon*slack
		m.Epsilon = min(epsilon, -math.Log1p(math.Expm1(-against)/(1-few)))
		if c, err = m.Channel(); err != nil {
			return r, nil, fmt.Errorf("%w; give the randomised response a smaller share of epsilon", err)
		}
	}
	if err := r.Validate(); err != nil {
		return r, nil, err
	}
	if spent := c.ParticipationEpsilon(r.Epsilon); !(spent <= epsilon) {
		return r, nil, fmt.Errorf("local: response (epsilon %v) and direction (epsilon %v) together cost epsilon "+
			"%v, but the limit is %v", r.Epsilon, m.Epsilon, spent, epsilon)
	}
	return r, c, nil
}
