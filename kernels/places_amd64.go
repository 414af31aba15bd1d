//go:build !purego

package kernels

func (s *Set) acceleratePlaces() {
	s.Scatter = scatterBy(scatterAhead)
	s.Collect = collectBy(collectAhead)
}

// When the assembly moves a number, it prefetches the cache line that the group of the number uses next. With a
// thousand groups no processor predicts these lines, and the plain loops wait for memory with only two or three
// requests in flight.
//
// The assembly stops at an index that is out of range. The plain loop then continues and panics at this index.

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
