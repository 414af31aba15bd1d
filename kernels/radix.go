package kernels

import (
	"math"
	"math/bits"
)

// Sorting sorts numbers in increasing order and remembers where they came from. It is of
// use for one slice at a time.
type Sorting struct {
	group  []uint16 // of each number, as they came
	from   []int32  // place in its group, as they came, of each number in order
	start  []int32  // of the groups
	counts []int32  // of the parts of a group
	spare  []int32
}

// NewSorting returns a Sorting of up to n numbers. It holds 6 n bytes and up to 64 kB, and
// 4 n more after numbers crowded in a small part of their range.
func NewSorting(n int) *Sorting {
	return &Sorting{group: make([]uint16, n), from: make([]int32, n), counts: make([]int32, 1<<min(bits.Len(uint(n))+1, partBits))}
}

// Sort sorts key:
//
//	slices.Sort(key)
//
// stably and without NaNs and infinities; the order of -0 and 0 is left open. work is
// scratch of the same length. It asks stop, unless that is nil, before each part of the
// work of some milliseconds for a million numbers; where stop says yes, it returns false
// and leaves key in no order.
//
// The place of a key in the range of all keys, in 2^placeBits equal parts, does not
// decrease with the key. Its leading bits distribute the keys to groups of about a
// thousand, which fit the first cache (Knuth 1998, 5.2.5: from the most significant digit,
// so that only one pass scatters over memory), its next bits those of a group to parts of
// less than one, and insertion puts a group in order. If that moves too many, because the
// keys of a group are in few parts, six passes over the bits of its keys follow.
func (s *Sorting) Sort(key, work []float64, stop func() bool) bool {
	n := len(key)
	stopped := func() bool { return stop != nil && stop() }
	group, work := s.group[:n], work[:n]
	s.start = append(s.start[:0], 0)
	if n == 0 {
		return true
	}
	lo, hi := key[0], key[0]
	for _, v := range key {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	const parts = 1<<placeBits - 1
	scale := parts / (hi - lo)
	if n <= smallSort || !(scale > 0 && scale < math.MaxFloat64) {
		clear(group)
		s.start = append(s.start, int32(n))
		copy(work, key)
		s.sortBits(key, s.from[:n], work)
		return true
	}
	// (v - lo) * scale, rounded, does not decrease with v and is at most parts (1 + 2^-51).
	// By way of int64 it takes one instruction.
	width := min(max(bits.Len(uint(n))-groupSizeBits, 1), groupBits)
	shift := placeBits - width
	var end [1 << groupBits]int32
	for i, v := range key {
		g := uint64(int64((v-lo)*scale)) >> shift & (1<<groupBits - 1)
		group[i] = uint16(g)
		end[g]++
	}
	starts(end[:1<<width])
	for at := 0; at < n; at += stopEvery {
		if stopped() {
			return false
		}
		groups := group[at:min(at+stopEvery, n)]
		for i, v := range key[at:min(at+stopEvery, n)] {
			g := groups[i] & (1<<groupBits - 1)
			j := end[g]
			end[g] = j + 1
			work[j] = v
		}
	}
	for _, to := range end[:1<<width] {
		if stopped() {
			return false
		}
		from := s.start[len(s.start)-1]
		s.start = append(s.start, to)
		s.sortGroup(key[from:to], s.from[from:to], work[from:to], lo, scale, shift)
	}
	return true
}

// Restore puts numbers back in the order from before the last Sort:
//
//	dst[i] = src[k], where key[i] before Sort is key[k] after it
//
// of as many numbers. work is scratch of that length; dst may be src.
func (s *Sorting) Restore(dst, src, work []float64) {
	n := len(src)
	dst, work = dst[:n], work[:n]
	for g := range len(s.start) - 1 {
		i, j := s.start[g], s.start[g+1]
		from, x, group := s.from[i:j], src[i:j], work[i:j]
		for k, at := range from {
			group[at] = x[k]
		}
	}
	if len(s.start) <= 2 {
		copy(dst, work)
		return
	}
	var next [1 << groupBits]int32
	copy(next[:], s.start)
	for i, g := range s.group[:n] {
		g &= 1<<groupBits - 1
		j := next[g]
		next[g] = j + 1
		dst[i] = work[j]
	}
}

// sortGroup sorts keys, which agree in the bits of their place from shift on, into key, and
// their numbers into from.
func (s *Sorting) sortGroup(key []float64, from []int32, unsorted []float64, lo, scale float64, shift int) {
	n := len(key)
	width := min(bits.Len(uint(n))+1, partBits, shift)
	if n <= smallSort || n > 1<<partBits {
		s.sortBits(key, from, unsorted)
		return
	}
	shift -= width
	mask := uint64(1)<<width - 1
	count := s.counts[:mask+1]
	clear(count)
	for _, v := range unsorted {
		count[uint64(int64((v-lo)*scale))>>shift&mask]++
	}
	starts(count)
	for i, v := range unsorted {
		part := uint64(int64((v-lo)*scale)) >> shift & mask
		j := count[part]
		count[part] = j + 1
		key[j], from[j] = v, int32(i)
	}
	if !insertionSort(key, from, 4*n) {
		s.sortBits(key, from, unsorted)
	}
}

// sortBits sorts unsorted into key, and the numbers of its keys into from, whatever the
// keys. It overwrites unsorted.
func (s *Sorting) sortBits(key []float64, from []int32, unsorted []float64) {
	n := len(key)
	copy(key, unsorted)
	for i := range from {
		from[i] = int32(i)
	}
	if n <= smallSort {
		insertionSort(key, from, n*n)
		return
	}
	if len(s.spare) < n {
		s.spare = make([]int32, n)
	}
	radixSort(key, from, unsorted, s.spare[:n])
}

// starts replaces counts by the sums of those before.
func starts(count []int32) {
	var at int32
	for i, k := range count {
		count[i] = at
		at += k
	}
}

// radixSort sorts by the bits of the keys, 11 in each pass from the lowest. A pass in
// which all agree is left out.
func radixSort(key []float64, index []int32, key2 []float64, index2 []int32) {
	var count [radixPasses][1 << radixBits]int32
	for _, v := range key {
		b := sortable(v)
		for p := range count {
			count[p][b>>(radixBits*p)&(1<<radixBits-1)]++
		}
	}
	from, fromIndex, to, toIndex := key, index, key2, index2
	for p := range count {
		c := &count[p]
		shift := radixBits * p
		if int(c[sortable(from[0])>>shift&(1<<radixBits-1)]) == len(key) {
			continue
		}
		starts(c[:])
		for i, v := range from {
			digit := sortable(v) >> shift & (1<<radixBits - 1)
			j := c[digit]
			c[digit] = j + 1
			to[j], toIndex[j] = v, fromIndex[i]
		}
		from, fromIndex, to, toIndex = to, toIndex, from, fromIndex
	}
	if &from[0] != &key[0] {
		copy(key, from)
		copy(index, fromIndex)
	}
}

const (
	radixBits   = 11
	radixPasses = 6

	placeBits     = 40      // of the place of a key in the range of all
	groupSizeBits = 10      // a group has about 2^groupSizeBits keys,
	groupBits     = 11      // and there are at most 2^groupBits groups
	partBits      = 14      // a group has at most 2^partBits parts
	smallSort     = 16      // keys that insertion sorts at once
	stopEvery     = 1 << 18 // keys that the pass over memory moves between two questions
)

// sortable maps floats to integers of the same order.
func sortable(v float64) uint64 {
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// insertionSort sorts stably. It gives up and reports false after the given number of
// moves.
func insertionSort(key []float64, index []int32, moves int) bool {
	for i := 1; i < len(key); i++ {
		v, x, j := key[i], index[i], i
		for ; j > 0 && key[j-1] > v; j-- {
			key[j], index[j] = key[j-1], index[j-1]
		}
		key[j], index[j] = v, x
		if moves -= i - j; moves < 0 {
			return false
		}
	}
	return true
}
