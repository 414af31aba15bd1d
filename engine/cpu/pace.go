package cpu

import (
	"context"
	"math"
	"time"

	"dyad/engine"
)

// These constants limit the duration of a measurement by Pace and the number of its
// synthetic numbers.
const (
	paceTime    = 20 * time.Millisecond
	paceSeconds = 4e-3    // time of one gradient by the cost model
	paceNumbers = 1 << 18 // largest number of numbers of the synthetic records, and of the gradient
)

// Pace measures the speed of this machine in about 20 ms. It computes gradients on synthetic
// records, with the workers of b, for a smaller problem of the same kind as p and by the method
// that p would use. It returns the measured time divided by the time that engine.QueryBounds
// estimates for one core at about 2.5 GHz. If gradients of p cannot be computed in this way
// (query groups, moments), Pace uses the logistic loss. The result is only an estimate.
// Computations take longer if the machine is busy or if the records do not fit into its caches.
// The result is 1 if nothing can be measured.
func (b Backend) Pace(p engine.Problem) float64 {
	k, e, seconds := b.paced(p)
	if e == nil {
		k, e, seconds = b.paced(engine.Problem{N: max(p.N, 4096), D: p.D, Bounds: engine.UnitBounds(),
			Loss: engine.Logistic{}, Radius: 1, LabelValues: 2})
	}
	if e == nil {
		return 1
	}
	defer e.Close()
	length := k.Problem().Loss.ParamDim(k.Problem().D)
	least, sum, w := math.Inf(1), make([]float64, length), make([]float64, length)
	all := k.Problem().Pairs()
	for start, runs := time.Now(), 0; runs < 2 || time.Since(start) < paceTime/2 && runs < 50; runs++ {
		at := time.Now()
		if e.Sum(context.Background(), sum, engine.Gradient(w, all)) != nil {
			return 1
		}
		least = min(least, time.Since(at).Seconds())
	}
	return max(least, 1e-9) / seconds
}

// paced returns the largest problem like p whose gradient takes about paceSeconds, bound to
// synthetic records. It returns nil if there is no such problem.
func (b Backend) paced(p engine.Problem) (engine.Kernel, engine.Evaluator, float64) {
	if len(p.Groups) > 0 || p.Loss == nil || p.Loss.ParamDim(p.D) > paceNumbers { // a metric loss has about d^2 numbers
		return nil, nil, 0
	}
	if full, err := b.Plan(p); err == nil {
		if k, ok := full.(*kernel); ok {
			b.Method = k.method
		}
	}
	p.PersonRows, p.NonZerosPerRow = 0, 0
	for p.N = min(p.N, max(16, paceNumbers/max(p.D, 1))); ; p.N = max(p.N/2, 16) {
		k, err := b.Plan(p)
		if err != nil {
			return nil, nil, 0
		}
		seconds := k.Bounds(engine.Query{Pairs: p.Pairs()}).Seconds
		if seconds == 0 {
			return nil, nil, 0
		}
		if seconds > paceSeconds && p.N > 64 {
			continue
		}
		x, y := make([]float64, p.N*p.D), make([]float64, p.N)
		for i := range x {
			x[i] = float64(i*7919%2001-1000) / (1000 * math.Sqrt(float64(p.D)))
		}
		for i := range y {
			y[i] = float64(2*(i%2) - 1)
		}
		r, err := engine.AdoptRecords(x, y, p.D, p.Bounds)
		if err != nil {
			return nil, nil, 0
		}
		e, err := k.Bind(r)
		if err != nil {
			return nil, nil, 0
		}
		return k, e, seconds
	}
}
