package kernels

import "fmt"

//go:generate go run -C _asm ./score -pkg kernels -out ../score_amd64.s -stubs ../score_stubs_amd64.go
//go:generate go run -C _asm ./metric -pkg kernels -out ../metric_amd64.s -stubs ../metric_stubs_amd64.go
//go:generate go run -C _asm ./places -pkg kernels -out ../places_amd64.s -stubs ../places_stubs_amd64.go

// Variant selects one of the implementations of the kernels in a Set. Results of different variants differ by
// rounding errors. The bounds in the doc comment of each kernel hold for all variants.
type Variant int

// The variants. AVX2 and AVX512 exist on amd64, unless built with the tag purego.
const (
	Best    Variant = iota // the last element of Variants
	Generic                // plain Go
	AVX2                   // vectors of 256 bits; needs AVX2, FMA, BMI2 and POPCNT
	AVX512                 // vectors of 512 bits; needs AVX-512 F, BW, DQ and VL, too
)

// String returns "best", "generic", "avx2" or "avx512".
func (v Variant) String() string {
	if v < Best || v > AVX512 {
		return "unknown"
	}
	return [...]string{"best", "generic", "avx2", "avx512"}[v]
}

// Variants returns the variants that this processor supports, ordered from the slowest to the fastest. The
// first variant is Generic.
func Variants() []Variant {
	all := []Variant{Generic}
	for _, v := range []Variant{AVX2, AVX512} {
		if supported(v) {
			all = append(all, v)
		}
	}
	return all
}

// Set is one implementation of the kernels that have several implementations. Each field does the same as the
// function of the same name in this package, but may add in another order. The depth and the error that the
// function's comment states also hold for the field. The fields read and write only inside their slices. A Set
// does not change after Select, and several goroutines may use it.
type Set struct {
	variant Variant

	Dot           func(x, y []float64) float64
	Dots          func(dst, x, w []float64)
	GatherDots    func(dst, x, w []float64, rows []int32)
	AddRows       func(acc, c, x []float64)
	GatherAddRows func(acc, c, x []float64, rows []int32)
	NarrowDots    func(dst []float64, x []float32, w []float64)
	NarrowAddRows func(acc, c []float64, x []float32)

	GatherNarrowDots    func(dst []float64, x []float32, w []float64, rows []int32)
	GatherNarrowAddRows func(acc, c []float64, x []float32, rows []int32)

	Locate     func(pos []float64, bin []int32, x []float64, class []uint8, bins int)
	PowerSums  func(sum, x []float64)
	SumLanes   func(sum, lanes []float64)
	Polynomial func(dst, coef, x []float64)
	Split      func(dst, src []float64, mask []uint8) int
	Join       func(dst, src []float64, mask []uint8)

	LogisticTile     func(row, col, a, b []float64)
	LogisticLossTile func(row, col, a, b []float64) float64
	LogisticPairTile func(row, col, s, y, t, z []float64, skip int)
	LogisticSlopes   func(v []float64)

	Scatter func(dst, x []float64, group, next []int32)
	Collect func(dst, x []float64, group, next []int32)

	AddProducts    func(dst []float64, stride int, a, b []float64, m, n, k int)
	AddGram        func(dst, x []float64, rows, d int)
	ClipRows       func(dst, x, c []float64, rows int, short float64)
	NewMetricBlock func(rows, d int, f func([]float64)) MetricBlock

	NewMetricBlock32 func(rows, d int) MetricBlock32
	PanelProducts32  func(dst, a, panel []float32, m, k int)

	peak, peak32 func(rounds int) int
}

// Variant returns the variant of the set. It is never Best.
func (s *Set) Variant() Variant { return s.variant }

// Select returns the kernels of a variant. It returns an error if this processor lacks the instructions of the
// variant, or if the program was built without the variant.
func Select(v Variant) (*Set, error) {
	if v == Best {
		all := Variants()
		v = all[len(all)-1]
	}
	if v != Generic && !supported(v) {
		return nil, fmt.Errorf("kernels: this machine has no %v kernels; use %v or one of %v", v, Best, Variants())
	}
	s := &Set{
		variant:             v,
		Dot:                 Dot,
		Dots:                Dots,
		GatherDots:          GatherDots,
		AddRows:             AddRows,
		GatherAddRows:       GatherAddRows,
		NarrowDots:          NarrowDots,
		NarrowAddRows:       NarrowAddRows,
		GatherNarrowDots:    GatherNarrowDots,
		GatherNarrowAddRows: GatherNarrowAddRows,
		Locate:              locate,
		PowerSums:           PowerSums,
		SumLanes:            sumLanes,
		Polynomial:          Polynomial,
		Split:               splitByMask,
		Join:                join,
		LogisticTile:        logisticTile,
		LogisticLossTile:    LogisticLossTile,
		LogisticPairTile:    logisticPairTile,
		LogisticSlopes:      LogisticSlopes,
		Scatter:             scatter,
		Collect:             collect,
		AddProducts:         AddProducts,
		NewMetricBlock:      newMetricBlock,
		NewMetricBlock32:    newMetricBlock32,
		PanelProducts32:     panelProducts32,
		AddGram:             AddGram,
		ClipRows:            ClipRows,
		peak:                scalarPeak[float64],
		peak32:              scalarPeak[float32],
	}
	s.accelerate()
	return s, nil
}

// Peak runs the given number of rounds of independent multiply-adds of the widest kind that the kernels of s
// use. The multiply-adds use registers only. Peak returns the number of floating-point operations, two for each
// multiply-add. This number divided by the time is the peak rate of one core, and benchmarks report rates
// relative to the peak. rounds must be at least 1.
func (s *Set) Peak(rounds int) float64 { return 2 * float64(rounds) * float64(s.peak(rounds)) }

// Peak32 is Peak for operations in float32.
func (s *Set) Peak32(rounds int) float64 { return 2 * float64(rounds) * float64(s.peak32(rounds)) }
