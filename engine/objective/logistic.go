package objective

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// These are the sizes of the tiles of logistic. A tile and its sums stay in the
// first-level cache, and the pairs of a few thousand records still form several jobs.
const (
	logisticRows = 128
	logisticCols = 512
)

// leastMean is the least mean loss that logistic returns. The error of the loss of a tile
// is 4 u for each pair. For a smaller mean loss, this error would be above 4.5e-13 of the
// loss.
const leastMean = 1e-3

// logistic is direct for engine.Logistic. It uses products of 1 + e^-u instead of one
// logarithm for each pair. It returns false if margins exceed kernels.MaxLogisticMargin,
// or if the mean loss is so small that it would have few digits.
//
// Let c be the middle of all scores, a = e^(c-high), b = e^(low-c), V =
// kernels.MaxLogisticMargin and u = 2^-53. Then |high - c| is at most V/2. The rounding of
// this difference and an error of 3 u of the exponential change log(a b) by at most u V + 6 u.
// The relative change of log(1 + a b) is at most as large, because the slope of log(1 + e^x)
// is 1 - 1/(1+e^x), which is at most log(1 + e^x). With the error of kernels.LogisticLossTile
// and one rounding for each tile, the relative error is below 4 u/leastMean + 200 u < 5e-13.
func (c classes) logistic(ctx context.Context, workers int) (sum float64, ok bool, err error) {
	lo, hi := c.ends()
	if !(hi-lo <= kernels.MaxLogisticMargin) {
		return 0, false, nil
	}
	set, err := kernels.Select(kernels.Best)
	if err != nil {
		return 0, false, fmt.Errorf("objective: %w", err)
	}
	middle := lo + (hi-lo)/2
	a, b := make([]float64, len(c.high)), make([]float64, len(c.low))
	for i, v := range c.high {
		a[i] = math.Exp(middle - v)
	}
	for j, v := range c.low {
		b[j] = math.Exp(v - middle)
	}
	stripes := (len(a) + logisticRows - 1) / logisticRows
	sum, err = sumParts(ctx, stripes, workers, func(stripe int) float64 {
		rows := a[stripe*logisticRows : min((stripe+1)*logisticRows, len(a))]
		row, col := make([]float64, logisticRows), make([]float64, logisticCols) // sums of slopes, which are not used
		var sum accumulator
		for j := 0; j < len(b) && ctx.Err() == nil; j += logisticCols {
			sum.add(set.LogisticLossTile(row, col, rows, b[j:min(j+logisticCols, len(b))]))
		}
		return sum.value()
	})
	pairs := float64(len(a)) * float64(len(b))
	return sum + c.same*engine.Logistic{}.Phi(0), sum >= leastMean*pairs, err
}
