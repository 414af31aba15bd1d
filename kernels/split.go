package kernels

// splitByMask separates numbers by a bit each:
//
//	i, j := 0, len(dst)
//	for k, v := range src {
//		if mask[k/8]>>(k%8)&1 == 0 {
//			dst[i] = v
//			i++
//		} else {
//			j--
//			dst[j] = v
//		}
//	}
//	clear(dst[i : i+8])
//	clear(dst[j-8 : j])
//
// and returns i. len(dst) >= len(src) + 16. A variant writes whole vectors: what is between
// these two runs of zeros is undefined.
func splitByMask(dst, src []float64, mask []uint8) int {
	i, j := 0, len(dst)
	_ = dst[len(src)+15]
	for k, v := range src {
		// No branch: labels in random order defeat its prediction.
		bit := int(mask[k/8]>>(k%8)) & 1
		dst[i], dst[j-1] = v, v
		i += 1 - bit
		j -= bit
	}
	clear(dst[i : i+8])
	clear(dst[j-8 : j])
	return i
}

// join is the way back of splitByMask:
//
//	i, j := 0, len(src)
//	for k := range dst {
//		if mask[k/8]>>(k%8)&1 == 0 {
//			dst[k] = src[i]
//			i++
//		} else {
//			j--
//			dst[k] = src[j]
//		}
//	}
//
// len(src) >= len(dst) + 16.
func join(dst, src []float64, mask []uint8) {
	i, j := 0, len(src)
	_ = src[len(dst)+15]
	for k := range dst {
		bit := int(mask[k/8]>>(k%8)) & 1
		dst[k] = src[i+(j-1-i)&-bit]
		i += 1 - bit
		j -= bit
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
