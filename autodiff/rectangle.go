package autodiff

import "math"

// rectangle is the set of complex numbers with real part in re and imaginary part in im. The
// results of its operations contain every complex result, as for Interval. An undefined part
// means that a singularity or a branch cut cannot be excluded.
type rectangle struct{ re, im Interval }

// onAxis returns the rectangle of an interval of real numbers.
func onAxis(x Interval) rectangle { return rectangle{x, zero} }

func (a rectangle) undefined() bool { return a.re.undefined() || a.im.undefined() }

// elementary holds the functions of the operations with one operand: value, and functions that compute
// its range on an interval of real numbers and on a rectangle of complex numbers. The ranges of opAbs and
// all functions of opPow are not among them, because they need more than the operand.
var elementary = [opWhere + 1]struct {
	value   func(float64) float64
	real    func(Interval) Interval
	complex func(rectangle) rectangle
}{
	opNeg:        {func(a float64) float64 { return -a }, Interval.neg, rectangle.neg},
	opExp:        {math.Exp, Interval.exp, rectangle.exp},
	opLog:        {math.Log, Interval.log, rectangle.log},
	opLog1p:      {math.Log1p, Interval.log1p, func(a rectangle) rectangle { return onAxis(Point(1)).add(a).log() }},
	opExpm1:      {math.Expm1, Interval.expm1, func(a rectangle) rectangle { return a.exp().sub(onAxis(Point(1))) }},
	opTanh:       {math.Tanh, Interval.tanh, rectangle.tanh},
	opSigmoid:    {sigmoid, Interval.sigmoid, rectangle.sigmoid},
	opSoftplus:   {softplus, Interval.softplus, rectangle.softplus},
	opSqrt:       {math.Sqrt, Interval.sqrt, rectangle.sqrt},
	opSquare:     {func(a float64) float64 { return a * a }, Interval.square, rectangle.square},
	opSin:        {math.Sin, Interval.sin, rectangle.sin},
	opCos:        {math.Cos, Interval.cos, rectangle.cos},
	opAtan:       {math.Atan, Interval.atan, rectangle.atan},
	opErf:        {math.Erf, Interval.erf, rectangle.erf},
	opNormCDF:    {normCDF, Interval.normCDF, rectangle.normCDF},
	opLogNormCDF: {logNormCDF, Interval.logNormCDF, func(a rectangle) rectangle { return a.normCDF().log() }},
	opHazard:     {hazard, Interval.hazard, rectangle.hazard},
	opAbs:        {value: math.Abs},
}

// modulus returns an upper bound of |a|.
func (a rectangle) modulus() float64 {
	return a.re.square().add(a.im.square()).sqrt().Hi
}

func (a rectangle) neg() rectangle            { return rectangle{a.re.neg(), a.im.neg()} }
func (a rectangle) add(b rectangle) rectangle { return rectangle{a.re.add(b.re), a.im.add(b.im)} }
func (a rectangle) sub(b rectangle) rectangle { return a.add(b.neg()) }

func (a rectangle) mul(b rectangle) rectangle {
	return rectangle{a.re.mul(b.re).sub(a.im.mul(b.im)), a.re.mul(b.im).add(a.im.mul(b.re))}
}

func (a rectangle) square() rectangle {
	return rectangle{a.re.square().sub(a.im.square()), a.re.mul(a.im).scale(2)}
}

// inverse returns 1/a, undefined if a contains 0. The real and the imaginary part are x/(x^2 + y^2)
// and -y/(x^2 + y^2).
func (a rectangle) inverse() rectangle {
	return rectangle{share(a.re, a.im), share(a.im, a.re).neg()}
}

