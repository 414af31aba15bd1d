package influence

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/floats"
)

// errIndefinite is returned if F is not strictly convex at the weights. An influence function then does not exist.
var errIndefinite = errors.New("influence: the objective is not strictly convex at these weights; raise the L2 " +
	"coefficient")

// solved is the largest relative residual of a system of equations whose solution is accepted.
const solved = 1e-6

// Change sets dst to the influence of record i at a stationary point w. The influence is the first-order change
// of the weights if the record is left out:
//
//	H^-1 (2 L2 w/(n-2) + grad T_i/((n-1)(n-2))),
//
// where T_i is the sum over the 2(n-1) ordered pairs of record i, and H is the Hessian of F at w. The influence
// is one Newton step for the objective of the other records with the Hessian of all records
// (docs/theory.md#influence; [Kang21] equation 4).
func (o *Objective) Change(ctx context.Context, dst, w []float64, i int) error {
	b := make([]float64, len(w))
	o.recordGradient(b, w, i)
	n := float64(o.Len())
	for k := range b {
		b[k] = 2*o.l2*w[k]/(n-2) + b[k]/((n-1)*(n-2))
	}
	definite, err := o.solve(ctx, dst, w, b, solved)
	if err == nil && !definite {
		err = errIndefinite
	}
	return err
}

// Changes returns, for every record, the first-order change of a function of the weights if the record is left
// out. gradient is the gradient of the function at the stationary point w. For any n, one system of equations
// is solved and every pair is evaluated four times.
func (o *Objective) Changes(ctx context.Context, w, gradient []float64) ([]float64, error) {
	s := make([]float64, len(w))
	if definite, err := o.solve(ctx, s, w, gradient, solved); err != nil || !definite {
		return nil, errors.Join(err, indefinite(definite))
	}
	changes := make([]float64, o.Len())
	if size := floats.Norm(s, 2); size > 0 {
		// s . grad T_i is the derivative of T_i in direction s.
		h := 0x1p-14 * max(1, floats.Norm(w, 2)) / size
		at := make([]float64, len(w))
		floats.AddScaledTo(at, w, h, s)
		high, err := o.recordSums(ctx, at)
		if err != nil {
			return nil, err
		}
		floats.AddScaledTo(at, w, -h, s)
		low, err := o.recordSums(ctx, at)
		if err != nil {
			return nil, err
		}
		n, own := float64(o.Len()), 2*o.l2*floats.Dot(s, w)
		for i := range changes {
			changes[i] = own/(n-2) + (high[i]-low[i])/(2*h)/((n-1)*(n-2))
		}
	}
	return changes, nil
}

func indefinite(definite bool) error {
	if definite {
		return nil
	}
	return errIndefinite
}

// Refit leaves out record i and sets dst to a stationary point of the remaining objective. The search starts
// at w. Change approximates this exact result.
func (o *Objective) Refit(ctx context.Context, dst, w []float64, i int) (err error) {
	without, err := o.Without(i)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, without.Close()) }()
	copy(dst, w)
	return without.Minimise(ctx, dst)
}
