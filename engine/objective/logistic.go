package objective

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// Tiles of logistic: they and their sums stay in the first-level cache, and the pairs of a
// few thousand records are some jobs.
const (
	logisticRows = 128
	logisticCols = 512
)

// leastMean is the least mean loss that logistic returns: below it the error of the loss
// of a tile, 4 u a pair, would be above 4.5e-13 of it.
const leastMean = 1e-3

// logistic is direct for engine.Logistic by products of 1 + e^-u instead of a logarithm a
// pair. It fails if margins are beyond kernels.MaxLogisticMargin, or small losses would
// have few digits.
//
// With a = e^(c-high) and b = e^(low-c), for c in the middle of all scores, |high - c| is at
// most V/2, V = kernels.MaxLogisticMargin. A rounding of that difference and 3 u of the
// exponential, u = 2^-53, change log(a b) by at most u V + 6 u, and log(1 + a b) by at most as
// much of it: the slope of log(1 + e^x) is 1 - 1/(1+e^x), at most log(1 + e^x). With
// kernels.LogisticLossTile and one rounding a tile, the relative error is below
// 4 u/leastMean + 200 u < 5e-13.
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
		row, col := make([]float64, logisticRows), make([]float64, logisticCols) // slopes, not used
		var sum accumulator
		for j := 0; j < len(b) && ctx.Err() == nil; j += logisticCols {
			sum.add(set.LogisticLossTile(row, col, rows, b[j:min(j+logisticCols, len(b))]))
		}
		return sum.value()
	})
	pairs := float64(len(a)) * float64(len(b))
	return sum + c.same*engine.Logistic{}.Phi(0), sum >= leastMean*pairs, err
}
