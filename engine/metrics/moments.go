package metrics

import (
	"math/big"
	"math/bits"
)

// wide is an exact sum of products of counts: at most 2^31 products of factors
// below 2^33 stay far below 2^128.
type wide struct{ hi, lo uint64 }

func (w *wide) addProduct(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) int() *big.Int {
	v := new(big.Int).SetUint64(w.hi)
	return v.Add(v.Lsh(v, 64), new(big.Int).SetUint64(w.lo))
}

// moments are exact sums over the records of one class: a and b are twice the
// number of records of the other class that a record is ranked correctly against
// by two score vectors, ties counting once.
type moments struct {
	n          uint64
	a, b       uint64
	aa, bb, ab wide
}

func (m *moments) add(a, b uint64) {
	m.n++
	m.a += a
	m.b += b
	m.aa.addProduct(a, a)
	m.bb.addProduct(b, b)
	m.ab.addProduct(a, b)
}

// meanCovariance is the sample covariance of a and b over others, in units of
// the AUC, divided by n: with o the size of the other class,
//
//	(n sum ab - sum a sum b) / (n^2 (n-1) (2o)^2),
//
// exactly. n must be at least 2.
func meanCovariance(n, sumA, sumB uint64, sumAB wide, o uint64) *big.Rat {
	num := sumAB.int()
	num.Mul(num, new(big.Int).SetUint64(n))
	product := new(big.Int).SetUint64(sumA)
	num.Sub(num, product.Mul(product, new(big.Int).SetUint64(sumB)))
	den := new(big.Int).SetUint64(n * n)
	den.Mul(den, new(big.Int).SetUint64(n-1))
	den.Mul(den, new(big.Int).SetUint64(2*o))
	den.Mul(den, new(big.Int).SetUint64(2*o))
	return new(big.Rat).SetFrac(num, den)
}

// placements returns for every record twice the number of records of the other
// class that it is ranked correctly against, ties counting once: 2 N V10 for a
// positive and 2 P V01 for a negative in the terms of DeLong et al. 1988. It
// takes O(n log n) time (Sun & Xu 2014).
func placements(scores, labels []float64) []uint64 {
	pos, neg := sortedClasses(scores, labels)
	out := make([]uint64, len(scores))
	eachPlacement(pos, neg, func(s scored, below, upTo int) { out[s.row] = uint64(below) + uint64(upTo) })
	eachPlacement(neg, pos, func(s scored, below, upTo int) { out[s.row] = 2*uint64(len(pos)) - uint64(below) - uint64(upTo) })
	return out
}

// eachPlacement visits the records of x with the number of others whose score is
// lower, and at most as high. Both slices are sorted.
func eachPlacement(x, others []scored, visit func(s scored, below, upTo int)) {
	below, upTo := 0, 0
	for _, s := range x {
		for below < len(others) && others[below].key < s.key {
			below++
		}
		for upTo < len(others) && others[upTo].key <= s.key {
			upTo++
		}
		visit(s, below, upTo)
	}
}

// classMoments sums the placements a and b by class.
func classMoments(a, b []uint64, labels []float64) (pos, neg moments) {
	for i, y := range labels {
		if y > 0 {
			pos.add(a[i], b[i])
		} else {
			neg.add(a[i], b[i])
		}
	}
	return pos, neg
}
