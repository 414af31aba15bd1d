package engine_test

import (
	"math"
	"testing"

	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
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
