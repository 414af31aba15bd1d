package metrics

import (
	"math"
	"slices"

	"dyad/internal/pages"
	"dyad/internal/tasks"
)

// orderKey maps float64 numbers other than NaN to integers in the same order. -0 and 0 have equal keys.
func orderKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 + 0 is 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// radixFrom is the length from which radix sort is faster.
const radixFrom = 1 << 12

// sortKeys sorts x in ascending order.
//
// From radixFrom on, it is a radix sort by bytes, beginning with the lowest byte. Each pass is stable, so after
// the pass of byte b the keys are in the order of the lowest b+1 bytes. A pass is skipped if all keys share the
// byte.
func sortKeys(x []uint64) {
	if len(x) < radixFrom {
		slices.Sort(x)
		return
	}
	var counts [8][256]int
	for _, s := range x {
		for b := range 8 {
			counts[b][byte(s>>(8*b))]++
		}
	}
	from, to := x, pages.Make[uint64](len(x))
	for b := range 8 {
		shift := 8 * b
		next := &counts[b]
		if next[byte(from[0]>>shift)] == len(x) {
			continue
		}
		sum := 0
		for v, c := range next {
			next[v] = sum
			sum += c
		}
		for _, s := range from {
			v := byte(s >> shift)
			to[next[v]] = s
			next[v]++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

// sortedClasses returns the keys of the positive and of the negative records in
// ascending order. The two sorts run at the same time.
func sortedClasses(scores, labels []float64) (pos, neg []uint64) {
	positives := 0
	for _, y := range labels {
		if y > 0 {
			positives++
		}
	}
	pos = pages.Make[uint64](positives)[:0]
	neg = pages.Make[uint64](len(labels) - positives)[:0]
	for i, s := range scores {
		if labels[i] > 0 {
			pos = append(pos, orderKey(s))
		} else {
			neg = append(neg, orderKey(s))
		}
	}
	var wg tasks.Group
	wg.Go(func() { sortKeys(neg) })
	sortKeys(pos)
	wg.Wait()
	return pos, neg
}
