package dataset

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// coins is a source of public random bits, which are the same on every machine for a seed. They are used to
// shuffle and to generate test data. No private release uses them.
type coins struct{ src *rand.PCG }

func newCoins(seed, stream uint64) coins { return coins{rand.NewPCG(seed, stream)} }

// below returns a uniform whole number in [0, n) for n >= 1 (Lemire 2019).
func (c coins) below(n uint64) uint64 {
	hi, lo := bits.Mul64(c.src.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(c.src.Uint64(), n)
		}
	}
	return hi
}

// uniform returns a multiple of 2^-53 in [0, 1).
func (c coins) uniform() float64 { return float64(c.src.Uint64()>>11) * 0x1p-53 }

// normal returns the sum of 12 uniform numbers minus 6. It has mean 0 and variance 1 and is close enough to a
// normal number for test data. It uses additions only, so it is the same on every machine.
func (c coins) normal() float64 {
	s := -6.0
	for range 12 {
		s += c.uniform()
	}
	return s
}

// logistic returns 1 with probability sigm(score) and -1 otherwise.
func (c coins) logistic(score float64) float64 {
	if c.uniform() < 1/(1+math.Exp(-score)) {
		return 1
	}
	return -1
}

// splitStream selects the stream of random bits for Split.
const splitStream = 0x5eed5711

// Split divides the records 0..n-1 at random into a training part of round(n fraction) records and a test part.
// The parts depend only on n, fraction and seed. So a split reveals nothing about the records, and a changed
// record stays in its part. Never split by label or by any other content. Both parts are in increasing order.
// Split returns an error if n < 2, if fraction is not in (0, 1), or if a part would be empty.
func Split(n int, fraction float64, seed uint64) (train, test []int, err error) {
	if n < 2 || n > math.MaxInt32 {
		return nil, nil, fmt.Errorf("dataset: Split: %d records, want 2 to %d", n, math.MaxInt32)
	}
	if !(fraction > 0 && fraction < 1) {
		return nil, nil, fmt.Errorf("dataset: Split: fraction is %v, want a number between 0 and 1", fraction)
	}
	k := int(math.Round(float64(n) * fraction))
	if k < 1 || k > n-1 {
		return nil, nil, fmt.Errorf("dataset: Split: fraction %v of %d records leaves a part empty", fraction, n)
	}
	// Selection sampling: record i is taken with probability (still wanted)/(records left). Every k-subset is
	// then equally likely, and the parts come out in order (Knuth, volume 2, 3.4.2, algorithm S).
	c := newCoins(seed, splitStream)
	train, test = make([]int, 0, k), make([]int, 0, n-k)
	for i := range n {
		if c.below(uint64(n-i)) < uint64(k-len(train)) {
			train = append(train, i)
		} else {
			test = append(test, i)
		}
	}
	return train, test, nil
}
