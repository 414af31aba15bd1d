package autodiff

import "math"

// Interval is the set of the real numbers x with Lo <= x <= Hi. Lo may be -Inf and Hi may be +Inf.
// Operations on intervals round outwards: the result contains every real result of operands in the
// intervals.
//
// Inside this package, an interval with NaN ends marks an operation that may be undefined (the
// logarithm of a negative number, a division by 0). An operation with such an interval gives such
// an interval again.
type Interval struct{ Lo, Hi float64 }

// Point returns the interval that contains only x.
func Point(x float64) Interval { return Interval{x, x} }

// Contains reports whether x is in the interval.
func (a Interval) Contains(x float64) bool { return a.Lo <= x && x <= a.Hi }

// Abs returns the largest |x| in the interval.
func (a Interval) Abs() float64 { return math.Max(math.Abs(a.Lo), math.Abs(a.Hi)) }

// Width returns Hi - Lo, rounded up.
func (a Interval) Width() float64 { return addUp(a.Hi, -a.Lo) }

// least returns the smallest |x| in the interval.
func (a Interval) least() float64 {
	if a.Contains(0) {
		return 0
	}
	return math.Min(math.Abs(a.Lo), math.Abs(a.Hi))
}

// middle returns a finite point of a bounded interval.
func (a Interval) middle() float64 { return a.Lo/2 + a.Hi/2 }

var (
	nan   = math.NaN()
	inf   = math.Inf(1)
	undef = Interval{nan, nan}
	whole = Interval{-inf, inf}
	unit  = Interval{0, 1}
	zero  = Interval{}
)

func (a Interval) undefined() bool { return a.Lo != a.Lo || a.Hi != a.Hi }

// hull returns the smallest interval that contains a and b.
func hull(a, b Interval) Interval {
	if a.undefined() || b.undefined() {
		return undef
	}
	return Interval{math.Min(a.Lo, b.Lo), math.Max(a.Hi, b.Hi)}
}

// meet returns the intersection of two enclosures of the same set.
func meet(a, b Interval) Interval {
	lo, hi := math.Max(a.Lo, b.Lo), math.Min(a.Hi, b.Hi)
	if lo > hi { // this cannot happen; the result is still an enclosure
		return a
	}
	return Interval{lo, hi}
}

func below(x float64) float64 { return math.Nextafter(x, -inf) }

// addDown returns a + b rounded down. The error of a sum of two float64 is a float64, which TwoSum
// (Knuth) finds. So exact sums stay exact.
func addDown(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 0) {
		if s > 0 && !math.IsInf(a, 1) && !math.IsInf(b, 1) {
			return math.MaxFloat64
		}
		return s
	}
	t := s - a
	if (a-(s-t))+(b-t) < 0 || !finite(t) {
		return below(s)
	}
	return s
}

func addUp(a, b float64) float64 { return -addDown(-a, -b) }

// mulDown returns a * b rounded down, with 0 times any number equal to 0, because an infinite end
// means arbitrarily large numbers.
func mulDown(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if math.IsInf(p, 0) {
		if p > 0 && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
			return math.MaxFloat64
		}
		return p
	}
	if normal(p) && math.FMA(a, b, -p) >= 0 {
		return p
	}
	return below(p)
}

func mulUp(a, b float64) float64 { return -mulDown(-a, b) }

// divDown returns a / b rounded down, for b != 0, with x / Inf = 0.
func divDown(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	q := a / b
	switch {
	case math.IsInf(b, 0):
		if math.Signbit(a) != math.Signbit(b) {
			return below(0)
		}
		return 0
	case math.IsInf(q, 0):
		if q > 0 && !math.IsInf(a, 0) {
			return math.MaxFloat64
		}
		return q
	case normal(q) && normal(a) && math.FMA(q, b, -a) == 0:
		return q
	}
	return below(q)
}

func divUp(a, b float64) float64 { return -divDown(-a, b) }

func (a Interval) neg() Interval { return Interval{-a.Hi, -a.Lo} }

func (a Interval) add(b Interval) Interval {
	return Interval{addDown(a.Lo, b.Lo), addUp(a.Hi, b.Hi)}
}

func (a Interval) sub(b Interval) Interval { return a.add(b.neg()) }

func (a Interval) mul(b Interval) Interval {
	if a.undefined() || b.undefined() {
		return undef
	}
	if a == zero || b == zero {
		return zero
	}
	return Interval{
		math.Min(math.Min(mulDown(a.Lo, b.Lo), mulDown(a.Lo, b.Hi)), math.Min(mulDown(a.Hi, b.Lo), mulDown(a.Hi, b.Hi))),
		math.Max(math.Max(mulUp(a.Lo, b.Lo), mulUp(a.Lo, b.Hi)), math.Max(mulUp(a.Hi, b.Lo), mulUp(a.Hi, b.Hi))),
	}
}

// div returns the range of the quotient, undefined if b contains 0.
func (a Interval) div(b Interval) Interval {
	if a.undefined() || b.undefined() || b.Contains(0) {
		return undef
	}
	return Interval{
		math.Min(math.Min(divDown(a.Lo, b.Lo), divDown(a.Lo, b.Hi)), math.Min(divDown(a.Hi, b.Lo), divDown(a.Hi, b.Hi))),
		math.Max(math.Max(divUp(a.Lo, b.Lo), divUp(a.Lo, b.Hi)), math.Max(divUp(a.Hi, b.Lo), divUp(a.Hi, b.Hi))),
	}
}

func (a Interval) square() Interval {
	if a.undefined() {
		return undef
	}
	m, l := a.Abs(), a.least()
	return Interval{math.Max(0, mulDown(l, l)), mulUp(m, m)}
}

func (a Interval) abs() Interval {
	if a.undefined() {
		return undef
	}
	return Interval{a.least(), a.Abs()}
}

func (a Interval) max(b Interval) Interval {
	if a.undefined() || b.undefined() {
		return undef
	}
	return Interval{math.Max(a.Lo, b.Lo), math.Max(a.Hi, b.Hi)}
}

func (a Interval) min(b Interval) Interval {
	if a.undefined() || b.undefined() {
		return undef
	}
	return Interval{math.Min(a.Lo, b.Lo), math.Min(a.Hi, b.Hi)}
}

// scale multiplies by the number c.
func (a Interval) scale(c float64) Interval { return a.mul(Point(c)) }

// sqrt returns the range of the square root, undefined if a contains a negative number. math.Sqrt rounds
// correctly, so one step outwards is a bound.
func (a Interval) sqrt() Interval {
	if !(a.Lo >= 0) {
		return undef
	}
	end := func(x, to float64) float64 {
		s := math.Sqrt(x)
		if x == 0 || math.IsInf(s, 0) || normal(x) && math.FMA(s, s, -x) == 0 {
			return s
		}
		return math.Nextafter(s, to)
	}
	return Interval{math.Max(0, end(a.Lo, 0)), end(a.Hi, inf)}
}

const (
	unitRoundoff = 0x1p-53
	smallest     = 0x1p-1074
)
