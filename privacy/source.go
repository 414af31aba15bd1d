package privacy

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"dyad/privacy/internal/sampler"
)

// Source is a stream of uniform random bits from ChaCha8 (math/rand/v2). Its methods draw exact samples from
// several distributions (docs/theory.md#randomness). It is not safe for concurrent use. The zero value is not
// usable: call NewSource.
type Source struct {
	// Bits has the methods Uint64, Bit and Uint64n (an exactly uniform integer of [0, n)).
	*sampler.Bits
}

// NewSource returns a source with a key of 256 random bits from the operating system (crypto/rand). Only
// noise from such a source protects data.
func NewSource() (*Source, error) {
	var key [32]byte
	if _, err := crand.Read(key[:]); err != nil {
		return nil, fmt.Errorf("privacy: cannot get random bytes from the operating system: %w", err)
	}
	return &Source{Bits: sampler.NewBits(key, true)}, nil
}

// NewSeededSource returns a source whose stream is determined by seed. It is for tests and for reproducing
// results. Anyone who knows or guesses the seed can subtract the noise. So Secret returns false, and reports
// must mention the seed.
func NewSeededSource(seed uint64) *Source {
	msg := []byte("dyad/privacy seeded source 1 ........")
	binary.LittleEndian.PutUint64(msg[len(msg)-8:], seed)
	return &Source{Bits: sampler.NewBits(sha256.Sum256(msg), false)}
}

// usable reports whether s came from NewSource or NewSeededSource.
func (s *Source) usable() bool { return s != nil && s.Bits != nil }

// Secret reports whether the operating system supplied the key of the stream. It is false for seeded sources.
func (s *Source) Secret() bool { return s.usable() && s.Bits.Secret() }

// Permutation returns an exactly uniform order of 0..n-1, by a Fisher-Yates shuffle with exactly uniform
// indices. It returns nil unless 0 < n <= 2^31-1.
func (s *Source) Permutation(n int) []int32 {
	if n <= 0 || n > math.MaxInt32 {
		return nil
	}
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := s.Uint64n(uint64(i) + 1)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// Sample chooses m entries of order exactly uniformly and moves them to the front of order, in an exactly
// uniform order. It makes the first m steps of a Fisher-Yates shuffle, so the result is uniform for every
// initial order. It returns an error unless 0 < m <= len(order) <= 2^31-1.
func (s *Source) Sample(order []int32, m int) error {
	n := len(order)
	if m < 1 || m > n || n > math.MaxInt32 {
		return fmt.Errorf("privacy: a sample has %d of %d records, but must have at least 1 and at most all of them",
			m, n)
	}
	for i := range m {
		j := i + int(s.Uint64n(uint64(n-i)))
		order[i], order[j] = order[j], order[i]
	}
	return nil
}

// SamplePoisson draws a random subset of 0..n-1 and appends its members to dst[:0], in order. Each number is
// drawn independently with probability floor(2^64 rate)/2^64. This probability is never above rate, and
// equals rate if rate is at least 2^-11. The privacy cost for a rate also covers smaller rates.
// SamplePoisson returns an error unless 0 < rate <= 1 and 0 < n <= 2^31-1.
func (s *Source) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	if !(rate > 0 && rate <= 1) || n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("privacy: a Poisson batch has rate %v and %d records; want a rate in (0, 1] and 1 "+
			"to 2147483647 records", rate, n)
	}
	dst = dst[:0]
	below := uint64(math.MaxUint64)
	if rate < 1 {
		below = uint64(rate * 0x1p64) // exact, or cut off
	}
	for i := range n {
		if s.Uint64() < below || rate == 1 {
			dst = append(dst, int32(i))
		}
	}
	return dst, nil
}

// UniformBall sets dst to a random point of the centred Euclidean ball of the given radius (> 0, finite). The
// point is a normal direction times radius * U^(1/d), and is uniform up to float64 rounding. This precision
// is sufficient because the point is drawn before and independently of any data. No guarantee depends on the
// exact distribution of the point. Guarantees only need the same point for two neighbouring data sets. The
// result is inside the ball in real arithmetic.
func (s *Source) UniformBall(dst []float64, radius float64) {
	largest := 0.0
	for i := range dst {
		dst[i] = sampler.Normal(s.Bits)
		largest = max(largest, math.Abs(dst[i]))
	}
	if largest == 0 { // d = 0, or an event of probability below 2^-60
		return
	}
	sum := 0.0
	for _, v := range dst {
		sum += (v / largest) * (v / largest)
	}
	d := float64(len(dst))
	u := (float64(s.Uint64()>>11) + 0.5) * 0x1p-53
	// The norm and the products below are off by at most (d+12)*2^-53 relative.
	shrink := 1 - (d+16)*0x1p-53
	scale := radius * math.Pow(u, 1/d) / math.Sqrt(sum) * shrink
	for i := range dst {
		dst[i] = dst[i] / largest * scale
	}
}
