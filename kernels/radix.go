package kernels

import (
	"math"
	"math/bits"
)

// SortPairs sorts key in increasing order and moves index with it, stably:
//
//	slices.SortStableFunc(pairs of key[i] and index[i], by key)
//
// without NaNs and infinities; the order of -0 and 0 is left open. key2 and index2 are
// scratch of the same length. It asks stop, unless that is nil, before each part of the
// work of some milliseconds for a million pairs; where stop says yes, it returns false
// and leaves key and index in no order.
//
// The place of a key in the range of all keys, in 2^placeBits equal parts, does not
// decrease with the key. Its leading bits distribute the pairs to groups of some
// thousand, which fit the caches (Knuth 1998, 5.2.5: from the most significant digit,
// so that only one pass scatters over memory), its next bits those of a group to parts
// of about one, and insertion puts a group in order. If that moves too many, because
// the keys of a group are in few parts, six passes over the bits of its keys follow.
func SortPairs(key []float64, index []int32, key2 []float64, index2 []int32, stop func() bool) bool {
	stopped := func() bool { return stop != nil && stop() }
	n := len(key)
	index, key2, index2 = index[:n], key2[:n], index2[:n]
	if n <= smallSort {
		return insertionSort(key, index, n*n)
	}
	lo, hi := key[0], key[0]
	for _, v := range key {
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo == hi {
		return true
	}
	const parts = 1<<placeBits - 1
	scale := parts / (hi - lo)
	if !(scale > 0 && scale < math.MaxFloat64) {
		radixSort(key, index, key2, index2)
		return true
	}
	// (v - lo) * scale, rounded, does not decrease with v and is at most parts (1 + 2^-51).
	groupBits := min(max(bits.Len(uint(n))-groupSizeBits, 1), radixBits)
	shift := placeBits - groupBits
	var end [1 << radixBits]int32
	for _, v := range key {
		end[uint64((v-lo)*scale)>>shift&(1<<radixBits-1)]++
	}
	starts(end[:1<<groupBits])
	for at := 0; at < n; at += stopEvery {
		if stopped() {
			return false
		}
		next := min(at+stopEvery, n)
		numbers := index[at:next]
		for i, v := range key[at:next] {
			group := uint64((v-lo)*scale) >> shift & (1<<radixBits - 1)
			j := end[group]
			end[group] = j + 1
			key2[j], index2[j] = v, numbers[i]
		}
	}
	var count [1 << partBits]int32
	from := 0
	for _, at := range end[:1<<groupBits] {
		if stopped() {
			return false
		}
		to := int(at)
		sortGroup(key[from:to], index[from:to], key2[from:to], index2[from:to], lo, scale, shift, &count)
		from = to
	}
	return true
}

// sortGroup sorts the pairs of from and fromIndex into key and index. They agree in the
// bits of their place from shift on. count is scratch.
func sortGroup(key []float64, index []int32, from []float64, fromIndex []int32, lo, scale float64, shift int, count *[1 << partBits]int32) {
	n := len(key)
	if n <= smallSort {
		copy(key, from)
		copy(index, fromIndex)
		insertionSort(key, index, n*n)
		return
	}
	width := min(bits.Len(uint(n)), partBits, shift)
	shift -= width
	mask := uint64(1)<<width - 1
	clear(count[:mask+1])
	for _, v := range from {
		count[uint64((v-lo)*scale)>>shift&mask&(1<<partBits-1)]++
	}
	starts(count[:mask+1])
	for i, v := range from {
		part := uint64((v-lo)*scale) >> shift & mask & (1<<partBits - 1)
		j := count[part]
		count[part] = j + 1
		key[j], index[j] = v, fromIndex[i]
	}
	if !insertionSort(key, index, 4*n) {
		radixSort(key, index, from, fromIndex)
	}
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
	groupSizeBits = 12      // a group has about 2^groupSizeBits pairs
	partBits      = 14      // a group has at most 2^partBits parts
	smallSort     = 64      // pairs that insertion sorts at once
	stopEvery     = 1 << 18 // pairs that the pass over memory moves between two questions
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

// PrefixSums sets sum[k] to x[0] + ... + x[k-1] for k = 0 .. len(x), each with an error
// of at most 2^-52 of the sum of absolute values for fewer than 2^26 terms; len(sum) >
// len(x). The running sum has a correction term (Neumaier 1974).
func PrefixSums(sum, x []float64) {
	sum = sum[:len(x)+1]
	var hi, lo float64
	sum[0] = 0
	for k, v := range x {
		hi, lo = compensated(hi, lo, v)
		sum[k+1] = hi + lo
	}
}

// compensated adds v to the sum hi + lo: the error of the addition to hi goes to lo
// (Knuth's exact two-sum).
func compensated(hi, lo, v float64) (float64, float64) {
	s := hi + v
	t := s - hi
	return s, lo + ((hi - (s - t)) + (v - t))
}

// StepRows adds, for all pairs of the sorted numbers s and t, the function
// g(i, j) = d (a + b d (s_i - t_j)) of those with t_j <= s_i - shift to the rows:
//
//	for i := range s {
//		for j := range t {
//			if t[j] <= s[i]-shift {
//				row[i] += d * (a + b*d*(s[i]-t[j]))
//			}
//		}
//	}
//
// in O(len(s) + len(t)): s[i]-shift, rounded, does not decrease with i, so the pairs of
// a row are the first ones of t. sumT are the PrefixSums of t. rowLow is a low part of
// row, so that each of many calls adds an error that does not grow with their number.
//
// A row gets d (a N + b d (s_i N - T)) with N the number of its t_j and T their sum: an
// error of at most 8 u d m (|a| + |b| d (max|s| + max|t|)), u = 2^-53 and m = len(t), for
// each call, and once 2 u of the result.
func StepRows(row, rowLow, s, t, sumT []float64, shift, d, a, b float64) {
	j := 0
	for i, si := range s {
		for j < len(t) && t[j] <= si-shift {
			j++
		}
		n := float64(j)
		row[i], rowLow[i] = compensated(row[i], rowLow[i], d*(a*n+b*d*(si*n-sumT[j])))
	}
}

// StepColumns subtracts the same function of the same pairs from the columns:
//
//	col[j] -= d * (a + b*d*(s[i]-t[j]))
//
// The pairs of a column are the last ones of s, of which sumS are the PrefixSums. The
// error is that of StepRows with m = len(s): the sum of its s_i is a difference of two
// sums over more of them.
func StepColumns(col, colLow, s, t, sumS []float64, shift, d, a, b float64) {
	i := 0
	total := sumS[len(s)]
	for j, tj := range t {
		for i < len(s) && tj > s[i]-shift {
			i++
		}
		n := float64(len(s) - i)
		col[j], colLow[j] = compensated(col[j], colLow[j], -d*(a*n+b*d*((total-sumS[i])-tj*n)))
	}
}
