package privacy

import (
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestSuccess: the bound is what the best test reaches, on Gaussian releases and on randomised
// response, and no number that is printed is below it.
func TestSuccess(t *testing.T) {
	for _, mu := range []float64{1e-3, 0.2, 1, 3} {
		g := Guarantee{Kind: ApproxDP, Mu: mu, Epsilon: 1, Delta: 1e-5}
		best := 0.0
		for threshold := -2.0; threshold < mu+2; threshold += mu / 64 { // between N(0, 1) and N(mu, 1)
			right := (0.5*math.Erfc(-threshold/math.Sqrt2) + 0.5*math.Erfc((threshold-mu)/math.Sqrt2)) / 2
			best = max(best, right)
		}
		must.Within(t, g.Success(), best*(1-1e-12), best+1e-4, "mu = %g: success, the best test has %v", mu, best)
	}
	for _, e := range []float64{0.01, 1, 5, 50, 2000} {
		for _, delta := range []float64{0, 1e-5, 0.1} {
			kind := ApproxDP
			if delta == 0 {
				kind = PureDP
			}
			// Tells the unit in clear with probability delta, and flips it as randomised response else.
			right := delta + (1-delta)/(1+math.Exp(-e))
			must.Near(t, (Guarantee{Kind: kind, Epsilon: e, Delta: delta}).Success(), right, 1e-12, "(%g, %g): success",
				e, delta)
		}
	}
	for p, want := range map[float64]string{0.5: "51", 0.501: "51", 0.7311: "74", 0.99: "99.1", 0.9933: "99.4", 1: "100"} {
		must.Equal(t, percentUp(p), want, "%v is printed", p)
	}
	must.Equal(t, (Guarantee{Kind: None}).Success(), 1, "success without a guarantee")
	for x, want := range map[float64]string{1: "1", 1.70747e-06: "1.71e-06", 1.13661: "1.14", 0.3: "0.3", 1.0000001: "1.01", 2.006: "2.01", 999.1: "1e+03"} {
		must.Equal(t, inWords(x), want, "%v is printed", x)
	}
	words := Guarantee{Kind: ApproxDP, Mu: 0.268052, Epsilon: 1, Delta: 1e-5, Unit: "one person"}.Words()
	if !strings.HasPrefix(words, "epsilon = 1, delta = 1e-05 for one person: ") || !strings.Contains(words, "at most 56 % success") {
		t.Error(words)
	}
}
