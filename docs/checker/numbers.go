package checker

import (
	"math"
	"math/big"
)

// Real numbers are big.Float with at least 400 bits. The functions lose some tens of bits, so compared numbers are
// correct to a relative error of 2^-300. Numbers in float64 are exact.
func at(bits uint, x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }

// real returns the product of float64 numbers.
func real(factors ...float64) *big.Float {
	p := at(400, 1)
	for _, f := range factors {
		p.Mul(p, at(400, f))
	}
	return p
}

func add(a, b *big.Float) *big.Float { return new(big.Float).Add(a, b) }
func sub(a, b *big.Float) *big.Float { return new(big.Float).Sub(a, b) }
func mul(a, b *big.Float) *big.Float { return new(big.Float).Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return new(big.Float).Quo(a, b) }
func neg(a *big.Float) *big.Float    { return new(big.Float).Neg(a) }
func root(a *big.Float) *big.Float   { return new(big.Float).Sqrt(a) }

func larger(a, b *big.Float) *big.Float { return map[bool]*big.Float{true: a, false: b}[a.Cmp(b) > 0] }

// exp returns e^x for |x| < 2^20: the Taylor series of x/2^40, squared 40 times.
func exp(x *big.Float) *big.Float {
	bits := x.Prec() + 80
	y, sum, term := new(big.Float).SetMantExp(new(big.Float).SetPrec(bits).Set(x), -40), at(bits, 1), at(bits, 1)
	for i := 1.; term.Sign() != 0 && term.MantExp(nil) > -int(bits); i++ {
		term = quo(mul(term, y), at(bits, i))
		sum = add(sum, term)
	}
	for range 40 {
		sum = mul(sum, sum)
	}
	return new(big.Float).SetPrec(x.Prec()).Set(sum)
}

// sigmoid returns 1/(1 + e^-v), or a number at most 2^-1000 above it.
func sigmoid(v *big.Float) *big.Float {
	if v.Cmp(real(1000)) > 0 {
		return real(1)
	}
	return quo(real(1), add(real(1), exp(neg(larger(v, real(-1000))))))
}

// normal returns Phi(t) = 1/2 + phi_N(t) sum of t^(2k+1)/(1 3 5 ... (2k+1)). It uses additional bits because terms
// cancel.
func normal(t *big.Float) *big.Float {
	size, _ := t.Float64()
	bits := uint(500 + 3*size*size)
	x := new(big.Float).SetPrec(bits).Set(t)
	square, sum, term := mul(x, x), x, x
	for k := 1.; term.Sign() != 0 && term.MantExp(nil) > -int(bits); k++ {
		term = quo(mul(term, square), at(bits, 2*k+1))
		sum = add(sum, term)
	}
	arctan := func(n float64) *big.Float { // arctan(1/n)
		sum, power := at(bits, 0), quo(at(bits, 1), at(bits, n))
		for k := 1.; power.MantExp(nil) > -int(bits); k += 4 {
			sum = add(sum, sub(quo(power, at(bits, k)), quo(power, at(bits, n*n*(k+2)))))
			power = quo(power, at(bits, n*n*n*n))
		}
		return sum
	}
	twoPi := sub(mul(at(bits, 32), arctan(5)), mul(at(bits, 8), arctan(239))) // Machin
	return add(at(bits, 0.5), quo(mul(exp(quo(square, at(bits, -2))), sum), root(twoPi)))
}

// gaussianDelta returns delta(epsilon) of mu-GDP (docs/theory.md section 6.2).
func gaussianDelta(epsilon, mu *big.Float) *big.Float {
	shift, half := quo(epsilon, mu), quo(mu, real(2))
	pass(add(shift, half).Cmp(real(60)) > 0, "epsilon/mu + mu/2 is too large for this checker")
	return sub(normal(sub(half, shift)), mul(exp(epsilon), normal(neg(add(half, shift)))))
}

// spreadAtMost proves that D of docs/theory.md section 2.4 is at most bound, for a loss with an increasing function
// h. It works on a box of the angles alpha, beta and omega, given by middles and half widths. Each |cos| is known up
// to the widths of its angles, since it is 1-Lipschitz. A box that is not decided is halved. The twenty roundings of
// a value in float64 are below the 1e-12 that is added.
func spreadAtMost(bound, largest float64, h func(float64) float64, middle, width [3]float64, depth int) bool {
	cos := func(angle, width float64) (least, most float64) {
		c := math.Abs(math.Cos(angle))
		return max(0, c-width), min(1, c+width)
	}
	_, p := cos(middle[0], width[0])
	least, r := cos(middle[1], width[1])
	_, near := cos(middle[0]-middle[2], width[0]+width[2])
	far, _ := cos(middle[1]-middle[2], width[1]+width[2])
	_, angle := cos(middle[0]-middle[1], width[0]+width[1])
	c1, c2 := h(largest*p*p*near*near-1)*p*p, h(1-largest*least*least*far*far)*r*r
	if math.Sqrt(c1*c1+c2*c2+2*c1*c2*angle*angle)*(1+1e-12) <= bound {
		return true
	}
	i, lower, upper := depth%3, middle, middle
	if width[i] /= 2; depth > 50 {
		return false
	}
	lower[i], upper[i] = middle[i]-width[i], middle[i]+width[i]
	return spreadAtMost(bound, largest, h, lower, width, depth+1) && spreadAtMost(bound, largest, h, upper, width, depth+1)
}

// pureMu returns 2 Phi^-1(e^epsilon/(1 + e^epsilon)), by Newton's method. For this mu the total variation 2 Phi(mu/2)
// - 1 = erf(mu/sqrt 8) of N(mu, 1) and N(0, 1) equals tanh(epsilon/2), the total variation of randomised response
// (section 6.3).
func pureMu(epsilon float64) *big.Float {
	refuse(!(epsilon > 0), "a choice has epsilon %v", 2*epsilon)
	pass(epsilon > 15, "this checker cannot handle a choice with epsilon %v", 2*epsilon)
	half := math.Sqrt2 * math.Erfinv(math.Tanh(epsilon/2))
	x, slope := real(half), math.Exp(-half*half/2)/math.Sqrt(2*math.Pi)
	for range 8 { // each iteration has at most 1e-9 of the error of the one before
		x = add(x, quo(sub(sigmoid(real(epsilon)), normal(x)), real(slope)))
	}
	return mul(real(2), x)
}
