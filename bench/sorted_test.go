package bench_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/machine"
	"dyad/internal/must"
)

// BenchmarkSorted times whole gradients by the sorted method, d = 1, one worker. ratio is to plainSorted, which is the same on
// every machine, so that ratios can be compared where times cannot: on a Zen 5 core at 4.2 GHz, sorting and sums by
// slices.SortFunc took 126 ms at n = 10^6 and 1470 ms at 10^7 (a prototype of the squared hinge), where 35 and 900 ms are
// asked for: 3.6 and 1.63 times faster.
func BenchmarkSorted(b *testing.B) {
	for _, n := range slices.Compact([]int{1_000_000, *large}) {
		r := scores(b, n, 1)
		for _, name := range []string{"hinge", "squared-hinge", "ramp"} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				expression, loss := library(b, name)
				kernel := must.Get(cpu.Backend{Workers: 1, Method: cpu.Sorted}.Plan(engine.Problem{N: n, D: 1, Bounds: r.Bounds(), Loss: loss, Radius: 1}))(b)
				e := must.Get(kernel.Bind(r))(b)
				defer e.Close()
				plain := must.Get(newPlainSorted(r, expression))(b)
				w, sum, want := []float64{0.9}, []float64{0}, 0.0
				seconds, reference := perCall(b, func() error { return e.Sum(context.Background(), sum, engine.Gradient(w, engine.AllPairs{N: n})) }, func() float64 {
					start := machine.ProcessorTime()
					want = plain.gradSum(w[0])
					return machine.ProcessorTime() - start
				})
				if !(math.Abs(sum[0]-want) <= 1e-12*math.Abs(want)) {
					b.Fatalf("the gradient is %v, %v by slices.SortFunc", sum[0], want)
				}
				b.ReportMetric(reference/seconds, "ratio")
			})
		}
	}
}

// plainSorted computes gradients over records of one feature and labels -1 and 1 by
// sorting all scores with slices.SortFunc.
type plainSorted struct {
	x, y, c []float64
	steps   []engine.Piece // phi'(u) is the sum of Slope + Rise u over those with From <= u
	order   []scored
}

type scored struct {
	score    float64
	index    int32
	positive bool
}

func newPlainSorted(r *engine.Records, e *engine.Expression) (*plainSorted, error) {
	p := &plainSorted{x: r.Dense(), y: r.Labels(), c: make([]float64, r.Len()), order: make([]scored, r.Len())}
	b := r.Bounds()
	margin := 4 * b.FeatureNorm
	pieces, ok := e.Pieces(-margin, margin)
	if !ok {
		return nil, fmt.Errorf("no piecewise linear slope")
	}
	before := engine.Piece{}
	for i, v := range pieces {
		if i == 0 {
			v.From = math.Inf(-1)
		}
		p.steps = append(p.steps, engine.Piece{From: v.From, Slope: v.Slope - before.Slope, Rise: v.Rise - before.Rise})
		before = v
	}
	return p, nil
}

func (p *plainSorted) gradSum(w float64) float64 {
	for i, x := range p.x {
		p.order[i] = scored{w * x, int32(i), p.y[i] > 0}
	}
	slices.SortFunc(p.order, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	clear(p.c)
	for _, step := range p.steps {
		p.add(step)
	}
	var sum compensated
	for i, x := range p.x {
		sum.add(2 * p.c[i] * x)
	}
	return sum.value()
}

// add adds a step of the pairs of a positive record and a negative one, of scores s and t
// with t <= s - From/2: one pointer walks up over rows and one over their pairs, then both
// walk down over columns.
func (p *plainSorted) add(step engine.Piece) {
	const d = 2
	shift := step.From / d
	a, b := step.Slope, step.Rise*d
	var j int
	var count float64
	var total compensated
	for _, s := range p.order {
		if !s.positive {
			continue
		}
		for ; j < len(p.order) && p.order[j].score <= s.score-shift; j++ {
			if t := p.order[j]; !t.positive {
				count++
				total.add(t.score)
			}
		}
		p.c[s.index] += d * (a*count + b*(s.score*count-total.value()))
	}
	j, count, total = len(p.order)-1, 0, compensated{}
	for i := len(p.order) - 1; i >= 0; i-- {
		t := p.order[i]
		if t.positive {
			continue
		}
		for ; j >= 0 && t.score <= p.order[j].score-shift; j-- {
			if s := p.order[j]; s.positive {
				count++
				total.add(s.score)
			}
		}
		p.c[t.index] -= d * (a*count + b*(total.value()-t.score*count))
	}
}

// compensated is a sum whose error does not grow with the number of terms (Neumaier 1974).
type compensated struct{ high, low float64 }

func (c *compensated) add(v float64) {
	s := c.high + v
	t := s - c.high
	c.low += (c.high - (s - t)) + (v - t)
	c.high = s
}

func (c *compensated) value() float64 { return c.high + c.low }
