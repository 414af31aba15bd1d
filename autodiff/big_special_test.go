package autodiff

import (
	"math"
	"math/big"
	"testing"
)

// bigAtan is Newton's method on tan from math.Atan, which doubles the digits each time.
func bigAtan(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := bigOf(math.Atan(f))
	for range 4 { // y - (tan y - x) cos^2 y
		s, c := bigSinCos(y)
		y = bigSub(y, bigMul(c, bigSub(s, bigMul(x, c))))
	}
	return y
}

// bigPi is 4 atan 1.
func bigPi() *big.Float { return bigScale(bigAtan(bigOf(1)), 2) }

// bigErfSeries is the sum of 2/sqrt(pi) e^(-x^2) (2x^2)^n x/(1 3 5 ... (2n+1)), whose terms
// have one sign, for |x| < 10 with an absolute error below 2^-250 and a relative one where
// x is small.
func bigErf(x *big.Float) *big.Float {
	e := bigExp(newBig().Neg(bigMul(x, x)))
	if f, _ := x.Float64(); e == nil || math.Abs(f) > 30 {
		return nil
	}
	term, sum := newBig().Set(x), newBig().Set(x)
	two := bigScale(bigMul(x, x), 1)
	for n := 1; n < 6000 && term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-bigPrec; n++ {
		term = bigQuo(bigMul(term, two), bigOf(float64(2*n+1)))
		sum.Add(sum, term)
	}
	return bigQuo(bigMul(bigScale(sum, 1), e), newBig().Sqrt(bigPi()))
}

// bigNormCDF is (1 + erf(x/sqrt(2)))/2, of which 320 bits keep 100 for x > -17; beyond, the
// continued fraction of Mills' ratio, 1/(t + 1/(t + 2/(t + 3/(...)))), times the density.
func bigNormCDF(x *big.Float) *big.Float {
	f, _ := x.Float64()
	if f > -8 {
		e := bigErf(bigQuo(x, newBig().Sqrt(bigOf(2))))
		if e == nil {
			return nil
		}
		return bigScale(bigAdd(bigOf(1), e), -1)
	}
	t := newBig().Neg(x)
	r := newBig().Set(t)
	for k := 600; k >= 1; k-- {
		r = bigAdd(t, bigQuo(bigOf(float64(k)), r))
	}
	e := bigExp(bigScale(newBig().Neg(bigMul(x, x)), -1))
	if e == nil {
		return nil
	}
	return bigQuo(bigQuo(e, newBig().Sqrt(bigScale(bigPi(), 1))), r)
}

// bigHazard is the density divided by bigNormCDF.
func bigHazard(x *big.Float) *big.Float {
	e, p := bigExp(bigScale(newBig().Neg(bigMul(x, x)), -1)), bigNormCDF(x)
	if e == nil || p == nil {
		return nil
	}
	return bigQuo(bigQuo(e, newBig().Sqrt(bigScale(bigPi(), 1))), p)
}

// TestNormalTail: at t = 3, the least t of the tail, two lengths of the continued fraction
// that follow each other agree within u; so does the sum with 320 bits.
func TestNormalTail(t *testing.T) {
	tail := func(terms int) *big.Float {
		x := bigOf(tailStart)
		v := bigOf(0)
		for k := terms; k >= 1; k-- {
			v = bigQuo(bigOf(float64(k)), bigAdd(x, v))
		}
		return bigAdd(x, v)
	}
	a, b, exact := tail(tailTerms), tail(tailTerms+1), bigHazard(bigOf(-tailStart))
	for _, v := range []*big.Float{b, exact} {
		if d, _ := bigQuo(bigSub(a, v), a).Float64(); math.Abs(d) > unitRoundoff {
			t.Errorf("%d terms are off by %v", tailTerms, d)
		}
	}
	if d, _ := bigQuo(bigSub(tail(10), exact), exact).Float64(); math.Abs(d) < unitRoundoff {
		t.Error("ten terms would do: the comparison sees nothing")
	}
}

// TestConstants: the intervals of constants contain them, and 300 digits know pi.
func TestConstants(t *testing.T) {
	if pi, _ := bigPi().Float64(); pi != math.Pi {
		t.Fatalf("pi = %v", pi)
	}
	root := newBig().Sqrt(bigPi())
	if v, _ := root.Float64(); v != sqrtPi {
		t.Errorf("sqrt(pi) = %v, the constant is %v", v, float64(sqrtPi))
	}
	for name, c := range map[string]struct {
		in   Interval
		want *big.Float
	}{
		"2/sqrt(pi)":   {twoOverSqrtPi, bigQuo(bigOf(2), root)},
		"1/sqrt(2 pi)": {normalDensity, bigQuo(bigOf(1), newBig().Sqrt(bigScale(bigPi(), 1)))},
		"1/sqrt(2)":    {halfSqrt2, newBig().Sqrt(bigOf(0.5))},
	} {
		if !c.in.holds(c.want) {
			t.Errorf("%s is not in %v", name, c.in)
		}
	}
	// Both forms of the normal law agree where they meet.
	a, b := bigNormCDF(bigOf(-8)), bigNormCDF(bigOf(math.Nextafter(-8, 0)))
	if d, _ := bigQuo(bigSub(b, a), a).Float64(); !(d > 7e-15 && d < 8e-15) { // 8 ulp of 8
		t.Errorf("the law jumps by %v at -8", d)
	}
}
