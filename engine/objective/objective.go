// Package objective evaluates the mean pair loss of a model. It is for diagnostics on
// public, test or synthetic data.
//
// The value is not private, because it depends on every record and no noise is added.
// Package algorithms must not import this package.
package objective

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"dyad/engine"
)

// exactRecords is the largest n for which a ScoreLoss with two label values is summed pair
// by pair. With tiledTimes as many records, tiles take as long as bins. Tiles have a proved
// error bound.
const (
	exactRecords = 2048
	tiledTimes   = 8
)

// Mean returns the mean of loss over the n(n-1) ordered pairs of different records,
//
//	var sum float64
//	for i := range n { for j := range n { if i != j {
//		sum += loss.Value(w, record i, record j)
//	} } }
//	return sum / (n (n-1))
//
// w has length loss.ParamDim(r.Dim()) and is finite, and n is at least 2. The value has
// the same bits for any number of processors. Mean returns ctx.Err() when ctx is done.
//
// A ScoreLoss costs n scores and one phi per pair. With at most two different labels,
// engine.Logistic takes a few operations for each pair if n <= 16384, and its relative error
// is proved to be below 5e-13 (see logistic). In all other cases with at most two different
// labels and n > 2048, a ScoreLoss costs O(n log n) in the usual case (see binned). 10^5
// records take well below a second. The relative error is then near 1e-11. This error was
// checked numerically and is not proved, so the value is suitable for comparing models but
// not for proofs. A MetricLoss costs n^2 d/2 multiplications and one phi per unordered pair.
// Any other loss costs n(n-1) calls of loss.Value.
func Mean(ctx context.Context, loss engine.Loss, w []float64, r *engine.Records) (float64, error) {
	return mean(ctx, loss, w, r, runtime.GOMAXPROCS(0), exactRecords)
}

func mean(ctx context.Context, loss engine.Loss, w []float64, r *engine.Records, workers, exact int) (float64, error) {
	n := r.Len()
	if n < 2 {
		return 0, errors.New("objective: a pair loss needs at least 2 records")
	}
	if want := loss.ParamDim(r.Dim()); len(w) != want {
		return 0, fmt.Errorf("objective: there are %d parameters, but loss %s with %d features has %d", len(w),
			loss.Name(), r.Dim(), want)
	}
	for _, v := range w {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, errors.New("objective: a parameter is not finite; the training has diverged")
		}
	}
	var sum float64 // the sum is over unordered pairs for symmetric losses
	var err error
	pairs := float64(n) * float64(n-1)
	if score, ok := loss.(engine.ScoreLoss); ok {
		s := scores(r, w)
		if c, ok := twoClasses(s, r.Labels()); !ok {
			sum, err = gradedPairs(ctx, score, s, r.Labels(), workers)
		} else {
			sum, err = c.sum(ctx, score, workers, exact)
		}
		pairs /= 2
	} else if metric, ok := loss.(engine.MetricLoss); ok {
		sum, err = metricPairs(ctx, metric, w, r, workers)
		pairs /= 2
	} else {
		sum, err = anyPairs(ctx, loss, w, r, workers)
	}
	if err != nil {
		return 0, err
	}
	return sum / pairs, nil
}

// scores returns the n values w.x_i.
func scores(r *engine.Records, w []float64) []float64 {
	s := make([]float64, r.Len())
	x := make([]float64, r.Dim())
	for i := range s {
		for k, v := range r.Rows(x, i, 1) {
			s[i] += w[k] * v
		}
	}
	return s
}

// gradedPairs returns the sum of phi over i < j for any labels.
func gradedPairs(ctx context.Context, loss engine.ScoreLoss, s, y []float64, workers int) (float64, error) {
	return sumParts(ctx, len(s), workers, func(i int) float64 {
		var a accumulator
		for j := range i {
			a.add(loss.Phi((y[i] - y[j]) * (s[i] - s[j])))
		}
		return a.value()
	})
}

// anyPairs returns the sum over all ordered pairs for any loss.
func anyPairs(ctx context.Context, loss engine.Loss, w []float64, r *engine.Records, workers int) (float64, error) {
	n, d := r.Len(), r.Dim()
	return sumParts(ctx, n, workers, func(i int) float64 {
		x := make([]float64, 2*d)
		z := engine.Record{X: x[:d], Y: r.Label(i)}
		r.Row(i, z.X)
		var a accumulator
		for j := range n {
			if j == i {
				continue
			}
			zp := engine.Record{X: x[d:], Y: r.Label(j)}
			r.Row(j, zp.X)
			a.add(loss.Value(w, z, zp))
		}
		return a.value()
	})
}

// sum returns the sum over unordered pairs. Up to exact records are summed pair by pair.
// Up to tiledTimes as many records are summed in tiles, if the loss supports tiles.
func (c classes) sum(ctx context.Context, loss engine.ScoreLoss, workers, exact int) (float64, error) {
	n := len(c.high) + len(c.low)
	if _, ok := loss.(engine.Logistic); ok && n <= tiledTimes*exact {
		if sum, ok, err := c.logistic(ctx, workers); ok || err != nil {
			return sum, err
		}
	}
	if n <= exact {
		return c.direct(ctx, loss, workers)
	}
	return c.binned(ctx, loss, workers)
}
