// Package machine measures the processor time that this process has used, and the peak speeds of a core.
// Package cases measures the methods of Dyad against these peaks.
package machine

import "dyad/kernels"

// window is the processor time of a call of Rate, in seconds.
const window = 4e-3

// peakRounds is the length of one call: some tenths of a millisecond, because Rate reads the clock after each call.
const peakRounds = 100_000

// FMAPeak measures the operations per second of one core with the widest multiply-add instructions of set,
// applied to registers.
func FMAPeak(set *kernels.Set) float64 {
	return Rate(func() float64 { return set.Peak(peakRounds) })
}

// FMAPeak32 is FMAPeak in float32.
func FMAPeak32(set *kernels.Set) float64 {
	return Rate(func() float64 { return set.Peak32(peakRounds) })
}

// CopyPeak returns a function that measures how many bytes per second one core reads and writes when it
// copies more data than its caches hold. The function keeps 128 MB of memory.
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

// Rate calls f for a few milliseconds of processor time and returns the work per second. f returns the work of a call.
func Rate(f func() float64) float64 {
	start, sum := ProcessorTime(), 0.0
	for {
		sum += f()
		if used := ProcessorTime() - start; used >= window {
			return sum / used
		}
	}
}
