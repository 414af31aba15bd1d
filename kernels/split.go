package kernels

import "math"

// Split separates numbers by a bit each, in their order:
//
//	i, j := 0, 0
//	for k, v := range src {
//		if mask[k/8]>>(k%8)&1 == 0 {
//			zero[i] = v
//			i++
//		} else {
//			one[j] = v
//			j++
//		}
//	}
//	clear(zero[i : i+8])
//	clear(one[j : j+8])
//
// and returns i. Each of zero and one has len(src) + 8 numbers or more, because a variant
// writes whole vectors: the rest of these is undefined.
func Split(zero, one, src []float64, mask []uint8) int {
	i, j := 0, 0
	zero, one = zero[:len(src)+8], one[:len(src)+8]
	for k, v := range src {
		// No branch: labels in random order defeat its prediction.
		bit := int(mask[k/8]>>(k%8)) & 1
		zero[i], one[j] = v, v
		i += 1 - bit
		j += bit
	}
	clear(zero[i : i+8])
	clear(one[j : j+8])
	return i
}

// Join is the way back of Split:
//
//	i, j := 0, 0
//	for k := range dst {
//		if mask[k/8]>>(k%8)&1 == 0 {
//			dst[k] = zero[i]
//			i++
//		} else {
//			dst[k] = one[j]
//			j++
//		}
//	}
//
// Each of zero and one has len(dst) + 8 numbers or more, all of which may be read.
func Join(dst, zero, one []float64, mask []uint8) {
	i, j := 0, 0
	zero, one = zero[:len(dst)+8], one[:len(dst)+8]
	for k := range dst {
		bit := uint64(mask[k/8]>>(k%8)) & 1
		v, w := math.Float64bits(zero[i]), math.Float64bits(one[j])
		dst[k] = math.Float64frombits(v ^ (v^w)&-bit)
		i += int(1 - bit)
		j += int(bit)
	}
}

// Take copies selected numbers:
//
//	for i, k := range at {
//		dst[i] = src[k]
//	}
//
// len(dst) >= len(at). Vector instructions for this are slower on many processors.
func Take(dst, src []float64, at []uint16) {
	dst = dst[:len(at)]
	for i, k := range at {
		dst[i] = src[k]
	}
}

// Put is the way back of Take:
//
//	for i, k := range at {
//		dst[k] = src[i]
//	}
//
// len(src) >= len(at).
func Put(dst, src []float64, at []uint16) {
	src = src[:len(at)]
	for i, k := range at {
		dst[k] = src[i]
	}
}
