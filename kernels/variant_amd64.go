//go:build !purego

package kernels

import "golang.org/x/sys/cpu"

// supported reports whether the processor and the operating system support a variant other than Generic.
func supported(v Variant) bool {
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasFMA && x.HasBMI2 && x.HasPOPCNT
	switch v {
	case AVX2:
		return avx2
	case AVX512:
		return avx2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL
	}
	return false
}

// accelerate replaces the generic kernels by the kernels of s.variant.
func (s *Set) accelerate() {
	if s.variant == Generic {
		return
	}
	s.accelerateScore()
	s.acceleratePlaces()
	s.accelerateMetric()
	s.accelerateMetric32()
}

// pick returns avx512 if wide is true, and avx2 otherwise.
func pick[T any](wide bool, avx2, avx512 T) T {
	if wide {
		return avx512
	}
	return avx2
}
