package cuda

import "fmt"

const (
	u64 = 0x1p-53 // roundoff of float64
	u32 = 0x1p-24 // roundoff of float32
)

// metricSpan is the number of columns whose products are summed in float32, as in kernels/cuda/metric*.cu.
const metricSpan = 1024

// Precision is the arithmetic for the pairs of Mahalanobis losses. The kernel's Method and QueryBounds.Sum
// depend on the precision.
type Precision int

// The precisions. The zero value leaves the choice to the backend.
const (
	// AutoPrecision means FP32 for persons and BF16x3 otherwise.
	AutoPrecision Precision = iota
	// FP32 means float32 on ordinary cores.
	FP32
	// BF16x3 means that each product is computed as three products of numbers with 8 significant bits on tensor cores.
	// The relative error is about 2^-16.
	BF16x3
)

var precisions = []string{"auto", "fp32", "bf16x3"}

// String returns the name of the precision for ParsePrecision: auto, fp32 or bf16x3.
func (p Precision) String() string { return precisions[p] }

// ParsePrecision returns the precision with the name auto, fp32 or bf16x3.
func ParsePrecision(name string) (Precision, error) {
	for p, n := range precisions {
		if n == name {
			return Precision(p), nil
		}
	}
	return 0, fmt.Errorf("cuda: the precision %q is unknown; it must be one of %v", name, precisions)
}

// tiling describes how the tiles of a precision divide their work, as in kernels/cuda/metric_fp32.cu and
// metric_mma.cu, and the errors of the tiles.
type tiling struct {
	name, file string // of the tiles
	operand    string // suffix of the names of kernels that pack operands
	rows       int    // rows of a block of threads
	align      int    // the number of records in an operand is a multiple of align
	piece      int    // features of a block of threads
	columns    int    // number of columns whose products are added up at a time

	// left is the packing of X W, and right is the packing of X. factor is the packing of X as the second
	// factor of the products with coefficients, if it differs from right. With fp32, operands are not packed.
	left, right, factor packing

	// The following errors are relative to the sum of absolute values. entry is the error of an operand.
	// dropped is the error of a product because some of its parts are not computed. features16 and span16 are
	// the errors of the sum of 16 products, over features and over columns. (The absolute values of the parts
	// of a number add up to at most 1 + 2^-7 times the number.)
	entry, dropped     float64
	features16, span16 float64
	grid               float64 // coefficients are rounded to multiples of it
}

// packing holds the numbers of records and features of a fragment. If whole is true, all features of a block of
// threads are packed, with zeros beyond the last feature.
type packing struct {
	records, features int
	whole             bool
}

// mmaError returns the assumed error of mma.sync with k terms, relative to the sum of the absolute values of
// the k products and the summand. Products are exact. The summands are truncated to at least 24 bits below the
// largest summand, in any order (Fasi, Higham, Mikaitis, Pranesh 2021, "Numerical behavior of NVIDIA tensor
// cores", PeerJ CS 7:e330, for compute capability 7.0 to 8.0). This is an assumption on the hardware, like the
// assumptions on approximate instructions.
func mmaError(k int) float64 { return float64(k+4) * 0x1p-23 }

// tilingOf returns the tiling for d features.
func tilingOf(p Precision, d int) tiling {
	t := tiling{file: "metric_mma", operand: "bf16x3", align: 256, rows: 256, piece: 64, columns: 32,
		left: packing{16, 16, false}, right: packing{8, 16, false}, factor: packing{16, 8, true},
		entry: u32 + 0x1p-16, dropped: 0x1p-16, features16: 3 * mmaError(16) * (1 + 0x1p-5), grid: 0x1p-17}
	t.span16 = t.features16
	if p == FP32 {
		return tiling{name: "metric_tiles_fp32", file: "metric_fp32", rows: 64, align: 64, piece: 64, columns: 64,
			entry: u32, features16: 16 * u32, span16: 16 * u32, grid: 0x1p-22}
	}
	if d > 64 {
		t.rows, t.piece = 128, 128
	}
	t.name = fmt.Sprintf("metric_tiles_%s_%d", t.operand, t.piece)
	return t
}

// personTiling returns the tiling for rows of persons (metric_persons.cu). It is the tiling of FP32, but
// products are in float64.
func personTiling() tiling {
	t := tilingOf(FP32, 1)
	t.name, t.file = "metric_tiles_persons", "metric_persons"
	return t
}

// spanError returns the relative error of the sum of the products of a span.
func (t tiling) spanError() float64 {
	return float64(t.columns/16)*t.span16 + float64(metricSpan/t.columns)*u32
}

// gramError returns the relative error of a sum over d features.
func (t tiling) gramError(d int) float64 { return float64((d+15)/16) * t.features16 }
