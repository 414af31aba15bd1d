package kernels

import (
	"math"
	"math/bits"
)

// Places maps the numbers of a range to integers of placeBits bits, called places. The range is cut into
// 2^placeBits - 1 equal parts, and the place of a number is the index of the part that contains the number.
// Places do not decrease if the number increases.
type Places struct{ lo, scale float64 }

const (
	placeBits     = 40 // bits of a place
	maxGroupBits  = 11 // bits of the number of groups
	maxBucketBits = 14 // bits of the number of buckets of a group
)

// NewPlaces returns the Places for the range [lo, hi].
func NewPlaces(lo, hi float64) Places {
	p := Places{lo: lo, scale: (1<<placeBits - 1) / (hi - lo)}
	if !(p.scale < math.MaxFloat64) {
		p.scale = 0
	}
	return p
}

// of returns the place of a number of the range. (v - lo) * scale, rounded, does not decrease with v and is at
// most (2^placeBits - 1) (1 + 2^-51). The conversion through int64 takes only one instruction.
func (p Places) of(v float64) uint64 { return uint64(int64((v - p.lo) * p.scale)) }

// Groups returns how many groups n numbers are divided into, and the shift. The group of a number is place >>
// shift, the leading bits of its place. Each group is later sorted in the caches. This sorting starts with the
// most significant digit (Knuth 1998, 5.2.5), so only one pass writes to distant addresses of the memory.
// While 512 groups are enough, a group has 2^11 to 2^12 numbers: the current and the next cache lines of 512
// groups fit into the second-level cache. With more numbers, a group has up to 2^14 numbers.
func Groups(n int) (groups int, shift uint8) {
	size := bits.Len(uint(n))
	width := min(max(min(size-12, 9), size-14, 0), maxGroupBits)
	return 1 << width, uint8(placeBits - width)
}

// Label describes how the numbers that share a label are divided into groups. A number v is in the group
// First + (p >> Shift), where p is the place of v (see Places).
type Label struct {
	First int32
	Shift uint8
}

// Group sets the group of every number and counts the numbers of each group. The numbers must be in the range.
// On entry, group[i] is one of the groups of the label of s[i]. labels[g] describes the label of group g:
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

// scatter moves numbers to the next place of their group:
//
//	for i := range x {
//		dst[next[group[i]]] = x[i]
//		next[group[i]]++
//	}
func scatter(dst, x []float64, group, next []int32) {
	group = group[:len(x)]
	for i, v := range x {
		g := group[i]
		j := next[g]
		next[g] = j + 1
		dst[j] = v
	}
}

// collect reverses the steps of scatter, beginning with the last step:
//
//	for i := len(dst)-1; i >= 0; i-- {
//		next[group[i]]--
//		dst[i] = x[next[group[i]]]
//	}
func collect(dst, x []float64, group, next []int32) {
	group = group[:len(dst)]
	for i := len(group) - 1; i >= 0; i-- {
		g := group[i]
		j := next[g] - 1
		next[g] = j
		dst[i] = x[j]
	}
}

// Sorter sorts groups of numbers. A Sorter must not be used by several goroutines at the same time.
type Sorter struct {
	count []int32 // counts of the buckets of a group
	spare []int32
}

// Sort writes the numbers x of a group to key in increasing order:
//
//	slices.Sort(x)
//	copy(key, x)
//
// for x without NaNs and infinities. Sort also sets from[k] to the index in x of key[k]. The order of -0 and 0
// is not specified. Sort overwrites x.
//
// Sort first puts each number into a bucket. The index of the bucket consists of the bits directly below bit
// `shift` of the number's place (see Places). A bucket has less than one number on average. Then an insertion
// sort completes the order. If the insertion sort needs too many moves, because the numbers are in few
// buckets, a radix sort with six passes follows.
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

// sortBits is Sort without buckets, for any distribution of the numbers.
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

// Restore returns numbers to the order that they had before Sort:
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
