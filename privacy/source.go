package privacy

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// sourceBuffer is the number of 64-bit words that a Source draws at a time.
const sourceBuffer = 128

// Source is a stream of uniform random bits from ChaCha8 (math/rand/v2). It is
// not safe for concurrent use. The zero value is not usable: call NewSource.
type Source struct {
	buf    [sourceBuffer]uint64
	next   int // index of the first unused word of buf
	bits   uint64
	nbits  uint // unused low bits of bits
	fill   func(*[sourceBuffer]uint64)
	secret bool
}

// NewSource returns a source keyed with 256 bits of the operating system
// (crypto/rand). It is the only source whose noise protects anybody.
func NewSource() (*Source, error) {
	var key [32]byte
	if _, err := crand.Read(key[:]); err != nil {
		return nil, fmt.Errorf("privacy: reading a key from the operating system: %w", err)
	}
	return newSource(key, true), nil
}

// NewSeededSource returns a source whose stream is a function of seed, for tests
// and reproductions. Who knows or guesses the seed can subtract the noise, so
// Secret is false and reports must say so.
func NewSeededSource(seed uint64) *Source {
	msg := []byte("dyad/privacy seeded source 1 ........")
	binary.LittleEndian.PutUint64(msg[len(msg)-8:], seed)
	return newSource(sha256.Sum256(msg), false)
}

func newSource(key [32]byte, secret bool) *Source {
	c := rand.NewChaCha8(key)
	return &Source{next: sourceBuffer, secret: secret, fill: func(buf *[sourceBuffer]uint64) {
		for i := range buf {
			buf[i] = c.Uint64()
		}
	}}
}

// Secret says whether the stream was keyed by the operating system. It is false
// for seeded sources.
func (s *Source) Secret() bool { return s.secret }

// Uint64 returns 64 uniform bits.
func (s *Source) Uint64() uint64 {
	if s.next == sourceBuffer {
		s.refill()
	}
	v := s.buf[s.next&(sourceBuffer-1)]
	s.next++
	return v
}

func (s *Source) refill() {
	s.fill(&s.buf)
	s.next = 0
}

// bit returns one uniform bit, 0 or 1. Bits are taken from words of their own,
// so every bit of the stream is used at most once.
func (s *Source) bit() uint64 {
	if s.nbits == 0 {
		s.bits, s.nbits = s.Uint64(), 64
	}
	b := s.bits & 1
	s.bits >>= 1
	s.nbits--
	return b
}

// uint64n returns an exactly uniform integer of [0, n), n >= 1, by rejection.
//
// With v uniform on 64 bits, the high word of v*n is i for those v with
// i*2^64 <= v*n < (i+1)*2^64. Rejecting v when the low word is below
// t = 2^64 mod n leaves for every i exactly (2^64-t)/n values: among the
// multiples of n in [i*2^64 + t, (i+1)*2^64), an interval whose length
// is a multiple of n. [Lemire 2019, ACM TOMACS 29(1)]
func (s *Source) uint64n(n uint64) uint64 {
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		t := -n % n
		for lo < t {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Permutation returns an exactly uniform order of 0..n-1 (Fisher-Yates with
// exactly uniform indices). It returns nil unless 0 < n <= 2^31-1.
func (s *Source) Permutation(n int) []int32 {
	if n <= 0 || n > math.MaxInt32 {
		return nil
	}
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := s.uint64n(uint64(i) + 1)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// Sample moves an exactly uniform set of m of the entries of order, in exactly uniform
// order, to its front: the first m steps of a Fisher-Yates shuffle, whatever the order
// is before. It is an error unless 0 < m <= len(order) <= 2^31-1.
func (s *Source) Sample(order []int32, m int) error {
	n := len(order)
	if m < 1 || m > n || n > math.MaxInt32 {
		return fmt.Errorf("privacy: a sample of %d of %d records, want at least 1 and at most all", m, n)
	}
	for i := range m {
		j := i + int(s.uint64n(uint64(n-i)))
		order[i], order[j] = order[j], order[i]
	}
	return nil
}

// SamplePoisson appends to dst[:0] those of 0..n-1, in order, that it draws: each with
// probability floor(2^64 rate)/2^64, independently. That is rate exactly from 2^-11 on,
// and never more, as what is accounted for a rate holds for smaller ones. It is an error
// unless 0 < rate <= 1 and 0 < n <= 2^31-1.
func (s *Source) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	if !(rate > 0 && rate <= 1) || n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("privacy: a Poisson batch of rate %v of %d records, want a rate in (0, 1] and at least 1 record", rate, n)
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

// UniformBall sets dst to a random point of the centred Euclidean ball of the
// given radius (> 0, finite): a normal direction times radius * U^(1/d). The
// point is uniform up to float64 rounding. That is enough because it is drawn
// before and independently of any data: no guarantee rests on its exact law,
// only on the same point being used for both of two neighbouring data sets. The
// result is inside the ball in real arithmetic.
func (s *Source) UniformBall(dst []float64, radius float64) {
	k := karney{src: s, width: 64}
	largest := 0.0
	for i := range dst {
		z := k.normal()
		dst[i] = z.float64()
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
