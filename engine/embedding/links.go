package embedding

import "dyad/engine"

// TermLoss is a loss of terms. A term is a pair, tuple or batch of records, and the loss depends on links
// between the embeddings of these records.
type TermLoss interface {
	// Name identifies the loss in models and reports.
	Name() string
	// Parameter returns the name and value of the public parameter of the loss, which must be positive. The
	// name is "" if the loss has no parameter.
	Parameter() (name string, value float64)
}

// LinkLoss is a function phi of the link u of two embeddings and of the labels of their records.
type LinkLoss interface {
	// Name identifies the loss, e.g. "bilinear-logistic".
	Name() string
	// Link returns the kind of link that computes u.
	Link() Link
	// Phi returns the loss at u.
	Phi(u, y, yp float64) float64
	// DPhi returns the derivative of Phi in u.
	DPhi(u, y, yp float64) float64
}

// PairLoss is a LinkLoss with proved bounds, for all pairs of records. The kinds are Score, Bilinear, Distance
// and Contrastive. The interface is sealed because engine/cpu implements the sums over all pairs of every kind.
type PairLoss interface {
	LinkLoss
	// Definition returns the formula for reports.
	Definition() string
	// Bounds returns bounds that are proved for all embeddings of m numbers with norm at most reach, and for
	// all labels within b.
	Bounds(b engine.Bounds, reach float64, m int) (PairBounds, error)

	// scalar returns phi as a function of a margin and a bound of |margin|. The function is nil for Contrastive.
	scalar(b engine.Bounds, reach float64) (engine.Scalar, float64)
}

// ListLoss is a LinkLoss for listed pairs and a linear map W: Contrastive or BradleyTerry. The loss depends on v = W
// (x_a - x_b) alone, so its gradient is c (x_a - x_b)^T with a vector c. A pair with the label true has y = 1 and y'
// = 0. A pair with the label false has y = y' = 0.
type ListLoss interface {
	TermLoss
	LinkLoss
	// GradientBound bounds the entrywise norm of the gradient over all pairs of individuals within the norm
	// bound, at a W given by rows of length d. The bound is a function of public numbers only, so clipping may
	// use the bound if it is tighter than a fixed clipping norm. Guarantees depend on the clipping and not on
	// this bound.
	GradientBound(w []float64, d int, norm Norm, bound float64) float64
}

// TupleLoss is a loss of k records. It depends only on their squared distances q and on which of their classes
// are equal. Matrices are k x k and row-major. Only the entries i*k+j with i < j are read and written.
//
// A loss may divide by any number, including the number of its terms, because the gradient of a tuple is
// clipped as a whole after the division.
type TupleLoss interface {
	TermLoss
	// Value returns the loss at q.
	Value(q []float64, classes []int32) float64
	// Slopes adds the derivatives of Value in q to c.
	Slopes(c, q []float64, classes []int32)
}

// PairBounds are proved properties of a PairLoss. All numbers are rounded up.
type PairBounds struct {
	// Slope is A, a bound of the gradients a = dl/df and b = dl/df': ||a|| <= A and ||b|| <= A.
	Slope float64
	// Diameter, times the clipping norm of Jacobians, bounds how far a term can move when one of its records is
	// replaced. Diameter is 4 Slope, or less for some losses with b = -a (docs/theory.md#networks).
	Diameter float64
	// Origin is the source of the bounds of phi's slopes.
	Origin engine.Origin
}

// Link selects the number u that is computed from two embeddings f and f'.
type Link int

// The links.
const (
	Difference      Link = iota // f - f', of scores: m = 1
	Inner                       // f.f'
	SquaredDistance             // ||f - f'||^2
)

// Of returns the link u of f and fp.
func (l Link) Of(f, fp []float64) float64 {
	switch l {
	case Difference:
		return f[0] - fp[0]
	case Inner:
		return dot(f, fp)
	}
	return squaredDistance(f, fp)
}

// Pull sets a = c du/df and b = c du/df'. The slices a and b may be f and f' themselves.
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
