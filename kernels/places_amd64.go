//go:build !purego

package kernels

func (s *Set) acceleratePlaces() {
	s.Scatter = scatterBy(scatterAhead)
	s.Collect = collectBy(collectAhead)
}

// A number that is moved asks for the cache line that its group uses next. With a thousand
// groups no processor guesses these lines, and the plain loops wait for memory with only two
// or three of them on their way.
//
// The assembly stops at a number that is out of range; the plain loop fails there.

func scatterBy(f func(dst, x []float64, group, next []int32) int) func(dst, x []float64, group, next []int32) {
	return func(dst, x []float64, group, next []int32) {
		group = group[:len(x)]
		if done := f(dst, x, group, next); done < len(x) {
			scatter(dst, x[done:], group[done:], next)
		}
	}
}

func collectBy(f func(dst, x []float64, group, next []int32) int) func(dst, x []float64, group, next []int32) {
	return func(dst, x []float64, group, next []int32) {
		group = group[:len(dst)]
		if left := f(dst, x, group, next); left > 0 {
			collect(dst[:left], x, group[:left], next)
		}
	}
}
