package sampler

// exponential returns one exact draw of density exp(-z), z >= 0 [von Neumann 1951].
//
// A uniform x is accepted with probability exp(-x), so an accepted x has density
// proportional to exp(-x), and a trial is rejected with probability
// 1 - (1 - 1/e) = 1/e. Hence k, the number of rejected trials, has
// P(k) = e^-k (1 - 1/e), independent of x, and k + x has density exp(-(k+x)).
func (s karney) exponential() lazyReal {
	for k := uint64(0); ; k++ {
		x := s.fresh()
		if s.expMinus(&x) {
			return lazyReal{k: k, x: x}
		}
	}
}

// expMinus is true with probability exp(-x).
func (s karney) expMinus(x *urand) bool { return s.trial(&target{num: 1, den: 1}, x) }
