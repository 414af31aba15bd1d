package embedding

import "dyad/engine"

// TermLoss is a loss of terms: of pairs, tuples or batches of records, by what links their embeddings.
type TermLoss interface {
	// Name identifies the loss in models and reports.
	Name() string
	// Parameter is its public parameter, which must be positive; "" if it has none.
	Parameter() (name string, value float64)
}

// LinkLoss is phi of the link of two embeddings and of their labels.
type LinkLoss interface {
	// Name identifies the loss, e.g. "bilinear-logistic".
	Name() string
	// Link is u.
	Link() Link
	// Phi is the loss at u.
	Phi(u, y, yp float64) float64
	// DPhi is its derivative in u.
	DPhi(u, y, yp float64) float64
}

// PairLoss is a LinkLoss with proved bounds, for all pairs of records. The kinds are Score, Bilinear,
// Distance and Contrastive; it is sealed, as every kind has its sums over all pairs in engine/cpu.
type PairLoss interface {
	LinkLoss
	// Definition is the formula, for reports.
	Definition() string
	// Bounds are proved for all embeddings of norm at most reach, of m numbers, and labels within b.
	Bounds(b engine.Bounds, reach float64, m int) (PairBounds, error)

	// scalar is phi of a margin and a bound of |margin|; nil for Contrastive.
	scalar(b engine.Bounds, reach float64) (engine.Scalar, float64)
}

// ListLoss is a LinkLoss for listed pairs and a linear map W, Contrastive or BradleyTerry. It depends on v = W (x_a - x_b)
// alone, so that its gradient is c (x_a - x_b)^T with a vector c. A pair with the label true has y = 1, y' = 0, another one
// has y = y' = 0.
type ListLoss interface {
	TermLoss
	LinkLoss
	// GradientBound bounds the entrywise norm of the gradient over all pairs of
	// individuals within the norm bound, at a W given by rows of length d. It is a
	// function of public numbers only and lets clipping be tighter than a fixed
	// bound; clipping, not this number, is what a guarantee rests on.
	GradientBound(w []float64, d int, norm Norm, bound float64) float64
}

// TupleLoss is a loss of k records that depends on their squared distances q and on
// which of their classes are equal alone. Matrices are k x k and row-major; only the
// entries i*k+j with i < j are read and written.
//
// A loss may divide by any number, the count of its terms included: the gradient of a
// tuple is clipped as a whole after that.
type TupleLoss interface {
	TermLoss
	// Value is the loss at q.
	Value(q []float64, classes []int32) float64
	// Slopes adds the derivatives of Value in q to c.
	Slopes(c, q []float64, classes []int32)
}

// PairBounds are proved properties of a PairLoss. All numbers are rounded up.
type PairBounds struct {
	// Slope is A: ||a|| <= A and ||b|| <= A for a = dl/df, b = dl/df'.
	Slope float64
	// Diameter is how far a term can move when one of its records is replaced, over the clipping norm of Jacobians: 4 A, or less
	// where b = -a (docs/theory.md#networks).
	Diameter float64
	// Origin is the source of the bounds of phi's slopes.
	Origin engine.Origin
}

// Link is the number that links two embeddings f and f'.
type Link int

// The links.
const (
	Difference      Link = iota // f - f', of scores: m = 1
	Inner                       // f.f'
	SquaredDistance             // ||f - f'||^2
)

// Of is u.
func (l Link) Of(f, fp []float64) float64 {
	switch l {
	case Difference:
		return f[0] - fp[0]
	case Inner:
		return dot(f, fp)
	}
	return squaredDistance(f, fp)
}

// Pull sets a = c du/df and b = c du/df', which may overwrite f and f'.
func (l Link) Pull(a, b, f, fp []float64, c float64) {
	switch l {
	case Difference:
		a[0], b[0] = c, -c
	case Inner:
		for k, v := range f {
			a[k], b[k] = c*fp[k], c*v
		}
	case SquaredDistance:
		for k, v := range f {
			a[k] = 2 * c * (v - fp[k])
			b[k] = -a[k]
		}
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
