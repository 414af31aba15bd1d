// Package round bounds floating-point results from above.
package round

import "math"

// Up returns an upper bound of the real number that x approximates after at
// most ops rounded additions or multiplications of nonnegative numbers
// (docs/theory.md#directed-rounding).
func Up(x float64, ops int) float64 {
	return math.Nextafter(x*(1+float64(ops)*0x1p-52), math.Inf(1))
}
