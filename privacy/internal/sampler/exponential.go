package sampler

// exponential returns one exact draw of density exp(-z), z >= 0 [von Neumann 1951].
//
// Proof: docs/theory.md#samplers.
func (s karney) exponential() lazyReal {
	for k := uint64(0); ; k++ {
		x := s.fresh()
		if s.expMinus(&x) {
			return lazyReal{k: k, x: x}
		}
	}
}

// expMinus returns true with probability exp(-x).
func (s karney) expMinus(x *urand) bool { return s.trial(&target{num: 1, den: 1}, x) }
