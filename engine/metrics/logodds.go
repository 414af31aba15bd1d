package metrics

import (
	"errors"
	"math"

	"dyad/engine"
)

// LogOdds is a model of the log odds of the positive class for a record x with the score w.x. It was fitted to
// clipped records. The log odds are the following sum, clipped to [-Limit, Limit]:
//
//	Intercept + Slope w.x~,  x~ = (x - Centre) min(1, ClipRadius/|x - Centre|)
//
// in the units of encoded features. The log odds are fitted to the classes and do not follow from the weights alone.
type LogOdds struct {
	Intercept  float64   `json:"intercept"`
	Slope      float64   `json:"slope"` // at least 0
	ClipRadius float64   `json:"clip_radius"`
	Limit      float64   `json:"limit"`  // log(n + 1), because n records never support a probability below 1/(n + 2)
	Centre     []float64 `json:"centre"` // one number for each feature
}

// NewLogOdds returns the LogOdds whose fields, in their order, are numbers[0], numbers[1] and so on. It
// returns nil if numbers is nil.
func NewLogOdds(numbers []float64) *LogOdds {
	if numbers == nil {
		return nil
	}
	return &LogOdds{Intercept: numbers[0], Slope: numbers[1], ClipRadius: numbers[2], Limit: numbers[3],
		Centre: numbers[4:]}
}

// Lines returns the number of lines that l occupies in a file. It is 0 if l is nil.
func (l *LogOdds) Lines() int {
	if l == nil {
		return 0
	}
	return len(l.Centre) + 8
}

// Check returns an error if l does not fit records of d features. A nil l always fits.
func (l *LogOdds) Check(d int) error {
	if l == nil {
		return nil
	}
	if len(l.Centre) != d {
		return errors.New("metrics: Centre of the log odds needs one number for each feature")
	}
	for _, x := range append([]float64{l.Intercept, l.Slope, l.ClipRadius, l.Limit}, l.Centre...) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("metrics: log odds need finite numbers")
		}
	}
	if l.Slope < 0 || l.ClipRadius <= 0 || l.Limit <= 0 {
		return errors.New("metrics: log odds need a slope of at least 0, a positive clip radius and a positive limit")
	}
	return nil
}

// ErrNoOdds means that a model has no log odds and thus no probabilities.
var ErrNoOdds = errors.New("metrics: the model has no probabilities; use algorithm moments with second moments")

// Probabilities returns the probability of the positive class for each record. w are the weights of the score. The
// probabilities are as accurate as a logistic model of the features. There is no guarantee for a single probability.
// If l is nil, Probabilities returns ErrNoOdds.
func (l *LogOdds) Probabilities(r *engine.Records, w []float64) ([]float64, error) {
	if l == nil {
		return nil, ErrNoOdds
	}
	out, err := Scores(r, w)
	if err != nil {
		return nil, err
	}
	along, err := Scores(r, l.Centre)
	if err != nil {
		return nil, err
	}
	var middle, length float64
	for k, c := range l.Centre {
		middle += w[k] * c
		length += c * c
	}
	row := make([]float64, r.Dim())
	for i := range out {
		var square float64
		if !r.IsSparse() {
			for _, v := range r.Rows(row, i, 1) {
				square += v * v
			}
		} else {
			start, _, value := r.Sparse()
			for _, v := range value[start[i]:start[i+1]] {
				square += v * v
			}
		}
		odds := l.Slope * (out[i] - middle)
		if far := math.Sqrt(max(0, square-2*along[i]+length)); far > l.ClipRadius {
			odds *= l.ClipRadius / far
		}
		out[i] = 1 / (1 + math.Exp(-max(-l.Limit, min(l.Limit, l.Intercept+odds))))
	}
	return out, nil
}
