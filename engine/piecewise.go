package engine

import (
	"math"

	"dyad/autodiff"
)

// Piece is a part of a piecewise linear slope phi'. It begins at u = From and ends where
// the next piece begins. In between, phi'(u) = Slope + Rise u.
type Piece struct {
	From        float64
	Slope, Rise float64
}

// PiecewiseScalar is a Scalar whose slope is piecewise linear. The hinge and the squared
// hinge are examples. Sums over all pairs can then be computed from sorted scores.
type PiecewiseScalar interface {
	Scalar
	// Pieces returns the pieces of phi' on [lo, hi] by increasing From, with knots and
	// coefficients rounded to nearest. The first piece begins at lo or below. A knot may
	// belong to either of its two pieces. Pieces returns false if the slope is not
	// piecewise linear on [lo, hi] or has more than maxPieces pieces.
	Pieces(lo, hi float64) ([]Piece, bool)
}

// piecesOf returns the pieces of a piecewise polynomial of degree 1, and nil for any other degree.
func piecesOf(p autodiff.PiecewisePolynomial) []Piece {
	if p.Degree() > 1 {
		return nil
	}
	all := make([]Piece, len(p.Coefs))
	for i, c := range p.Coefs {
		all[i] = Piece{From: math.Inf(-1), Slope: c[0]}
		if i > 0 {
			all[i].From = p.Knots[i-1]
		}
		if len(c) > 1 {
			all[i].Rise = c[1]
		}
	}
	return all
}

// piecesOn returns the pieces that intersect [lo, hi].
func piecesOn(all []Piece, lo, hi float64) ([]Piece, bool) {
	var on []Piece
	for i, p := range all {
		if p.From <= hi && (i+1 == len(all) || all[i+1].From >= lo) {
			on = append(on, p)
		}
	}
	return on, len(on) > 0 && len(on) <= maxPieces
}

// maxPieces is the largest number of pieces of a PiecewiseScalar.
const maxPieces = 16
