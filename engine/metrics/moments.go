package metrics

import (
	"math/big"
	"math/bits"
)

// wide is an exact sum of products of counts. At most 2^31 products of factors below 2^33 stay far below 2^128.
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

// moments holds exact sums over the records of one class. The summand of a record is twice the number of
// records of the other class against which it is ranked correctly, with ties counting once. In the terms of
// DeLong et al. 1988, it is 2 N V10 for a positive and 2 P V01 for a negative record.
type moments struct {
	n, sum  uint64
	squares wide
}

func (m *moments) add(a uint64) {
	m.n++
	m.sum += a
	m.squares.addProduct(a, a)
}

// variance returns an estimate of the variance of the mean, in units of the AUC. It is the sample variance of
// the counts, divided by (2 others)^2 and by n:
//
//	(n sum a^2 - (sum a)^2) / (n^2 (n-1) (2 others)^2),
//
// computed exactly. n must be at least 2.
func (m *moments) variance(others uint64) *big.Rat {
	num := m.squares.int()
	num.Mul(num, new(big.Int).SetUint64(m.n))
	product := new(big.Int).SetUint64(m.sum)
	num.Sub(num, product.Mul(product, product))
	den := new(big.Int).SetUint64(m.n * m.n)
	den.Mul(den, new(big.Int).SetUint64(m.n-1))
	den.Mul(den, new(big.Int).SetUint64(2*others))
	den.Mul(den, new(big.Int).SetUint64(2*others))
	return new(big.Rat).SetFrac(num, den)
}

// eachPlacement calls visit for each key of x. The argument is the number of keys of others below the key plus
// the number of keys of others at most as high. Both slices are sorted.
func eachPlacement(x, others []uint64, visit func(uint64)) {
	below, upTo := 0, 0
	for _, key := range x {
		for below < len(others) && others[below] < key {
			below++
		}
		for upTo < len(others) && others[upTo] <= key {
			upTo++
		}
		visit(uint64(below) + uint64(upTo))
	}
}

// classMoments returns the moments of both classes. It takes O(n log n) time (Sun & Xu 2014).
func classMoments(scores, labels []float64) (pos, neg moments) {
	p, n := sortedClasses(scores, labels)
	eachPlacement(p, n, pos.add)
	eachPlacement(n, p, func(a uint64) { neg.add(2*uint64(len(p)) - a) })
	return pos, neg
}
