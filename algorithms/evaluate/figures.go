package evaluate

import (
	"errors"
	"fmt"
	"math"
)

// Figure is an estimate from released numbers. Its interval allows for the sampling of the records and the noise.
type Figure struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Point is an operating point of the ROC curve: a record counts as positive if its score is at
// least the threshold.
type Point struct {
	Threshold   float64 `json:"threshold"`
	Sensitivity Figure  `json:"sensitivity"` // true positives over positives
	Specificity Figure  `json:"specificity"` // true negatives over negatives
	Accuracy    Figure  `json:"accuracy"`
}

// Right is the share of records that a classifier classifies correctly.
type Right struct {
	Classifier string `json:"classifier"`
	Figure
}

// Figures holds the results of an evaluation. All results are computed from released and public numbers.
type Figures struct {
	Records    int     `json:"records"`        // the number n
	Unit       string  `json:"unit,omitempty"` // "person" if n counts persons
	Confidence float64 `json:"confidence"`     // the confidence of the intervals
	AUC        *Figure `json:"auc,omitempty"`
	// AUCNoise is the standard deviation of the AUC that the noise alone causes.
	AUCNoise float64 `json:"auc_noise,omitempty"`
	// Positives is the released number of positives. PositivesNoise is the standard deviation of its noise.
	Positives      float64 `json:"positives,omitempty"`
	PositivesNoise float64 `json:"positives_noise,omitempty"`
	Points         []Point `json:"operating_points,omitempty"`
	// Bend, in [-1, 1], describes how the ROC curve is bent between two operating points. At 0 the curve is a straight
	// line, at 1 it passes through the corner above the line, at -1 through the corner below. The area below the curve
	// with this bend is the AUC.
	Bend float64 `json:"roc_bend,omitempty"`
	// MeanLoss is the mean loss over pairs of a positive and a negative record. Each loss is clamped to
	// [LossLow, LossHigh].
	MeanLoss *Figure `json:"mean_loss,omitempty"`
	LossOf   string  `json:"mean_loss_of,omitempty"`
	LossLow  float64 `json:"loss_low,omitempty"`
	LossHigh float64 `json:"loss_high,omitempty"`
	Right    []Right `json:"right,omitempty"`
	// Difference is the AUC of the model minus the AUC of the other model. Disagreement is a mean over pairs of
	// a positive and a negative record. The term of a pair is ((s - t)/2)^2, where s is the sign of the score
	// difference in one model and t the sign in the other. Without ties Disagreement is the share of pairs that
	// the models order differently.
	Difference      *Figure `json:"auc_difference,omitempty"`
	DifferenceNoise float64 `json:"auc_difference_noise,omitempty"`
	Disagreement    float64 `json:"disagreement,omitempty"`
	// Wide reports whether the intervals are the wide intervals for few records or a rare class. Such intervals
	// contain the true value with at least the stated confidence and are usually wider than necessary.
	Wide bool `json:"wide,omitempty"`
}

// enoughRecords and enoughOfClass are the smallest sizes for which the sampling variance is estimated. The
// intervals then have about the stated confidence. With fewer records they are wider and have a larger
// confidence.
const (
	enoughRecords = 1000
	enoughOfClass = 50
)

// Figures computes figures and their intervals from the released numbers. The confidence is in (0, 1).
func (p *Plan) Figures(released []float64, confidence float64) (*Figures, error) {
	want := p.Numbers()
	if len(released) != want || !(confidence > 0 && confidence < 1) {
		return nil, fmt.Errorf("evaluate: got %d released numbers and confidence %v; want %d numbers and a "+
			"confidence between 0 and 1", len(released), confidence, want)
	}
	for _, v := range released {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("evaluate: a released number is not finite")
		}
	}
	f := &Figures{Records: p.Options.Records, Confidence: confidence}
	if p.Options.PersonRows > 0 {
		f.Unit = personUnit
	}
	if len(p.Options.Classifiers) > 0 {
		p.classifiers(f, released)
		return f, nil
	}
	s := p.read(released)
	f.Positives, f.PositivesNoise, f.Wide = s.positives, s.positivesNoise, s.wide
	if p.Options.Compared != "" {
		p.difference(f, s, released[2])
		return f, nil
	}
	f.auc(s)
	f.points(s)
	f.agree(s)
	if p.Options.Loss != nil {
		f.loss(s, p.Options.Loss)
	}
	return f, nil
}

func (p *Plan) classifiers(f *Figures, released []float64) {
	n, noise := float64(p.Options.Records), p.Releases[0].Deviation()
	f.Wide = p.Options.Records < enoughRecords
	for k, name := range p.Options.Classifiers {
		r := ratio{numerator: released[k], denominator: n, numeratorNoise: noise * noise, high: 1,
			laplace: p.Options.Budget.Delta == 0, sampling: f.binomial(n)}
		f.Right = append(f.Right, Right{name, r.interval(f.Confidence)})
	}
}

