package account

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// At loss 0 the Laplace pair of a replaced record is cut in the middle for every
// sensitivity, also where log(exp(-m)) rounds below -m: with the cut at -Inf, delta(0)
// was 0 and epsilon(delta) was 0 for every delta.
func TestReplacedLaplaceIsCutInTheMiddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		m, rate := 0.05+2*rng.Float64(), []float64{1, 0.5, 0.01}[rng.IntN(3)]
		var a PLD
		must.Do(t, a.Compose(PoissonEvent{Event: LaplaceEvent{Sensitivity: m, Scale: 1}, Rate: rate, Relation: ReplaceOne}))
		// P(x > 0) - Q(x > 0) for P = (1-q) f(x) + q f(x-m) and Q its mirror image.
		want := rate * -math.Expm1(-m)
		if got := a.Delta(0); math.Abs(got-want) > 1e-9 {
			t.Fatalf("m = %v, rate %v: delta(0) = %v, want %v", m, rate, got, want)
		}
		if got := a.Epsilon(want / 2); !(got > 0) {
			t.Fatalf("m = %v, rate %v: epsilon(%v) = %v", m, rate, want/2, got)
		}
	}
}
