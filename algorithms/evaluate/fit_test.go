package evaluate_test

import (
	"math"
	"testing"

	"dyad/algorithms/evaluate"
	"dyad/internal/must"
	"dyad/privacy"
)

// areaBelow is the area below a line from (0, 0) to (1, 1).
func areaBelow(x, y []float64) (area float64) {
	for k := 1; k < len(x); k++ {
		area += (x[k] - x[k-1]) * (y[k] + y[k-1]) / 2
	}
	return area
}

// The AUC, the ROC curve and the accuracies are figures of one pair of laws, as large as the noise may be: the area below the
// drawn curve is the AUC, the curve increases, and an accuracy follows from sensitivity, specificity and class counts. The
// AUC gets no worse by it: the noise of the released one bounds its error.
func TestFiguresAgree(t *testing.T) {
	for _, o := range []evaluate.Options{
		{Records: 300, Budget: privacy.Budget{Epsilon: 0.5, Delta: 1e-4}},
		{Records: 300, Budget: privacy.Budget{Epsilon: 0.5}},
		{Records: 3000, Budget: privacy.Budget{Epsilon: 4, Delta: 1e-5}},
		{Records: 3000, Budget: privacy.Budget{Epsilon: 4, Delta: 1e-5}, Thresholds: []float64{0.5}},
	} {
		p, d := planOf(t, o), normalScores(o.Records, o.Records/3, 1, 3)
		square, reported := 0.0, 0.0
		const repeats = 40
		for seed := range uint64(repeats) {
			f := figures(t, p, d, seed)
			x, y := f.ROC()
			for k := 1; k < len(x); k++ {
				if x[k] < x[k-1]-1e-12 || y[k] < y[k-1]-1e-12 {
					t.Fatalf("the curve falls from (%v, %v) to (%v, %v)", x[k-1], y[k-1], x[k], y[k])
				}
			}
			if area := areaBelow(x, y); math.Abs(area-f.AUC.Value) > 1e-9 || x[0] != 0 || y[0] != 0 || x[len(x)-1] != 1 || y[len(y)-1] != 1 {
				t.Fatalf("n = %d: AUC %v next to a curve with the area %v", o.Records, f.AUC.Value, area)
			}
			share := f.Positives / float64(o.Records)
			for _, q := range f.Points {
				if want := share*q.Sensitivity.Value + (1-share)*q.Specificity.Value; math.Abs(q.Accuracy.Value-want) > 1e-9 {
					t.Fatalf("accuracy %v, and %v from sensitivity and specificity", q.Accuracy.Value, want)
				}
			}
			square += (f.AUC.Value - 0.76) * (f.AUC.Value - 0.76) / repeats
			reported += f.AUCNoise * f.AUCNoise / repeats
		}
		sampling := 0.25 / float64(o.Records/3) // more than that of these records
		must.AtMost(t, square, 1.5*(reported+sampling), "n = %d: root mean square error %v of the AUC, noise %v", o.Records, math.Sqrt(square), math.Sqrt(reported))
	}
}

// The interval that a plan expects is as wide as the intervals of evaluations of normal scores on average.
func TestExpectedIntervals(t *testing.T) {
	for _, o := range []evaluate.Options{
		{Records: 300, Budget: privacy.Budget{Epsilon: 0.5, Delta: 1e-4}},
		{Records: 3000, Budget: privacy.Budget{Epsilon: 0.5}},
		{Records: 3000, Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}},
	} {
		p, width := planOf(t, o), 0.0
		const repeats = 12
		for seed := range uint64(repeats) {
			f := figures(t, p, normalScores(o.Records, o.Records/3, 1, seed), seed)
			width += (f.AUC.High - f.AUC.Low) / repeats
		}
		expected := p.Expect(0.5*math.Erfc(-0.5), 1.0/3, 0.95)
		must.Near(t, (expected.High-expected.Low)/width, 1, 0.2,
			"n = %d, epsilon = %v: width over the width of %v on the average", o.Records, o.Budget.Epsilon, width)
	}
}
