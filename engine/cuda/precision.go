package cuda

import (
	"fmt"

	"dyad/engine"
)

// Precision is the arithmetic of pairs of Mahalanobis losses. The method, and with it
// QueryBounds.Sum, depends on it.
type Precision int

// The precisions. The zero value leaves the choice to the backend.
const (
	// AutoPrecision is BF16x3, or Wgmma where measured times of this GPU say that it is faster.
	AutoPrecision Precision = iota
	// FP32 is float32 on ordinary cores.
	FP32
	// BF16x3 is three products of numbers of 8 bits on tensor cores, relatively 2^-16.
	BF16x3
	// TF32 is one product of numbers of 11 bits on tensor cores.
	TF32
	// Wgmma is BF16x3 by the asynchronous instructions of compute capability 9.0, for no
	// other GPU. What is assumed of their rounding is wider.
	Wgmma
)

var precisions = []string{"auto", "fp32", "bf16x3", "tf32", "wgmma"}

// String is the name that ParsePrecision takes.
func (p Precision) String() string { return precisions[p] }

// ParsePrecision reads auto, fp32, bf16x3, tf32 or wgmma.
func ParsePrecision(name string) (Precision, error) {
	for p, n := range precisions {
		if n == name {
			return Precision(p), nil
		}
	}
	return 0, fmt.Errorf("cuda: unknown precision %q, want one of %v", name, precisions)
}

// precision is that of a problem: AutoPrecision is replaced, by public numbers and the GPU.
func (b Backend) precision(p engine.Problem) (Precision, error) {
	info := b.Device.Info()
	hopper := info.Major == 9 && info.Minor == 0
	switch {
	case p.ByPerson():
		if b.Precision != AutoPrecision && b.Precision != FP32 {
			return 0, fmt.Errorf("%w: pairs of persons in %s; leave out --precision, which is fp32 for persons", engine.ErrUnsupported, b.Precision)
		}
		return FP32, nil
	case b.Precision == Wgmma && !hopper:
		return 0, fmt.Errorf("%w: precision wgmma needs compute capability 9.0, %s has %d.%d; use bf16x3", engine.ErrUnsupported, b.Name(), info.Major, info.Minor)
	case b.Precision != AutoPrecision:
		return b.Precision, nil
	case !hopper:
		return BF16x3, nil
	}
	models, err := b.models()
	if err != nil {
		return 0, err
	}
	all := metricWork(p)
	portable, ok := models.Of(info.Name, "direct, "+BF16x3.String())
	if own, both := models.Of(info.Name, "direct, "+Wgmma.String()); ok && both && own.Seconds(all) < portable.Seconds(all) {
		return Wgmma, nil
	}
	return BF16x3, nil
}

// tiling is how the tiles of a precision divide their work, as in
// kernels/cuda/metric_fp32.cu, metric_mma.cu and metric_wgmma_sm90a.cu, and their errors.
type tiling struct {
	name, file string // of the tiles
	operand    string // suffix of the kernels that pack operands
	rows       int    // of a block of threads
	align      int    // of the number of records in an operand
	piece      int    // features of a block of threads
	columns    int    // whose products are added up at a time

	// How operands are packed: X W, X, and X as the second factor of the products with
	// coefficients, unless that is the packing before. With fp32 they are not.
	left, right, factor packing

	// Relative errors, in units of the sum of absolute values: of an operand, of a product
	// because not all of its parts are computed, and of the sum of 16 products, over
	// features and over columns. (The parts of a number, in size, add up to 1 + 2^-7 of it.)
	entry, dropped     float64
	features16, span16 float64
	grid               float64 // coefficients are rounded to multiples of it and then
	rounded            float64 // relatively
}

// packing says how many records and features a fragment holds, and whether all features of
// a block of threads are packed, with zeros beyond the last.
type packing struct {
	records, features int
	whole             bool
}

// mmaError is assumed of mma.sync with k terms: the result is within this, relatively to
// the sum of the absolute values of the k products and the summand, of the exact one.
// Products are exact and the summands are truncated to at least 24 bits below
// the largest, in any order (Fasi, Higham, Mikaitis, Pranesh 2021, "Numerical behavior of
// NVIDIA tensor cores", PeerJ CS 7:e330, for compute capability 7.0 to 8.0). It is an
// assumption on the hardware, like those on approximate instructions.
func mmaError(k int) float64 { return float64(k+4) * 0x1p-23 }

// wgmmaError is assumed of wgmma with bf16 factors and 16 terms. The same units of
// compute capability 9.0 add 16 products and a summand at once, aligned to more bits than
// earlier ones (Khattak, Mikaitis 2025, "Accurate Models of NVIDIA Tensor Cores",
// arXiv:2512.07004); wgmma may split or order them otherwise, so twice the error of
// mma.sync is assumed. (With factors of 8 bits fewer bits are kept. Those are not used.)
func wgmmaError() float64 { return 2 * mmaError(16) }

// tilingOf returns the tiling for d features.
func tilingOf(p Precision, d int) tiling {
	t := tiling{file: "metric_mma", operand: "bf16x3", align: 256, rows: 256, piece: 64, columns: 32,
		left: packing{16, 16, false}, right: packing{8, 16, false}, factor: packing{16, 8, true},
		entry: u32 + 0x1p-16, dropped: 0x1p-16, features16: 3 * mmaError(16) * (1 + 0x1p-5), grid: 0x1p-17}
	switch t.span16 = t.features16; p {
	case FP32:
		return tiling{name: "metric_tiles_fp32", file: "metric_fp32", rows: 64, align: 64, piece: 64, columns: 64,
			entry: u32, features16: 16 * u32, span16: 16 * u32, grid: 0x1p-22}
	case TF32:
		t.operand, t.entry, t.dropped, t.features16, t.span16 = "tf32", u32+0x1p-11, 0, 2*mmaError(8), 2*mmaError(8)
		t.grid, t.rounded = 0x1p-22, 0x1p-11
	case Wgmma:
		t.file, t.operand, t.rows, t.columns = "metric_wgmma_sm90a", "wgmma", 128, 64
		t.left, t.right, t.factor = packing{16, 16, true}, packing{64, 64, true}, packing{}
		t.features16, t.span16 = 3*wgmmaError()*(1+0x1p-5), wgmmaError()*(1+0x1p-4)
	}
	if d > 64 {
		t.rows, t.piece = 128, 128
	}
	t.name = fmt.Sprintf("metric_tiles_%s_%d", t.operand, t.piece)
	return t
}

// personTiling is FP32 for rows of persons (metric_persons.cu), whose products are in float64.
func personTiling() tiling {
	t := tilingOf(FP32, 1)
	t.name, t.file = "metric_tiles_persons", "metric_persons"
	return t
}

// spanError is the error of the sum of the products of a span, relatively.
//
// With wgmma the two products with lo come first, for all columns that are added up at a
// time. Sums so far, and these products, are at most 2^-7 (1 + 2^-8) of the sum of absolute
// values, and the third is relative to at most 1 + 2^-6 + 2^-14 of it: together less than
// 1 + 2^-4, which is in span16.
func (t tiling) spanError() float64 {
	return float64(t.columns/16)*t.span16 + float64(metricSpan/t.columns)*u32
}

// gramError is the error of a sum over d features, relatively. With wgmma the sum of the
// first 64 is as in spanError, and products with zeros count like others.
func (t tiling) gramError(d int) float64 {
	if t.operand == "wgmma" {
		return 4*t.span16 + float64(roundUp(d, t.piece)/16-4)*t.features16
	}
	return float64((d+15)/16) * t.features16
}
