package algorithms_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// docs/theory.md#dpgdc2: the paper's noise for a loss with Dg = 2G breaks its claim where the
// table of 4.3 says so; with the constants of the AUC loss it keeps it.
func TestDPGDC2ClaimIsViolatedWhereTheTableSaysSo(t *testing.T) {
	for _, row := range []struct {
		epsilon, delta float64
		ratio          float64 // delta proved at the claimed epsilon over delta claimed, Dg = 2G
	}{
		{1, 1e-6, 1.4}, {2.5, 1.0 / 512, 1.15}, {4, 1.0 / 128, 2.6}, {1, 1.0 / 128, 0.19}, {2, 1e-5, 2.4}, {0.5, 1e-6, 0.55},
	} {
		s := newSpec(t, 256, 8, 1, 0, privacy.Budget{Epsilon: row.epsilon, Delta: row.delta}, algorithms.Paper)
		for dg, ratio := range map[float64]float64{8: row.ratio, 3.93: 0} {
			s.Constants = engine.Constants{Lipschitz: 4, Smoothness: 4, PairDiameter: dg, Convex: true, Origin: engine.Asserted}
			p := must.Get(algorithms.DPGDC2{StepSize: 0.05}.Plan(s))(t)
			got := account.GDPDelta(row.epsilon, p.Guarantee.Mu) / row.delta
			want := dg == 3.93 || row.ratio <= 1
			if p.Guarantee.Claim.Holds != want || got <= 1 != want {
				t.Errorf("(%g, %g), Dg = %g: the claim is said to hold: %v, delta is %.4g times the claimed one, want %v", row.epsilon, row.delta, dg, p.Guarantee.Claim.Holds, got, want)
			}
			if ratio > 0 && math.Abs(got-ratio) > 0.05*ratio {
				t.Errorf("(%g, %g): delta is %.4g times the claimed one, the table says %.3g", row.epsilon, row.delta, got, ratio)
			}
			if text := p.Guarantee.Report(); strings.Contains(text, "NOT MET") == want {
				t.Errorf("(%g, %g), Dg = %g: report %q", row.epsilon, row.delta, dg, text)
			}
		}
	}
}

func TestDPGDC2Schedule(t *testing.T) {
	// n^2 epsilon^2/(d ln(1/delta)) = 0.37 at n = 128, epsilon = 0.2, d = 361, delta = 1/n.
	for _, c := range []struct {
		n, d    int
		epsilon float64
		want    int
	}{{128, 361, 0.2, 1}, {512, 8, 1, 512}, {100, 8, 0.5, 67}} {
		p := must.Get(algorithms.DPGDC2{StepSize: 0.1}.Plan(newSpec(t, c.n, c.d, 1, 0, privacy.Budget{Epsilon: c.epsilon, Delta: 1 / float64(c.n)}, algorithms.Paper)))(t)
		must.Equal(t, p.Schedule.Steps, c.want, "n=%d d=%d epsilon=%g: T", c.n, c.d, c.epsilon)
	}
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	_, err := algorithms.DPGDC2{}.Plan(newSpec(t, 512, 8, 0.05, 0, b, algorithms.Paper))
	if !errors.Is(err, algorithms.ErrAssumption) || !strings.Contains(err.Error(), "sigma =") || !strings.Contains(err.Error(), "T >= 1935") {
		t.Errorf("the printed step above 2/L: %v, want a refusal with numbers", err)
	}
	must.Check((algorithms.DPGDC2{Steps: 1935}).Plan(newSpec(t, 512, 8, 0.05, 0, b, algorithms.Paper)))(t,
		"the T of the message")
	must.Fail((algorithms.DPGDC2{}).Plan(newSpec(t, 512, 8, 1, 0.1, b, algorithms.Paper)))(t, algorithms.ErrAssumption, "paper mode with an L2 term")
}
