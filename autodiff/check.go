package autodiff

import (
	"fmt"
	"math"
	"slices"
)

// The tolerances of Check. Values that should be equal may differ by exactTolerance relatively, plus a
// multiple of their estimated rounding errors. A difference quotient must agree with the derivative to
// differenceTolerance, relative to the sum of their magnitudes, plus a multiple of their estimated errors.
// The estimated error of a difference quotient must be at most resolvedTolerance of that sum, or at most
// differenceTolerance of the largest |phi'| on the grid.
const (
	exactTolerance      = 1e-10
	differenceTolerance = 1e-6
	resolvedTolerance   = 1e-4
	roundoffFactor      = 16
	uniformCells        = 1024
)

// Check is the test that a loss must pass before it is used on [lo, hi]. It uses a grid of this
// interval: 1025 equally spaced points, 0, and plus and minus powers of two. On the grid it
// requires that
//
//   - phi, DPhi and Phi.Derivative() are finite;
//   - phi does not jump at a point where one of its masks, Abs, Max or Min changes branch,
//     and DPhi lies between the two one-sided derivatives at this point;
//   - DPhi equals Phi.Derivative();
//   - DPhi and Phi.Derivative() equal the limit of central differences of phi.
//
// Check returns the first failed requirement as a *CheckError with the smallest such u. It does not
// detect a fault that occurs only between grid points. So Check guards against wrong formulas and
// does not prove a bound. lo and hi must be finite with lo < hi.
func (f *Function) Check(lo, hi float64) error {
	if !finite(lo) || !finite(hi) || !(lo < hi) || !finite(hi-lo) {
		return fmt.Errorf("autodiff: Check: the interval [%g, %g] must be finite and not empty", lo, hi)
	}
	g := &gate{phi: f.Phi, dphi: f.DPhi, own: f.Phi.Derivative(), lo: lo, hi: hi, grid: grid(lo, hi)}
	for _, step := range []func() error{g.finite, g.kinks, g.gradients, g.differences} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// gate is one run of Check.
type gate struct {
	phi, dphi, own Expr
	lo, hi         float64
	grid           []float64
	slope          float64 // largest |own| on the grid
	breaks         []kink
}

// kink is a change of branch between the adjacent float64 numbers left and right.
type kink struct{ left, right float64 }

func grid(lo, hi float64) []float64 {
	pts := []float64{lo, hi}
	add := func(u float64) {
		if lo < u && u < hi {
			pts = append(pts, u)
		}
	}
	for k := 1; k < uniformCells; k++ {
		add(lo + (hi-lo)*float64(k)/uniformCells)
	}
	add(0)
	for k := -20; k <= 20; k++ {
		add(math.Ldexp(1, k))
		add(-math.Ldexp(1, k))
	}
	slices.Sort(pts)
	return slices.Compact(pts)
}

func (g *gate) finiteAt(u float64) error {
	phi, dphi, own := g.phi.Eval(u), g.dphi.Eval(u), g.own.Eval(u)
	switch {
	case !finite(phi) || !finite(dphi):
		return &CheckError{ErrNotFinite, u, phi, dphi}
	case !finite(own):
		return &CheckError{ErrNotFinite, u, phi, own}
	}
	g.slope = math.Max(g.slope, math.Abs(own))
	return nil
}

func (g *gate) finite() error {
	for _, u := range g.grid {
		if err := g.finiteAt(u); err != nil {
			return err
		}
	}
	return nil
}

// branches appends the branch that each instruction of e takes at u.
func (e Expr) branches(dst []bool, u float64) []bool {
	code := e.instrs()
	vals := make([]float64, 0, len(code))
	for _, in := range code {
		v := in.eval(u, vals)
		switch in.op {
		case opAbs:
			dst = append(dst, vals[in.a] >= 0)
		case opMax, opMin, opGe:
			dst = append(dst, vals[in.a] >= vals[in.b])
		case opGt:
			dst = append(dst, v != 0)
		}
		vals = append(vals, v)
	}
	return dst
}

// kinks locates the changes of branch between neighbouring grid points by bisection, and checks phi
// and phi' on both sides of each.
func (g *gate) kinks() error {
	if len(g.phi.branches(nil, g.lo)) == 0 {
		return nil
	}
	for i := 1; i < len(g.grid); i++ {
		a, b := g.grid[i-1], g.grid[i]
		for !slices.Equal(g.phi.branches(nil, a), g.phi.branches(nil, b)) {
			k := g.bisect(a, b)
			if err := g.checkKink(k); err != nil {
				return err
			}
			g.breaks = append(g.breaks, k)
			a = k.right
		}
	}
	return nil
}

func (g *gate) bisect(a, b float64) kink {
	at := g.phi.branches(nil, a)
	for {
		m := a/2 + b/2
		if !(a < m && m < b) {
			m = math.Nextafter(a, b)
			if m >= b {
				return kink{a, b}
			}
		}
		if slices.Equal(at, g.phi.branches(nil, m)) {
			a = m
		} else {
			b = m
		}
	}
}

func (g *gate) checkKink(k kink) error {
	for _, u := range []float64{k.left, k.right} {
		if err := g.finiteAt(u); err != nil {
			return err
		}
	}
	p, ep := g.phi.evalErr(k.left)
	q, eq := g.phi.evalErr(k.right)
	if math.Abs(p-q) > roundoffFactor*(ep+eq)+g.slope*(k.right-k.left) {
		return &CheckError{ErrDiscontinuous, k.right, p, q}
	}
	// Between the last points on both sides that rounding cannot confuse, phi' may be any
	// subgradient. Between such a point and the kink, phi' may change as much as it did just
	// before.
	away := 1e-9 * math.Max(1, math.Abs(k.left))
	from := func(far, near float64) (value, change float64) {
		value = g.own.Eval(near)
		if change = math.Abs(value - g.own.Eval(far)); !finite(change) {
			change = 0
		}
		return value, change
	}
	l, dl := from(math.Max(g.lo, k.left-2*away), math.Max(g.lo, k.left-away))
	r, dr := from(math.Min(g.hi, k.right+2*away), math.Min(g.hi, k.right+away))
	slack := differenceTolerance*math.Max(math.Abs(l), math.Abs(r)) + 2*(dl+dr)
	for _, u := range []float64{k.left, k.right} {
		if d := g.dphi.Eval(u); d < math.Min(l, r)-slack || d > math.Max(l, r)+slack {
			return &CheckError{ErrGradientsDisagree, u, d, g.own.Eval(u)}
		}
	}
	return nil
}

// room returns the distance from u to the nearest kink or end of the interval.
func (g *gate) room(u float64) float64 {
	d := math.Min(u-g.lo, g.hi-u)
	for _, k := range g.breaks {
		d = math.Min(d, math.Min(math.Abs(u-k.left), math.Abs(u-k.right)))
	}
	return d
}

// nearKink reports whether rounding errors may decide the branch at u.
func (g *gate) nearKink(u float64) bool {
	for _, k := range g.breaks {
		if away := 1e-9 * math.Max(1, math.Abs(u)); u >= k.left-away && u <= k.right+away {
			return true
		}
	}
	return false
}

func (g *gate) gradients() error {
	for _, u := range g.grid {
		if g.nearKink(u) {
			continue
		}
		d, ed := g.dphi.evalErr(u)
		w, ew := g.own.evalErr(u)
		tol := exactTolerance*math.Max(math.Abs(d), math.Abs(w)) + roundoffFactor*(ed+ew)
		if !(math.Abs(d-w) <= tol) {
			return &CheckError{ErrGradientsDisagree, u, d, w}
		}
	}
	return nil
}

func (g *gate) differences() error {
	for _, u := range g.grid {
		room := g.room(u)
		if room < 1e-7*math.Max(1, math.Abs(u)) {
			continue // too near to a kink or an end for a difference
		}
		got, err := g.difference(u, math.Min(room, math.Max(1, math.Abs(u))/16))
		want, ew := g.dphi.evalErr(u)
		size := math.Abs(want) + math.Abs(got)
		switch {
		case got == want: // if phi is constant, its rounding errors do not matter
		case !(err <= resolvedTolerance*size) && !(err <= differenceTolerance*g.slope):
			if room < 1e-5*math.Max(1, math.Abs(u)) {
				continue // the point is so near to a kink that rounding errors of phi hide its slope
			}
			return &CheckError{ErrUnresolved, u, want, got}
		case !(math.Abs(got-want) <= roundoffFactor*(err+ew)+differenceTolerance*size):
			return &CheckError{ErrDifferenceDisagrees, u, want, got}
		}
	}
	return nil
}

// difference returns the limit of (phi(u+h) - phi(u-h)) / 2h for h -> 0, with an estimate of its
// error. It extrapolates the steps h0, h0/2, ... (one step of Richardson's method removes the h^2
// term). The estimate is the change from the step before plus the rounding error, and the step with
// the smallest estimate is used.
func (g *gate) difference(u, h0 float64) (d, err float64) {
	err = math.Inf(1)
	var last, lastExtra float64
	for k := range 40 {
		h := math.Ldexp(h0, -k)
		up, down := u+h, u-h
		if !(down < u && u < up) {
			break
		}
		p, ep := g.phi.evalErr(up)
		q, eq := g.phi.evalErr(down)
		quotient := (p - q) / (up - down)
		rounding := (ep + eq) / (up - down)
		extra := quotient + (quotient-last)/3
		if k >= 2 {
			if e := math.Abs(extra-lastExtra) + rounding; e < err {
				d, err = extra, e
			}
		}
		if rounding > err {
			break
		}
		last, lastExtra = quotient, extra
	}
	return d, err
}
