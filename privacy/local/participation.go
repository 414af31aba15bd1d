package local

import (
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// EpsilonAgainstZero is the largest ln(P(message | g)/P(message | 0)) over all vectors g
// and messages, rounded up: ln(2m e^Epsilon/(k e^Epsilon + 2m - k)). For k = m it is
// ln(2/(1 + e^-Epsilon)), little more than half of a small Epsilon.
//
// Proof. Given the seed, whose law is the same for both, 0 sends every candidate with
// probability 1/2m (Direction) and g none with more than e^Epsilon/(k e^Epsilon +
// 2m - k), attained by a favoured one if g~ has one sign for certain. QED
func (c *DirectionChannel) EpsilonAgainstZero() float64 {
	few := float64(c.m.Favoured) / float64(2*c.m.Pairs)
	return round.Up(-math.Log1p((1-few)*math.Expm1(-c.m.Epsilon)), 1<<12) // 1 + (...) loses up to 11 bits
}

// ParticipationEpsilon is the epsilon of a visit, rounded up. A user answers by a randomised
// response of epsilon e_p whether the record takes part. On the answer yes, true or not, the
// user sends the private direction of the record's vector, which is 0 for a record that does
// not take part. The epsilon is max(e_s, e_p + EpsilonAgainstZero), where e_s is the epsilon
// of c. It is exact where two records that take part can have opposite vectors of norm
// Bound, and one that does not can follow.
//
// Proof. Let t = 1/(1 + e^-e_p), so that a record that takes part says yes with probability
// t, another one with 1 - t, and let p(x|g) be the probability of direction x. Two records
// that take part: the silence is equally likely, and t p(x|g)/(t p(x|g')) <= e^e_s. Two
// that do not: the laws are equal. One that does against one that does not:
// t p(x|g)/((1-t) p(x|0)) <= e^e_p e^EpsilonAgainstZero; the other way round
// (1-t) p(x|0)/(t p(x|g)) <= e^-e_p (k e^e_s + 2m - k)/2m < e^e_s, since g sends no
// candidate with less than 1/(k e^e_s + 2m - k); silence has the ratios e^(+-e_p), and
// EpsilonAgainstZero >= 0. QED
//
// With the law of 0 not uniform given the seed, as for k < m without the circle of
// Direction, a candidate can have probability 1/(k e^e_s + 2m - k) from 0 and e^e_s
// times that from g: then nothing less than e_p + e_s holds.
func (c *DirectionChannel) ParticipationEpsilon(response float64) float64 {
	return max(c.m.Epsilon, round.Up(response+c.EpsilonAgainstZero(), 1))
}

// Participation splits epsilon between a randomised response, whether a record takes part,
// and the direction m, whose Epsilon is set: ParticipationEpsilon of both is at most
// epsilon. share is the response's part of epsilon, in (0, 1), and the direction gets
// all that this leaves. At share 0 the direction gets epsilon, all of it, and the response
// what this leaves, ln(1 + k/2m (e^epsilon - 1)): for k = m ln((1 + e^epsilon)/2), more than
// half. For the same k no split gives one of both more and the other no less, since
// EpsilonAgainstZero grows with the direction's epsilon.
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
			return r, nil, fmt.Errorf("%w; give the response a smaller share", err)
		}
	}
	if err := r.Validate(); err != nil {
		return r, nil, err
	}
	if spent := c.ParticipationEpsilon(r.Epsilon); !(spent <= epsilon) {
		return r, nil, fmt.Errorf("local: a response of epsilon %v and a direction of epsilon %v spend %v, more than %v", r.Epsilon, m.Epsilon, spent, epsilon)
	}
	return r, c, nil
}
