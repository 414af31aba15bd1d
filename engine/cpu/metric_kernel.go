package cpu

import (
	"dyad/engine"
	"dyad/kernels"
)

// Metric losses have a fixed grid. A tile takes a few hundred kilobytes for any d below
// 256. Its row and column sums are computed over a panel of columns before other rows are
// processed.
const (
	metricRows    = 96
	metricCols    = kernels.MetricTileCols
	metricPanel   = 8160 // columns, a multiple of metricCols
	metricStripes = 64   // largest number of stripes of rows; the stripes are the jobs
	metricJob     = 16   // blocks of metricRows records of one job of PrefixPairs
)

// metricKernel is a planned problem with a MetricLoss. It is immutable.
type metricKernel struct {
	problem engine.Problem
	rows    int // largest number of rows; in an evaluator the number of rows
	set     *kernels.Set
	loss    engine.MetricLoss
	slopes  func(u []float64) // replaces margins by phi'
	tiles   func(u []float64) // slopes, or nil for the logistic ones of a kernels.MetricBlock
	limits  engine.MetricRange
	single  bool // pairs in float32
	workers int
	team    engine.Team // nil alone
	stripe  int         // rows of one job of AllPairs, a multiple of metricRows
	panel   int         // columns that are summed together, a multiple of metricCols

	// Limits of memory; they do not change results.
	partialFloats int // floats in partial sums of d^2 numbers, if there is more than one partial sum
	productFloats int // floats in X W; a larger X W is computed again for each panel
}

// planGrid determines how rows are cut into jobs. If there are fewer rows, neither stripes nor panels become longer.
func (k *metricKernel) planGrid() {
	blocks := (k.rows + metricRows - 1) / metricRows
	k.stripe = (blocks + metricStripes - 1) / metricStripes * metricRows
	k.panel = min(metricPanel, k.rows)
}

// Problem returns the planned problem.
func (k *metricKernel) Problem() engine.Problem { return k.problem }

// Method returns "direct", or "direct, fp32".
func (k *metricKernel) Method() string {
	if k.single {
		return Direct.String() + ", fp32"
	}
	return Direct.String()
}

func (k *metricKernel) stripes() int { return (k.rows + k.stripe - 1) / k.stripe }

// slots returns the number of jobs that run between two reductions. It limits memory and
// does not change results.
func (k *metricKernel) slots(jobs int) int {
	d := k.problem.D
	return min(jobs, max(k.partialFloats/d/d, 1))
}

// finish is the depth of the last steps, which are two sums of entries and Pack.
const finish = 2 + 3

// allDepth returns the largest depth of the two kinds of products. Products of M take part in sums
// over a tile and over the tiles of a panel, and in the product with X. They also take part in sums
// over the rows of a tile, the tiles of a stripe, the stripes and the panels. Products of the
// diagonal term take part in row sums over a tile, a panel and the panels, or in column sums over a
// tile, a stripe and the stripes. Then they take part in the sum of row and column sums, in the
// multiplication, and in the same sums over rows as products of M.
func (k *metricKernel) allDepth() int {
	n := k.rows
	panels := (n + k.panel - 1) / k.panel
	panelTiles := k.panel/metricCols + 1
	blocks := k.stripe/metricRows + 1
	reduce := blocks + metricStripes + panels
	block := metricCols + panelTiles + 3 // depth of kernels.MetricBlock
	product := block + 1
	row := block + panels
	col := metricRows + 1 + reduce
	return max(product, max(row, col)+2) + kernels.AddProductsDepth(metricRows) + reduce + finish
}

// prefixDepth returns the depth of a sum over T prefix pairs. It counts two differences,
// the multiplication, a block, the blocks of a job, and the jobs.
func (k *metricKernel) prefixDepth(T int) int {
	return 3 + kernels.AddProductsDepth(metricRows) + metricJob + T/(metricJob*metricRows) + 1 + finish
}

// marginDepth returns the larger depth of the two ways to compute a margin. Margins of all
// pairs are computed as p (1 - (s_i + s_j - 2 x_i^T W x_j)) with p = y_i y_j, in at most 3
// (Unpack) + AddProductsDepth(d) (X W) + DotDepth(d) (s_i) + MetricMarginDepth(d)
// roundings. Margins of prefix pairs are computed from v^T W v, where v is x - x' rounded,
// in 3 (Unpack) + 2 (v, twice) + AddProductsDepth(d) + DotDepth(d) + 3 (p, difference and
// product) roundings.
func marginDepth(d int) int {
	return 3 + kernels.AddProductsDepth(d) + kernels.DotDepth(d) + kernels.MetricMarginDepth(d)
}
