package autodiff

import (
	"cmp"
	"math"
	"slices"
)

// changes holds sums over kinks.
type changes struct {
	// up and down bound the sums of the jumps of phi' upwards and downwards. Changes of phi'
	// between jumps count in down.
	up, down float64
	// curvature contains phi" at the points between the jumps.
	curvature Interval
}

// kinkChanges returns the sums of the changes of phi' in the kinks.
//
// A kink is a narrow interval K in which comparisons change. Suppose that each of them changes
// exactly once, because the difference of its sides is strictly monotone on K. Then phi' is, from
// left to right, a sequence of at most k + 1 functions. Each step replaces the left value of one
// comparison (or of several at the same point) by the right value, in an unknown order. Let F_s be
// the enclosure on K of the function with the set s of comparisons replaced. Then the jump at a
// step from s to s + i is at most sup F_(s+i) - inf F_s upwards and sup F_s - inf F_(s+i)
// downwards. Several jumps at one point are one jump through intermediate sets. If the supposition
// does not hold, any change within the enclosure of phi' is possible.
func (a *analysis) kinkChanges() changes {
	total := changes{curvature: zero}
	for i, k := range a.kinks {
		c := a.kink(k)
		total.up = addUp(total.up, c.up)
		total.down = addUp(total.down, c.down)
		if i == 0 {
			total.curvature = c.curvature
		} else {
			total.curvature = hull(total.curvature, c.curvature)
		}
		if total.up != total.up || total.down != total.down || total.curvature.undefined() {
			return changes{inf, inf, whole}
		}
	}
	return total
}

func (a *analysis) kink(on Interval) changes {
	j := a.jet
	v, d := j.slopes(on)
	if v.undefined() || d.undefined() {
		return changes{inf, inf, whole}
	}
	unknown := changes{v.Width(), v.Width(), d}
	conditions, rising, ok := j.switches()
	if !ok || len(conditions) == 0 {
		return unknown
	}
	steps := float64(len(conditions))
	type side struct{ v, d Interval }
	sides := make([]side, 1<<len(conditions))
	j.forced = make(map[condition]bool)
	defer func() { j.forced = nil }()
	for s := range sides {
		for i, c := range conditions {
			j.forced[c] = rising[i] == (s>>i&1 == 1)
		}
		v, d := j.slopes(on)
		if v.undefined() || d.undefined() || math.IsInf(v.Width(), 0) {
			return unknown
		}
		sides[s] = side{v, d}
	}
	out := changes{curvature: sides[0].d}
	inside := 0.0
	for s, from := range sides {
		out.curvature = hull(out.curvature, from.d)
		inside = math.Max(inside, from.v.Width())
		for i := range conditions {
			if s>>i&1 == 0 {
				to := sides[s|1<<i]
				out.up = math.Max(out.up, addUp(to.v.Hi, -from.v.Lo))
				out.down = math.Max(out.down, addUp(from.v.Hi, -to.v.Lo))
			}
		}
	}
	out.up = 0 + mulUp(steps, out.up)
	out.down = addUp(mulUp(steps, out.down), mulUp(steps+1, inside))
	return out
}

// switches returns the conditions that are undecided after the last evaluation, and whether each
// changes from false to true. ok is false if one of them may change more than once.
func (j *jet) switches() (list []condition, rising []bool, ok bool) {
	open := make([]bool, len(j.code)) // whether the instruction depends on an undecided mask
	for i, in := range j.code {
		in.rename(func(k int) int { open[i] = open[i] || open[k]; return k })
		if in.op == opEq && j.v[i] == unit {
			return nil, nil, false
		}
		c, _, has := in.condition()
		if !has {
			continue
		}
		if _, known := j.decided(in); known {
			continue
		}
		d := j.d[c.x]
		if c.y >= 0 {
			d = d.sub(j.d[c.y])
		}
		if open[i] || !(d.Lo > 0 || d.Hi < 0) || len(list) == maxConditions && !slices.Contains(list, c) {
			return nil, nil, false
		}
		open[i] = in.op.mask()
		if !slices.Contains(list, c) {
			list = append(list, c)
			rising = append(rising, d.Lo > 0)
		}
	}
	return list, rising, true
}

// effort limits the work of Prove. Its fields are numbers of interval evaluations of phi'.
type effort struct {
	ends  int // for each end of the range of phi' and of phi"
	kinks int // for locating kinks
	sign  int // for the sign of phi"
}

var fullEffort = effort{ends: 4000, kinks: 20000, sign: 20000}

// analysis is one run of Prove.
type analysis struct {
	jet, point *jet
	on         Interval
	work       effort
	regions    []Interval // the parts without undecided masks
	kinks      []Interval // the other parts
}

func newAnalysis(e Expr, on Interval, work effort) *analysis {
	a := &analysis{jet: newJet(e), point: newJet(e), on: on, work: work}
	a.locate()
	return a
}

// undecidedMask reports whether a mask, or another number by which a Where chooses, may be both 0
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

// locate splits the interval into regions and kinks. It splits the widest parts first, so that the
// parts that remain when the work ends are narrow at every kink.
//
// Near a kink, rounding errors may hide the result of a comparison in a whole range of float64
// numbers. An example is abs(1 - u) <= 1 in |u| < 2^-52; this range has more numbers than the work
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

// The tolerances of Prove.
const (
	slopeTolerance = 0x1p-16 // gap, relative to the largest value
	curveTolerance = 0x1p-11
	slackTolerance = 0x1p-44 // Slack, relative to the largest |phi'|
	// constantTolerance is the tolerance of Slack relative to the largest |phi"| times |u|: a kink
	// at a rounded constant moves by an ulp of the constant.
	constantTolerance = 0x1p-48
	kinkWidth         = 0x1p-70 // width of a located kink, relative to the range
	noiseWidth        = 0x1p-40 // largest width of a kink that roundings hide, relative to the range
)
