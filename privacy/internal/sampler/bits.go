package sampler

import (
	"math/bits"
	"math/rand/v2"
)

// bitsBuffer is the number of 64-bit words that Bits generates at a time.
const bitsBuffer = 128

// Bits is a stream of uniform random bits from ChaCha8 (math/rand/v2). It is not safe
// for concurrent use. The zero value is not usable: call NewBits.
type Bits struct {
	buf   [bitsBuffer]uint64
	next  int // index of the first unused word of buf
	bits  uint64
	nbits uint // unused low bits of bits
	fill  func(*[bitsBuffer]uint64)
	// secret reports whether the key is secret. It is a part of the stream, so code that replaces the stream
	// of a source also replaces this information.
	secret bool
}

// NewBits returns the stream that a key determines. The argument secret states whether the key is secret.
// If it is false, others may know the key.
func NewBits(key [32]byte, secret bool) *Bits {
	c := rand.NewChaCha8(key)
	return &Bits{next: bitsBuffer, secret: secret, fill: func(buf *[bitsBuffer]uint64) {
		for i := range buf {
			buf[i] = c.Uint64()
		}
	}}
}

// BitsFrom returns a stream for tests. Each call of the function word gives the next 64 bits of this stream.
func BitsFrom(word func() uint64) *Bits {
	return &Bits{next: bitsBuffer, fill: func(buf *[bitsBuffer]uint64) {
		for i := range buf {
			buf[i] = word()
		}
	}}
}

// Secret reports whether the key is secret.
func (b *Bits) Secret() bool { return b.secret }

// Uint64 returns 64 uniform bits.
func (b *Bits) Uint64() uint64 {
	if b.next == bitsBuffer {
		b.refill()
	}
	v := b.buf[b.next&(bitsBuffer-1)]
	b.next++
	return v
}

func (b *Bits) refill() {
	b.fill(&b.buf)
	b.next = 0
}

// Bit returns one uniform bit, 0 or 1. It draws separate words of the stream for its bits, so every bit
// of the stream is used at most once.
func (b *Bits) Bit() uint64 {
	if b.nbits == 0 {
		b.bits, b.nbits = b.Uint64(), 64
	}
	bit := b.bits & 1
	b.bits >>= 1
	b.nbits--
	return bit
}

// Uint64n returns an exactly uniform integer of [0, n), n >= 1, by rejection.
//
// With v uniform on 64 bits, the high word of v*n is i for those v with i*2^64 <= v*n < (i+1)*2^64. Uint64n
// rejects v if the low word is below t = 2^64 mod n. For every i, exactly (2^64-t)/n values remain: the
// multiples of n in [i*2^64 + t, (i+1)*2^64), an interval whose length is a multiple of n. [Lemire 2019, ACM
// TOMACS 29(1)]
func (b *Bits) Uint64n(n uint64) uint64 {
	hi, lo := bits.Mul64(b.Uint64(), n)
	if lo < n {
		t := -n % n
		for lo < t {
			hi, lo = bits.Mul64(b.Uint64(), n)
		}
	}
	return hi
}