// binomial returns the variance of a count of n as a function of the share. For few records, the variance of
// one additional record on each side covers the discreteness of the count.
func (f *Figures) binomial(n float64) func(float64) float64 {
	more := 0.0
	if f.Wide {
		more = 1
	}
	return func(share float64) float64 { return max(n, 0)*share*(1-share) + more }
}

// statistics holds the released numbers in the units of the records.
type statistics struct {
	n, positives, positivesNoise float64
	rank, rankNoise              float64 // half of the rank sum
	pairs, pairsNoise            float64 // n+ n-, and the standard deviation of its noise
	cells                        [2][]float64
	cellNoise                    float64
	thresholds                   []float64
	losses, lossNoise            float64
	bound                        float64
	laplace, wide                bool
}

func (p *Plan) read(released []float64) *statistics {
	s := &statistics{n: float64(p.Options.Records), thresholds: p.thresholds(released), bound: p.Options.ScoreBound,
		laplace: p.Options.Budget.Delta == 0}
	for _, r := range p.Releases {
		v := released[:r.Coordinates]
		released = released[r.Coordinates:]
		switch r.Name {
		case rankName, differenceName:
			s.rank, s.rankNoise = v[0]/2, r.Deviation()/2
			s.positives, s.positivesNoise = v[1]/p.rank.CountWeight(), r.Deviation()/p.rank.CountWeight()
		case cellsName:
			s.cells, s.cellNoise = [2][]float64{v[p.Cells:], v[:p.Cells]}, r.Deviation()
		case lossName:
			s.losses, s.lossNoise = v[0], r.Deviation()
		}
	}
	s.count()
	return s
}

// count computes the number of pairs of both classes from the released number of positives.
func (s *statistics) count() {
	s.positives = min(max(s.positives, 0), s.n)
	// E (n+ + e)(n- - e) = n+ n- - var(e), and its variance is (n- - n+)^2 var(e) + var(e^2).
	square := s.positivesNoise * s.positivesNoise
	s.pairs = s.positives*(s.n-s.positives) + square
	s.pairsNoise = math.Hypot((s.n-2*s.positives)*s.positivesNoise, math.Sqrt2*square)
	s.wide = s.n < enoughRecords || min(s.positives, s.n-s.positives)+s.positivesNoise < enoughOfClass
}

// sizes returns the numbers of positives and negatives that sampling variances use, each at least 1. For wide
// intervals, a class is assumed to be smaller than its released count.
func (s *statistics) sizes() (positives, negatives float64) {
	less := 0.0
	if s.wide {
		less = 2 * s.positivesNoise
	}
	return max(s.positives-less, 1), max(s.n-s.positives-less, 1)
}

// projections returns the parts of the sampling variance of a statistic of pairs (Hoeffding 1948), and the mean
// of its kernel. The first part takes the mean of the kernel over the negatives, as a function of a positive,
// and is the variance of this mean over the positives. The second part exchanges the classes. The kernel is a
// function of two cells. If spread is true, scores within a cell are assumed to differ, with the same uniform
// law for both classes. ok is false if a class is empty by the released counts.
func (s *statistics) projections(kernel func(positive, negative int) float64,
	spread bool) (mean, ofPositives, ofNegatives float64, ok bool) {
	var share [2][]float64
	for class, counts := range s.cells {
		sum := 0.0
		for _, c := range counts {
			sum += max(c, 0)
		}
		if sum == 0 {
			return 0, 0, 0, false
		}
		for _, c := range counts {
			share[class] = append(share[class], max(c, 0)/sum)
		}
	}
	rows, columns := make([]float64, len(share[1])), make([]float64, len(share[0]))
	for a, p := range share[1] {
		for b, q := range share[0] {
			k := kernel(a, b)
			rows[a] += q * k
			columns[b] += p * k
		}
		mean += p * rows[a]
	}
	for a, p := range share[1] {
		ofPositives += p * (rows[a] - mean) * (rows[a] - mean)
	}
	for b, q := range share[0] {
		ofNegatives += q * (columns[b] - mean) * (columns[b] - mean)
	}
	if spread {
		for cell, p := range share[1] {
			q := share[0][cell]
			ofPositives += p * q * q / 12
			ofNegatives += q * p * p / 12
		}
	}
	return mean, ofPositives, ofNegatives, true
}

// auc adds the AUC: 1/2 plus half of the rank sum divided by n+ n-.
func (f *Figures) auc(s *statistics) {
	positives, negatives := s.sizes()
	few := min(positives, negatives)
	// The variance of an AUC of value A is at most A (1 - A)/min(n+, n-). The variance estimated from the cells
	// is transferred to the A of a hypothesis in this form.
	share := 1 / few
	if mean, a, b, ok := s.projections(order, true); ok && !s.wide && mean > 0 && mean < 1 {
		share += s.known() * (min(share, coarse*(a/positives+b/negatives)/(mean*(1-mean))) - share)
	}
	r := s.overPairs(s.rank, s.rankNoise*s.rankNoise, 0.5, func(theta float64) float64 {
		more := 0.0
		if s.wide {
			more = 0.25 / (few * few) // a perfect order of few records is weak evidence
		}
		return (0.25-theta*theta)*share + more
	})
	figure := f.acrossPersons(r.interval(f.Confidence), r)
	figure = Figure{figure.Value + 0.5, figure.Low + 0.5, figure.High + 0.5}
	f.AUC = &figure
	f.AUCNoise = math.Hypot(s.rankNoise, (figure.Value-0.5)*s.pairsNoise) / s.pairs
}

