package dataset

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"dyad/engine"
)

// metricStream selects the stream of random bits for SyntheticMetric.
const metricStream = 0x3e7a1c

// metricKinds holds the kinds of SyntheticMetric: the number of features, the public range [-reach, reach] of
// each feature, and the function that draws records. A kind with random parameters draws them when the function
// is called.
var metricKinds = map[string]struct {
	features int
	reach    float64
	kind     func(c coins) func(x []float64) (y float64)
}{
	"lin16": {16, 3, normal(func(c coins, x []float64) float64 { return c.flipped(x[0]+x[1], 0.1) })},
	"shell20": {20, 3, normal(func(c coins, x []float64) float64 {
		return c.flipped(x[0]*x[0]+x[1]*x[1]+x[2]*x[2]-2.37, 0)
	})},
	"scaled12": {12, 3, normal(func(c coins, x []float64) float64 {
		score := x[0] - x[1] + 0.8*(x[2]*x[2]-1) + 0.3*c.normal()
		for k := range 3 {
			x[k] *= 0.2
		}
		return c.flipped(score, 0)
	})},
	"twovar25": {25, 4, normal(func(c coins, x []float64) float64 {
		if c.uniform() >= 0.3 {
			return -1
		}
		x[0], x[1], x[2], x[3] = x[0]+0.8, x[1]+0.8, 1.8*x[2], 1.8*x[3]
		return 1
	})},
	"xor10":  {10, 3, normal(func(c coins, x []float64) float64 { return c.flipped(x[0]*x[1], 0.05) })},
	"none12": {12, 3, normal(func(c coins, x []float64) float64 { return c.flipped(1, 0.5) })},
	"clusters8": {8, 4, func(c coins) func(x []float64) float64 {
		var centres [12][4]float64
		for i := range centres {
			for k := range centres[i] {
				centres[i][k] = 4*c.uniform() - 2
			}
		}
		return func(x []float64) float64 {
			c.normals(x)
			i := c.below(12)
			for k := range x {
				x[k] /= 2
				if k < 4 {
					x[k] += centres[i][k]
				}
			}
			return c.flipped(float64(i%2)-0.5, 0.05)
		}
	}},
	"cubes3": {3, 1, func(c coins) func(x []float64) float64 {
		return func(x []float64) float64 {
			parity := 1.0
			for k := range x {
				x[k] = 2*c.uniform() - 1
				if int(math.Floor(2*x[k]))%2 != 0 {
					parity = -parity
				}
			}
			return parity
		}
	}},
}

// normal returns a generator of records with standard normal features. The function label computes the label
// from the features and may change them.
func normal(label func(c coins, x []float64) (y float64)) func(c coins) func(x []float64) (y float64) {
	return func(c coins) func(x []float64) float64 {
		return func(x []float64) float64 {
			c.normals(x)
			return label(c, x)
		}
	}
}

// SyntheticMetricKinds returns the kinds of SyntheticMetric in sorted order.
func SyntheticMetricKinds() []string { return slices.Sorted(maps.Keys(metricKinds)) }

// SyntheticMetric returns n >= 2 records on which a learned metric can differ from the identity. Each feature
// is encoded with a public range. Features are standard normal unless stated otherwise. The number in the name
// of a kind is the number of features.
//
//   - lin16: The label is the sign of the sum of two features. A tenth of the labels is flipped.
//   - shell20: The label states whether three features are far from 0.
//   - scaled12: The label depends on a line and a square of three features that use a fifth of their range.
//   - twovar25: The classes differ in the means of two features and in the variances of two others. 30 % are positive.
//   - xor10: The label is the sign of the product of two features. The class means carry no information.
//   - clusters8: Twelve clusters in four features have alternating labels. Moments are misleading.
//   - cubes3: The label is the parity of a cell. Moments carry no information, and the identity is a good metric.
//   - none12: The labels are independent of the features.
//
// The first two labels are +1 and -1. SyntheticMetric allocates memory for the records only.
func SyntheticMetric(kind string, n int, seed uint64) (*engine.Records, error) {
	m, ok := metricKinds[kind]
	if !ok {
		return nil, fmt.Errorf("dataset: SyntheticMetric: the kind is %q, but it must be one of %v",
			kind, SyntheticMetricKinds())
	}
	return drawn("SyntheticMetric", n, m.features, func() func(row []float64) float64 {
		draw, a := m.kind(newCoins(seed, metricStream)), 1/math.Sqrt(float64(m.features))
		return func(row []float64) float64 {
			y := draw(row)
			for k := range row {
				row[k] = a * clip(row[k]/m.reach, -1, 1)
			}
			return y
		}
	})
}

func (c coins) normals(x []float64) {
	for k := range x {
		x[k] = c.normal()
	}
}

// flipped returns the sign of a score, -1 for 0. With the given probability it returns the opposite sign.
func (c coins) flipped(score, share float64) float64 {
	y := -1.0
	if score > 0 {
		y = 1
	}
	if share > 0 && c.uniform() < share {
		y = -y
	}
	return y
}

// WithNoise adds columns of uniform noise to records and returns dense records. Features within [-1,
// 1]/sqrt(d), such as features encoded by ranges, stay within this bound for the new d. The noise comes from
// public random bits.
func WithNoise(r *engine.Records, columns int, seed uint64) (*engine.Records, error) {
	d := r.Dim()
	if columns < 0 || columns > 1<<20 {
		return nil, fmt.Errorf("dataset: WithNoise: %d columns, want 0 to 2^20", columns)
	}
	all := d + columns
	c, shrink, a := newCoins(seed, metricStream), math.Sqrt(float64(d)/float64(all)), 1/math.Sqrt(float64(all))
	x := make([]float64, r.Len()*all)
	for i := range r.Len() {
		row := x[i*all : (i+1)*all]
		r.Row(i, row[:d])
		for k := range row {
			if row[k] *= shrink; k >= d {
				row[k] = a * (2*c.uniform() - 1)
			}
		}
	}
	return engine.AdoptRecords(x, slices.Clone(r.Labels()), all, r.Bounds())
}
