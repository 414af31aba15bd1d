package embedding

// joinChunks takes partial sums of len(dst) numbers each, one after another in partial. It sets dst to the sum
// of the first ones, whose number is chunks, in the order of a binary tree of depth ceil(log2 chunks). It
// overwrites partial.
func joinChunks(dst, partial []float64, chunks int) {
	n := len(dst)
	for step := 1; step < chunks; step *= 2 {
		for c := 0; c+step < chunks; c += 2 * step {
			add(partial[c*n:][:n], partial[(c+step)*n:])
		}
	}
	clear(dst)
	copy(dst, partial[:chunks*n])
}

// grow is partial, or a longer one if it has fewer than n numbers.
func grow(partial []float64, n int) []float64 {
	if len(partial) < n {
		return make([]float64, n)
	}
	return partial
}
