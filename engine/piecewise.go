package engine

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
	// Pieces returns phi' on [lo, hi], exactly, by From; the first piece holds from lo
	// on. Which piece a knot belongs to is left open. It reports false if the slope is
	// not piecewise linear there, or has more than MaxPieces pieces.
	Pieces(lo, hi float64) ([]Piece, bool)
}

// MaxPieces limits the pieces of a PiecewiseScalar.
const MaxPieces = 16
