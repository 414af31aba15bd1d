package embedding

import (
	"errors"
	"fmt"
	"math"

	"dyad/engine"
)

// up covers, as a factor, a few roundings, and those of computed margins and slopes.
const up = 1 + 0x1p-40

// marginSlack widens ranges of margins for those that are computed.
const marginSlack = 1 + 0x1p-18

// scoreLoss is the loss of a difference of scores, for the engine.
func (s Score) scoreLoss() engine.ScoreLoss {
	if l, ok := s.Of.(engine.Logistic); ok {
		return l
	}
	return engine.Score{Of: s.Of}
}

// Name is "score-" and the name of phi.
func (s Score) Name() string { return "score-" + s.Of.Name() }

// Definition is the formula.
func (s Score) Definition() string { return s.Of.Text() + ", u = (y - y')(f - f')" }

// Bounds has A = l sup |phi'| and the diameter 2 l (sup max(0, -phi') + sup max(0, phi')), l = 2 b.LabelAbs:
// docs/theory.md#score-losses with s J^T for x, which lies in a ball of radius C.
func (s Score) Bounds(b engine.Bounds, reach float64, m int) (PairBounds, error) {
	if m != 1 {
		return PairBounds{}, fmt.Errorf("embedding: loss %s is about scores, and the network has %d numbers, want 1", s.Name(), m)
	}
	c, err := s.scoreLoss().Constants(engine.Bounds{FeatureNorm: reach, LabelAbs: b.LabelAbs}, 1)
	if err != nil {
		return PairBounds{}, err
	}
	return PairBounds{Slope: c.Lipschitz / reach / 2 * up, Diameter: c.PairDiameter / reach * up, Origin: c.Origin}, nil
}

// Value is l.
func (s Score) Value(f, fp []float64, y, yp float64) float64 {
	return s.Of.Phi((y - yp) * (f[0] - fp[0]))
}

// Slopes sets a = phi'(u)(y - y') and b = -a.
func (s Score) Slopes(a, b, f, fp []float64, y, yp float64) {
	a[0], b[0] = 0, 0
	if d := y - yp; d != 0 {
		a[0] = s.Of.DPhi(d*(f[0]-fp[0])) * d
		b[0] = -a[0]
	}
}

// slopesOn bounds phi' on [-v, v].
func slopesOn(of engine.Scalar, v float64) (engine.ScalarBounds, error) {
	if of == nil {
		return engine.ScalarBounds{}, errors.New("embedding: the scalar function of the loss is nil, choose one such as engine.Logistic{}")
	}
	if g, ok := of.(interface{ Gate(lo, hi float64) error }); ok {
		if err := g.Gate(-v, v); err != nil {
			return engine.ScalarBounds{}, err
		}
	}
	k, err := of.Bounds(-v, v)
	if err == nil && k.Slope() == 0 {
		err = fmt.Errorf("embedding: loss %s is constant on the range of margins, there is nothing to learn", of.Name())
	}
	return k, err
}

// general are the bounds of a loss with ||a||, ||b|| <= slope, about which nothing else is used.
func general(slope float64, from engine.Origin) PairBounds {
	return PairBounds{Slope: slope * up, Diameter: 4 * slope * up, Origin: from}
}

// margin bounds |u|.
func (l Bilinear) margin(b engine.Bounds, reach float64) float64 {
	return b.LabelAbs * b.LabelAbs * reach * reach * marginSlack
}

// Name is "bilinear-" and the name of phi.
func (l Bilinear) Name() string { return "bilinear-" + l.Of.Name() }

// Definition is the formula.
func (l Bilinear) Definition() string { return l.Of.Text() + ", u = y y' f.f'" }

// Bounds has A = q reach sup |phi'|, q = b.LabelAbs^2: a = phi'(u) y y' f'.
func (l Bilinear) Bounds(b engine.Bounds, reach float64, _ int) (PairBounds, error) {
	k, err := slopesOn(l.Of, l.margin(b, reach))
	return general(b.LabelAbs*b.LabelAbs*reach*k.Slope(), k.Origin), err
}

