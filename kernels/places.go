package kernels

import (
	"math"
	"math/bits"
)

// Places maps numbers to integers of placeBits bits that do not decrease with the number:
// to which of 2^placeBits - 1 equal parts of a range it belongs.
type Places struct{ lo, scale float64 }

const (
	placeBits     = 40 // of a place
	maxGroupBits  = 11 // of the number of groups
	maxBucketBits = 14 // of the number of buckets of a group
)

// NewPlaces returns the places of the numbers in [lo, hi].
func NewPlaces(lo, hi float64) Places {
	p := Places{lo: lo, scale: (1<<placeBits - 1) / (hi - lo)}
	if !(p.scale < math.MaxFloat64) {
		p.scale = 0
	}
	return p
}

// of is the place of a number of the range. (v - lo) * scale, rounded, does not decrease
// with v and is at most (2^placeBits - 1) (1 + 2^-51). By way of int64 it takes one
// instruction.
func (p Places) of(v float64) uint64 { return uint64(int64((v - p.lo) * p.scale)) }

// Groups returns the number of groups of n numbers and the first bit of the group in a
// place. Its leading bits distribute numbers to groups that are sorted in the caches (Knuth
// 1998, 5.2.5: from the most significant digit, so that only one pass scatters over memory).
// Groups have 2^11 to 2^12 numbers as long as they are at most 512, since the lines of 512 groups, and
// the next ones, fit the second cache; then up to 2^14.
func Groups(n int) (groups int, shift uint8) {
	size := bits.Len(uint(n))
	width := min(max(min(size-12, 9), size-14, 0), maxGroupBits)
	return 1 << width, uint8(placeBits - width)
}

// Label is the first group of the numbers of a label, which have the groups from First on
// by the bits of their place from Shift on.
type Label struct {
	First int32
	Shift uint8
}

// Group finds the groups of numbers in the range and counts them. group is any group of the
// label of each:
//
//	for i := range s {
//		l := labels[group[i]]
//		group[i] = l.First + place(s[i])>>l.Shift
//		count[group[i]]++
//	}
func (p Places) Group(group []int32, s []float64, labels []Label, count []int32) {
	group = group[:len(s)]
	for i, v := range s {
		l := labels[group[i]]
		g := l.First + int32(p.of(v)>>(l.Shift&63))
		group[i] = g
		count[g]++
	}
}

// Scatter moves numbers to the next place of their group:
//
//	for i := range x {
//		dst[next[group[i]]] = x[i]
//		next[group[i]]++
//	}
func Scatter(dst, x []float64, group, next []int32) {
	group = group[:len(x)]
	for i, v := range x {
		g := group[i]
		j := next[g]
		next[g] = j + 1
		dst[j] = v
	}
}

// Collect takes the last step of Scatter back first:
//
//	for i := len(dst)-1; i >= 0; i-- {
//		next[group[i]]--
//		dst[i] = x[next[group[i]]]
//	}
func Collect(dst, x []float64, group, next []int32) {
	group = group[:len(dst)]
	for i := len(group) - 1; i >= 0; i-- {
		g := group[i]
		j := next[g] - 1
		next[g] = j
		dst[i] = x[j]
	}
}

// Sorter sorts groups of numbers. It is of use to one caller at a time.
type Sorter struct {
	count []int32 // of the buckets of a group
	spare []int32
}

// Sort sorts the numbers x of a group with the given first bit into key:
//
//	slices.Sort(x)
//	copy(key, x)
//
// without NaNs and infinities, and sets from[k] to the number in x of key[k]. The order of
// -0 and 0 is left open. It overwrites x.
//
// The bits of a place after the group are a bucket, of less than one number. Insertion puts
// the buckets in order; if that moves too many, because the numbers are in few buckets, six
// passes over their bits follow.
func (s *Sorter) Sort(key []float64, from []int32, x []float64, p Places, shift uint8) {
	n := len(x)
	if n <= smallSort {
		s.sortBits(key, from, x)
		return
	}
	width := uint8(min(bits.Len(uint(n))+1, maxBucketBits))
	shift = (shift - width) & 63
	if len(s.count) < 1<<width {
		s.count = make([]int32, 1<<width)
	}
	count, mask := s.count[:1<<width], uint64(1)<<width-1
	clear(count)
	for _, v := range x {
		count[p.of(v)>>shift&mask]++
	}
	starts(count)
	key, from = key[:n], from[:n]
	for i, v := range x {
		bucket := p.of(v) >> shift & mask
		j := count[bucket]
		count[bucket] = j + 1
		key[j], from[j] = v, int32(i)
	}
	if !insertionSort(key, from, 4*n) {
		s.sortBits(key, from, x)
	}
}

// sortBits is Sort whatever the numbers.
func (s *Sorter) sortBits(key []float64, from []int32, x []float64) {
	n := len(x)
	copy(key, x)
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
	radixSort(key, from, x, s.spare[:n])
}

// Restore puts numbers back in the order from before Sort:
//
//	for k := range from {
//		dst[from[k]] = x[k]
//	}
func Restore(dst, x []float64, from []int32) {
	x = x[:len(from)]
	for k, i := range from {
		dst[i] = x[k]
	}
}
