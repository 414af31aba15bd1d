package engine

import (
	"math"
	"testing"

	"dyad/internal/must"
)

func envelopeOf(t *testing.T, text string, mu float64) (*Expression, *Envelope) {
	t.Helper()
	phi := must.Get(NewExpression("test", text, ExpressionOptions{}))(t)
	e := must.Get(NewEnvelope(phi, mu, -3, 3))(t)
	return phi, e
}

// TestEnvelopeIsItsDefinition compares with a minimum over a fine grid, and with a mu that is wrong.
func TestEnvelopeIsItsDefinition(t *testing.T) {
	for _, c := range []struct {
		text string
		mu   float64
	}{{"max(0, 1-u)", 0.5}, {"max(0, 1-u)", 2}, {"max(0, 1-u)^2", 0.3}, {"log1p(exp(-u))", 1}, {"log1p(exp(-u))", 10}, {"abs(u)", 0.25}, {"1/(1+exp(u))", 0.5}} {
		phi, e := envelopeOf(t, c.text, c.mu)
		least := func(u, mu float64) float64 {
			best := math.Inf(1)
			for k := -2400; k <= 2400; k++ {
				v := float64(k) / 200
				best = min(best, phi.Phi(v)+(v-u)*(v-u)/(2*mu))
			}
			return best
		}
		seen := false
		for u := -3.0; u <= 3; u += 0.31 {
			got, want := e.Phi(u), least(u, c.mu)
			// A grid of step s misses the minimum by at most s^2/8 times the curvature 1/mu + phi''.
			if got > want+1e-12 || got < want-5e-6*(1/c.mu+2) {
				t.Errorf("%s, mu %g: %v at %g, want %v", c.text, c.mu, got, u, want)
			}
			seen = seen || math.Abs(got-least(u, 2*c.mu)) > 1e-4 // the defect
		}
		if !seen {
			t.Errorf("%s: the test cannot tell another mu", c.text)
		}
	}
}

// TestEnvelopeOfHinge compares slopes with the closed form, the hinge of which u is smoothed over mu, within
// the proved error.
func TestEnvelopeOfHinge(t *testing.T) {
	for _, mu := range []float64{1e-6, 0.1, 1, 3} {
		_, e := envelopeOf(t, "max(0, 1-u)", mu)
		b := must.Get(e.Bounds(-3, 3))(t)
		if !b.Convex || !b.Smooth() || b.Curvature < 1/mu || b.Curvature > 1.001/mu || b.SlopeError > 1e-13/min(mu, 1) {
			t.Errorf("mu %g: bounds %+v", mu, b)
		}
		worst := 0.0
		for u := -3.0; u <= 3; u += 0x1p-9 {
			want := min(max((u-1)/mu, -1), 0)
			worst = max(worst, math.Abs(e.DPhi(u)-want))
		}
		if worst > b.SlopeError {
			t.Errorf("mu %g: a slope is %.3g off, its error is proved to be %.3g", mu, worst, b.SlopeError)
		}
	}
}

// TestEnvelopeBounds looks for slopes, curvatures and values that the bounds exclude, and for a slope that depends on the
// numbers around it.
func TestEnvelopeBounds(t *testing.T) {
	for _, text := range []string{"max(0, 1-u)", "log1p(exp(-u))", "(1-u)^2", "1/(1+exp(u))", "max(0, 1-u)^2"} {
		phi, e := envelopeOf(t, text, 0.25)
		b := must.Get(e.Bounds(-3, 3))(t)
		const step = 0x1p-7
		var all []float64
		last := math.Inf(-1)
		for u := -3.0; u <= 3; u += step {
			s := e.DPhi(u)
			all = append(all, u)
			switch rise := s - last; {
			case s < b.SlopeMin || s > b.SlopeMax:
				t.Errorf("%s: slope %v at %g, want within [%v, %v]", text, s, u, b.SlopeMin, b.SlopeMax)
			case math.IsInf(last, 0):
			case math.Abs(rise) > b.Curvature*step+2*b.SlopeError:
				t.Errorf("%s: the slope rises by %v at %g, its curvature is at most %v", text, rise, u, b.Curvature)
			case b.Convex && rise < -2*b.SlopeError:
				t.Errorf("%s: the slope falls by %v at %g", text, -rise, u)
			}
			last = s
			if e.Phi(u) > phi.Phi(u)+1e-12 {
				t.Errorf("%s: the envelope is above phi at %g", text, u)
			}
		}
		block := append([]float64(nil), all...)
		e.Slopes(block)
		for i, u := range all {
			if block[i] != e.DPhi(u) {
				t.Fatalf("%s: the slope at %g depends on its place", text, u)
			}
		}
		// Beyond the interval the slope stays, and the value goes on along it.
		if e.DPhi(5) != e.DPhi(3) || math.Abs(e.Phi(5)-e.Phi(3)-2*e.DPhi(3)) > 1e-12 {
			t.Errorf("%s: the envelope is not linear beyond its interval", text)
		}
	}
}

// TestEnvelopeStaysWhereBoundsHold: a phi that is convex where v can be and neither convex nor finite beyond. A search that
// starts from the slopes of the wider interval leaves it; its slopes fall, jump and miss the minimum.
func TestEnvelopeStaysWhereBoundsHold(t *testing.T) {
	for _, text := range []string{"1/(u+5) - 0.01*log(7-u)", "-log(5-u) - 10*max(0, -5-u)^2", "exp(-u)"} {
		phi := must.Get(NewExpression("test", text, ExpressionOptions{}))(t)
		for _, mu := range []float64{0.05, 0.9} {
			e := must.Get(NewEnvelope(phi, mu, -4, 4))(t)
			b := must.Get(e.Bounds(-4, 4))(t)
			near := must.Get(phi.Bounds(-4, 4))(t)
			if b.Slope() > near.Slope()*(1+1e-9) {
				t.Errorf("%s, mu %g: slopes up to %g, those of phi are up to %g", text, mu, b.Slope(), near.Slope())
			}
			last := math.Inf(-1)
			for u := -4.0; u <= 4; u += 0x1p-6 {
				s := e.DPhi(u)
				v := u - mu*s
				if v < e.from || v > e.to {
					t.Fatalf("%s, mu %g: v = %g at %g is outside of [%g, %g]", text, mu, v, u, e.from, e.to)
				}
				if off := math.Abs(s - phi.DPhi(v)); off > 1e-6*max(1, b.Curvature) {
					t.Errorf("%s, mu %g: the slope at %g is %g, and phi' at its minimum %g", text, mu, u, s, phi.DPhi(v))
				}
				if b.Convex && s < last-2*b.SlopeError {
					t.Errorf("%s, mu %g: the slope falls at %g", text, mu, u)
				}
				if !math.IsInf(last, 0) && s-last > b.Curvature*0x1p-6+2*b.SlopeError {
					t.Errorf("%s, mu %g: the slope rises by %g at %g, its curvature is at most %g", text, mu, s-last, u, b.Curvature)
				}
				last = s
			}
		}
	}
}

func TestEnvelopeRefusals(t *testing.T) {
	for text, mu := range map[string]float64{"1/(1+exp(u))": 30, "min(1, max(0, 1-u))": 0.1, "log1p(exp(-u))": -1, "exp(-u)": math.NaN()} {
		phi := must.Get(NewExpression("test", text, ExpressionOptions{}))(t)
		must.Err(NewEnvelope(phi, mu, -3, 3))(t, "%s with mu = %v was accepted", text, mu)
	}
	must.Err(NewEnvelope(Logistic{}, 1, 3, math.Inf(1)))(t, "an infinite interval was accepted")
}
