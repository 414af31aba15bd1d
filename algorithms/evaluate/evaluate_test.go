package evaluate_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

func planOf(t *testing.T, o evaluate.Options) *evaluate.Plan {
	t.Helper()
	if o.ScoreBound == 0 && len(o.Classifiers) == 0 {
		o.ScoreBound = 8
	}
	return must.Get(evaluate.New(o))(t)
}

// normalScores are n records, the first ones positive and higher by shift.
func normalScores(n, positives int, shift float64, seed uint64) (d evaluate.Data) {
	rng := rand.New(rand.NewPCG(seed, 5))
	for i := range n {
		s := rng.NormFloat64()
		if i < positives {
			s += shift
		}
		d.Scores, d.Positive = append(d.Scores, s), append(d.Positive, i < positives)
	}
	return d
}

func figures(t *testing.T, p *evaluate.Plan, d evaluate.Data, seed uint64) *evaluate.Figures {
	t.Helper()
	out := must.Get(algorithms.Execute(context.Background(), p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }),
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)}))(t)
	return must.Get(p.Figures(out.Weights, 0.95))(t)
}

// With 10,000 records, classes of the same size and epsilon 1 the noise of the AUC is below its
// sampling error (Hanley and McNeil 1982, normal laws), and the reported one is what the runs show.
func TestNoiseIsBelowTheSamplingError(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n, repeats = 10_000, 60
	p := planOf(t, evaluate.Options{Records: n, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}})
	d := normalScores(n, n/2, 1.2, 1)
	var exact float64
	var below int
	sum, square, reported := 0.0, 0.0, 0.0
	for _, s := range d.Scores[n/2:] {
		for _, q := range d.Scores[:n/2] {
			if q > s {
				below++
			}
		}
	}
	exact = float64(below) / (n * n / 4)
	for seed := range uint64(repeats) {
		f := figures(t, p, d, seed+1)
		sum += f.AUC.Value - exact
		square += (f.AUC.Value - exact) * (f.AUC.Value - exact)
		reported += f.AUCNoise / repeats
		if f.AUC.Low > f.AUC.Value || f.AUC.High < f.AUC.Value || f.Wide {
			t.Fatalf("%+v", f.AUC)
		}
	}
	noise := math.Sqrt(square / repeats)
	q1, q2 := exact/(2-exact), 2*exact*exact/(1+exact)
	sampling := math.Sqrt((exact*(1-exact) + (n/2-1)*(q1+q2-2*exact*exact)) / (n * n / 4))
	if !(noise < sampling) || math.Abs(noise/reported-1) > 0.4 || math.Abs(sum/repeats) > 4*noise/math.Sqrt(repeats) {
		t.Errorf("noise %v (reported %v, mean error %v), sampling error %v", noise, reported, sum/repeats, sampling)
	}
}

// A short form of TestCoverage in package bench: intervals cover, and are not all of [0, 1].
func TestIntervalsCover(t *testing.T) {
	sizes.NotShort(t, "slow")
	const repeats = 400
	for _, c := range []struct {
		delta   float64
		persons bool // with 1 to 4 rows that are alike
	}{{1e-5, false}, {0, false}, {1e-5, true}} {
		delta, o := c.delta, evaluate.Options{Records: 1000, Budget: privacy.Budget{Epsilon: 1, Delta: c.delta}, At: []float64{0.5}}
		if c.persons {
			o.PersonRows = 4
		}
		p := planOf(t, o)
		auc, sensitivity, width := 0, 0, 0.0
		truth := 0.5 * math.Erfc(-1/2.0)          // of normal laws at distance 1
		share := 0.5 * math.Erfc(-0.5/math.Sqrt2) // P(N(1, 1) >= 0.5)
		for run := range repeats {
			d := normalScores(1000, 300, 1, uint64(run))
			if c.persons {
				d = inRows(d)
			}
			f := figures(t, p, d, uint64(run)+1000)
			if f.AUC.Low <= truth && truth <= f.AUC.High {
				auc++
			}
			for _, o := range f.Points {
				if o.Threshold == 0.5 && o.Sensitivity.Low <= share && share <= o.Sensitivity.High {
					sensitivity++
				}
			}
			width += (f.AUC.High - f.AUC.Low) / float64(repeats)
		}
		// 95 % with five standard errors.
		least := 0.95 - 5*math.Sqrt(0.05*0.95/float64(repeats))
		must.AtLeast(t, float64(auc)/float64(repeats), least, "delta %v, persons %v: the intervals of the AUC cover it in", delta, o.PersonRows > 0)
		must.AtLeast(t, float64(sensitivity)/float64(repeats), least, "delta %v: the intervals of a sensitivity cover it in", delta)
		must.AtMost(t, width, 0.2, "delta %v: mean width", delta)
	}
}

// inRows are persons with 1 to 4 rows, copies of a record.
func inRows(d evaluate.Data) (all evaluate.Data) {
	all.First = []int{0}
	for i := range d.Scores {
		for range 1 + i%4 {
			all.Scores, all.Positive = append(all.Scores, d.Scores[i]), append(all.Positive, d.Positive[i])
		}
		all.First = append(all.First, len(all.Scores))
	}
	return all
}

