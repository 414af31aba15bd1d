package bench

import (
	"math"

	"dyad/engine"
	"dyad/engine/metrics"
)

// AUC is the exact AUC of the scores w.x on labelled records.
func AUC(r *engine.Records, w []float64) (float64, error) {
	s, err := metrics.Scores(r, w)
	if err != nil {
		return 0, err
	}
	return metrics.AUC(s, r.Labels())
}

// MeanAndError is the mean of at least two values and its standard error.
func MeanAndError(v []float64) (mean, standardError float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		standardError += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(standardError / float64(len(v)-1) / float64(len(v)))
}
