package account

import (
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// PLD is an accountant for privacy loss distributions. It represents the loss log dP/dQ of a dominating pair
// on a grid and composes losses by Fourier transforms. It is the tightest accountant of this package. Its
// answers are upper bounds that include discretisation, truncation and roundoff.
//
// PLD supports all events of one relation, in any mixture, except joint events (StreamEvent, PureStreamEvent,
// ConvergentEvent) and ParallelEvent. For any other event, and for an event with another relation than
// earlier events, Compose returns an error that wraps ErrUnsupported. Gaussian releases without subsampling
// are merged into one release (mu^2 adds up). A composition of a single release is exact. No answer is above
// the sum of pure epsilons.
//
// Sources: docs/theory.md#pld; Koskela, Jalko and Honkela 2020; Gopi, Lee and Wutschitz 2021. The
// discretisation follows Doroshenko et al. 2022. The proofs are at discretise, tilt and dominatingPair. The
// zero value is an empty composition. A PLD is not safe for concurrent use, because it caches answers.
type PLD struct {
	// Interval is the grid interval of losses. If Interval is 0, PLD uses about 1/64 of the standard
	// deviation of one loss. The bounds are valid for every value of Interval. A smaller value gives
	// tighter bounds and takes more time. Interval must not change after the first event.
	Interval float64

	releases   []countedLaw
	index      map[Event]int // index into releases, by the event of one release
	mu2        float64       // sum of mu^2 of the merged Gaussian releases, rounded up
	pure       float64       // sum of pure epsilons, +Inf if there is none
	relation   Relation
	nonPrivate bool

	sums []lossSum // one sum for each direction; nil means not computed
}

type countedLaw struct {
	law   releaseLaw
	count int
}

var _ Accountant = (*PLD)(nil)

// maxLoss is the largest loss on the grid. A single release with a larger loss is accounted as non-private.
const maxLoss = 1e4

// Compose implements Accountant.
func (a *PLD) Compose(e Event) error {
	if math.IsNaN(a.Interval) || a.Interval < 0 || math.IsInf(a.Interval, 1) {
		return fmt.Errorf("account: the interval of the PLD accountant is %v; choose a positive number, or 0 for "+
			"automatic", a.Interval)
	}
	relation := a.relation
	var parts []facts
	err := leaves(e, func(f facts) (err error) {
		if f.shape != nonPrivate && (f.joint || f.law == nil && f.mu == 0) {
			return f.unsupported()
		}
		relation, err = f.joinRelation(relation)
		parts = append(parts, f)
		return err
	})
	if err != nil {
		return err
	}
	a.relation = relation
	for _, f := range parts {
		a.add(f)
	}
	return nil
}

// add adds an event that Compose has checked.
func (a *PLD) add(f facts) {
	a.sums = nil
	a.pure = addUp(a.pure, f.pure.times(f.count))
	switch {
	case f.shape == nonPrivate:
		a.nonPrivate = true
		return
	case f.law == nil:
		a.mu2 = round.Up(a.mu2+round.Up(float64(f.count)*f.mu*f.mu, 6), 1)
		return
	}
	i, known := a.index[f.event]
	if !known {
		law := f.law()
		lo, hi := law.span()
		if !(hi < maxLoss && lo > -maxLoss) {
			a.nonPrivate = true
			return
		}
		if hi == 0 && lo == 0 {
			return
		}
		if a.index == nil {
			a.index = map[Event]int{}
		}
		i = len(a.releases)
		a.index[f.event] = i
		a.releases = append(a.releases, countedLaw{law: law})
	}
	if a.releases[i].count > math.MaxInt-f.count {
		a.nonPrivate = true
		return
	}
	a.releases[i].count += f.count
}

// gaussian is the law of all merged Gaussian releases.
func (a *PLD) gaussian() dominatingPair {
	return dominatingPair{law: GaussianLaw, kind: removed, m: round.Up(math.Sqrt(a.mu2), 1), q: 1}
}

// Delta implements Accountant. Values below 1e-300 are returned as 1e-300. If the sum of pure epsilons is at
// most epsilon, Delta returns 0.
func (a *PLD) Delta(epsilon float64) float64 {
	switch {
	case !(epsilon >= 0) || a.nonPrivate:
		return 1
	case epsilon >= a.pure:
		return 0
	case len(a.releases) == 0:
		return GDPDelta(epsilon, a.gaussian().m)
	case a.single():
		return a.singleDelta(epsilon)
	case a.tooLarge():
		return 1
	}
	worst := 0.0
	for _, s := range a.compose() {
		worst = max(worst, s.delta(epsilon))
	}
	return worst
}

// Epsilon implements Accountant.
func (a *PLD) Epsilon(delta float64) float64 {
	switch {
	case a.nonPrivate || math.IsNaN(delta) || delta < 0:
		return math.Inf(1)
	case a.pure == 0 || delta >= 1:
		return 0
	case delta == 0:
		return a.pure
	case len(a.releases) == 0:
		return GDPEpsilon(a.gaussian().m, delta)
	case a.single():
		return min(a.pure, smallestEpsilon(delta, 1, a.singleDelta))
	case a.tooLarge():
		return a.pure
	}
	worst := 0.0
	for _, s := range a.compose() {
		s = s.cut(10 * cutShare * delta) // this is more than Delta cuts at the resulting epsilon
		// The first tilt is the tilt of the bound by moments (see RDP). The next tilt is the one that Delta
		// uses at the result, so that Epsilon and Delta agree.
		bound := func(theta float64) float64 { return renyiEpsilon(1+theta, s.logMGF(theta)/theta, delta) }
		epsilon := max(bound(minimise(s.thetaLo, s.thetaHi, bound)), s.h)
		for range 2 {
			epsilon = smallestEpsilon(delta, epsilon, s.tilt(s.saddle(epsilon)).delta)
			if math.IsInf(epsilon, 1) {
				break
			}
		}
		worst = max(worst, epsilon)
	}
	return min(worst, a.pure)
}

// smallestEpsilon returns an epsilon with delta(epsilon) <= want for a decreasing function delta. The result
// is close to the smallest such epsilon, or +Inf if there is none. The search starts at guess.
func smallestEpsilon(want, guess float64, delta func(float64) float64) float64 {
	if delta(0) <= want {
		return 0
	}
	lo, hi := 0.0, guess
	for delta(hi) > want {
		lo = hi
		hi = 1.25*hi + 1e-3*guess
		if hi > 1e7*guess {
			return math.Inf(1)
		}
	}
	overLo, overHi := math.Log(delta(lo)/want), math.Log(delta(hi)/want)
	try := func(epsilon float64) {
		if epsilon > lo && epsilon < hi {
			if v := delta(epsilon); v <= want {
				hi, overHi = epsilon, math.Log(v/want)
			} else {
				lo, overLo = epsilon, math.Log(v/want)
			}
		}
	}
	for hi-lo > 1e-14*hi {
		// The tried points are close to both sides of the secant of log delta. If they fail, the midpoint is
		// tried.
		width := hi - lo
		secant := lo + width*(overLo/(overLo-overHi))
		try(secant + width/1000)
		try(secant - width/1000)
		if hi-lo > width/4 {
			mid := lo + (hi-lo)/2
			if mid <= lo || mid >= hi {
				break
			}
			try(mid)
		}
	}
	return hi
}

// single reports whether the composition has exactly one release and no Gaussian release.
func (a *PLD) single() bool {
	return a.mu2 == 0 && len(a.releases) == 1 && a.releases[0].count == 1
}

func (a *PLD) singleDelta(epsilon float64) float64 {
	law := a.releases[0].law
	return max(law.delta(epsilon, false), law.delta(epsilon, true))
}

// tooLarge reports whether the losses of the merged Gaussian releases exceed the grid.
func (a *PLD) tooLarge() bool {
	if a.mu2 == 0 {
		return false
	}
	_, hi := releaseLaw{pair: a.gaussian()}.span()
	return !(hi < maxLoss)
}

// compose returns the sum of losses for each direction of the relation. If all releases are symmetric, it
// returns one sum.
func (a *PLD) compose() []lossSum {
	if a.sums != nil {
		return a.sums
	}
	laws := a.releases
	if a.mu2 > 0 {
		laws = append(laws[:len(laws):len(laws)], countedLaw{law: releaseLaw{pair: a.gaussian()}, count: 1})
	}
	h := a.Interval
	if h == 0 {
		h = chooseInterval(laws)
	}
	symmetric := true
	for _, l := range laws {
		lo, hi := l.law.span()
		h = max(h, (hi-lo)/maxCells)
		symmetric = symmetric && l.law.symmetric()
	}
	for _, reversed := range []bool{false, true} {
		if reversed && symmetric {
			break
		}
		a.sums = append(a.sums, newLossSum(h, discretiseAll(laws, h, reversed)))
	}
	return a.sums
}

func discretiseAll(laws []countedLaw, h float64, reversed bool) []lossPMF {
	parts := make([]lossPMF, len(laws))
	for i, l := range laws {
		parts[i] = l.law.discretise(h, reversed)
		parts[i].count = l.count
	}
	return parts
}

// chooseInterval returns 1/64 of the root mean square standard deviation of one loss. For very many releases
// it returns a slightly larger interval: the grid adds a variance below h^2/6 for each release. The variance
// is computed on a coarser grid first. If the largest of the losses of positive probability matters, h
// divides that loss.
func chooseInterval(laws []countedLaw) float64 {
	width, count, atom := 0.0, 0.0, 0.0
	for _, l := range laws {
		lo, hi := l.law.span()
		width = max(width, hi-lo)
		count += float64(l.count)
		atom = max(atom, l.law.atom())
	}
	h := width / 1024
	for h > width/maxCells {
		variance := 0.0
		for _, p := range discretiseAll(laws, h, false) {
			variance += float64(p.count) * p.variance(h)
		}
		next := max(math.Sqrt(variance/count)/64, math.Sqrt(variance)*40/(1<<19), width/maxCells)
		if next > h/2 {
			h = min(h, next)
			break
		}
		h = next
	}
	if atom > h {
		h = atom / math.Ceil(atom/h)
	}
	return h
}
