package kernels

import "math"

// starts replaces each count by the sum of all counts before it.
func starts(count []int32) {
	var at int32
	for i, k := range count {
		count[i] = at
		at += k
	}
}

// radixSort sorts by the bits of the keys. Each pass sorts by 11 bits, beginning with the lowest bits. A pass
// in which all keys have the same bits is skipped.
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

	smallSort = 16 // largest number of keys that insertionSort sorts without a radix sort
)

// sortable maps floats to integers of the same order.
func sortable(v float64) uint64 {
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// insertionSort sorts key stably and index along with key. If this needs more than the given number of moves,
// it stops and returns false.
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
