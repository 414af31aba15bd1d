package account

import (
	"math"

	"dyad/privacy/internal/round"
)

// stoppedProfile bounds the delta of random stopping at every epsilon. Its edges form a polygon from (0, 0)
// that is nowhere below the points (f(t), f(u(t))), with f and u as at stoppedRenyi. Let log be the logarithm
// of the breadth of an edge over its height rise. Then
//
//	delta(epsilon) <= sum over edges of rise delta_mu(epsilon + log).
//
// If the composition contains other releases with another mu, the same bound holds for the root of the sum of
// the squares of both mu (docs/theory.md#stopping-profile).
type stoppedProfile struct {
	mu    float64
	edges []stoppedEdge
}

// stoppedEdge is an edge of a stoppedProfile. Its height is rise, and rest is the height of the edge and all
// later edges together. The logarithm log of its breadth over its height does not decrease from edge to edge.
type stoppedEdge struct{ rise, rest, log float64 }

// profileCells is the number of intervals of t.
const profileCells = 1 << 11

// widestProfile is the largest mu of a profile. For a larger mu, slopes leave the range of float64, and there
// is no useful privacy.
const widestProfile = 8

// profile returns the profile of a random stopping and of other releases with total mu. It returns false if
// one of the two mu is out of range.
func (e RandomStoppingEvent) profile(mu float64) (p stoppedProfile, ok bool) {
	if !(e.Mu <= widestProfile && mu < maxMu) {
		return p, false
	}
	run := max(e.Mu, 1e-150)
	p.mu = round.Up(math.Sqrt(run*run+mu*mu), 4)
	if e.Runs == 1 {
		p.edges = []stoppedEdge{{1, 1, 0}}
		return p, true
	}
	corners := e.polygon(run)
	for i, c := range corners[1:] {
		// A corner that was left out is above the hull by a relative error of at most four roundings for each of the 2^13
		// corners.
		if rise := (c.y - corners[i].y) * (1 + 2e-10); rise > 0 {
			p.edges = append(p.edges, stoppedEdge{rise: rise, log: math.Log((c.x-corners[i].x)/rise) - 1e-13})
		}
	}
	rest, log := 0.0, math.Inf(1)
	for i := len(p.edges) - 1; i >= 0; i-- {
		e := &p.edges[i]
		rest, log = round.Up(rest+e.rise, 1), min(log, e.log)
		e.rest, e.log = rest, log
	}
	return p, true
}

// delta is an upper bound of delta at epsilon >= 0.
func (p stoppedProfile) delta(epsilon float64) float64 {
	sum := 0.0
	for _, e := range p.edges {
		at := epsilon + e.log - 1e-14*(1+epsilon)
		d := GDPDelta(math.Abs(at), p.mu)
		if at < 0 {
			d = -math.Expm1(at) + math.Exp(at)*d
		}
		if e.rest*d <= 1e-7*sum { // the remaining terms decrease
			sum += e.rest * d
			break
		}
		sum += e.rise * d
	}
	return min(1, sum*(1+1e-11))
}

type corner struct{ x, y float64 }

// polygon returns a polygon from (0, 0) whose upper convex hull is nowhere below the points (f(t), f(u(t))).
//
// Between two neighbouring t, the slope of the curve is f'(u)/f'(t) exp(-mu z - mu^2/2) at z = Phi^-1(t), and
// f' does not decrease. So the curve is below the line of the largest slope through its first point, and
// below the line of the smallest slope through its last point. For every c, a corner at c is sufficient if it
// is as high as both lines. The best c is the intersection of the lines. Each of f, f' and Phi is within
// 1e-10 for mu <= 30 (stoppedLogs). So x is rounded down, y is rounded up, and slopes are rounded outwards,
// each by more than this error.
func (e RandomStoppingEvent) polygon(mu float64) []corner {
	const off = 2e-10
	hull := []corner{{0, 0}}
	add := func(p corner) {
		for n := len(hull); n > 1; n = len(hull) {
			a, b := hull[n-2], hull[n-1]
			if (b.y-a.y)*(p.x-a.x) > (p.y-a.y)*(b.x-a.x) {
				break
			}
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	low, high := -8-mu, 8.0
	var last, now struct{ z, slopeT, slopeU float64 }
	before := corner{x: 1 / float64(e.Runs) * (1 - off)}
	for i := range profileCells + 1 {
		now.z = low + (high-low)*float64(i)/profileCells
		t, slopeT := e.weights(math.Erfc(-now.z/math.Sqrt2) / 2)
		u, slopeU := e.weights(math.Erfc(-(now.z+mu)/math.Sqrt2) / 2)
		now.slopeT, now.slopeU = slopeT, slopeU
		p := corner{max(before.x, t*(1-off)), max(before.y, u*(1+off))}
		if i == 0 {
			before.y = p.y
			add(before)
		} else {
			steep := now.slopeU / last.slopeT * math.Exp(-mu*last.z-mu*mu/2) * (1 + 10*off)
			flat := last.slopeU / now.slopeT * math.Exp(-mu*now.z-mu*mu/2) * (1 - 10*off)
			breadth := p.x - before.x
			if c := min(breadth, max(0, (p.y-before.y-flat*breadth)/(steep-flat))); c > 0 {
				add(corner{before.x + c, max(before.y+steep*c, p.y-flat*(breadth-c))})
			}
		}
		add(p)
		before, last = p, now
	}
	add(corner{before.x, float64(e.Runs+1) / 2 * (1 + off)}) // f(1)
	return hull
}

// weights returns f(t), which is the mean of k t^(k-1) over the numbers k of runs, and its derivative.
func (e RandomStoppingEvent) weights(t float64) (value, slope float64) {
	for k := e.Runs; k >= 1; k-- {
		slope = slope*t + value
		value = value*t + float64(k)
	}
	return value / float64(e.Runs), slope / float64(e.Runs)
}
