package embedding

import (
	"errors"
	"fmt"
	"math"

	"dyad/engine"
)

// up is a factor that covers a few roundings, and the roundings of computed margins and slopes.
const up = 1 + 0x1p-40

// marginSlack is a factor that widens ranges of margins, so that they contain the computed margins.
const marginSlack = 1 + 0x1p-18

// scoreLoss returns the loss of a difference of scores for the engine.
func (s Score) scoreLoss() engine.ScoreLoss {
	if l, ok := s.Of.(engine.Logistic); ok {
		return l
	}
	return engine.Score{Of: s.Of}
}

// Name returns "score-" and the name of phi.
func (s Score) Name() string { return "score-" + s.Of.Name() }

// Definition returns the formula.
func (s Score) Definition() string { return s.Of.Text() + ", u = (y - y')(f - f')" }

func (s Score) scalar(b engine.Bounds, reach float64) (engine.Scalar, float64) {
	return s.Of, 4 * b.LabelAbs * reach * marginSlack
}

// Bounds returns Slope = l sup |phi'| and Diameter = 2 l (sup max(0, -phi') + sup max(0, phi')), where l = 2
// b.LabelAbs. The proof follows docs/theory.md#score-losses with s J^T instead of x. The norm of s J^T is at
// most C. Bounds returns an error if m is not 1.
func (s Score) Bounds(b engine.Bounds, reach float64, m int) (PairBounds, error) {
	if m != 1 {
		return PairBounds{}, fmt.Errorf("embedding: loss %s needs one score for each record, but the network has "+
			"%d outputs", s.Name(), m)
	}
	c, err := s.scoreLoss().Constants(engine.Bounds{FeatureNorm: reach, LabelAbs: b.LabelAbs}, 1)
	if err != nil {
		return PairBounds{}, err
	}
	return PairBounds{Slope: c.Lipschitz / reach / 2 * up, Diameter: c.PairDiameter / reach * up, Origin: c.Origin}, nil
}

// Link returns Difference: the link is the difference of the scores.
func (Score) Link() Link { return Difference }

// Phi returns the loss.
func (s Score) Phi(u, y, yp float64) float64 { return s.Of.Phi((y - yp) * u) }

// DPhi returns phi'((y - y') u)(y - y').
func (s Score) DPhi(u, y, yp float64) float64 {
	d := y - yp
	if d == 0 {
		return 0
	}
	return s.Of.DPhi(d*u) * d
}

// slopesOn bounds phi' on [-v, v].
func slopesOn(of engine.Scalar, v float64) (engine.ScalarBounds, error) {
	if of == nil {
		return engine.ScalarBounds{}, errors.New("embedding: the scalar function of the loss is nil; choose a " +
			"function such as engine.Logistic{}")
	}
	k, err := engine.BoundsOn(of, -v, v)
	if err == nil && k.Slope() == 0 {
		err = fmt.Errorf("embedding: loss %s is constant for all possible margins, so nothing can be learned", of.Name())
	}
	return k, err
}

// general returns the bounds of a loss with ||a||, ||b|| <= slope if nothing else is known about the loss.
func general(slope float64, from engine.Origin) PairBounds {
	return PairBounds{Slope: slope * up, Diameter: 4 * slope * up, Origin: from}
}

func (l Bilinear) scalar(b engine.Bounds, reach float64) (engine.Scalar, float64) {
	return l.Of, b.LabelAbs * b.LabelAbs * reach * reach * marginSlack
}

// Name returns "bilinear-" and the name of phi.
func (l Bilinear) Name() string { return "bilinear-" + l.Of.Name() }

// Definition returns the formula.
func (l Bilinear) Definition() string { return l.Of.Text() + ", u = y y' f.f'" }

// Bounds returns the bounds for A = q * reach * sup |phi'|, where q = b.LabelAbs^2. The derivative of
// the loss by f is a = phi'(u) y y' f', so ||a|| <= A.
func (l Bilinear) Bounds(b engine.Bounds, reach float64, _ int) (PairBounds, error) {
	k, err := slopesOn(l.scalar(b, reach))
	return general(b.LabelAbs*b.LabelAbs*reach*k.Slope(), k.Origin), err
}

// Link returns Inner.
func (Bilinear) Link() Link { return Inner }

// Phi returns the loss.
func (l Bilinear) Phi(u, y, yp float64) float64 { return l.Of.Phi(y * yp * u) }

// DPhi returns phi'(y y' u) y y'.
func (l Bilinear) DPhi(u, y, yp float64) float64 { return l.Of.DPhi(y*yp*u) * (y * yp) }

func (l Distance) scalar(b engine.Bounds, reach float64) (engine.Scalar, float64) {
	return l.Of, b.LabelAbs * b.LabelAbs * max(1, 4*reach*reach) * marginSlack
}

// Name returns "distance-" and the name of phi.
func (l Distance) Name() string { return "distance-" + l.Of.Name() }

// Definition returns the formula.
func (l Distance) Definition() string { return l.Of.Text() + ", u = y y' (1 - ||f - f'||^2)" }

// Bounds returns the bounds for A = 4*q*reach * sup |phi'|, q = b.LabelAbs^2. Proof: a = -2 phi'(u) y y' (f - f').
func (l Distance) Bounds(b engine.Bounds, reach float64, _ int) (PairBounds, error) {
	k, err := slopesOn(l.scalar(b, reach))
	return general(4*b.LabelAbs*b.LabelAbs*reach*k.Slope(), k.Origin), err
}

// Link returns SquaredDistance.
func (Distance) Link() Link { return SquaredDistance }

// Phi returns the loss.
func (l Distance) Phi(q, y, yp float64) float64 { return l.Of.Phi(y * yp * (1 - q)) }

// DPhi returns -phi'(y y' (1 - q)) y y'.
func (l Distance) DPhi(q, y, yp float64) float64 { return -l.Of.DPhi(y*yp*(1-q)) * (y * yp) }

// BradleyTerry is the logistic loss of a preference (Bradley and Terry 1952). It is log(1 + exp(-v)) with v =
// w.(x_a - x_b) if a is preferred to b (y > y'), and log(1 + exp(v)) if not. The dimension d' is 1.
type BradleyTerry struct{}

// Name returns "bradley-terry".
func (BradleyTerry) Name() string { return "bradley-terry" }

// Parameter returns "": the loss has no parameter.
func (BradleyTerry) Parameter() (string, float64) { return "", 0 }

// Link returns Difference: the link is the difference of the scores.
func (BradleyTerry) Link() Link { return Difference }

// Phi returns the loss.
func (BradleyTerry) Phi(v, y, yp float64) float64 {
	if !(y > yp) {
		v = -v
	}
	return max(-v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
}

// DPhi returns the slope of the loss in v = w.(x_a - x_b).
func (BradleyTerry) DPhi(v, y, yp float64) float64 {
	if y > yp {
		return -1 / (1 + math.Exp(v))
	}
	return 1 / (1 + math.Exp(-v))
}

// GradientBound returns 2 R, since slopes are below 1 and ||x_a - x_b|| <= 2 R.
func (BradleyTerry) GradientBound(_ []float64, _ int, _ Norm, bound float64) float64 {
	return 2 * bound
}
