package autodiff

import "math"

// The assumed errors of the elementary functions of package math. A result differs from the exact
// value by at most libraryError relatively (4 units in the last place) plus libraryTiny absolutely.
// For arguments up to trigRange, sin and cos have an absolute error of at most trigError. The
// documentation of package math states 1 unit for most functions and 2 units for tanh.
// TestLibraryAllowance compares them with 160-bit arithmetic.
const (
	libraryError = 0x1p-50
	libraryTiny  = 0x1p-1070
	trigError    = 0x1p-50
	trigRange    = 0x1p20
)

// libraryDown returns a lower bound of a value that package math computed as v.
func libraryDown(v float64) float64 {
	if math.IsInf(v, 1) {
		return math.MaxFloat64
	}
	return below(v - (math.Abs(v)*libraryError + libraryTiny))
}

func libraryUp(v float64) float64 { return -libraryDown(-v) }

// increasing returns the range of an increasing function of package math. The range is within [lo,
// hi].
func (a Interval) increasing(f func(float64) float64, lo, hi float64) Interval {
	if a.undefined() {
		return undef
	}
	l, h := f(a.Lo), f(a.Hi)
	if l != l || h != h {
		return undef
	}
	return Interval{math.Max(lo, libraryDown(l)), math.Min(hi, libraryUp(h))}
}

func (a Interval) exp() Interval {
	r := a.increasing(math.Exp, 0, inf)
	if a.Lo >= 0 {
		r.Lo = math.Max(1, r.Lo)
	}
	if a.Hi <= 0 {
		r.Hi = math.Min(1, r.Hi)
	}
	return r
}

// log returns the range of the logarithm, undefined if a contains a number that is not positive.
func (a Interval) log() Interval {
	if !(a.Lo > 0) {
		return undef
	}
	return a.increasing(math.Log, -inf, inf)
}

func (a Interval) log1p() Interval {
	if !(a.Lo > -1) {
		return undef
	}
	return a.increasing(math.Log1p, -inf, inf)
}

func (a Interval) expm1() Interval { return a.increasing(math.Expm1, -1, inf) }

func (a Interval) tanh() Interval { return a.increasing(math.Tanh, -1, 1) }

// sigmoid evaluates 1/(1 + e^-x), or the equal e^x/(1 + e^x) for x < 0.
func (a Interval) sigmoid() Interval {
	if a.undefined() {
		return undef
	}
	at := func(x float64) Interval {
		if x >= 0 {
			return Point(1).div(Point(1).add(Point(-x).exp()))
		}
		e := Point(x).exp()
		return e.div(Point(1).add(e))
	}
	return Interval{math.Max(0, at(a.Lo).Lo), math.Min(1, at(a.Hi).Hi)}
}

// bell returns the range of sigmoid(x) sigmoid(-x), which is even and decreases with |x|.
func (a Interval) bell() Interval {
	if a.undefined() {
		return undef
	}
	at := func(x float64) Interval { return Point(x).sigmoid().mul(Point(-x).sigmoid()) }
	return Interval{math.Max(0, at(a.Abs()).Lo), math.Min(0.25, at(a.least()).Hi)}
}

// softplus returns the range of max(x, 0) + log1p(e^-|x|).
func (a Interval) softplus() Interval {
	if a.undefined() {
		return undef
	}
	at := func(x float64) Interval {
		return Point(math.Max(x, 0)).add(Point(-math.Abs(x)).exp().log1p())
	}
	lo := 0.0
	if !math.IsInf(a.Lo, -1) {
		lo = math.Max(0, at(a.Lo).Lo)
	}
	if math.IsInf(a.Hi, 1) {
		return Interval{lo, inf}
	}
	return Interval{lo, at(a.Hi).Hi}
}

// cos returns an interval with the values at both ends, and with 1 or -1 if an even or odd multiple
// of pi may lie between them. margin covers the rounding of that decision.
func (a Interval) cos() Interval { return a.wave(math.Cos, 0) }

// sin treats sin x = cos(x - pi/2) in the same way as cos.
func (a Interval) sin() Interval { return a.wave(math.Sin, 0.5) }

// wave returns the range of f(x) = cos(x - shift pi).
func (a Interval) wave(f func(float64) float64, shift float64) Interval {
	if a.undefined() {
		return undef
	}
	if a.Abs() > trigRange || a.Hi-a.Lo >= 6.2 {
		return Interval{-1, 1}
	}
	const margin = 1e-9
	c, d := f(a.Lo), f(a.Hi)
	r := Interval{math.Max(-1, math.Min(c, d)-2*trigError), math.Min(1, math.Max(c, d)+2*trigError)}
	for k := math.Ceil(a.Lo/math.Pi - shift - margin); k <= a.Hi/math.Pi-shift+margin; k++ {
		if math.Mod(k, 2) == 0 {
			r.Hi = 1
		} else {
			r.Lo = -1
		}
	}
	return r
}

// sqrtPi is the square root of pi. The intervals contain 2/sqrt(pi), 1/sqrt(2 pi) and 1/sqrt(2),
// within an ulp. TestConstants compares them with 300-bit arithmetic.
const sqrtPi = 1.77245385090551602729816748334

var (
	twoOverSqrtPi = around(2 / sqrtPi)
	normalDensity = around(1 / (math.Sqrt2 * sqrtPi))
	halfSqrt2     = around(math.Sqrt2 / 2)
)

// around returns the interval from the float64 below c to the float64 above c.
func around(c float64) Interval { return Interval{below(c), -below(-c)} }

func (a Interval) atan() Interval {
	return a.increasing(math.Atan, -0x1.921fb54442d19p0, 0x1.921fb54442d19p0)
}

func (a Interval) erf() Interval { return a.increasing(math.Erf, -1, 1) }

// maxRepeated is the largest integer exponent that is computed by products.
const maxRepeated = 64

// pow returns a^c. It uses products for an integer c up to maxRepeated, and exp(c log a) for other
// c, which needs a > 0 (or a >= 0 if c > 0).
func (a Interval) pow(c float64) Interval {
	switch {
	case a.undefined() || c != c:
		return undef
	case c < 0:
		return Point(1).div(a.pow(-c))
	case c == math.Trunc(c) && c <= maxRepeated:
		return a.integerPower(int(c))
	case !(a.Lo >= 0):
		return undef
	}
	end := func(x float64) Interval {
		if x == 0 {
			return zero
		}
		return Point(x).log().scale(c).exp()
	}
	if math.IsInf(a.Hi, 1) {
		return Interval{end(a.Lo).Lo, inf}
	}
	return Interval{end(a.Lo).Lo, end(a.Hi).Hi}
}

func (a Interval) integerPower(n int) Interval {
	up := func(x float64) float64 { // x >= 0
		r := 1.0
		for range n {
			r = mulUp(r, x)
		}
		return r
	}
	down := func(x float64) float64 {
		r := 1.0
		for range n {
			r = math.Max(0, mulDown(r, x))
		}
		return r
	}
	switch {
	case n%2 == 0:
		return Interval{down(a.least()), up(a.Abs())}
	case a.Lo >= 0:
		return Interval{down(a.Lo), up(a.Hi)}
	case a.Hi <= 0:
		return Interval{-up(-a.Lo), -down(-a.Hi)}
	}
	return Interval{-up(-a.Lo), up(a.Hi)}
}
