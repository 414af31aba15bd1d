package audit

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mat"

	"dyad/privacy"
)

// logRatio returns the log of a ratio of densities of value. The value is x + noise; the ratio compares x =
// replaced with x = data. The noise grid is 2^-28 of the noise and is ignored, since scores need not be exact.
func logRatio(m privacy.Mechanism, value, data, replaced []float64) (float64, error) {
	switch m := m.(type) {
	case privacy.Gaussian:
		return (distance2(value, data) - distance2(value, replaced)) / (2 * m.Sigma * m.Sigma), nil
	case privacy.KNorm:
		return (math.Sqrt(distance2(value, data)) - math.Sqrt(distance2(value, replaced))) / m.Scale, nil
	case privacy.Laplace:
		sum := 0.0
		for k, v := range value {
			sum += math.Abs(v-data[k]) - math.Abs(v-replaced[k])
		}
		return sum / m.Scale, nil
	}
	return 0, fmt.Errorf("audit: no density is known for noise of type %T", m)
}

func distance2(a, b []float64) float64 {
	sum := 0.0
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
	}
	return sum
}

// score maps a run to a number that is used to tell the two data sets apart. It is fixed before any run is made.
type score struct {
	name string
	of   func(Observation) float64
}

var likelihoodScore = score{"log-likelihood ratio", func(o Observation) float64 { return o.LogRatio }}

// mostFeatures bounds the dimension in which a direction is learned.
const mostFeatures = 64

// learnedScore is the projection on the direction (S + ridge)^-1 (m1 - m0), which separates the pilot runs best
// by Fisher's criterion. The features are all released vectors or the returned weights. The score uses neither
// the exact vectors nor the law of the noise, so it also finds noise that repeats or is correlated. ok is false
// if there are too many dimensions or too few runs.
func learnedScore(pilot [2][]keptTrial, features func(keptTrial) []float64) (of func(keptTrial) float64, ok bool) {
	d := len(features(pilot[0][0]))
	runs := len(pilot[0])
	if d == 0 || d > mostFeatures || runs < 2*d+2 {
		return nil, false
	}
	var means [2][]float64
	within := mat.NewSymDense(d, nil)
	for side, runs := range pilot {
		m := make([]float64, d)
		for _, t := range runs {
			for k, v := range features(t) {
				m[k] += v / float64(len(runs))
			}
		}
		means[side] = m
		for _, t := range runs {
			v := slices.Clone(features(t))
			for k := range v {
				v[k] -= m[k]
			}
			within.SymRankOne(within, 1, mat.NewVecDense(d, v))
		}
	}
	trace := 0.0
	for k := range d {
		trace += within.At(k, k)
	}
	for k := range d {
		within.SetSym(k, k, within.At(k, k)+1e-14*trace)
	}
	difference := make([]float64, d)
	for k := range difference {
		difference[k] = means[1][k] - means[0][k]
	}
	direction := difference
	var factor mat.Cholesky
	if trace > 0 && factor.Factorize(within) {
		var solved mat.VecDense
		// An ill-conditioned matrix does not stop the search: any direction is an attack.
		_ = factor.SolveVecTo(&solved, mat.NewVecDense(d, difference))
		direction = solved.RawVector().Data
	}
	return func(t keptTrial) float64 {
		sum := 0.0
		for k, v := range features(t) {
			sum += v * direction[k]
		}
		return sum
	}, true
}

// lowBitScore is the exponent of the lowest set bit over all released coordinates. If the grid of a mechanism
// depends on the data or on the size of the noise, this score tells the data sets apart even if the values are
// alike.
var lowBitScore = score{"lowest set bit", func(o Observation) float64 {
	lowest := math.Inf(1)
	for _, r := range o.Releases {
		for _, v := range r.After {
			if v != 0 {
				lowest = min(lowest, float64(lowBit(v)))
			}
		}
	}
	return lowest
}}

// lowBit returns the e for which v is an odd multiple of 2^e. v must be finite and not 0.
func lowBit(v float64) int {
	f, e := math.Frexp(v)
	return e - 53 + bits.TrailingZeros64(uint64(int64(math.Abs(f)*0x1p53)))
}
