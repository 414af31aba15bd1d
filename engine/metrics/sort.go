package metrics

import (
	"math"
	"slices"
	"sync"
)

// scored is a record in the order of its score: keys compare as the scores do,
// and equal scores (also -0 and 0) have equal keys.
type scored struct {
	key uint64
	row uint32
}

// orderKey maps the float64 order, without NaN, to the order of integers.
func orderKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 + 0 is 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// radixFrom is the length from which radix sort is the faster.
const radixFrom = 1 << 12

// sortScored sorts by key; records of equal keys keep their order.
//
// Above radixFrom it is a radix sort by bytes from the lowest: each pass is
// stable, so after the pass of byte b the records are in the order of the lowest
// b+1 bytes. A pass in which all records share the byte is left out.
func sortScored(x []scored) {
	if len(x) < radixFrom {
		slices.SortStableFunc(x, func(a, b scored) int {
			if a.key < b.key {
				return -1
			}
			if a.key > b.key {
				return 1
			}
			return 0
		})
		return
	}
	var counts [8][256]int
	for _, s := range x {
		for b := range 8 {
			counts[b][byte(s.key>>(8*b))]++
		}
	}
	from, to := x, make([]scored, len(x))
	for b := range 8 {
		shift := 8 * b
		next := &counts[b]
		if next[byte(from[0].key>>shift)] == len(x) {
			continue
		}
		sum := 0
		for v, c := range next {
			next[v] = sum
			sum += c
		}
		for _, s := range from {
			v := byte(s.key >> shift)
			to[next[v]] = s
			next[v]++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

// sortedClasses returns the positive and the negative records by ascending
// score. The two sorts run at the same time.
func sortedClasses(scores, labels []float64) (pos, neg []scored) {
	positives := 0
	for _, y := range labels {
		if y > 0 {
			positives++
		}
	}
	pos = make([]scored, 0, positives)
	neg = make([]scored, 0, len(labels)-positives)
	for i, s := range scores {
		r := scored{orderKey(s), uint32(i)}
		if labels[i] > 0 {
			pos = append(pos, r)
		} else {
			neg = append(neg, r)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { sortScored(neg) })
	sortScored(pos)
	wg.Wait()
	return pos, neg
}
