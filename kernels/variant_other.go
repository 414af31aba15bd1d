//go:build !amd64 || purego

package kernels

func supported(Variant) bool { return false }

func (s *Set) accelerate() {}
