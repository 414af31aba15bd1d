package engine_test

import (
	"math"
	"testing"

	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/kernels"
)

// general hides that a loss is a ScoreLoss.
type general struct{ engine.Loss }

func TestScoreRange(t *testing.T) {
	for _, b := range []engine.Bounds{{FeatureNorm: 1, LabelAbs: 1}, {FeatureNorm: 3, LabelAbs: 0.25}} {
		for _, r := range []float64{0.01, 1, 50} {
			for _, loss := range []engine.ScoreLoss{engine.Logistic{}, enginetest.SmoothHinge{}} {
				_, s := must.Get2(engine.NewScoreRange(engine.Problem{N: 10, D: 20, Bounds: b, Loss: loss, Radius: r}, 30))(t)
				reach := 4 * b.LabelAbs * b.FeatureNorm * r
				if s.Margin < reach || s.Margin > reach*1.00001 {
					t.Errorf("Margin %v, want just above %v", s.Margin, reach)
				}
				if !(s.ScoreErr > 0 && s.ScoreErr < 100*0x1p-53*b.FeatureNorm*r) {
					t.Errorf("ScoreErr %v", s.ScoreErr)
				}
				for i := range 2001 {
					u := s.Margin * (float64(i)/1000 - 1)
					if v := math.Abs(loss.DPhi(u)); v > s.Slope {
						t.Errorf("%s: |phi'(%v)| = %v exceeds Slope %v", loss.Name(), u, v, s.Slope)
					}
					h := 1e-4 * max(1, math.Abs(u))
					if v := math.Abs(loss.DPhi(u+h)-loss.DPhi(u)) / h; v > s.Curvature*(1+1e-8)+1e-9 {
						t.Errorf("%s: slope of phi' at %v is %v, exceeds Curvature %v", loss.Name(), u, v, s.Curvature)
					}
				}
			}
		}
	}
}

func TestScoreRangeDeclines(t *testing.T) {
	p := engine.Problem{N: 10, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	other := p
	other.Loss = general{engine.Logistic{}}
	_, _, err := engine.NewScoreRange(other, 30)
	must.FailDo(t, err, engine.ErrUnsupported, "not a score loss")
	_, _, err = engine.NewScoreRange(p, 1<<40)
	must.FailDo(t, err, engine.ErrUnsupported, "depth 2^40")
	for name, change := range map[string]func(*engine.Problem){
		"invalid problem": func(p *engine.Problem) { p.N = 1 },
		"overflow":        func(p *engine.Problem) { p.Radius = 1e300; p.Bounds.FeatureNorm = 1e30 },
		"underflow":       func(p *engine.Problem) { p.Radius = 1e-300; p.Bounds.FeatureNorm = 1e-20 },
	} {
		q := p
		change(&q)
		_, _, err := engine.NewScoreRange(q, 30)
		must.ErrDo(t, err, "%s: no error", name)
	}
}

func TestGamma(t *testing.T) {
	if g := engine.Gamma(100); g < 100*0x1p-53 || g > 100.001*0x1p-53 {
		t.Errorf("Gamma(100) = %v", g)
	}
	if !math.IsInf(engine.Gamma(1<<53), 1) {
		t.Error("Gamma(2^53) is finite")
	}
}

// interpolate evaluates the p-point Chebyshev interpolant of f and returns its value at y,
// and the four sums of its coefficients that an Expansion bounds.
func interpolate(f func(float64) float64, p int, y float64) (v float64, sums engine.Expansion) {
	table, m := kernels.ChebyshevPowers(p), make([]float64, p)
	for a := range p {
		var c float64
		for k := range p {
			x := math.Pi * (float64(k) + 0.5) / float64(p)
			c += f(math.Cos(x)) * math.Cos(float64(a)*x) * 2 / float64(p)
		}
		if a == 0 {
			c /= 2
		}
		v += c * math.Cos(float64(a)*math.Acos(y))
		sums.CoefNorm += math.Abs(c)
		sums.CoefGrowth += math.Abs(c) * float64((a+1)*(a+2)) / 2
		for i, t := range table[a*p : (a+1)*p] {
			m[i] += c * t
			sums.PowerGrowth += math.Abs(c * t)
		}
	}
	for _, x := range m {
		sums.PowerNorm += math.Abs(x)
	}
	return v, sums
}

// TestExpand checks every bound of an expansion on a grid of centres and points,
// and that the truncation bound is not idle: half of the terms violate it.
func TestExpand(t *testing.T) {
	for _, loss := range []engine.AnalyticLoss{engine.Logistic{}, enginetest.SmoothHinge{}} {
		for _, c := range []struct {
			width, tol float64
			step       int
		}{{0.1, 1e-9, 4}, {0.5, 1e-6, 1}, {1, 1e-9, 1}, {1, 1e-9, 4}, {1.5, 1e-5, 4}} {
			e, ok := engine.Expand(loss, 6, c.width, c.tol, 33, c.step)
			if !ok || e.Truncation > c.tol || e.Terms > 33 || (e.Terms-1)%c.step != 0 {
				t.Fatalf("%s: Expand(%v, %v) = %+v, %v", loss.Name(), c.width, c.tol, e, ok)
			}
			worst := func(p int) (diff float64) {
				for centre := -6.0; centre <= 6; centre += 0.5 {
					f := func(y float64) float64 { return loss.DPhi(centre + c.width*y) }
					for y := -1.0; y <= 1; y += 0.05 {
						v, sums := interpolate(f, p, min(y, 1))
						diff = max(diff, math.Abs(v-f(y)))
						if p == e.Terms && (sums.CoefNorm > e.CoefNorm || sums.CoefGrowth > e.CoefGrowth || sums.PowerNorm > e.PowerNorm || sums.PowerGrowth > e.PowerGrowth) {
							t.Fatalf("%s width %v: coefficient sums %+v exceed %+v", loss.Name(), c.width, sums, e)
						}
					}
				}
				return diff
			}
			if d := worst(e.Terms); d > e.Truncation {
				t.Errorf("%s width %v: truncation %v exceeds the bound %v", loss.Name(), c.width, d, e.Truncation)
			}
			if p := (e.Terms - 1) / 2; p > 1 {
				if d := worst(p); d <= e.Truncation {
					t.Errorf("%s width %v: half of the terms still satisfy the bound %v", loss.Name(), c.width, e.Truncation)
				}
			}
		}
		if e, ok := engine.Expand(loss, 1, 1000, 1e-16, 33, 4); ok {
			t.Errorf("%s: width 1000 has an expansion %+v", loss.Name(), e)
		}
	}
}
