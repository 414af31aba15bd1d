package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// At all sizes, and wherever the record stands, replacing it moves every release of every kind of evaluation by no more than the
// certificate, and by nearly all of it: figures of public thresholds and of placed ones, the loss, classifiers, the difference of
// two models, and persons with rows. Each threshold, and each classifier, is a coordinate.
func TestFiguresOfEverySize(t *testing.T) {
	step := &ClampedLoss{Name: "step", Phi: func(u float64) float64 { return -1e6 * u }, Low: -1, High: 1}
	for _, c := range sizes.Cells(t, 1.2e6, 1) {
		d := min(c.D, maxThresholds)
		for name, change := range map[string]func(*Options){
			"thresholds": func(o *Options) {
				o.ScoreBound, o.Loss = 1, step
				for k := range d {
					o.Thresholds = append(o.Thresholds, -0.5+float64(k)/float64(d))
				}
			},
			"placed thresholds": func(o *Options) { o.ScoreBound, o.At = 1, []float64{0} },
			"classifiers": func(o *Options) {
				for k := range d {
					o.Classifiers = append(o.Classifiers, fmt.Sprint(k))
				}
			},
			"two models":   func(o *Options) { o.Compared = "another" },
			"persons":      func(o *Options) { o.ScoreBound, o.PersonRows, o.Loss = 1, 3, step },
			"pure persons": func(o *Options) { o.ScoreBound, o.PersonRows, o.Budget.Delta = 1, 3, 0 },
			"pure":         func(o *Options) { o.ScoreBound, o.Loss, o.Budget.Delta = 1, step, 0 },
		} {
			o := Options{Records: c.N, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}
			change(&o)
			p := must.Get(New(o))(t, fmt.Sprintf("%s, %v", name, c))
			reached := map[string]float64{}
			for positives := range 2 { // one record of a class among those of the other
				low, high := unitData(o, c, positives == 0, -1), unitData(o, c, positives == 0, 1)
				replayBoth(t, p, low, high, reached)
				turned := high
				turned.Positive = slices.Clone(high.Positive)
				from, to := c.Unit, c.Unit+1
				if high.First != nil {
					from, to = high.First[c.Unit], high.First[c.Unit+1]
				}
				for i := from; i < to; i++ {
					turned.Positive[i] = !turned.Positive[i]
				}
				replayBoth(t, p, high, turned, reached)
			}
			for _, r := range p.Releases {
				if reached[r.Name] < 0.98 && r.Name != spreadName && r.Name != disagreeName {
					t.Errorf("%s, %v: replacing a record moves the %s by %v of the certificate only", name, c, r.Name, reached[r.Name])
				}
			}
		}
	}
}

// unitData are n records of one class and of score 0, but for one, of the other class, with a score.
func unitData(o Options, c sizes.Cell, positive bool, score float64) (d Data) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range o.Classifiers {
		d.Correct = append(d.Correct, make([]bool, c.N))
	}
	for _, of := range d.Correct {
		for i := range of {
			of[i] = rng.IntN(2) == 0
		}
		of[c.Unit] = score > 0
	}
	for i := range c.N {
		rows := 1
		if o.PersonRows > 0 {
			d.First = append(d.First, len(d.Scores))
			rows = 1 + i%o.PersonRows
		}
		for range rows {
			s, class := 0.0, !positive
			if i == c.Unit {
				s, class = score, positive
			}
			d.Scores, d.Positive = append(d.Scores, s), append(d.Positive, class)
			if o.Compared != "" {
				d.Other = append(d.Other, -s)
			}
		}
	}
	if o.PersonRows > 0 {
		d.First = append(d.First, len(d.Scores))
	}
	return d
}

// A threshold is a function of released figures: with the same releases the figures and the threshold of a neighbour are the same.
func TestThresholdsOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 1.2e6, 1) {
		p := must.Get(New(Options{Records: c.N, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, ScoreBound: 1}))(t)
		reached := map[string]float64{}
		low, high := unitData(p.Options, c, true, -1), unitData(p.Options, c, true, math.Inf(1))
		var figures [2]*Figures
		for k, released := range replayBoth(t, p, low, high, reached) {
			figures[k] = must.Get(p.Figures(released, 0.95))(t)
		}
		for _, aim := range []Aim{{Name: Balanced}, {Name: Accuracy}, {Name: Sensitivity, AtLeast: 0.9}, {Name: Specificity, AtLeast: 0.9}} {
			x := must.Get(figures[0].Threshold(aim))(t)
			y := must.Get(figures[1].Threshold(aim))(t)
			if *x != *y {
				t.Errorf("%v: the %s threshold of neighbours with the same releases is %v and %v", c, aim.Name, x.Threshold, y.Threshold)
			}
		}
	}
}