// overPairs returns the share of a numerator in the number of pairs of both classes, from -most to most. sampling is
// the variance of the sampling of this share.
func (s *statistics) overPairs(numerator, noise, most float64, sampling func(theta float64) float64) ratio {
	return ratio{numerator: numerator, denominator: s.pairs, low: -most, high: most, numeratorNoise: noise,
		denominatorNoise: s.pairsNoise * s.pairsNoise, laplace: s.laplace,
		sampling: func(theta float64) float64 { return s.pairs * s.pairs * sampling(theta) }}
}

// personUnit is the value of Figures.Unit for persons.
const personUnit = "person"

// acrossPersons widens the interval of a ratio over pairs of persons. Pairs of two rows of one person count in the
// denominator n+ n- but not in the numerator. These pairs are at most the share 1/n of n+ n-. So the ratio without
// these pairs is larger by a factor between 1 and 1/(1 - 1/n) (docs/theory.md#person-figures).
func (f *Figures) acrossPersons(x Figure, r ratio) Figure {
	if f.Unit == personUnit {
		factor := 1 / (1 - 1/float64(f.Records))
		x.Low, x.High = max(min(x.Low, x.Low*factor), r.low), min(max(x.High, x.High*factor), r.high)
	}
	return x
}

// known returns the weight of the sampling variance that is estimated from the cells. The bound of the
// sampling variance gets the remaining weight. known is 1 minus the fourth power of the relative noise of the
// cells of the smaller class, and at least 0.
func (s *statistics) known() float64 {
	few := max(min(s.positives, s.n-s.positives), 1)
	square := float64(len(s.cells[0])) * s.cellNoise * s.cellNoise / (few * few)
	return max(1-square*square, 0)
}

// coarse is a safety factor for the part of a sampling variance that cells do not show, for example for laws of
// very different widths in few cells.
const coarse = 1.1

// order is the kernel of the AUC.
func order(positive, negative int) float64 {
	switch {
	case positive > negative:
		return 1
	case positive == negative:
		return 0.5
	}
	return 0
}

// points adds the operating points.
func (f *Figures) points(s *statistics) {
	square, all := s.cellNoise*s.cellNoise, len(s.cells[0])
	share := func(count float64, cells int, of, noise float64) Figure {
		return ratio{numerator: count, denominator: of, high: 1, numeratorNoise: float64(cells) * square,
			denominatorNoise: noise * noise, laplace: s.laplace && cells == 1, sampling: f.binomial(of)}.interval(f.Confidence)
	}
	for k, t := range s.thresholds {
		negatives, positives := 0.0, 0.0
		for cell := range all {
			if cell <= k {
				negatives += s.cells[0][cell]
			} else {
				positives += s.cells[1][cell]
			}
		}
		f.Points = append(f.Points, Point{
			Threshold:   t,
			Sensitivity: share(positives, all-k-1, s.positives, s.positivesNoise),
			Specificity: share(negatives, k+1, s.n-s.positives, s.positivesNoise),
			Accuracy:    share(positives+negatives, all, s.n, 0),
		})
	}
}

// loss adds the mean loss.
func (f *Figures) loss(s *statistics, l *ClampedLoss) {
	positives, negatives := s.sizes()
	middle, half := l.Low/2+l.High/2, l.High/2-l.Low/2
	spread := math.Inf(1)
	centres := s.centres()
	if _, a, b, ok := s.projections(func(p, q int) float64 {
		return l.at(centres[p] - centres[q])
	}, false); ok && !s.wide {
		spread = coarse * (a/positives + b/negatives)
	}
	// in units of half the range
	r := s.overPairs(s.losses/lossLevels, s.lossNoise*s.lossNoise/lossLevels/lossLevels, 1, func(theta float64) float64 {
		most := (1 - theta*theta) / min(positives, negatives)
		return most + s.known()*(min(spread, most)-most)
	})
	figure := f.acrossPersons(r.interval(f.Confidence), r)
	f.MeanLoss = &Figure{middle + half*figure.Value, middle + half*figure.Low, middle + half*figure.High}
	f.LossOf, f.LossLow, f.LossHigh = l.Name, l.Low, l.High
}

// centres returns one score for each cell that stands for all scores of the cell.
func (s *statistics) centres() []float64 {
	t := s.thresholds
	if len(t) == 0 {
		return []float64{0}
	}
	width := s.bound
	if len(t) > 1 {
		width = (t[len(t)-1] - t[0]) / float64(len(t)-1)
	}
	out := []float64{t[0] - width/2}
	for k := 1; k < len(t); k++ {
		out = append(out, (t[k-1]+t[k])/2)
	}
	return append(out, t[len(t)-1]+width/2)
}
