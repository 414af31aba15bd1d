package privacy

import (
	"math"
	"testing"

	"dyad/internal/must"
)

// docs/theory.md#average: attained by linear pair losses, and Dg eta (T+1)/n at alpha = 0.
func TestAverageDescentIsAttainedByLinearLoss(t *testing.T) {
	const n, dg, eta = 25, 2.0, 0.25
	for _, alpha := range []float64{0, 0.3, 2} {
		for _, steps := range []int{1, 2, 17, 400} {
			average := func(record float64) float64 {
				var w, sum float64
				for range steps {
					w -= eta * (2*record/n + alpha*w)
					sum += w
				}
				return sum / float64(steps)
			}
			moved := math.Abs(average(dg/2) - average(-dg/2))
			g := AverageDescent{GradientDescent: GradientDescent{Curvature: linear(dg, alpha), PairFraction: 2.0 / n, Steps: steps, StepSize: eta}}
			c := must.Get(g.Certify())(t)
			must.Within(t, c.Sensitivity(), moved-1e-12, moved+1e-10, "alpha=%g T=%d: certificate, attained %.14g",
				alpha, steps, moved)
			if want := dg * eta * float64(steps+1) / n; alpha == 0 && math.Abs(c.Sensitivity()-want) > 1e-10 {
				t.Errorf("T=%d: certificate %.14g, want Dg eta (T+1)/n = %.14g", steps, c.Sensitivity(), want)
			}
			// The control: w_0..w_(T-1), one step short, is too small.
			if steps > 1 {
				g.Steps--
				if short, err := g.Certify(); err != nil || short.Sensitivity() > moved-1e-8 {
					t.Errorf("alpha=%g T=%d: one step less certifies %.12g of %.12g (%v)", alpha, steps, short.Sensitivity(), moved, err)
				}
			}
		}
	}
	g := AverageDescent{GradientDescent: GradientDescent{Curvature: linear(dg, 0), PairFraction: 0.1, Steps: 5, StepSize: eta, UpdateError: 1e-3}, OutputError: 0.01}
	c, err := g.Certify()
	if want := 3*(dg*eta*0.1+2e-3) + 0.02; err != nil || math.Abs(c.Sensitivity()-want) > 1e-12 {
		t.Errorf("with errors: %.12g, want %.12g (%v)", c.Sensitivity(), want, err)
	}
	g.Diameter = 0.05
	if c, err = g.Certify(); err != nil || math.Abs(c.Sensitivity()-0.07) > 1e-12 || c.ExactSensitivity() != 0.05 {
		t.Errorf("with a small domain: %.12g, want 0.05 and twice the output error (%v)", c.Sensitivity(), err)
	}
	g.OutputError = -1
	if _, err = g.Certify(); err == nil {
		t.Error("a negative output error was certified")
	}
	g.OutputError, g.Convex = 0, false
	if _, err = g.Certify(); err == nil {
		t.Error("a loss that is not convex was certified")
	}
}
