package cuda

import "fmt"

// Precision is the arithmetic of pairs of Mahalanobis losses. The method, and with it
// Kernel.Roundoff, depends on it.
type Precision int

// The precisions. The zero value leaves the choice to the backend.
const (
	// AutoPrecision is BF16x3.
	AutoPrecision Precision = iota
	// FP32 is float32 on ordinary cores.
	FP32
	// BF16x3 is three products of numbers of 8 bits on tensor cores, relatively 2^-16.
	BF16x3
	// TF32 is one product of numbers of 11 bits on tensor cores.
	TF32
)

var precisions = []string{"auto", "fp32", "bf16x3", "tf32"}

// String is the name that ParsePrecision takes.
func (p Precision) String() string { return precisions[p] }

// ParsePrecision reads auto, fp32, bf16x3 or tf32.
func ParsePrecision(name string) (Precision, error) {
	for p, n := range precisions {
		if n == name {
			return Precision(p), nil
		}
	}
	return 0, fmt.Errorf("cuda: precision %q is none of %v", name, precisions)
}

// tiling is how the tiles of a precision divide their work, as in
// kernels/cuda/metric_fp32.cu and metric_mma.cu, and their errors.
type tiling struct {
	name, file string // of the tiles
	operand    string // suffix of the kernels that pack operands
	rows       int    // of a block of threads
	align      int    // of the number of records in an operand
	piece      int    // features of a block of threads
	columns    int    // whose products are added up at a time

	// Relative errors, in units of the sum of absolute values: of an operand, of a product
	// because not all of its parts are computed, and of the sum of 16 products. (The parts
	// of a number, in size, add up to 1 + 2^-7 of it.)
	entry, dropped float64
	products16     float64
	grid           float64 // coefficients are rounded to multiples of it and then
	rounded        float64 // relatively
}

// mmaError is assumed of mma.sync with k terms: the result is within this, relatively to
// the sum of the absolute values of the k products and the summand, of the exact one.
// Products are exact and the summands are truncated to at least 24 bits below
// the largest, in any order (Fasi, Higham, Mikaitis, Pranesh 2021, "Numerical behavior of
// NVIDIA tensor cores", PeerJ CS 7:e330, for compute capability 7.0 to 8.0). It is an
// assumption on the hardware, like those on approximate instructions.
func mmaError(k int) float64 { return float64(k+4) * 0x1p-23 }

// tilingOf returns the tiling for d features.
func tilingOf(p Precision, d int) tiling {
	if p == FP32 {
		return tiling{name: "metric_tiles_fp32", file: "metric_fp32", rows: 64, align: 64, piece: 64, columns: 64,
			entry: u32, products16: 16 * u32, grid: 0x1p-22}
	}
	t := tiling{file: "metric_mma", operand: "bf16x3", align: 256, rows: 256, piece: 64, columns: 32,
		entry: u32 + 0x1p-16, dropped: 0x1p-16, products16: 3 * mmaError(16) * (1 + 0x1p-5), grid: 0x1p-17}
	if p == TF32 {
		t.operand, t.entry, t.dropped, t.products16 = "tf32", u32+0x1p-11, 0, 2*mmaError(8)
		t.grid, t.rounded = 0x1p-22, 0x1p-11
	}
	if d > 64 {
		t.rows, t.piece = 128, 128
	}
	t.name = fmt.Sprintf("metric_tiles_%s_%d", t.operand, t.piece)
	return t
}

// spanError is the error of the sum of the products of a span, relatively.
func (t tiling) spanError() float64 {
	return float64(t.columns/16)*t.products16 + float64(metricSpan/t.columns)*u32
}

// gramError is the error of a sum over d features, relatively.
func (t tiling) gramError(d int) float64 { return float64((d+15)/16) * t.products16 }
