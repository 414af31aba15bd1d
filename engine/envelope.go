package engine

import (
	"fmt"
	"math"
	"sync"
)

// Envelope is the Moreau envelope of a Scalar,
//
//	phi_mu(u) = min over v of phi(v) + (v - u)^2/(2 mu).
//
// The envelope phi_mu is a smooth function below phi. At the minimising v, phi_mu' = (u - v)/mu = phi'(v)
// (Nesterov 2005; [Kang21] section 7 for losses that are not smooth). The envelope of a hinge is the
// quadratically smoothed hinge. Outside of [lo, hi] an Envelope is continued linearly. An Envelope is
// immutable.
type Envelope struct {
	of     Scalar
	mu     float64
	lo, hi float64
	// v is within [from, to], and phi is evaluated nowhere else. within holds the bounds of phi on [from, to].
	from, to float64
	within   ScalarBounds
	pieces   []Piece // pieces of phi' on [from, to] if phi' is piecewise linear, else nil
	bounds   ScalarBounds
}

var _ Scalar = (*Envelope)(nil)

// NewEnvelope returns the envelope of a phi on [lo, hi], for mu from 2^-100 to 2^100. phi must be convex, or its
// derivative phi' must have a Lipschitz constant of at most 1/(2 mu). In both cases, the error of the computed phi'
// must have a proved bound. These conditions must hold at every possible minimising v. Such a v is at most mu sup
// |phi'| outside [lo, hi].
//
// Proof: docs/theory.md#moreau.
func NewEnvelope(of Scalar, mu, lo, hi float64) (*Envelope, error) {
	if err := checkRange("envelope", lo, hi); err != nil {
		return nil, err
	}
	if !(mu >= 0x1p-100 && mu <= 0x1p100) {
		return nil, fmt.Errorf("engine: the Moreau envelope of %s has mu = %v, but mu must be 2^-100 to 2^100", of.Name(), mu)
	}
	// If phi is convex, phi'(v) lies between 0 and phi'(u), so the slopes on [lo, hi] bound phi'(v). Otherwise the loop
	// looks for a reach that is at least mu times the largest slope on [lo - reach, hi + reach]. Then v is in [lo -
	// reach, hi + reach], and the bounds of phi on this interval are used.
	b, err := BoundsOn(of, lo, hi)
	if err != nil {
		return nil, err
	}
	near, reach := b, mu*b.Slope()*(1+0x1p-40)
	for range 8 {
		wide, err := BoundsOn(of, lo-reach, hi+reach)
		if err != nil {
			return nil, fmt.Errorf("%w; with this mu, the Moreau envelope needs the loss up to %.3g outside the "+
				"margins; choose a smaller mu", err, reach)
		}
		if wide.Convex {
			b = wide
			b.SlopeMin, b.SlopeMax = max(wide.SlopeMin, min(near.SlopeMin, 0)), min(wide.SlopeMax, max(near.SlopeMax, 0))
			if mu*b.Slope()*(1+0x1p-40) <= reach {
				break
			}
		} else if mu*wide.Slope()*(1+0x1p-40) <= reach {
			b = wide
			break
		}
		reach = max(2*reach, mu*wide.Slope()*(1+0x1p-40))
		b = ScalarBounds{Curvature: math.Inf(1)}
	}
	modulus := 1.0 // the modulus of the strongly monotone function v + mu phi'(v)
	if !b.Convex {
		modulus = 1 - mu*b.Curvature*(1+0x1p-40)
	}
	if !(modulus >= 0.5) {
		return nil, fmt.Errorf("engine: loss %s has no unique Moreau envelope for mu = %v on [%g, %g]; choose a "+
			"smaller mu or a convex loss", of.Name(), mu, lo, hi)
	}
	if math.IsInf(b.SlopeError, 1) {
		return nil, fmt.Errorf("engine: the slope of %s has no proved bound of rounding errors; use another "+
			"formula in a Moreau envelope", of.Name())
	}
	e := &Envelope{of: of, mu: mu, lo: lo, hi: hi, from: lo - reach, to: hi + reach, within: b}
	size := max(math.Abs(lo), math.Abs(hi)) + reach
	e.bounds = ScalarBounds{
		SlopeMin: b.SlopeMin, SlopeMax: b.SlopeMax, Convex: b.Convex, Gap: b.Gap, Origin: b.Origin,
		Curvature:  min(1/mu, b.Curvature/modulus) * (1 + 0x1p-40),
		SlopeError: ((8*size+8*mu*b.Slope())*0x1p-52+mu*b.SlopeError)/(modulus*mu)*(1+0x1p-40) + 4*b.Slope()*0x1p-52,
	}
	if p, ok := of.(PiecewiseScalar); ok {
		if e.pieces, ok = p.Pieces(lo-reach, hi+reach); !ok {
			e.pieces = nil
		}
		for _, piece := range e.pieces { // their coefficients are rounded
			e.bounds.SlopeError += (math.Abs(piece.Slope) + math.Abs(piece.Rise)*size) * 0x1p-51 / modulus
		}
	}
	return e, nil
}

