package enginetest

import "math"

// wide is an unevaluated sum hi + lo of two float64 with |lo| <= ulp(hi)/2:
// about 106 bits (Dekker 1971).
type wide struct{ hi, lo float64 }

func twoSum(a, b float64) wide {
	s := a + b
	t := s - a
	return wide{s, (a - (s - t)) + (b - t)}
}

func twoProduct(a, b float64) wide {
	p := a * b
	return wide{p, math.FMA(a, b, -p)}
}

func (a wide) add(b wide) wide {
	s := twoSum(a.hi, b.hi)
	t := twoSum(a.lo, b.lo)
	s = fastTwoSum(s.hi, s.lo+t.hi)
	return fastTwoSum(s.hi, s.lo+t.lo)
}

func (a wide) neg() wide { return wide{-a.hi, -a.lo} }

func (a wide) mul(b wide) wide {
	p := twoProduct(a.hi, b.hi)
	return fastTwoSum(p.hi, p.lo+(a.hi*b.lo+a.lo*b.hi))
}

func (a wide) scale(b float64) wide { return a.mul(wide{hi: b}) }

func (a wide) value() float64 { return a.hi + a.lo }

// fastTwoSum needs |a| >= |b| or a = 0.
func fastTwoSum(a, b float64) wide {
	s := a + b
	return wide{s, b - (s - a)}
}
