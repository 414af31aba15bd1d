package privtest_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/privtest"
)

// exactBinomial is the probability of k successes of n, by logarithms.
func exactBinomial(k, n int, p float64) float64 {
	lg := func(v int) float64 { x, _ := math.Lgamma(float64(v) + 1); return x }
	return math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// The false-alarm rate of CheckBinomial, summed exactly over all outcomes.
func TestCheckBinomialRate(t *testing.T) {
	for _, n := range []int{1, 10, 300} {
		for _, p := range []float64{0.001, 0.2, 0.5, 0.97} {
			for _, alpha := range []float64{0.5, 0.05, 1e-6} {
				rate := 0.0
				for k := range n + 1 {
					if privtest.CheckBinomial(k, n, p, alpha) != nil {
						rate += exactBinomial(k, n, p)
					}
				}
				must.AtMost(t, rate, alpha, "n %d, p %v: false-alarm rate", n, p)
			}
		}
	}
	for _, k := range []int{0, 1, 500, 1000} {
		if privtest.CheckBinomial(k, 1000, 0.1, 1e-9) == nil {
			t.Errorf("%d of 1000 accepted for p = 0.1", k)
		}
	}
	for _, p := range []float64{0, 1} {
		if privtest.CheckBinomial(5, 10, p, 1e-9) == nil {
			t.Errorf("5 of 10 accepted for p = %v", p)
		}
		must.CheckDo(t, privtest.CheckBinomial(int(10*p), 10, p, 1e-9))
	}
	if privtest.CheckBinomial(5, 0, 0.5, 0.1) == nil || privtest.CheckBinomial(1, 2, math.NaN(), 0.1) == nil {
		t.Error("arguments out of range accepted")
	}
}

// The false-alarm rate of CheckMultinomial, summed exactly over all outcomes of
// n draws from three cells.
func TestCheckMultinomialRate(t *testing.T) {
	lg := func(v int) float64 { x, _ := math.Lgamma(float64(v) + 1); return x }
	for _, probs := range [][]float64{{0.2, 0.3, 0.5}, {0.01, 0.01, 0.98}} {
		for _, alpha := range []float64{0.9, 0.1, 1e-4} {
			const n = 60
			rate := 0.0
			for i := range n + 1 {
				for j := range n + 1 - i {
					c := []int{i, j, n - i - j}
					if privtest.CheckMultinomial(c, probs, alpha) != nil {
						l := lg(n)
						for k := range c {
							l += float64(c[k])*math.Log(probs[k]) - lg(c[k])
						}
						rate += math.Exp(l)
					}
				}
			}
			if rate > alpha || alpha == 0.1 && rate == 0 {
				t.Errorf("%v: false-alarm rate %v for alpha %v", probs, rate, alpha)
			}
		}
	}
	for _, c := range [][]int{{1000, 0, 0}, {334, 333, 333}, {0, 0, 1000}} {
		if privtest.CheckMultinomial(c, []float64{0.2, 0.3, 0.5}, 1e-9) == nil {
			t.Errorf("counts %v accepted", c)
		}
	}
	for _, bad := range [][]float64{{0.5, 0.5}, {0.5, 0.5, 0.5}, {math.NaN(), 0.5, 0.5}} {
		if privtest.CheckMultinomial([]int{20, 30, 50}, bad, 1e-9) == nil {
			t.Errorf("probabilities %v accepted", bad)
		}
	}
	if privtest.CheckMultinomial([]int{50, 1, 49}, []float64{0.5, 0, 0.5}, 1e-9) == nil {
		t.Error("an impossible cell was accepted")
	}
}

func TestCheckCDF(t *testing.T) {
	coins := rand.New(rand.NewPCG(1, 1))
	samples := make([]float64, 20_000)
	for i := range samples {
		samples[i] = coins.Float64()
	}
	must.CheckDo(t, privtest.CheckCDF(samples, func(x float64) float64 { return x }, 1e-9))
	if privtest.CheckCDF(samples, func(x float64) float64 { return math.Pow(x, 1.1) }, 1e-9) == nil {
		t.Error("a wrong law was accepted")
	}
	samples[7] = math.NaN()
	if privtest.CheckCDF(samples, func(x float64) float64 { return x }, 1e-9) == nil || privtest.CheckCDF(nil, nil, 1e-9) == nil {
		t.Error("NaN or no samples accepted")
	}
}
