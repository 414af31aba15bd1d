package enginetest_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/sizes"
)

// metricDefect is a mistake in the sum 2 [X^T diag(C1) X - (M + M^T)], M = X^T U X.
type metricDefect int

const (
	noDefect metricDefect = iota
	dropLastTile
	noFactorTwo
	lowerTwice
	singlePrecision
	upperColumnsOnly
	noSqrtTwo
	keepsDiagonal
	indefiniteSign
)

// plainMetric computes metric losses in the plainest way, with a defect. It plans and
// bounds like the cpu backend.
func plainMetric(defect metricDefect) engine.Backend {
	return enginetest.Altered{Backend: cpu.Backend{}, Sum: func(ctx context.Context, e engine.Evaluator, r *engine.Records, dst []float64, q engine.Query) error {
		return plainSum(ctx, e.Kernel().Problem().Loss.(engine.MetricLoss).MetricDPhi, r, dst, q, defect)
	}}
}

// timesOf returns a matrix of the pairs of p, each unordered pair once above the
// diagonal with the number of times that it counts.
func timesOf(p engine.Pairs, n int) [][]float64 {
	times := make([][]float64, n)
	for i := range times {
		times[i] = make([]float64, n)
		for j := i + 1; j < n; j++ {
			if _, ok := p.(engine.AllPairs); ok {
				times[i][j] = 1
			}
		}
	}
	if q, ok := p.(engine.PrefixPairs); ok {
		for t := range q.T {
			i, j := q.T, t
			if q.Order != nil {
				i, j = int(q.Order[q.T]), int(q.Order[t])
			}
			times[min(i, j)][max(i, j)] = 0.5
		}
	}
	return times
}

func plainSum(ctx context.Context, dphi func(float64) float64, r *engine.Records, dst []float64, q engine.Query, defect metricDefect) error {
	n, d := r.Len(), r.Dim()
	x, c := make([][]float64, n), timesOf(q.Pairs, n)
	for i := range x {
		x[i] = make([]float64, d)
		r.Row(i, x[i])
	}
	s := engine.Symmetric{Dim: d}
	m := make([]float64, d*d)
	s.Unpack(m, q.W)
	xw, inner := make([][]float64, n), make([][]float64, n) // X W and X W X^T
	for i := range n {
		xw[i], inner[i] = make([]float64, d), make([]float64, n)
		for k := range m {
			xw[i][k/d] += m[k] * x[i][k%d]
		}
	}
	for i := range n {
		for j := range n {
			for k, v := range x[j] {
				inner[i][j] += xw[i][k] * v
			}
		}
	}
	sum := make([]float64, n) // C1
	for i := range n {
		for j := i + 1; j < n; j++ {
			t := r.Label(i) * r.Label(j)
			c[i][j] *= -dphi(t*(1-(inner[i][i]+inner[j][j]-2*inner[i][j]))) * t
			if defect == dropLastTile && i >= n/2 {
				c[i][j] = 0
			}
			if defect == singlePrecision {
				c[i][j] = float64(float32(c[i][j]))
			}
			if sum[j] += c[i][j]; defect != upperColumnsOnly {
				sum[i] += c[i][j]
			}
		}
	}
	cx := xw // U X
	for i := range n {
		clear(cx[i])
		for j := i + 1; j < n; j++ {
			for k, v := range x[j] {
				cx[i][k] += c[i][j] * v
			}
		}
	}
	total, g := make([]float64, d*d), make([]float64, d*d)
	for a := range d {
		for b := range d {
			for i := range n {
				g[a*d+b] += sum[i] * x[i][a] * x[i][b]
				total[a*d+b] += x[i][a] * cx[i][b]
			}
		}
	}
	for a := range d {
		for b := a; b < d; b++ {
			upper, lower := total[a*d+b], total[b*d+a]
			switch defect {
			case lowerTwice:
				upper = lower
			case keepsDiagonal:
				upper += 1e-12 * g[a*d+b]
			case indefiniteSign:
				upper, lower = -upper, -lower
			}
			g[a*d+b] -= upper + lower
			if defect != noFactorTwo {
				g[a*d+b] *= 2
			}
			if defect == noSqrtTwo && b > a {
				g[a*d+b] /= math.Sqrt2
			}
		}
	}
	s.Pack(dst, g)
	return ctx.Err()
}

// smallMetric keeps the control runs short.
var smallMetric = enginetest.Options{Losses: []engine.ScoreLoss{}, Sizes: []int{3, 17, 65}, Radii: []float64{1}}

// TestSuiteCatchesMetricDefects is the positive control of the metric suite; without
// a defect the plain sum passes.
func TestSuiteCatchesMetricDefects(t *testing.T) {
	sizes.NotShort(t, "slow")
	for defect, want := range map[metricDefect]string{
		noDefect: "", dropLastTile: "Roundoff says", noFactorTwo: "Roundoff says", lowerTwice: "Roundoff says",
		singlePrecision: "Roundoff says", upperColumnsOnly: "Roundoff says", noSqrtTwo: "Roundoff says",
		keepsDiagonal: "Roundoff says", indefiniteSign: "Roundoff says",
	} {
		t.Run(fmt.Sprint(defect), func(t *testing.T) {
			suiteSays(t, plainMetric(defect), smallMetric, want)
		})
	}
	for name, c := range map[string]struct {
		loss engine.MetricLoss
		b    broken
		want string
	}{
		"vacuous bound":           {enginetest.SmoothMetric{}, broken{roundoff: func(b float64) float64 { return 100 * b }}, "Roundoff per pair"},
		"vacuous logistic bound":  {engine.MahalanobisLogistic{}, broken{roundoff: func(b float64) float64 { return 100 * b }}, "Roundoff per pair"},
		"ignores the context":     {engine.MahalanobisLogistic{}, broken{ctx: func(context.Context) context.Context { return context.Background() }}, "cancelled context"},
		"loss contradicts itself": {twoFacedMetric{}, broken{}, "AddGrad and DPhi"},
		"error of twice the bound": {enginetest.SmoothMetric{}, broken{after: func(k engine.Kernel, dst, _, _ []float64, p engine.Pairs) {
			dst[0] += 2 * k.Bounds(engine.Query{Pairs: p}).Sum
		}}, "Roundoff says"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := smallMetric
			opts.MetricLosses = []engine.MetricLoss{c.loss}
			suiteSays(t, c.b.backend(), opts, c.want)
		})
	}
	t.Run("bits depend on workers", func(t *testing.T) { dependsOnWorkers(t, smallMetric, 2) })
}

// twoFacedMetric has a MetricDPhi that is not the slope in AddGrad.
type twoFacedMetric struct{ enginetest.SmoothMetric }

func (l twoFacedMetric) MetricDPhi(u float64) float64 {
	return 0.999999 * l.SmoothMetric.MetricDPhi(u)
}