// share returns the range of x/(x^2 + y^2). It is monotone in y^2 for fixed x. As a function of x
// its only extremes are 1/(2|y|) at x = |y| and -1/(2|y|) at x = -|y|. So over a rectangle without
// 0 the extremes are at corners, at y = 0, or at these points.
func share(x, y Interval) Interval {
	if x.undefined() || y.undefined() || x.Contains(0) && y.Contains(0) {
		return undef
	}
	r := undef
	for _, q := range [2]float64{y.least(), y.Abs()} {
		q2 := Point(q).square()
		if math.IsInf(q, 0) {
			r = join(r, zero)
			continue
		}
		for _, p := range [2]float64{x.Lo, x.Hi} {
			switch {
			case math.IsInf(p, 0) || p == 0 && q == 0:
				r = join(r, zero)
			default:
				r = join(r, Point(p).div(Point(p).square().add(q2)))
			}
		}
		if q > 0 && x.Contains(q) {
			r = join(r, Point(1).div(Point(q).scale(2)))
		}
		if q > 0 && x.Contains(-q) {
			r = join(r, Point(-1).div(Point(q).scale(2)))
		}
	}
	if x.Contains(0) {
		r = join(r, zero)
	}
	return r
}

// join returns the hull, where undef is the empty set.
func join(a, b Interval) Interval {
	if a.undefined() {
		return b
	}
	return hull(a, b)
}

func (a rectangle) div(b rectangle) rectangle { return a.mul(b.inverse()) }

// exp returns e^x (cos y + i sin y).
func (a rectangle) exp() rectangle {
	m := a.re.exp()
	return rectangle{m.mul(a.im.cos()), m.mul(a.im.sin())}
}

// log returns the principal branch. It is undefined if a meets the cut, which is the set of
// non-positive real numbers.
func (a rectangle) log() rectangle {
	if a.undefined() || a.im.Contains(0) && !(a.re.Lo > 0) {
		return rectangle{undef, undef}
	}
	size := Interval{
		Point(a.re.least()).square().add(Point(a.im.least()).square()).Lo,
		Point(a.re.Abs()).square().add(Point(a.im.Abs()).square()).Hi,
	}
	return rectangle{size.log().scale(0.5), a.arg()}
}

// arg returns the range of the angle. On a rectangle that does not meet the cut, the extremes of
// the angle are at corners, because it is monotone along each side.
func (a rectangle) arg() Interval {
	r := undef
	for _, x := range [2]float64{a.re.Lo, a.re.Hi} {
		for _, y := range [2]float64{a.im.Lo, a.im.Hi} {
			t := math.Atan2(y, x)
			r = join(r, Interval{libraryDown(t), libraryUp(t)})
		}
	}
	return r
}

// sqrt returns e^((log a)/2).
func (a rectangle) sqrt() rectangle {
	l := a.log()
	return rectangle{l.re.scale(0.5), l.im.scale(0.5)}.exp()
}

// sigmoid returns 1/(1 + e^-a). It uses 1 - 1/(1 + e^a) where e^-a may overflow.
func (a rectangle) sigmoid() rectangle {
	one := onAxis(Point(1))
	if a.re.Lo < -300 {
		return one.sub(one.add(a.exp()).inverse())
	}
	return one.add(a.neg().exp()).inverse()
}

// tanh returns 2 sigmoid(2a) - 1.
func (a rectangle) tanh() rectangle {
	s := rectangle{a.re.scale(2), a.im.scale(2)}.sigmoid()
	return rectangle{s.re.scale(2), s.im.scale(2)}.sub(onAxis(Point(1)))
}

// softplus returns log(1 + e^a), and uses a + log(1 + e^-a) on the right. In |Im a| < pi, where e^a
// avoids (-Inf, 0], both forms are the continuation from the real axis. Outside, softplus has
// several branches and is undefined here.
func (a rectangle) softplus() rectangle {
	if a.undefined() || a.im.Abs() > 3.1415 {
		return rectangle{undef, undef}
	}
	one := onAxis(Point(1))
	if a.re.Lo > 0 {
		return a.add(one.add(a.neg().exp()).log())
	}
	return one.add(a.exp()).log()
}

// sin returns sin x cosh y + i cos x sinh y.
func (a rectangle) sin() rectangle {
	c, s := hyperbolic(a.im)
	return rectangle{a.re.sin().mul(c), a.re.cos().mul(s)}
}

// cos returns cos x cosh y - i sin x sinh y.
func (a rectangle) cos() rectangle {
	c, s := hyperbolic(a.im)
	return rectangle{a.re.cos().mul(c), a.re.sin().mul(s).neg()}
}

