package dataset_test

import (
	"math"
	"slices"
	"testing"

	"dyad/engine/dataset"
	"dyad/internal/must"
)

// Records are the same for the same seed, within their ranges, of both classes, and the features
// that matter are those that are said: by the means and variances of the classes.
func TestSyntheticMetric(t *testing.T) {
	const n = 4000
	relevant := map[string]map[int]string{
		"lin16": {0: "mean", 1: "mean"}, "shell20": {0: "variance", 1: "variance", 2: "variance"},
		"scaled12": {0: "mean", 1: "mean", 2: "variance"}, "twovar25": {0: "mean", 1: "mean", 2: "variance", 3: "variance"},
		"xor10": {}, "clusters8": nil, "cubes3": {}, "none12": {},
	}
	for _, kind := range dataset.SyntheticMetricKinds() {
		r := must.Get(dataset.SyntheticMetric(kind, n, 1))(t)
		again := must.Get(dataset.SyntheticMetric(kind, n, 1))(t)
		if !slices.Equal(r.Dense(), again.Dense()) || !slices.Equal(r.Labels(), again.Labels()) {
			t.Errorf("%s: a seed gives two data sets", kind)
		}
		d := r.Dim()
		want, known := relevant[kind]
		if !known {
			t.Errorf("%s is not tested", kind)
		}
		var count [2]float64
		sum, square := [2][]float64{make([]float64, d), make([]float64, d)}, [2][]float64{make([]float64, d), make([]float64, d)}
		row := make([]float64, d)
		for i := range n {
			class := 0
			if r.Label(i) > 0 {
				class = 1
			}
			r.Row(i, row)
			count[class]++
			for k, v := range row {
				if v *= math.Sqrt(float64(d)); math.Abs(v) > 1+1e-9 {
					t.Fatalf("%s: feature %d is %v of its range", kind, k, v)
				}
				sum[class][k] += v
				square[class][k] += v * v
			}
		}
		if count[0] < n/5 || count[1] < n/5 {
			t.Errorf("%s: %v records of the classes", kind, count)
		}
		for k := range d {
			var mean, variance [2]float64
			for class := range mean {
				mean[class] = sum[class][k] / count[class]
				variance[class] = square[class][k]/count[class] - mean[class]*mean[class]
			}
			shift := math.Abs(mean[0]-mean[1]) / math.Sqrt(variance[0]+variance[1])
			ratio := math.Abs(math.Log(variance[0] / variance[1]))
			if want == nil {
				continue
			}
			if (shift > 0.15) != (want[k] == "mean") || (ratio > 0.25) != (want[k] == "variance") {
				t.Errorf("%s, feature %d: means differ by %.2f, variances by e^%.2f, want %q", kind, k, shift, ratio, want[k])
			}
		}
	}
	must.Err(dataset.SyntheticMetric("lin17", 10, 1))(t, "an unknown kind was taken")
}

func TestWithNoise(t *testing.T) {
	r := must.Get(dataset.SyntheticMetric("lin16", 500, 1))(t)
	wide := must.Get(dataset.WithNoise(r, 9, 2))(t)
	narrow, all := make([]float64, 16), make([]float64, 25)
	var total float64
	for i := range 500 {
		r.Row(i, narrow)
		wide.Row(i, all)
		for k, v := range all {
			if k < 16 && math.Abs(v-narrow[k]*0.8) > 1e-15 || math.Abs(v) > 0.2+1e-15 {
				t.Fatalf("record %d, feature %d: %v", i, k, v)
			}
			if k >= 16 {
				total += v * v * 25 * 3
			}
		}
	}
	if !slices.Equal(r.Labels(), wide.Labels()) || math.Abs(total/(500*9)-1) > 0.1 {
		t.Errorf("labels or noise: mean square %v of that of uniform noise", total/(500*9))
	}
	must.Err(dataset.WithNoise(r, -1, 1))(t, "-1 columns were taken")
}
