package autodiff

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// effort limits the work of Prove, in interval evaluations of phi'.
type effort struct {
	ends  int // for each end of the range of phi' and of phi"
	kinks int // for locating kinks
	sign  int // for the sign of phi"
}

var fullEffort = effort{ends: 4000, kinks: 20000, sign: 20000}

// The tolerances of Prove.
const (
	slopeTolerance = 0x1p-16 // gap, relative to the largest value
	curveTolerance = 0x1p-11
	slackTolerance = 0x1p-44 // Slack, relative to the largest |phi'|
	// constantTolerance is that relative to the largest |phi"| times |u|: a kink at a
	// constant that was rounded is moved by an ulp of it.
	constantTolerance = 0x1p-48
	kinkWidth         = 0x1p-70 // of a located kink, relative to the range
	noiseWidth        = 0x1p-40 // of a kink that roundings hide, at most, relative to the range
)

// Properties are facts about a derivative phi' on a bounded interval, proved by interval
// arithmetic with outward rounding and branch and bound. They hold for the Expr of phi'
// as it stands: exact arithmetic on its float64 constants. Numbers that could not be
// bounded are infinite.
//
// Convex and Smoothness hold for a function g with |phi'(u) - g(u)| <= Slack for
// all u in On: g does not decrease if Convex is true, and is Lipschitz
// continuous with the constant Smoothness if that is finite; if both, both hold
// for the same g. Slack is at most 2^-44 times the largest |phi'|, 2^-48 times the
// largest |phi"| |u|, and 16 times the rounding error of phi' at kinks. Add it to the
// rounding error of phi'. It is needed because the sides of a kink such as that of
// max(0, 1-u)^2 meet only up to rounding where the constants are not exact.
type Properties struct {
	// On is the interval.
	On Interval
	// Slope contains phi'(u) for all u in On; its ends bound the one-sided
	// derivatives of phi, so Slope.Abs() is a Lipschitz constant of phi if phi does
	// not jump (Check).
	Slope Interval
	// SlopeFound lies within the range of phi': values that are attained, up to
	// their own rounding.
	SlopeFound Interval
	// Curvature contains phi"(u) for all u in On at which phi' is differentiable.
	Curvature Interval
	// CurvatureFound is to Curvature as SlopeFound to Slope.
	CurvatureFound Interval
	// Smoothness is a Lipschitz constant of g, +Inf where phi has a kink.
	Smoothness float64
	// Convex reports whether g does not decrease. False means not proved.
	Convex bool
	// Slack bounds |phi' - g|.
	Slack float64
	// Jump bounds the sum of the jumps of phi itself; rounding leaves a small number
	// where phi does not jump. Only Function.Prove knows phi; Expr.Prove sets +Inf.
	Jump float64
}

// SlopeGap bounds the relative distance of Slope.Abs() above the largest |phi'|; 1 if no
// bound is known.
func (p Properties) SlopeGap() float64 { return gap(p.Slope, p.SlopeFound) }

// CurvatureGap is the same for phi".
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

// Prove returns the properties of the derivative e = phi' on the interval
// (docs/theory.md#formulas). Its work is limited; what it cannot prove in that is left
// infinite or false. If on is unbounded or empty, it proves nothing.
//
// Proof. K_1, K_2, ... are the parts of the interval in which a comparison of e is
// undecided (kinks), the other parts are the regions. On regions e is locally
// Lipschitz, and its derivative, where it exists, is in the enclosure of jet.slopes.
// Let g = e + c with c constant on kinks and on regions where e' is in
// [0, Smoothness], such that g is continuous over smooth kinks: g' = e' clipped
// from below at 0 on regions (not clipped if not convex), g constant on smooth
// kinks, and equal to e on both sides of a kink that jumps upwards by an amount
// that is proved positive. Then |e - g| is at most the sum over the kinks of the
// jumps that g leaves out and of the changes of e inside, plus the integral of
// max(0, -e') over the regions: these are what Slack adds up. QED
func (e Expr) Prove(on Interval) Properties { return e.prove(on, fullEffort) }

func (e Expr) prove(on Interval, work effort) Properties {
	p := Properties{On: on, Slope: whole, Curvature: whole, SlopeFound: zero, CurvatureFound: zero, Smoothness: inf, Slack: inf, Jump: inf}
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

// tolerance is the largest Slack: roundings of phi' and of the constants that place its kinks
// are not kinks. A larger one would be as sound, as it is part of Slack.
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

// analysis is one run of Prove.
type analysis struct {
	jet, point *jet
	on         Interval
	work       effort
	regions    []Interval // without undecided masks
	kinks      []Interval // the rest
}

func newAnalysis(e Expr, on Interval, work effort) *analysis {
	a := &analysis{jet: newJet(e), point: newJet(e), on: on, work: work}
	a.locate()
	return a
}

// undecidedMask reports whether a mask, or another number by which a Where chooses, may be 0
// and not 0 in the last evaluation.
func (j *jet) undecidedMask() bool {
	for i, in := range j.code {
		if in.op.mask() && (j.v[i] == unit || j.v[i].undefined()) {
			return true
		}
		if m := j.v[in.m]; in.op == opWhere && (m.undefined() || m.Contains(0) && m != zero) {
			return true
		}
	}
	return false
}

// locate splits the interval into regions and kinks, the widest parts first, so that
// what is left when the work ends is narrow at every kink.
//
// Near a kink the roundings of a comparison may hide its result in a whole range of
// float64: that of abs(1 - u) <= 1 in |u| < 2^-52, which has more numbers than work
// allows. No part of such a range is split.
func (a *analysis) locate() {
	least, noise := kinkWidth*a.on.Abs(), noiseWidth*a.on.Abs()
	work := a.work.kinks
	undecided := func(c Interval) bool {
		a.jet.values(c)
		work--
		return a.jet.undecidedMask()
	}
	for queue := []Interval{a.on}; len(queue) > 0; queue = queue[1:] {
		c := queue[0]
		if !undecided(c) {
			a.regions = append(a.regions, c)
			continue
		}
		l, r, ok := c.halves()
		width := c.Hi - c.Lo
		if !ok || width <= least || work <= 0 ||
			width <= noise && undecided(Point(c.Lo)) && undecided(Point(l.Hi)) && undecided(Point(c.Hi)) {
			a.kinks = append(a.kinks, c)
			continue
		}
		queue = append(queue, l, r)
	}
	a.regions, a.kinks = merged(a.regions), merged(a.kinks)
}

// merged sorts intervals that do not overlap, and joins neighbours.
func merged(list []Interval) []Interval {
	slices.SortFunc(list, func(x, y Interval) int { return cmp.Compare(x.Lo, y.Lo) })
	out := list[:0]
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].Hi == c.Lo {
			out[n-1].Hi = c.Hi
		} else {
			out = append(out, c)
		}
	}
	return out
}

// slopeRange bounds the range of phi'.
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

// curvatureRange bounds the range of phi" on the regions and adds that in kinks.
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

// extremes bounds both ends of a range that at encloses on intervals and, closely,
// at one of their points.
func (a *analysis) extremes(parts []Interval, at func(Interval) (enclosure, sample Interval), relative float64) (bound, found Interval) {
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

// negativePart bounds the integral of max(0, -phi") over the regions. It splits
// where the bound is large until the sum is far below tolerance, and stops at a
// point at which phi" is negative.
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
