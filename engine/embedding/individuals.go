package embedding

import (
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/engine/pairgraph"
)

// Norm is a norm of vectors. For a matrix it is the norm of the vector of all entries.
type Norm int

// The norms.
const (
	L1 Norm = iota + 1 // the sum of absolute values, for Laplace noise
	L2                 // the Euclidean norm (Frobenius norm of matrices), for Gaussian and K-norm noise
)

// String returns "l1" or "l2".
func (n Norm) String() string {
	switch n {
	case L1:
		return "l1"
	case L2:
		return "l2"
	}
	return "unknown"
}

// of returns the norm of x as computed. The relative error is below (len(x)+8) 2^-53. The norm is infinite or
// NaN if x is not finite.
func (n Norm) of(x []float64) float64 {
	sum := 0.0
	if n == L1 {
		for _, v := range x {
			sum += math.Abs(v)
		}
		return sum
	}
	for _, v := range x {
		sum += v * v
	}
	if sum >= 0x1p-900 && sum <= math.MaxFloat64 {
		return math.Sqrt(sum)
	}
	// The squares underflowed or overflowed, or x is zero or not finite.
	largest := 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 || !(largest <= math.MaxFloat64) {
		return largest
	}
	sum = 0
	for _, v := range x {
		sum += v / largest * (v / largest)
	}
	return largest * math.Sqrt(sum)
}

// Data holds individuals with features, and labelled pairs of individuals. It is immutable.
type Data struct {
	graph  *pairgraph.Graph
	labels []bool
	x      []float64
	d      int
	norm   Norm
	bound  float64
}

// NewData takes the features, row-major with d numbers for each individual, and enforces the public bound. A
// row with a larger norm is scaled down to the bound. A row that is not finite becomes zero. labels[i] belongs
// to pair i. It is true for a dissimilar pair or, for a preference loss, for a pair whose first individual is
// preferred. NewData takes ownership of x and labels.
func NewData(x []float64, d int, norm Norm, bound float64, g *pairgraph.Graph, labels []bool) (*Data, error) {
	switch {
	case d < 1 || len(x) != g.Len()*d:
		return nil, fmt.Errorf("embedding: %d feature values do not fit %d individuals of %d features", len(x), g.Len(), d)
	case len(labels) != len(g.Pairs()):
		return nil, fmt.Errorf("embedding: %d labels for %d pairs", len(labels), len(g.Pairs()))
	case norm != L1 && norm != L2:
		return nil, fmt.Errorf("embedding: norm %d is unknown, want L1 or L2", norm)
	case !(bound >= 0x1p-100 && bound <= 0x1p100):
		return nil, fmt.Errorf("embedding: the norm bound is %v, but it must be between 2^-100 and 2^100", bound)
	}
	for i := 0; i < len(x); i += d {
		row := x[i : i+d]
		if norm == L2 {
			engine.ProjectBall(row, bound)
			continue
		}
		scaleTo(row, bound)
	}
	return &Data{graph: g, labels: labels, x: x, d: d, norm: norm, bound: bound}, nil
}

// scaleTo divides x by max(1, ||x||_1/bound), so that the exact norm of x is at most bound. The factor covers
// the roundings of sum, quotient and products. A row that is not finite becomes zero.
func scaleTo(x []float64, bound float64) {
	sum := L1.of(x)
	if !(sum <= math.MaxFloat64) {
		clear(x)
		return
	}
	slack := 1 - float64(len(x)+8)*0x1p-52
	if sum <= bound*slack {
		return
	}
	f := bound / sum * slack
	for k := range x {
		x[k] *= f
	}
}

// Copy returns copies of the features, row-major, and of the labels.
func (data *Data) Copy() (x []float64, labels []bool) {
	return slices.Clone(data.x), slices.Clone(data.labels)
}

// Graph returns the graph of the pairs.
func (data *Data) Graph() *pairgraph.Graph { return data.graph }

// Dim returns the number of features.
func (data *Data) Dim() int { return data.d }

// Norm returns the norm in which the features are bounded, and the bound.
func (data *Data) Norm() (Norm, float64) { return data.norm, data.bound }

// Row returns the features of an individual. The caller must not change them.
func (data *Data) Row(v int) []float64 { return data.x[v*data.d : (v+1)*data.d] }

// Label returns the label of pair i.
func (data *Data) Label(i int) bool { return data.labels[i] }

// label is the label y of the first individual of pair i, for a LinkLoss. The label of the second individual is 0.
func (data *Data) label(i int32) float64 {
	if data.labels[i] {
		return 1
	}
	return 0
}
