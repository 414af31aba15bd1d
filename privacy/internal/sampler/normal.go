package sampler

// lazyReal is an exact real (k + x) or -(k + x). x is a uniform real of [0, 1] with only some digits drawn,
// conditioned by the sampler that made it.
type lazyReal struct {
	negative bool
	k        uint64
	x        urand
}

// float64 returns the real to about 2^-52 relative to k+1, from the first digit (of 64 bits). It is for coins
// that no guarantee depends on, and never for noise.
func (z *lazyReal) float64() float64 {
	v := float64(z.k) + float64(z.x.head)*0x1p-64
	if z.negative {
		return -v
	}
	return v
}

// normal returns one exact standard normal draw, by rejection.
//
// A proposal is a whole part k and a uniform x of [0, 1). Of the 256 values of a byte, 145, 88, 20 and 2
// values give k = 0, 1, 2 and 3. The last value gives k = 4 + g with probability 2^-(g+1). So P(k) = c_k/256
// with c = 145, 88, 20, 2 and c_(4+g) = 2^-(g+1). A proposal is accepted with probability
//
//	p_k(x) = (145/c_k) exp(-(k+x)^2/2),
//
// and a rejected proposal is discarded as a whole. Proof: docs/theory.md#samplers. On average about 1.41
// proposals are drawn.
//
// Reals are drawn lazily as in [Karney 2016], whose Algorithm N has the same law. Here a byte proposes k and
// p_k(x) is decided at once, which takes fewer draws and branches.
func (s karney) normal() lazyReal {
	for {
		negative, p := s.propose()
		z := lazyReal{negative: negative, k: p.k, x: s.fresh()}
		if s.trial(&p, &z.x) {
			return z
		}
	}
}

// propose draws a sign and the whole part k of a proposal of normal, and returns p_k as a target.
func (s karney) propose() (negative bool, p target) {
	word := s.src.Uint64()
	p = target{square: true, num: 145}
	switch b := word & 255; {
	case b < 145:
		p.den = 145
	case b < 145+88:
		p.k, p.den = 1, 88
	case b < 145+88+20:
		p.k, p.den = 2, 20
	case b < 145+88+20+2:
		p.k, p.den = 3, 2
	default:
		p.k, p.den, p.shift = 4, 1, 1
		for s.src.Bit() == 0 {
			p.k++
			p.shift++
		}
	}
	return word>>8&1 == 1, p
}
