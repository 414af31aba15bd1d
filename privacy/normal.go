package privacy

// lazyReal is an exact real (k + x) or -(k + x): x is a uniform real of [0, 1]
// of which only some digits are drawn, conditioned by the sampler that made it.
type lazyReal struct {
	negative bool
	k        uint64
	x        urand
}

// float64 is the real to about 2^-52 relative to k+1, from the first digit (of 64
// bits). It is for coins that no guarantee rests on, never for noise.
func (z *lazyReal) float64() float64 {
	v := float64(z.k) + float64(z.x.head)*0x1p-64
	if z.negative {
		return -v
	}
	return v
}

// normal returns one exact standard normal draw: Algorithm N of [Karney 2016].
//
// The density of |Z| at k + x, k = 0, 1, ..., x in [0, 1), is proportional to
// exp(-(k+x)^2/2) = exp(-k^2/2) exp(-x(2k+x)/2). The first factor is the law of
// k given by steps N1 and N2, the second the acceptance probability of a uniform
// x in N4; rejection starts over with everything new. What was drawn of an
// accepted x beyond its acceptance has its unconditioned law (see urand).
func (s karney) normal() lazyReal {
	for {
		// N1: P(k) = exp(-k/2) (1 - exp(-1/2)), the number of successes before
		// the first failure.
		k := uint64(0)
		for s.expMinusHalf() {
			k++
		}
		// N2: accept k with probability exp(-k(k-1)/2) = exp(-1/2)^(k(k-1)), so
		// P(k) is proportional to exp(-k/2 - k(k-1)/2) = exp(-k^2/2).
		if !s.allExpMinusHalf(k) {
			continue
		}
		// N3, N4: accept a uniform x with probability exp(-x(2k+x)/2), as k+1
		// independent trials of exp(-x(2k+x)/(2k+2)).
		z := lazyReal{k: k, x: s.fresh()}
		if !s.acceptFraction(k, &z.x) {
			continue
		}
		// N5: the sign is independent.
		z.negative = s.src.bit() == 1
		return z
	}
}

// expMinusHalf is true with probability exp(-1/2): Algorithm H.
//
// Let L be the length of the run 1/2 > U1 > U2 > ... > UL. P(L >= n) is
// P(all n below 1/2) P(in this order) = (1/2)^n/n!, so
// P(L even) = sum_n (-1)^n P(L >= n) = exp(-1/2).
func (s karney) expMinusHalf() bool {
	u := s.fresh()
	if u.head>>(s.width-1) == 1 { // U1 >= 1/2: L = 0 (the first bit decides)
		return true
	}
	for {
		v := s.fresh()
		if !s.less(&v, &u) { // L is odd
			return false
		}
		u = s.fresh()
		if !s.less(&u, &v) { // L is even
			return true
		}
	}
}

// allExpMinusHalf is true with probability exp(-k(k-1)/2): k(k-1) trials of
// exp(-1/2) that must all succeed.
func (s karney) allExpMinusHalf(k uint64) bool {
	for i := uint64(1); i < k; i++ {
		for range k {
			if !s.expMinusHalf() {
				return false
			}
		}
	}
	return true
}

// acceptFraction is true with probability exp(-x(2k+x)/2).
func (s karney) acceptFraction(k uint64, x *urand) bool {
	for range k + 1 {
		if !s.expFraction(k, x) {
			return false
		}
	}
	return true
}

// expFraction is true with probability exp(-x p), p = (2k+x)/(2k+2): Algorithm B.
//
// Let L be the length of the run x > Z1 > Z2 > ... where each step also needs an
// independent success of probability p. P(L >= n) = (x^n/n!) p^n, so
// P(L even) = sum_n (-1)^n (x p)^n/n! = exp(-x p).
func (s karney) expFraction(k uint64, x *urand) bool {
	var a, b urand
	last, next := x, &a
	even := true
	for {
		*next = s.fresh()
		if !s.less(next, last) || !s.fraction(k, x) {
			return even
		}
		even = !even
		if last = next; last == &a {
			next = &b
		} else {
			next = &a
		}
	}
}

// fraction is true with probability (2k+x)/(2k+2): Algorithm C. A uniform f of
// 0..2k+1 is below 2k with probability 2k/(2k+2); f = 2k has probability
// 1/(2k+2) and then succeeds with probability x; f = 2k+1 fails.
func (s karney) fraction(k uint64, x *urand) bool {
	var f uint64
	if k == 0 {
		f = s.src.bit()
	} else {
		f = s.src.uint64n(2*k + 2)
	}
	if f == 2*k {
		r := s.fresh()
		return s.less(&r, x)
	}
	return f < 2*k
}
