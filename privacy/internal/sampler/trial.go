package sampler

import (
	"math/big"
	"math/bits"
)

// target is a probability that decreases with a real x of [0, 1]:
//
//	p(x) = num 2^shift/den exp(-t),  t = k + x, or (k+x)^2/2 if square.
//
// Code that makes a target must guarantee that p(x) is at most 1 for all x, and that num, den >= 1.
type target struct {
	k        uint64
	square   bool
	num, den uint64
	shift    uint
}

// trial returns true with probability p(x), independently of everything else.
//
// It decides the event U < p(x) for a uniform real U of its own. If the first digits decide the event beyond
// every rounding, the decision is made in float64 (near). Otherwise it is made by enclosures in integers from
// as many digits as necessary (exact). Both are true statements about the same two reals, so the choice
// between near and exact does not change the law. The digits of x that are not recorded stay uniform (see
// urand).
func (s karney) trial(p *target, x *urand) bool {
	u := s.fresh()
	if s.width == 64 && p.k < nearLimit {
		switch gap := p.near(x.head) - float64(u.head)*0x1p-64; {
		case gap > nearSlack:
			return true
		case gap < -nearSlack:
			return false
		}
	}
	return s.exact(p, x, &u)
}

const (
	// nearLimit bounds k for near. The targets of the samplers below this limit have shift <= k.
	nearLimit = 8
	// nearError bounds |near(head) - p(x)|.
	nearError = 0x1p-33
	// nearSlack is 8 times nearError. It also covers the error of using the first digit of U, which is at
	// most 2^-53 + 2^-64.
	nearSlack = 8 * nearError
)

// near returns p(x) from the first digit of x, of 64 bits, within nearError.
//
// Proof. exp(-t) is exp(-y)^(2^m) with y = t 2^-m <= 1/32 and m <= 11. In the series of exp(-y), the terms
// beyond the sixth are below y^7/5040 < 2^-47. The Horner form adds less than 2^-51, because all operations
// except the last one correct the result by at most 1/31. t has four roundings at most, two of them squared.
// So y is off by less than 2^-50 y <= 2^-55, and by less than 2^-60 for the digits of x not drawn. Together
// these errors stay below 2^-46 relative. The m squarings multiply this error by 2^m <= 2^11 and add less
// than 2^11 2^-53 by their own roundings. The factor adds 2^-51. The total is less than 2^-34, and p(x) <= 1.
// QED If a compiler fuses a multiplication and an addition, there is one rounding less.
func (p *target) near(head uint64) float64 {
	t, m := float64(p.k)+float64(head)*0x1p-64, 5+bits.Len64(p.k)
	if p.square {
		t *= t / 2
		m = 4 + bits.Len64((p.k+1)*(p.k+1)) // (k+1)^2/2 <= 2^(m-5)
	}
	y := t / float64(uint64(1)<<m)
	e := 1 - y*(1-y*(1./2-y*(1./6-y*(1./24-y*(1./120-y*(1./720))))))
	for range m {
		e *= e
	}
	return e * (float64(p.num<<p.shift) / float64(p.den))
}

// exact decides U < p(x) from more and more digits of both reals. It ends with probability 1, because for
// every x the probability of U = p(x) is 0.
func (s karney) exact(p *target, x, u *urand) bool {
	// The first round uses 8 bits, so that small digits do not waste rounds.
	for n := (7 + int(s.width)) / int(s.width); ; n *= 2 {
		least, most, unit := p.enclose(s.prefix(x, n), uint(n)*s.width)
		near := s.prefix(u, n) // U is in [near, near+1] B^-n
		far := new(big.Int).Add(near, big.NewInt(1))
		den := new(big.Int).SetUint64(p.den)
		den.Lsh(den, unit-uint(n)*s.width)
		if far.Mul(far, den).Cmp(least) <= 0 {
			return true
		}
		if near.Mul(near, den).Cmp(most) >= 0 {
			return false
		}
	}
}

// enclose returns integers with least <= den p(x) 2^unit <= most for all x of
// [head, head+1] 2^-bits.
func (p *target) enclose(head *big.Int, bits uint) (least, most *big.Int, unit uint) {
	unit = bits + 40
	real := func(head *big.Int, up int64) *big.Int { // t 2^unit, rounded down or up
		v := new(big.Int).SetUint64(p.k)
		v.Lsh(v, bits).Add(v, head)
		if !p.square {
			return v.Lsh(v, unit-bits)
		}
		v.Mul(v, v).Lsh(v, unit).Rsh(v, 2*bits+1)
		return v.Add(v, big.NewInt(up))
	}
	least = expBound(real(new(big.Int).Add(head, big.NewInt(1)), 1), unit, -1)
	most = expBound(real(head, 0), unit, 1)
	num := new(big.Int).SetUint64(p.num)
	num.Lsh(num, p.shift)
	return least.Mul(least, num), most.Mul(most, num), unit
}

// expBound returns a lower bound (side -1) or an upper bound (side 1) of exp(-t 2^-unit) 2^unit, t >= 0. The
// distance of the bound to the exact value, relative to 2^unit, goes to 0 as unit grows.
//
// Proof. Let y = t 2^-m <= 2^(unit-5), rounded to the side of the bound. The terms y^i/i! of the alternating
// series are cut to integers, each computed from the term before it. The error of each term is at most 1 plus
// 1/32 of the error of the term before it, so it is below 2. The loop ends at a term that is cut to 0, so the
// remainder of the series is below 2. Hence the sum of j terms is off by at most 2j + 2. Squaring keeps the
// order of nonnegative numbers, and each square is cut to its side. QED
func expBound(t *big.Int, unit uint, side int64) *big.Int {
	m := uint(max(0, t.BitLen()-int(unit)+5))
	y := new(big.Int).Rsh(t, m)
	if side < 0 {
		y.Add(y, big.NewInt(1))
	}
	sum := new(big.Int).Lsh(big.NewInt(1), unit)
	term := new(big.Int).Set(sum)
	j := int64(1)
	for ; term.Sign() > 0; j++ {
		term.Mul(term, y).Rsh(term, unit).Quo(term, big.NewInt(j))
		if j%2 == 1 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	sum.Add(sum, big.NewInt(side*(2*j+2)))
	if sum.Sign() < 0 {
		return sum.SetInt64(0)
	}
	for range m {
		sum.Mul(sum, sum).Rsh(sum, unit)
		if side > 0 {
			sum.Add(sum, big.NewInt(1))
		}
	}
	return sum
}
