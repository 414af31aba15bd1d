package enginetest

import (
	"fmt"
	"math"

	"dyad/engine"
)

// Pieces is a scalar loss whose slope is linear between knots. It is written by hand, in contrast to
// expressions, which are analysed by a program. It exists to test backends.
type Pieces struct {
	Label string
	// Parts are the pieces of phi' on the whole line. The first piece has From = -Inf.
	Parts []engine.Piece
}

var _ engine.PiecewiseScalar = Pieces{}

// Hinge returns max(0, 1 - u), whose slope jumps from -1 to 0 at 1.
func Hinge() Pieces {
	return Pieces{"test-hinge", []engine.Piece{{From: math.Inf(-1), Slope: -1}, {From: 1}}}
}

// SquaredHinge returns max(0, 1 - u)^2, which is smooth.
func SquaredHinge() Pieces {
	return Pieces{"test-squared-hinge", []engine.Piece{{From: math.Inf(-1), Slope: -2, Rise: 2}, {From: 1}}}
}

// Zigzag returns a loss whose slope is neither monotone nor of one sign. The slope has two jumps, one of them at 0.
func Zigzag() Pieces {
	return Pieces{"test-zigzag", []engine.Piece{
		{From: math.Inf(-1), Slope: 0.5}, {From: -0.7, Slope: 1, Rise: 0.5}, {From: 0, Slope: -1, Rise: 0.25},
		{From: 0.3, Slope: -0.925}, {From: 2.5, Slope: 0.125}},
	}
}

// Name returns the label.
func (p Pieces) Name() string { return p.Label }

// Text returns the knots.
func (p Pieces) Text() string { return fmt.Sprintf("pieces %+v", p.Parts) }

// piece returns the piece that applies at u. A knot belongs to the piece on its right.
func (p Pieces) piece(u float64) engine.Piece {
	i := len(p.Parts) - 1
	for i > 0 && u < p.Parts[i].From {
		i--
	}
	return p.Parts[i]
}

// Phi returns the integral of the slope from 0.
func (p Pieces) Phi(u float64) float64 {
	var sum float64
	for i, part := range p.Parts {
		to := math.Inf(1)
		if i+1 < len(p.Parts) {
			to = p.Parts[i+1].From
		}
		a, b := max(part.From, min(0, u)), min(to, max(0, u))
		if a < b {
			sum += part.Slope*(b-a) + part.Rise*(b-a)*(a+b)/2
		}
	}
	return math.Copysign(1, u) * sum
}

// DPhi returns phi'.
func (p Pieces) DPhi(u float64) float64 {
	at := p.piece(u)
	return at.Slope + at.Rise*u
}

// Slopes replaces every number u by DPhi(u).
func (p Pieces) Slopes(u []float64) {
	for i, v := range u {
		u[i] = p.DPhi(v)
	}
}

// Pieces returns the pieces that meet [lo, hi].
func (p Pieces) Pieces(lo, hi float64) ([]engine.Piece, bool) {
	var parts []engine.Piece
	for i, part := range p.Parts {
		if part.From <= hi && (i+1 == len(p.Parts) || p.Parts[i+1].From >= lo) {
			parts = append(parts, part)
		}
	}
	return parts, true
}

// Bounds returns the bounds of the function on [lo, hi]. The slope attains its bounds at the ends of the pieces.
func (p Pieces) Bounds(lo, hi float64) (engine.ScalarBounds, error) {
	b := engine.ScalarBounds{
		SlopeMin: math.Inf(1), SlopeMax: math.Inf(-1), Convex: true, Origin: engine.Proved,
	}
	parts, _ := p.Pieces(lo, hi)
	for i, part := range parts {
		to := hi
		if i+1 < len(parts) {
			to = parts[i+1].From
		}
		left, right := part.Slope+part.Rise*max(lo, part.From), part.Slope+part.Rise*to
		b.SlopeMin, b.SlopeMax = min(b.SlopeMin, left, right), max(b.SlopeMax, left, right)
		b.Curvature, b.Convex = max(b.Curvature, math.Abs(part.Rise)), b.Convex && part.Rise >= 0
		if i > 0 {
			before := parts[i-1].Slope + parts[i-1].Rise*part.From
			if left != before {
				b.Curvature, b.Convex = math.Inf(1), b.Convex && left > before
			}
		}
	}
	b.SlopeError = 0x1p-51 * (math.Abs(b.SlopeMin) + math.Abs(b.SlopeMax) + max(math.Abs(lo), math.Abs(hi))*8)
	return b, nil
}
