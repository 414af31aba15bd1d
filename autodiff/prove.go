package autodiff

import (
	"container/heap"
	"math"
)

// Properties holds facts about a derivative phi' on a bounded interval, proved by interval
// arithmetic with outward rounding and branch and bound. They hold for the Expr of phi' as it is:
// exact arithmetic on its float64 constants. A number that could not be bounded is infinite.
//
// Convex and Smoothness hold for a function g with |phi'(u) - g(u)| <= Slack for all u in On. If Convex is
// true, g is non-decreasing. If Smoothness is finite, g is Lipschitz continuous with this constant. If both
// apply, they hold for the same g. Slack is at most twice the sum of three terms: 2^-44 times the bound of
// |phi'|, 2^-48 times the bound of |phi"| times the largest |u|, and 16 times the estimated rounding error of
// phi' at kinks. Add Slack to the rounding error of phi'. Slack is needed for kinks such as the kink in the
// derivative of max(0, 1-u)^2. If the constants are not exact, the two sides of such a kink meet only up to
// rounding.
type Properties struct {
	// On is the interval on which the properties hold.
	On Interval
	// Slope contains phi'(u) for all u in On. Its ends bound the one-sided derivatives of phi, so
	// Slope.Abs() is a Lipschitz constant of phi if phi does not jump (Check).
	Slope Interval
	// SlopeFound is an interval within the range of phi'. phi' attains the two ends of
	// SlopeFound, up to the rounding of these ends.
	SlopeFound Interval
	// Curvature contains phi"(u) for all u in On at which phi' is differentiable.
	Curvature Interval
	// CurvatureFound is an interval within the range of the second derivative of phi. The
	// second derivative attains the two ends of CurvatureFound, up to the rounding of
	// these ends.
	CurvatureFound Interval
	// Smoothness is a Lipschitz constant of g. It is +Inf if phi has a kink.
	Smoothness float64
	// Convex is true if g is proved to be non-decreasing. If Convex is false, no proof was found.
	Convex bool
	// Slack bounds |phi' - g|.
	Slack float64
	// Jump bounds the sum of the jumps of phi itself. If phi does not jump, Jump can still be a
	// small positive number because of rounding. Only Function.Prove knows phi; Expr.Prove sets
	// Jump to +Inf.
	Jump float64
}

// SlopeGap returns a bound of the relative distance by which Slope.Abs() exceeds the largest
// |phi'|. It returns 1 if no bound is known.
func (p Properties) SlopeGap() float64 { return gap(p.Slope, p.SlopeFound) }

// CurvatureGap is SlopeGap for Curvature and phi".
func (p Properties) CurvatureGap() float64 { return gap(p.Curvature, p.CurvatureFound) }

func gap(bound, found Interval) float64 {
	b, f := bound.Abs(), found.Abs()
	switch {
	case b == 0:
		return 0
	case !(f <= b) || math.IsInf(b, 0):
		return 1
	}
	return (b - f) / b
}

// Prove returns the properties of Phi.Derivative() on the interval.
func (f *Function) Prove(on Interval) Properties {
	p := f.Phi.Derivative().Prove(on)
	if validRange(on) {
		a := newAnalysis(f.Phi, on, fullEffort)
		c := a.kinkChanges()
		p.Jump = addUp(c.up, c.down)
	}
	return p
}

func validRange(on Interval) bool {
	return finite(on.Lo) && finite(on.Hi) && on.Lo <= on.Hi && finite(on.Hi-on.Lo)
}

// Prove returns the properties of the derivative e = phi' on the given interval
// (docs/theory.md#formulas). Its work is limited. A property that it cannot prove within the limit
// stays infinite or false. If the interval is unbounded or empty, Prove proves nothing.
//
// Proof. Let K_1, K_2, ... be the parts of the interval in which a comparison of e is undecided
// (kinks). The other parts are the regions. On regions e is locally Lipschitz, and its derivative,
// where it exists, is in the enclosure of jet.slopes. Let g = e + c, where c is constant on kinks
// and on regions where e' is in [0, Smoothness], such that g is continuous over smooth kinks. That
// is: g' = e' clipped from below at 0 on regions (not clipped if not convex), and g is constant on
// smooth kinks. At a kink that jumps upwards by an amount that is proved positive, g equals e on
// both sides. Then |e - g| is at most a sum of three terms: the jumps that g leaves out, the
// changes of e inside the kinks, and the integral of max(0, -e') over the regions. Slack is this
// sum. QED
func (e Expr) Prove(on Interval) Properties { return e.prove(on, fullEffort) }

