package evaluate

import (
	"cmp"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/privacy"
)

// The names of the releases about two models.
const (
	differenceName = "difference of the rank sums of two models and number of positives"
	disagreeName   = "pairs of classes that two models order differently"
)

// disagreeShare is the share of the budget for the disagreement. The disagreement bounds the sampling variance
// of the difference.
const disagreeShare = 0.25

// differenceLevels bounds the difference of two signs.
const differenceLevels = 2

// mostCompared bounds n for two models, because their sums are twice as large.
const mostCompared = maxRecords / 2

// differenceReleases adds the releases about two models. Let s and r be the scores of the two models, and t =
// sign(s - s') - sign(r - r') for a pair of a positive and a negative record. One release is the sum of t
// over these pairs, the other the sum of t^2 - 2. Both terms are integers from -2 to 2
// (docs/theory.md#two-models).
func (p *Plan) differenceReleases(add func(name string, coordinates int, share float64, q query)) {
	pure := p.Options.Budget.Delta == 0
	p.rank = privacy.ClassPairSum{Records: p.Options.Records, Levels: differenceLevels, Counted: true, Manhattan: pure,
		Name: differenceName}
	add(differenceName, 2, 1-disagreeShare, p.rank)
	add(disagreeName, 1, disagreeShare, privacy.ClassPairSum{Records: p.Options.Records, Levels: differenceLevels,
		Manhattan: pure, Name: disagreeName})
}

// validateCompared returns an error for options that cannot be used with two models.
func (o Options) validateCompared() error {
	if o.Loss != nil || len(o.Thresholds)+len(o.At)+len(o.Classifiers) > 0 {
		return algorithms.Refused("evaluation", ": two models are compared only by their AUC; leave out thresholds, "+
			"classifiers and loss")
	}
	if o.PersonRows > 0 {
		return algorithms.Refused("evaluation",
			": two models cannot be compared on persons with several rows; evaluate each model alone (two charges)")
	}
	if o.Records > mostCompared {
		return algorithms.Refused("evaluation", ": %d records are too many; two models are compared on at most "+
			"2^25 records",
			o.Records)
	}
	return nil
}

// differenceFact reports the size of the noise.
func (p *Plan) differenceFact(f *algorithms.Facts) {
	n := float64(p.Options.Records)
	noise := 2 * p.Releases.Find(differenceName).Deviation() / (n * n)
	f.Line("", "the noise of the AUC difference has standard deviation %.3g or more; its 95 %% interval is at "+
		"least +- %.2g",
		f.Add("auc_difference_noise_balanced", noise), 1.96*noise)
}

// difference adds the difference of two AUCs, computed from the released numbers.
//
// Let h = t/2 in [-1, 1]. The mean of h over pairs of both classes is the difference of the AUCs. Its variance
// over samples is at most (E h^2 - difference^2)/min(n+, n-) [Hoeffding 1948: the variances of its two
// projections and of the remainder add up to the variance of h]. E h^2 is released, and two standard deviations
// of its noise are added.
func (p *Plan) difference(f *Figures, s *statistics, disagreement float64) {
	positives, negatives := s.sizes()
	few := min(positives, negatives)
	// The sum of t^2 - 2 plus twice the number of pairs is the sum of t^2 = 4 h^2.
	noise := math.Hypot(p.Releases.Find(disagreeName).Deviation(), 2*s.pairsNoise) / 4
	square := (disagreement + 2*s.pairs) / 4
	most := 1.0
	if s.pairs > 0 {
		f.Disagreement = min(max(square/s.pairs, 0), 1)
		most = min(max((square+2*noise)/s.pairs, 1/(few*few)), 1)
	}
	figure := s.overPairs(s.rank, s.rankNoise*s.rankNoise, 1, func(theta float64) float64 {
		more := 0.0
		if s.wide {
			more = 1 / (few * few) // few records that agree are weak evidence
		}
		return max(most-theta*theta, 0)/few + more
	}).interval(f.Confidence)
	f.Difference = &figure
	f.DifferenceNoise = math.Hypot(s.rankNoise, figure.Value*s.pairsNoise) / max(s.pairs, 1)
}

// Numbers returns the number of values that the plan releases.
func (p *Plan) Numbers() (n int) {
	for _, r := range p.Releases {
		n += r.Coordinates
	}
	return n
}

// differenceSums returns the sums of t and t^2 - 2 over all pairs of a positive and a negative record, and n+.
// The sums are exact for n <= 2^31. The time is O(n log n).
//
// t^2 is the sum of the squared signs of both models minus twice the product of the signs. The sum of
// products is counted in rising order of the first score, with a tree of the negatives by their second
// score.
func differenceSums(first, second []float64, positive []bool) (difference, disagreement int64, positives int) {
	a, n := rankSum(first, positive)
	b, _ := rankSum(second, positive)
	pairs := int64(n) * int64(len(positive)-n)
	product := signProducts(first, second, positive)
	squares := 2*pairs - ties(first, positive) - ties(second, positive) - 2*product
	return a - b, squares - 2*pairs, n
}

// ties returns the number of pairs of both classes with equal scores.
func ties(scores []float64, positive []bool) (count int64) {
	eachTie(scores, positive, nil, func(here [2]int64) { count += here[0] * here[1] })
	return count
}

// signProducts returns the sum of sign(s - s') sign(r - r') over the pairs of both classes.
func signProducts(first, second []float64, positive []bool) (sum int64) {
	n := len(first)
	distinct := make([]float64, n)
	for i, v := range second {
		distinct[i] = total(v)
	}
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	place := func(v float64) int {
		at, _ := slices.BinarySearch(distinct, total(v))
		return at
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(total(first[i]), total(first[j])) })
	// The rising pass counts negatives with a smaller first score; the falling pass counts negatives with a
	// larger first score.
	for _, sign := range []int64{1, -1} {
		below := make(fenwick, len(distinct)+1)
		var seen int64
		for from := 0; from < n; {
			to := from
			for to < n && total(first[order[to]]) == total(first[order[from]]) {
				if i := order[to]; positive[i] {
					at := place(second[i])
					less, atMost := below.sum(at), below.sum(at+1)
					sum += sign * (less - (seen - atMost))
				}
				to++
			}
			for ; from < to; from++ {
				if i := order[from]; !positive[i] {
					below.add(place(second[i]))
					seen++
				}
			}
		}
		slices.Reverse(order)
	}
	return sum
}

// fenwick is a binary indexed tree of counts (Fenwick 1994).
type fenwick []int64

func (f fenwick) add(at int) {
	for at++; at < len(f); at += at & -at {
		f[at]++
	}
}

// sum returns the sum of the counts at indices below at.
func (f fenwick) sum(at int) (s int64) {
	for ; at > 0; at -= at & -at {
		s += f[at]
	}
	return s
}