// Classes that are empty, all ties, and a few records give wide intervals, not errors.
func TestHostileDataGiveFigures(t *testing.T) {
	for name, d := range map[string]evaluate.Data{
		"no positive":  {Scores: make([]float64, 20), Positive: make([]bool, 20)},
		"all ties":     {Scores: make([]float64, 20), Positive: append(make([]bool, 10), true, true, true, true, true, true, true, true, true, true)},
		"not a number": {Scores: append(make([]float64, 18), math.NaN(), math.Inf(1)), Positive: append(make([]bool, 19), true)},
	} {
		for seed := range uint64(20) {
			for _, delta := range []float64{0, 1e-4} {
				p := planOf(t, evaluate.Options{Records: 20, Budget: privacy.Budget{Epsilon: 1, Delta: delta}, Loss: &evaluate.ClampedLoss{Name: "zero", Phi: func(float64) float64 { return math.NaN() }, High: 1}})
				f := figures(t, p, d, seed)
				if !f.Wide || f.AUC.Low > f.AUC.High || f.AUC.Low < 0 || f.AUC.High > 1 || math.IsNaN(f.AUC.Value+f.MeanLoss.Value) {
					t.Fatalf("%s: %+v", name, f)
				}
			}
		}
	}
}

func TestClassifiersAreCounted(t *testing.T) {
	const n = 2000
	p := planOf(t, evaluate.Options{Records: n, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Classifiers: []string{"a", "b"}})
	d := evaluate.Data{Correct: [][]bool{make([]bool, n), make([]bool, n)}}
	for i := range n / 2 {
		d.Correct[0][i] = true
	}
	f := figures(t, p, d, 1)
	if a := f.Right[0]; a.Classifier != "a" || a.Low > 0.5 || a.High < 0.5 || a.High-a.Low > 0.1 || f.Right[1].Low > 0 {
		t.Errorf("%+v", f.Right)
	}
	d.Correct = d.Correct[:1]
	must.Err(algorithms.Execute(context.Background(), p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }), algorithms.Options{Public: true}))(t, "one classifier for a plan of two")
}

func TestPlansThatAreRefused(t *testing.T) {
	good := evaluate.Options{Records: 100, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, ScoreBound: 1}
	for want, change := range map[string]func(*evaluate.Options){
		"1 records":       func(o *evaluate.Options) { o.Records = 1 },
		"from 2 to 2^26":  func(o *evaluate.Options) { o.Records = 1<<26 + 1 },
		"epsilon":         func(o *evaluate.Options) { o.Budget.Epsilon = math.NaN() },
		"bound":           func(o *evaluate.Options) { o.ScoreBound = 0 },
		"increase":        func(o *evaluate.Options) { o.Thresholds = []float64{1, 1} },
		"between -2^1000": func(o *evaluate.Options) { o.At = []float64{math.Inf(1)} },
		"twice":           func(o *evaluate.Options) { o.Thresholds, o.At = []float64{0, 1}, []float64{1} },
		"range":           func(o *evaluate.Options) { o.Loss = &evaluate.ClampedLoss{Phi: math.Exp} },
		"no scores":       func(o *evaluate.Options) { o.Classifiers, o.At = []string{"a"}, []float64{0} },
		"at most 1000":    func(o *evaluate.Options) { o.Thresholds = make([]float64, 1001) },
	} {
		o := good
		change(&o)
		must.Fail(evaluate.New(o))(t, want)
	}
}

// Bounds and thresholds whose differences overflow would make figures that are not finite, and fail
// after the charge: what is accepted has figures, whatever is released.
func TestHugeScoresHaveFigures(t *testing.T) {
	n, b := 4000, privacy.Budget{Epsilon: 1, Delta: 1e-5}
	loss := &evaluate.ClampedLoss{Name: "hinge", Phi: func(u float64) float64 { return max(0, 1-u) }, High: 2}
	for _, size := range []float64{1, 0x1p990, 1e308, 1.7e308} {
		for _, o := range []evaluate.Options{
			{Records: n, Budget: b, ScoreBound: size, At: []float64{0}, Loss: loss},
			{Records: n, Budget: b, ScoreBound: 1, Thresholds: []float64{-size, size}, Loss: loss},
			{Records: n, Budget: b, ScoreBound: 1, At: []float64{-size, size}, Loss: loss},
		} {
			p, err := evaluate.New(o)
			if err != nil {
				must.AtLeast(t, size, 0x1p1000, "%v: %v", size, err)
				continue
			}
			d := normalScores(n, n/2, 1, 5)
			for i := range d.Scores {
				d.Scores[i] = math.Copysign(size, d.Scores[i]-0.5) // at the edges
			}
			f := figures(t, p, d, 9)
			if _, err := json.Marshal(f); err != nil || f.MeanLoss.Low >= f.MeanLoss.High || f.AUC.Low >= f.AUC.High {
				t.Errorf("bound %g, thresholds %v and %v: AUC %v, mean loss %v, %v", o.ScoreBound, o.Thresholds, o.At, f.AUC, f.MeanLoss, err)
			}
		}
	}
}

// A loss that is not a number somewhere counts as the end of its range, in the interval as in the sum.
func TestLossesThatAreNotNumbersHaveIntervals(t *testing.T) {
	const n = 4000
	p := planOf(t, evaluate.Options{Records: n, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}, Loss: &evaluate.ClampedLoss{
		Name: "holed", High: 1, Phi: func(u float64) float64 {
			if u > 2 {
				return math.NaN()
			}
			return 0.5
		},
	}})
	if f := figures(t, p, normalScores(n, n/2, 1, 3), 4); f.MeanLoss.Low >= f.MeanLoss.High {
		t.Errorf("mean loss %v", f.MeanLoss)
	}
}