// Name returns "moreau-" and the name of phi.
func (e *Envelope) Name() string { return fmt.Sprintf("moreau-%s", e.of.Name()) }

// Text returns a description of phi and of its envelope.
func (e *Envelope) Text() string {
	return fmt.Sprintf("Moreau envelope, mu = %g, of %s", e.mu, e.of.Text())
}

// Phi returns phi_mu(u).
func (e *Envelope) Phi(u float64) float64 {
	at := min(max(u, e.lo), e.hi)
	slope := [1]float64{at}
	e.Slopes(slope[:])
	v := at - e.mu*slope[0]
	return e.of.Phi(v) + e.mu/2*slope[0]*slope[0] + slope[0]*(u-at)
}

// DPhi returns phi_mu'(u).
func (e *Envelope) DPhi(u float64) float64 {
	v := [1]float64{u}
	e.Slopes(v[:])
	return v[0]
}

// envelopeBlock is the number of minima that are computed together.
const envelopeBlock = 128

// bisections holds scratch space for reuse, because Slopes of a Scalar keeps no state.
var bisections = sync.Pool{New: func() any { return new(bisection) }}

type bisection struct{ low, high, mid, slope [envelopeBlock]float64 }

// Slopes replaces every number u by DPhi(u). If phi' is piecewise linear, it uses a formula.
// Otherwise bisection finds v with v + mu phi'(v) = u, and DPhi(u) = (u - v)/mu on [lo, hi].
func (e *Envelope) Slopes(u []float64) {
	if e.pieces != nil {
		for i, v := range u {
			u[i] = e.clamp(e.piecewise(min(max(v, e.lo), e.hi)))
		}
		return
	}
	b := bisections.Get().(*bisection)
	defer bisections.Put(b)
	for ; len(u) > 0; u = u[min(envelopeBlock, len(u)):] {
		n := min(envelopeBlock, len(u))
		low, high, mid, slope := b.low[:n], b.high[:n], b.mid[:n], b.slope[:n]
		for i, v := range u[:n] {
			v = min(max(v, e.lo), e.hi)
			u[i] = v
			low[i], high[i] = max(v-e.mu*e.within.SlopeMax, e.from), min(v-e.mu*e.within.SlopeMin, e.to)
		}
		for range 64 { // after 64 steps the interval contains one or two numbers
			for i := range n {
				mid[i] = low[i]/2 + high[i]/2
			}
			copy(slope, mid)
			e.of.Slopes(slope)
			for i := range n {
				if mid[i]+e.mu*slope[i] > u[i] {
					high[i] = mid[i]
				} else {
					low[i] = mid[i]
				}
			}
		}
		for i := range n {
			u[i] = e.clamp((u[i] - low[i]) / e.mu)
		}
	}
}

// clamp keeps a slope within its bounds.
func (e *Envelope) clamp(slope float64) float64 {
	return min(max(slope, e.within.SlopeMin), e.within.SlopeMax)
}

// piecewise returns the slope at u for a phi' with pieces a + b v. The slope is (a + b u)/(1 + mu
// b) if v is within a piece, and (u - k)/mu if v is a knot k at which phi' jumps.
func (e *Envelope) piecewise(u float64) float64 {
	for i, p := range e.pieces {
		if i > 0 && u < p.From+e.mu*(p.Slope+p.Rise*p.From) {
			return (u - p.From) / e.mu
		}
		if i+1 == len(e.pieces) || u <= e.pieces[i+1].From+e.mu*(p.Slope+p.Rise*e.pieces[i+1].From) {
			return (p.Slope + p.Rise*u) / (1 + e.mu*p.Rise)
		}
	}
	return math.NaN() // unreachable: the last piece has no end
}

// Bounds returns the same bounds for every interval, since the slope is constant outside of [lo, hi].
func (e *Envelope) Bounds(lo, hi float64) (ScalarBounds, error) {
	return e.bounds, checkRange(e.Name(), lo, hi)
}