// Value is l.
func (l Bilinear) Value(f, fp []float64, y, yp float64) float64 { return l.Of.Phi(y * yp * dot(f, fp)) }

// Slopes sets a and b.
func (l Bilinear) Slopes(a, b, f, fp []float64, y, yp float64) {
	c := l.Of.DPhi(y*yp*dot(f, fp)) * (y * yp)
	for k := range a {
		a[k], b[k] = c*fp[k], c*f[k]
	}
}

// margin bounds |u|.
func (l Distance) margin(b engine.Bounds, reach float64) float64 {
	return b.LabelAbs * b.LabelAbs * max(1, 4*reach*reach) * marginSlack
}

// Name is "distance-" and the name of phi.
func (l Distance) Name() string { return "distance-" + l.Of.Name() }

// Definition is the formula.
func (l Distance) Definition() string { return l.Of.Text() + ", u = y y' (1 - ||f - f'||^2)" }

// Bounds has A = 4 q reach sup |phi'|, q = b.LabelAbs^2: a = -2 phi'(u) y y' (f - f').
func (l Distance) Bounds(b engine.Bounds, reach float64, _ int) (PairBounds, error) {
	k, err := slopesOn(l.Of, l.margin(b, reach))
	return general(4*b.LabelAbs*b.LabelAbs*reach*k.Slope(), k.Origin), err
}

// Value is l.
func (l Distance) Value(f, fp []float64, y, yp float64) float64 {
	return l.Of.Phi(y * yp * (1 - squaredDistance(f, fp)))
}

// Slopes sets a and b = -a.
func (l Distance) Slopes(a, b, f, fp []float64, y, yp float64) {
	c := -2 * l.Of.DPhi(y*yp*(1-squaredDistance(f, fp))) * (y * yp)
	differences(a, b, f, fp, c)
}

// Name is "contrastive".
func (Contrastive) Name() string { return "contrastive" }

// Definition is the formula.
func (l Contrastive) Definition() string {
	return fmt.Sprintf("||f - f'||^2/2 for equal labels, else max(0, %g - ||f - f'||)^2/2", l.Margin)
}

// Bounds has A = max(2 reach, Margin).
func (l Contrastive) Bounds(_ engine.Bounds, reach float64, _ int) (PairBounds, error) {
	if !(l.Margin > 0) || math.IsInf(l.Margin, 0) {
		return PairBounds{}, fmt.Errorf("embedding: Contrastive.Margin is %v, must be positive and finite", l.Margin)
	}
	return general(max(2*reach, l.Margin), engine.Proved), nil
}

// Value is l.
func (l Contrastive) Value(f, fp []float64, y, yp float64) float64 {
	s := squaredDistance(f, fp)
	if y == yp {
		return s / 2
	}
	short := max(0, l.Margin-math.Sqrt(s))
	return short * short / 2
}

// Slopes sets a = f - f' or -(Margin - D)(f - f')/D, and b = -a; both are 0 where D = 0.
func (l Contrastive) Slopes(a, b, f, fp []float64, y, yp float64) {
	differences(a, b, f, fp, l.Coefficient(squaredDistance(f, fp), y == yp))
}

// Coefficient is what f - f' is multiplied by, for a squared distance.
func (l Contrastive) Coefficient(square float64, same bool) float64 {
	if same {
		return 1
	}
	d := math.Sqrt(square)
	if !(square >= 0x1p-900) || d >= l.Margin {
		return 0
	}
	return (d - l.Margin) / d
}

func (Score) pairLoss()       {}
func (Bilinear) pairLoss()    {}
func (Distance) pairLoss()    {}
func (Contrastive) pairLoss() {}

// differences sets a = c (f - f') and b = -a.
func differences(a, b, f, fp []float64, c float64) {
	for k := range a {
		a[k] = c * (f[k] - fp[k])
		b[k] = -a[k]
	}
}

func dot(f, fp []float64) (sum float64) {
	for k, v := range f {
		sum += v * fp[k]
	}
	return sum
}

func squaredDistance(f, fp []float64) (sum float64) {
	for k, v := range f {
		d := v - fp[k]
		sum += d * d
	}
	return sum
}