// hyperbolic returns the ranges of cosh and sinh.
func hyperbolic(y Interval) (c, s Interval) {
	if y.undefined() {
		return undef, undef
	}
	cosh := func(t float64) Interval {
		return Point(t).exp().add(Point(-t).exp()).scale(0.5)
	}
	sinh := func(t float64) Interval {
		return Point(t).exp().sub(Point(-t).exp()).scale(0.5)
	}
	return Interval{cosh(y.least()).Lo, cosh(y.Abs()).Hi}, Interval{sinh(y.Lo).Lo, sinh(y.Hi).Hi}
}

// pow returns a^c, by products for small integers c, else by e^(c log a).
func (a rectangle) pow(c float64) rectangle {
	switch {
	case c < 0 && c == math.Trunc(c) && -c <= maxRepeated:
		return a.pow(-c).inverse()
	case c == math.Trunc(c) && c <= maxRepeated:
		r := onAxis(Point(1))
		for n := int(c); n > 0; n-- {
			r = r.mul(a)
		}
		return r
	}
	l := a.log()
	return rectangle{l.re.scale(c), l.im.scale(c)}.exp()
}

// atan returns i/2 (log(1 - iz) - log(1 + iz)). Its cuts are on the imaginary axis beyond i and -i,
// where one of the logarithms meets its own cut.
func (a rectangle) atan() rectangle {
	one := Point(1)
	l := rectangle{one.add(a.im), a.re.neg()}.log().sub(rectangle{one.sub(a.im), a.re}.log())
	return rectangle{l.im.scale(-0.5), l.re.scale(0.5)}
}

// erf returns the range of erf, an entire function with the derivative 2/sqrt(pi) e^(-z^2).
func (a rectangle) erf() rectangle {
	return a.integralOfGauss(a.re.erf(), 1, twoOverSqrtPi)
}

// normCDF returns the range of the normal distribution function, an entire function with the
// derivative e^(-z^2/2) / sqrt(2 pi).
func (a rectangle) normCDF() rectangle {
	return a.integralOfGauss(a.re.normCDF(), 0.5, normalDensity)
}

// hazard returns the normal density divided by normCDF. It is undefined if normCDF may be 0.
func (a rectangle) hazard() rectangle {
	square := a.square()
	return rectangle{square.re.scale(-0.5), square.im.scale(-0.5)}.exp().mul(onAxis(normalDensity)).div(a.normCDF())
}

// integralOfGauss returns the range of a function f with f' = c e^(-b z^2), 0 < b <= 1, which is
// real on the real axis. The argument f is its range on the real part.
//
// Proof. Let m = |y|. f(x + iy) - f(x) is the integral of f' from x to x + iy. Its modulus is at
// most c e^(-b x^2) times the integral of e^(b t^2) from 0 to m. The second integral is at most m
// (2 + e^(b m^2))/3: its series has the terms b^n m^(2n+1) / (n! (2n+1)), and 2n+1 is 1 or at least
// 3. By Taylor's formula the difference is also iy f'(x) up to m^2/2 times the largest |f"| on the
// way, and |f"(w)| = 2 b |w| |f'(w)| <= 2 b |w| c e^(b (m^2 - x^2)). QED
func (a rectangle) integralOfGauss(f Interval, b float64, c Interval) rectangle {
	if a.undefined() || f.undefined() {
		return rectangle{undef, undef}
	}
	m := Point(a.im.Abs())
	slope := a.re.square().scale(-b).exp().mul(c)
	grown := m.square().scale(b).exp()
	away := slope.mul(m).mul(Point(2).add(grown)).div(Point(3)).Hi
	rest := slope.mul(grown).mul(m.square()).scale(b * a.modulus()).Hi
	if away != away || rest != rest {
		return rectangle{undef, undef}
	}
	least := math.Min(away, rest)
	return rectangle{
		f.add(Interval{-least, least}),
		meet(Interval{-away, away}, a.im.mul(slope).add(Interval{-rest, rest})),
	}
}
