package sampler

import "math/big"

// Target is the probability num 2^shift/den exp(-t) of a trial, t = k + x or
// (k+x)^2/2.
type Target struct {
	K        uint64
	Square   bool
	Num, Den uint64
	Shift    uint
}

func (t Target) target() *target {
	return &target{k: t.K, square: t.Square, num: t.Num, den: t.Den, shift: t.Shift}
}

// NearLimit, NearError and NearSlack are the constants of near.
const (
	NearLimit = nearLimit
	NearError = nearError
	NearSlack = nearSlack
)

// Near is the probability in float64 at the first digit of x.
func (t Target) Near(head uint64) float64 { return t.target().near(head) }

// Enclose are bounds of the probability over x in [head, head+1] 2^-bits.
func (t Target) Enclose(head *big.Int, bits uint) (least, most *big.Rat) {
	p := t.target()
	lo, hi, unit := p.enclose(head, bits)
	den := new(big.Int).SetUint64(p.den)
	den.Lsh(den, unit)
	return new(big.Rat).SetFrac(lo, den), new(big.Rat).SetFrac(hi, den)
}

// Trial decides for an x of the given first digit, the other digits of x and all digits
// of U from src; digits is how many of x were drawn.
func (t Target) Trial(head uint64, src *Bits, width uint) (yes bool, digits int) {
	x := urand{head: head}
	yes = karney{src: src, width: width}.trial(t.target(), &x)
	return yes, 1 + len(x.tail)
}

// Exact decides like Trial, in integers only.
func (t Target) Exact(head uint64, src *Bits, width uint) bool {
	s := karney{src: src, width: width}
	x, u := urand{head: head}, s.fresh()
	return s.exact(t.target(), &x, &u)
}

// Proposals calls try with what normal proposes until it returns false.
func (s *Bits) Proposals(try func(Target) bool) {
	k := karney{src: s, width: 64}
	for {
		_, p := k.propose()
		if !try(Target{K: p.k, Square: p.square, Num: p.num, Den: p.den, Shift: p.shift}) {
			return
		}
	}
}
