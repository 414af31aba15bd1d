package engine

import (
	"math"

	"dyad/autodiff"
)

// Piece is a part of a piecewise linear slope: phi'(u) = Slope + Rise u from From on,
// up to the next piece.
type Piece struct {
	From        float64
	Slope, Rise float64
}

// PiecewiseScalar is a Scalar whose slope is piecewise linear, as those of the hinge and
// the squared hinge: then sums over all pairs need sorted scores only.
type PiecewiseScalar interface {
	Scalar
	// Pieces returns phi' on [lo, hi] by increasing From, with knots and coefficients
	// rounded to nearest; the first piece holds from lo on. Which piece a knot belongs
	// to is left open. It reports false if the slope is not piecewise linear there, or
	// has more than maxPieces pieces.
	Pieces(lo, hi float64) ([]Piece, bool)
}

// piecesOf are the pieces of a piecewise polynomial of degree 1, nil for any other.
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

// piecesOn are those that meet [lo, hi].
func piecesOn(all []Piece, lo, hi float64) ([]Piece, bool) {
	var on []Piece
	for i, p := range all {
		if p.From <= hi && (i+1 == len(all) || all[i+1].From >= lo) {
			on = append(on, p)
		}
	}
	return on, len(on) > 0 && len(on) <= maxPieces
}

// maxPieces limits the pieces of a PiecewiseScalar.
const maxPieces = 16