func (e Expr) prove(on Interval, work effort) Properties {
	p := Properties{On: on, Slope: whole, Curvature: whole, SlopeFound: zero, CurvatureFound: zero, Smoothness: inf,
		Slack: inf, Jump: inf}
	if !validRange(on) {
		return p
	}
	a := newAnalysis(e, on, work)
	p.Slope, p.SlopeFound = a.slopeRange()
	k := a.kinkChanges()
	p.Curvature, p.CurvatureFound = a.curvatureRange(k.curvature)
	tolerance := a.tolerance(p.Slope.Abs(), p.Curvature.Abs())
	if !finite(tolerance) {
		return p
	}
	negative := a.negativePart(p.CurvatureFound.Abs(), tolerance)
	p.Convex = addUp(negative, k.down) <= tolerance
	smooth := addUp(k.up, k.down) <= tolerance && finite(p.Curvature.Abs())
	p.Slack = 0
	if smooth {
		p.Smoothness = p.Curvature.Abs()
		p.Slack = addUp(k.up, k.down)
	}
	if p.Convex {
		p.Slack = addUp(addUp(p.Slack, negative), k.down)
	}
	return p
}

// tolerance returns the largest part of Slack that the proof of Convex may use. The proof of
// Smoothness may use an equal part. With this tolerance, rounding errors of phi', and of the
// constants that determine the places of its kinks, do not count as kinks. A larger tolerance
// would also be sound, since it is part of Slack.
func (a *analysis) tolerance(slope, curvature float64) float64 {
	t := slackTolerance * slope
	if finite(curvature) {
		t += constantTolerance * curvature * a.on.Abs()
	}
	e, noise := Expr{a.jet.code}, 0.0
	for _, k := range a.kinks {
		if _, err := e.evalErr(k.middle()); finite(err) {
			noise = math.Max(noise, err)
		}
	}
	return t + roundoffFactor*noise
}

// slopeRange returns bounds of the range of phi'.
func (a *analysis) slopeRange() (bound, found Interval) {
	at := func(c Interval) (upper, lower Interval) {
		v, d := a.jet.slopes(c)
		m := a.point.values(Point(c.middle()))
		if a.jet.undecidedMask() {
			return a.jet.branchValues(c, v), m
		}
		if !v.undefined() && !d.undefined() && !m.undefined() {
			// Mean value form: e(u) is in e(m) + e'(c) (u - m).
			v = meet(v, m.add(d.mul(c.sub(Point(c.middle())))))
		}
		return v, m
	}
	return a.extremes([]Interval{a.on}, at, slopeTolerance)
}

// curvatureRange returns bounds of the range of phi" on the regions, together with its range in
// kinks.
func (a *analysis) curvatureRange(kinks Interval) (bound, found Interval) {
	if len(a.regions) == 0 {
		return kinks, zero
	}
	bound, found = a.extremes(a.regions, a.curvatureOn, curveTolerance)
	if len(a.kinks) > 0 {
		bound = hull(bound, kinks)
		if bound.undefined() {
			bound = whole
		}
	}
	return bound, found
}

// extremes returns bounds of both ends of a range. at encloses the range on an interval and,
// closely, at one point of the interval.
func (a *analysis) extremes(parts []Interval, at func(Interval) (enclosure, sample Interval),
	relative float64) (bound, found Interval) {
	scale := 0.0
	for _, p := range parts {
		for k := range 33 {
			_, m := at(Point(p.Lo + (p.Hi-p.Lo)*float64(k)/32))
			if s := m.least(); finite(s) {
				scale = math.Max(scale, s)
			}
		}
	}
	tolerance := func(best float64) float64 {
		return relative * math.Max(math.Abs(best), scale)
	}
	hi, most := maximise(parts, func(c Interval) (float64, float64) {
		v, m := at(c)
		return v.Hi, m.Lo
	}, tolerance, a.work.ends)
	lo, least := maximise(parts, func(c Interval) (float64, float64) {
		v, m := at(c)
		return -v.Lo, -m.Hi
	}, tolerance, a.work.ends)
	found = Interval{-least, most}
	if !(found.Lo <= found.Hi) {
		found = Interval{math.Min(-least, most), math.Max(-least, most)}
	}
	return Interval{0 - lo, hi + 0}, found // no -0
}

// negativePart returns a bound of the integral of max(0, -phi") over the regions. It splits where
// the bound is large until the sum is far below tolerance. It stops at a point at which phi" is
// negative.
func (a *analysis) negativePart(scale, tolerance float64) float64 {
	var open cells
	push := func(c Interval) {
		d, _ := a.curvatureOn(c)
		if n := -d.Lo; !(n <= 0) { // NaN counts as infinite
			if n != n {
				n = inf
			}
			heap.Push(&open, cell{c, mulUp(n, c.Width())})
		}
	}
	for _, r := range a.regions {
		push(r)
	}
	fixed := 0.0
	for work := a.work.sign; len(open) > 0 && work > 0; work-- {
		if work%64 == 0 || open[0].bound <= tolerance/1024 {
			if sum := addUp(fixed, open.sum()); sum <= tolerance/16 {
				return sum
			}
		}
		top := heap.Pop(&open).(cell)
		if _, m := a.point.slopes(Point(top.middle())); m.Hi < -1e-9*scale {
			return inf
		}
		l, r, ok := top.halves()
		if !ok {
			fixed = addUp(fixed, top.bound)
			continue
		}
		push(l)
		push(r)
	}
	return addUp(fixed, open.sum())
}

func (c cells) sum() float64 {
	s := 0.0
	for _, x := range c {
		s = addUp(s, x.bound)
	}
	return s
}
