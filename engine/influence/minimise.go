package influence

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Limits of Minimise.
const (
	newtonSteps = 200
	stationary  = 1e-9 // bound on the norm of the gradient
	shortest    = 0x1p-30
)

// Minimise sets w to a point at which the gradient of F has a norm of at most 1e-9. It uses Newton's method
// with conjugate gradients and backtracking, starting from w. If F is convex, the point is the minimum.
// Otherwise the point is stationary, and F is not larger than at the start. Minimise returns an error if it
// finds no such point within 200 steps or within the radius.
func (o *Objective) Minimise(ctx context.Context, w []float64) error {
	g, step, at := make([]float64, len(w)), make([]float64, len(w)), make([]float64, len(w))
	value, err := o.Value(ctx, w)
	if err != nil {
		return err
	}
	for range newtonSteps {
		if err := o.Gradient(ctx, g, w); err != nil {
			return err
		}
		size := floats.Norm(g, 2)
		if size <= stationary {
			return nil
		}
		// The accuracy of the solution is adapted to the distance to the minimum (Nocedal and Wright, section 7.1).
		for k := range g {
			g[k] = -g[k]
		}
		if _, err := o.solve(ctx, step, w, g, min(0.1, size)); err != nil {
			return err
		}
		fall := floats.Dot(g, step)
		t := 1.0
		for ; ; t /= 2 {
			floats.AddScaledTo(at, w, t, step)
			next, err := math.Inf(1), error(nil)
			if o.within(at) == nil {
				if next, err = o.Value(ctx, at); err != nil {
					return err
				}
			}
			// Near the minimum, values differ by about 1e-12 from rounding alone, and full Newton steps must be
			// accepted there.
			if next <= value-1e-4*t*fall+1e-12*max(1, math.Abs(value)) {
				value = next
				break
			}
			if t < shortest {
				return errors.Join(errors.New("influence: Newton steps got stuck; the loss is not smooth enough, "+
					"or its minimum is outside the ball"), o.within(at))
			}
		}
		copy(w, at)
	}
	return errors.New("influence: 200 Newton steps did not reach a stationary point; raise the L2 coefficient")
}

// solve sets x to an approximate solution of H x = b, where H is the Hessian of F at w, by conjugate gradients.
// It stops when the residual is at most relative ||b||. It also stops at a direction of negative curvature.
// Then x is the last iterate, or b if there is none, and definite is false.
func (o *Objective) solve(ctx context.Context, x, w, b []float64, relative float64) (definite bool, err error) {
	clear(x)
	r := append([]float64(nil), b...)
	p := append([]float64(nil), b...)
	hp := make([]float64, len(b))
	square := floats.Dot(r, r)
	goal := relative * relative * square
	for step := range 2*len(b) + 20 { // rounding errors lose directions, and some more steps recover them
		if square <= goal || square == 0 {
			return true, nil
		}
		if err := o.HessianVector(ctx, hp, w, p); err != nil {
			return false, err
		}
		curvature := floats.Dot(p, hp)
		if !(curvature > 1e-10*floats.Dot(p, p)) {
			if step == 0 {
				copy(x, b)
			}
			return false, nil
		}
		t := square / curvature
		floats.AddScaledTo(x, x, t, p)
		floats.AddScaledTo(r, r, -t, hp)
		next := floats.Dot(r, r)
		floats.AddScaledTo(p, r, next/square, p)
		square = next
	}
	return true, nil
}
