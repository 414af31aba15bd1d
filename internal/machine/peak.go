// Package machine measures the time of the processor that this process has used, and the
// peaks of a core. Package cases measures the methods of Dyad against them.
package machine

import "dyad/kernels"

// window is the processor time that Rate takes, in seconds.
const window = 4e-3

// peakRounds is the length of one call: some tenths of a millisecond, as Rate reads the clock after each.
const peakRounds = 100_000

// FMAPeak measures the operations per second of one core in the widest multiply-adds of
// set, on registers.
func FMAPeak(set *kernels.Set) float64 {
	return Rate(func() float64 { return set.Peak(peakRounds) })
}

// FMAPeak32 is FMAPeak in float32.
func FMAPeak32(set *kernels.Set) float64 {
	return Rate(func() float64 { return set.Peak32(peakRounds) })
}

// CopyPeak returns a measurement of the bytes read and written per second by one core
// that copies more than fits its caches. It holds 128 MB.
func CopyPeak() func() float64 {
	const size = 8 << 20 // numbers
	from, to := make([]float64, size), make([]float64, size)
	for i := range from {
		from[i] = float64(i)
	}
	return func() float64 {
		return Rate(func() float64 { return 16 * float64(copy(to, from)) })
	}
}

// Rate returns the work per second of processor time of a function that returns its work,
// called for a few milliseconds.
func Rate(f func() float64) float64 {
	start, sum := ProcessorTime(), 0.0
	for {
		sum += f()
		if used := ProcessorTime() - start; used >= window {
			return sum / used
		}
	}
}
