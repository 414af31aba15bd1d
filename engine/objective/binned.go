package objective

import (
	"context"
	"math"

	"dyad/engine"
	"dyad/internal/tasks"
)

// classes holds the scores of two classes, multiplied by the difference of their labels.
// So a pair (p, q) of different classes has the margin u = high_p - low_q.
type classes struct {
	high, low []float64 // scores of the larger and of the smaller label
	same      float64   // number of unordered pairs within a class; each has u = 0
}

// twoClasses returns false if there are more than two different labels.
func twoClasses(s, y []float64) (classes, bool) {
	lo, hi := y[0], y[0]
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	var c classes
	for i, v := range y {
		switch v {
		case lo:
			c.low = append(c.low, (hi-lo)*s[i])
		case hi:
			c.high = append(c.high, (hi-lo)*s[i])
		default:
			return classes{}, false
		}
	}
	p, n := float64(len(c.high)), float64(len(c.low))
	c.same = p*(p-1)/2 + n*(n-1)/2
	return c, true
}

// ends returns the least and the largest score, multiplied by the difference of labels.
func (c classes) ends() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, list := range [][]float64{c.high, c.low} {
		for _, v := range list {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// direct returns the sum over unordered pairs, computed pair by pair.
func (c classes) direct(ctx context.Context, loss engine.ScoreLoss, workers int) (float64, error) {
	sum, err := sumParts(ctx, len(c.high), workers, func(i int) float64 {
		var a accumulator
		for _, v := range c.low {
			a.add(loss.Phi(c.high[i] - v))
		}
		return a.value()
	})
	return sum + c.same*loss.Phi(0), err
}

// The interpolation in a bin, and how its error is checked.
const (
	nodes     = 16    // Chebyshev points per bin
	tests     = 33    // equidistant test points per bin, including the two ends
	tolerance = 1e-12 // relative to the largest |phi| at the test points
	fewBins   = 32
	manyBins  = 512
)

// binned returns the same sum as direct in O(n log n) operations, for a phi that is
// smooth, or smooth apart from a few points.
//
// The scores are put into B equal bins of width h. In a bin, a score is replaced by its
// Lagrange weights on the bin's 16 Chebyshev nodes (anterpolation; B <= 512). So a pair
// of bins costs 16 x 16 products with the values of phi between nodes, whatever the
// number of records. The values of phi depend only on the distance of the bins. For each
// distance the interpolant is first compared with phi on a 33 x 33 grid that includes the
// corners. If its error exceeds 1e-12 of the largest value on the grid, as around the
// corner of a hinge, the pairs of such bins are summed directly. So a phi that is rough
// everywhere costs as much as with direct. The test misses only a phi with a feature
// narrower than h/32 between the test points.
func (c classes) binned(ctx context.Context, loss engine.ScoreLoss, workers int) (float64, error) {
	if len(c.high) == 0 || len(c.low) == 0 {
		return c.same * loss.Phi(0), nil
	}
	lo, hi := c.ends()
	span := hi - lo
	if !(span > 0) || math.IsInf(span, 0) {
		return c.direct(ctx, loss, workers)
	}
	// A width of at most 1 suits losses whose nearest singularity is a few units away.
	// For other losses, sqrt(n) bins keep the cost of the direct part near n^1.5.
	wanted := max(span, math.Sqrt(float64(len(c.high)+len(c.low))))
	g := newGrid(lo, span, int(min(max(math.Ceil(wanted), fewBins), manyBins)))
	high, low := g.sort(c.high), g.sort(c.low)
	kernels := make([]*kernel, 2*g.bins-1) // kernels by distance a - b + bins - 1
	if _, err := sumParts(ctx, len(kernels), workers, func(k int) float64 {
		kernels[k] = g.kernel(loss, k-g.bins+1)
		return 0
	}); err != nil {
		return 0, err
	}
	sum, err := sumParts(ctx, g.bins, workers, func(a int) float64 {
		var acc accumulator
		for b := range g.bins {
			p, q := high.bin(a), low.bin(b)
			if len(p) == 0 || len(q) == 0 {
				continue
			}
			if k := kernels[a-b+g.bins-1]; k != nil {
				acc.add(k.product(high.weights[a], low.weights[b]))
				continue
			}
			for _, x := range p {
				for _, y := range q {
					acc.add(loss.Phi(x - y))
				}
			}
		}
		return acc.value()
	})
	return sum + c.same*loss.Phi(0), err
}

// grid is a row of equal bins. All bins use the same interpolation.
type grid struct {
	lo, width float64
	bins      int
	node      [nodes]float64        // in [-1, 1]
	bary      [nodes]float64        // barycentric weights
	test      [tests][nodes]float64 // Lagrange weights of the test points
}

func newGrid(lo, span float64, bins int) *grid {
	g := &grid{lo: lo, width: span / float64(bins), bins: bins}
	for k := range nodes {
		// Chebyshev points of the first kind and their weights (Berrut and
		// Trefethen 2004, equation 5.3).
		angle := math.Pi * (2*float64(k) + 1) / (2 * nodes)
		g.node[k], g.bary[k] = math.Cos(angle), math.Sin(angle)
		if k%2 == 1 {
			g.bary[k] = -g.bary[k]
		}
	}
	for i := range tests {
		g.lagrange(&g.test[i], 2*float64(i)/(tests-1)-1)
	}
	return g
}

// lagrange sets out to the weights of the nodes at x in [-1, 1].
func (g *grid) lagrange(out *[nodes]float64, x float64) {
	var sum float64
	for k, v := range g.node {
		if x == v {
			*out = [nodes]float64{}
			out[k] = 1
			return
		}
		out[k] = g.bary[k] / (x - v)
		sum += out[k]
	}
	for k := range out {
		out[k] /= sum
	}
}

// sorted holds scores in the order of their bins.
type sorted struct {
	values  []float64
	start   []int
	weights [][nodes]float64 // per bin, the sum of the Lagrange weights
}

func (s *sorted) bin(a int) []float64 { return s.values[s.start[a]:s.start[a+1]] }

func (g *grid) sort(list []float64) *sorted {
	s := &sorted{values: make([]float64, len(list)), start: make([]int, g.bins+1), weights: make([][nodes]float64, g.bins)}
	place := func(v float64) (bin int, x float64) {
		t := (v - g.lo) / g.width
		bin = min(int(t), g.bins-1)
		return bin, min(max(2*(t-float64(bin))-1, -1), 1)
	}
	for _, v := range list {
		a, _ := place(v)
		s.start[a+1]++
	}
	for a := range g.bins {
		s.start[a+1] += s.start[a]
	}
	next := append([]int(nil), s.start[:g.bins]...)
	var w [nodes]float64
	for _, v := range list {
		a, x := place(v)
		s.values[next[a]] = v
		next[a]++
		g.lagrange(&w, x)
		for k := range w {
			s.weights[a][k] += w[k]
		}
	}
	return s
}

// kernel holds phi between the nodes of two bins.
type kernel [nodes][nodes]float64

// kernel returns nil if interpolation is not accurate enough at this distance.
func (g *grid) kernel(loss engine.ScoreLoss, distance int) *kernel {
	margin := func(difference float64) float64 { // margin of two places with x - y in [-2, 2]
		return g.width * (float64(distance) + difference/2)
	}
	k := new(kernel)
	for i, x := range g.node {
		for j, y := range g.node {
			k[i][j] = loss.Phi(margin(x - y))
		}
	}
	var exact [2*tests - 1]float64 // exact values by the difference of the test points
	var largest float64
	for i := range exact {
		exact[i] = loss.Phi(margin(2 * float64(i-tests+1) / (tests - 1)))
		largest = max(largest, math.Abs(exact[i]))
	}
	for i := range g.test {
		var row [nodes]float64 // interpolated in x
		for m, w := range g.test[i] {
			for j := range row {
				row[j] += w * k[m][j]
			}
		}
		for j := range g.test {
			var v float64
			for m, w := range g.test[j] {
				v += w * row[m]
			}
			if !(math.Abs(v-exact[i-j+tests-1]) <= tolerance*largest) {
				return nil
			}
		}
	}
	return k
}

// product returns p^T k q.
func (k *kernel) product(p, q [nodes]float64) float64 {
	var sum float64
	for i := range k {
		var row float64
		for j, v := range q {
			row += k[i][j] * v
		}
		sum += p[i] * row
	}
	return sum
}

// accumulator adds numbers with a correction term (Neumaier 1974).
type accumulator struct{ sum, low float64 }

func (a *accumulator) add(v float64) {
	t := a.sum + v
	if math.Abs(a.sum) >= math.Abs(v) {
		a.low += (a.sum - t) + v
	} else {
		a.low += (v - t) + a.sum
	}
	a.sum = t
}

func (a *accumulator) value() float64 {
	if math.IsInf(a.sum, 0) {
		return a.sum // the correction is NaN in this case
	}
	return a.sum + a.low
}

// sumParts adds part(i) for i in [0, n) in a fixed order. The given number of workers
// compute the parts.
func sumParts(ctx context.Context, n, workers int, part func(i int) float64) (float64, error) {
	parts := make([]float64, n)
	if err := tasks.Each(ctx, max(1, workers), n, func(_, i int) { parts[i] = part(i) }); err != nil {
		return 0, err
	}
	var a accumulator
	for _, v := range parts {
		a.add(v)
	}
	return a.value(), nil
}
