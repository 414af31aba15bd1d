package local

import (
	"math/big"
	"testing"

	"dyad/privacy"
)

// flat is a loss of slope -1.
type flat struct{}

func (flat) Name() string             { return "flat" }
func (flat) Slope(float64) float64    { return -1 }
func (flat) MaxSlope(float64) float64 { return 1 }

// A response and a sample are worth at most Epsilon together, exactly.
func TestParticipationSplitsEpsilonExactly(t *testing.T) {
	exceeded := 0
	for i := 1; i <= 200; i++ {
		epsilon, share := float64(i)*0.05, 0.2
		randomisers := privacy.BelowDecimal(epsilon)
		response := randomisers * share
		sum := func(sampling float64) bool { // above epsilon
			exact := new(big.Float).SetPrec(200).SetFloat64(response)
			exact.Add(exact, big.NewFloat(sampling).SetPrec(200))
			return exact.Cmp(big.NewFloat(randomisers)) > 0
		}
		if sum(randomisers - response) {
			exceeded++
		}
		q, err := Protocol{
			Method: PrestigeParticipation, Loss: flat{}, Dim: 2, FeatureNorm: 1, Radius: 1, L2: 1, Users: 2,
			Epsilon: epsilon, ResponseShare: share,
		}.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if sampling := q.channel.Mechanism().Epsilon; sum(sampling) || q.response.Epsilon != response {
			t.Errorf("epsilon %v: response %v and sampling %v are more", epsilon, response, sampling)
		}
	}
	if exceeded == 0 {
		t.Error("a rounded difference never exceeds: the test cannot fail")
	}
}
