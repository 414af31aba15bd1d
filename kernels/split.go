package kernels

// splitByMask separates numbers by one mask bit per number:
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
// and returns i. len(dst) must be at least len(src) + 16. A variant writes whole vectors, so the numbers
// between the two runs of zeros are undefined.
func splitByMask(dst, src []float64, mask []uint8) int {
	i, j := 0, len(dst)
	_ = dst[len(src)+15]
	for k, v := range src {
		// No branch, because processors cannot predict branches on labels in random order.
		bit := int(mask[k/8]>>(k%8)) & 1
		dst[i], dst[j-1] = v, v
		i += 1 - bit
		j -= bit
	}
	clear(dst[i : i+8])
	clear(dst[j-8 : j])
	return i
}

// join is the inverse of splitByMask:
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
// len(src) must be at least len(dst) + 16.
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
// len(dst) must be at least len(at). Vector instructions for Take are slower on many processors.
func Take(dst, src []float64, at []uint16) {
	dst = dst[:len(at)]
	for i, k := range at {
		dst[i] = src[k]
	}
}

// Put is the inverse of Take:
//
//	for i, k := range at {
//		dst[k] = src[i]
//	}
//
// len(src) must be at least len(at).
func Put(dst, src []float64, at []uint16) {
	src = src[:len(at)]
	for i, k := range at {
		dst[k] = src[i]
	}
}
