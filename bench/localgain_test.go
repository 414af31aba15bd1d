package bench_test

import (
	"fmt"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

// TestGainOfTheSplit measures what the split of epsilon between the two parts of a visit of prestige-participation is worth: the split
// that adds both parts up, at the paper's share 1:4, against the one of local.Direction.Participation, at the same claim. variance is the
// mean of ||decoded - g||^2 over the messages of a record that takes part, ||g|| = Bound = 1; truth is the probability that it says so.
func TestGainOfTheSplit(t *testing.T) {
	messages := 20_000
	if *update {
		messages = 200_000
	}
	c := claim{
		file: "localgain.csv", keys: 4,
		columns: "d,pairs,claim,split,response_epsilon,direction_epsilon,spent,favoured,truth,scale,variance,variance_over_sum",
	}
	for _, d := range []int{2, 10, 100} {
		for _, pairs := range []int{1, 8} {
			for _, epsilon := range []float64{0.5, 1, 2, 4, 8} {
				m := randomiser.Direction{Dim: d, Bound: 1, Pairs: pairs}
				response, exact := must.Get2(m.Participation(epsilon, 0))(t)
				m.Epsilon = 0.8 * epsilon
				sum := must.Get(m.Channel())(t)
				base := 0.0
				for _, s := range []struct {
					name     string
					response randomiser.RandomizedResponse
					channel  *randomiser.DirectionChannel
				}{{"sum", randomiser.RandomizedResponse{Epsilon: 0.2 * epsilon}, sum}, {"exact", response, exact}} {
					c.lines = append(c.lines, claimed{fmt.Sprintf("%d,%d,%g,%s", d, pairs, epsilon, s.name), d == 2 && epsilon <= 2, func(t *testing.T) []float64 {
						v := variance(t, s.channel, messages)
						if s.name == "sum" {
							base = v
						}
						return []float64{
							s.response.Epsilon, s.channel.Mechanism().Epsilon, s.channel.ParticipationEpsilon(s.response.Epsilon), float64(s.channel.Mechanism().Favoured),
							s.response.Truth(), s.channel.Scale(), v, v / base,
						}
					}})
				}
			}
		}
	}
	c.check(t, 0.05, 0)
}

// variance is the mean of ||decoded - g||^2 for a unit vector g.
func variance(t *testing.T, c *randomiser.DirectionChannel, n int) float64 {
	g, x := make([]float64, c.Mechanism().Dim), make([]float64, c.Mechanism().Dim)
	g[0] = 1
	src, sum := privacy.NewSeededSource(1), 0.0
	for range n {
		msg := must.Get(c.Send(g, src))(t)
		clear(x)
		must.Do(t, c.AddDecoded(x, 1, msg))
		for i, v := range x {
			sum += (v - g[i]) * (v - g[i])
		}
	}
	return sum / float64(n)
}
