package algorithms

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// population are the moments of n normal records whose classes have the means +-m and the
// variances plus and minus, with noise.
func population(n int, m, plus, minus []float64, s1, s2 float64, rng *rand.Rand) classMoments {
	d := len(m)
	sym := engine.Symmetric{Dim: d}
	c := classMoments{n: n, d: d, s1: s1, s2: s2, sn: s1, positives: float64(n)/2 + s1*rng.NormFloat64(),
		sumPlus: make([]float64, d), sumMinus: make([]float64, d), plus: make([]float64, sym.Len()), minus: make([]float64, sym.Len())}
	half := float64(n) / 2
	for i := range d {
		c.sumPlus[i], c.sumMinus[i] = half*m[i]+s1*rng.NormFloat64(), -half*m[i]+s1*rng.NormFloat64()
		for j := i; j < d; j++ {
			k, unit := sym.Index(i, j), math.Sqrt2
			if i == j {
				unit = 1
				c.plus[k], c.minus[k] = half*plus[i], half*minus[i]
			}
			c.plus[k] += unit*half*m[i]*m[j] + s2*rng.NormFloat64()
			c.minus[k] += unit*half*m[i]*m[j] + s2*rng.NormFloat64()
		}
	}
	return c
}

// Weights are on the features whose class means or variances differ, and on no other; where
// nothing differs beyond the noise W is the identity, whatever is drawn: thresholds of 0, the
// known defect, fail that.
func TestMomentMetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 4000, 12
	same, flat := make([]float64, d), make([]float64, d)
	for i := range same {
		same[i] = 1.0 / d
	}
	means, wide := make([]float64, d), append([]float64(nil), same...)
	means[0], wide[1] = 0.1, 2.0/d
	sym := engine.Symmetric{Dim: d}
	for _, noise := range []float64{0, 15} {
		for _, c := range []struct {
			name     string
			m, plus  []float64
			relevant []int
		}{{"means", means, same, []int{0}}, {"variances", flat, wide, []int{1}}, {"both", means, wide, []int{0, 1}}} {
			w := momentMetric(population(n, c.m, c.plus, same, noise, noise, rng))
			largest := 0.0
			for i := range d {
				if len(c.relevant) == 1 && i != c.relevant[0] || len(c.relevant) == 2 && i > 1 {
					largest = max(largest, w[sym.Index(i, i)])
				}
			}
			for _, i := range c.relevant {
				if x := w[sym.Index(i, i)]; !(x > 3*largest) {
					t.Errorf("noise %v, %s: weight %d is %v, others up to %v", noise, c.name, i, x, largest)
				}
			}
			if values, _ := sym.Eigen(w); !(values[0] > 0) {
				t.Errorf("noise %v, %s: eigenvalue %v", noise, c.name, values[0])
			}
		}
	}
	// others counts metrics that are not the identity, of moments without structure whose noise
	// is said to be claimed.
	others := func(claimed float64) (count int) {
		for range 200 {
			c := population(n, flat, same, same, 50, 50, rng)
			c.s1, c.s2, c.sn = claimed, claimed, claimed
			w := momentMetric(c)
			for i := range d {
				if w[sym.Index(i, i)] != w[0] || i > 0 && w[i] != 0 {
					count++
					break
				}
			}
		}
		return count
	}
	if c := others(50); c > 30 { // each of three thresholds is passed in some per cent of draws
		t.Errorf("%d of 200 metrics of pure noise are not the identity", c)
	}
	must.AtLeast(t, others(10), 150, "noise that is taken for structure is not seen")
	for _, noise := range []float64{1e9, 1e59, 1e300, math.Inf(1)} {
		for k, x := range momentMetric(population(n, flat, same, same, noise, noise, rng)) {
			if math.IsNaN(x) || math.IsInf(x, 0) || k == 0 && !(x > 0) {
				t.Errorf("noise %v: coordinate %d is %v", noise, k, x)
			}
		}
	}
}

// The reference is a program in numpy that was written before this one from the same formulas
// (bench/peers/metric_moments.py), on released moments of three data sets.
func TestMomentMetricAgainstNumpy(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/metric-moments.json"))(t)
	var sets []struct {
		N, D                              int
		Positives, S1, S2, Sn             float64
		SumPlus, SumMinus, Plus, Minus, W []float64
	}
	if err := json.Unmarshal(text, &sets); err != nil || len(sets) != 3 {
		t.Fatalf("%d sets, %v", len(sets), err)
	}
	for i, s := range sets {
		w := momentMetric(classMoments{n: s.N, d: s.D, positives: s.Positives, s1: s.S1, s2: s.S2, sn: s.Sn,
			sumPlus: s.SumPlus, sumMinus: s.SumMinus, plus: s.Plus, minus: s.Minus})
		var far, norm float64
		for k := range w {
			far, norm = far+sq(w[k]/float64(s.N)-s.W[k]), norm+sq(s.W[k])
		}
		must.AtMost(t, far, 1e-20*norm, "set %d: %v of its norm from the reference", i, math.Sqrt(far/norm))
	}
}
