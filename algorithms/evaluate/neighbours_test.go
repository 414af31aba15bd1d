package evaluate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms/attack"
	"dyad/internal/must"
	"dyad/privacy"
)

// person is a record as a query sees it.
type person struct {
	score    float64
	positive bool
}

func dataOf(records []person) (d Data) {
	for _, r := range records {
		d.Scores, d.Positive = append(d.Scores, r.score), append(d.Positive, r.positive)
	}
	return d
}

// everyRecord are the records of the exhaustive search: ties, both classes, and scores that are
// not finite.
func everyRecord() (all []person) {
	for _, s := range []float64{-1, 0, 0.5, math.Inf(1)} {
		all = append(all, person{s, true}, person{s, false})
	}
	return append(all, person{math.NaN(), true})
}

// worst is the largest move of a query between neighbours, over all data sets of n records.
func worst(n int, query func(Data) []float64, l1 bool) float64 {
	return attack.Exhaust(everyRecord(), n, func(set []person) []float64 { return query(dataOf(set)) }, func(a, b []float64) float64 { return distance(a, b, l1) })
}

func distance(a, b []float64, l1 bool) (d float64) {
	for i := range a {
		if l1 {
			d += math.Abs(a[i] - b[i])
		} else {
			d = math.Hypot(d, a[i]-b[i])
		}
	}
	return d
}

func rankQuery(weight float64) func(Data) []float64 {
	return func(d Data) []float64 {
		sum, positives := rankSum(d.Scores, d.Positive)
		return []float64{float64(sum), weight * float64(positives)}
	}
}

// Over all pairs of neighbours of a few records, ties and scores that are not finite included,
// the rank sum with the count moves by exactly what the certificate says, in both norms.
func TestClassPairSumsOfNeighbours(t *testing.T) {
	sizes := []int{2, 3, 4}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		for _, l1 := range []bool{false, true} {
			s := privacy.ClassPairSum{Records: n, Levels: 1, Counted: true, Manhattan: l1, Name: rankName}
			c := must.Get(s.Certify())(t)
			must.Equal(t, worst(n, rankQuery(s.CountWeight()), l1), c.Sensitivity(),
				"n %d, L1 %v: the worst neighbours move", n, l1)
			if n > 3 {
				continue // the sum of losses is slower
			}
			c = must.Get((privacy.ClassPairSum{Records: n, Levels: lossLevels, Manhattan: l1, Name: lossName}).Certify())(t)
			steep := &ClampedLoss{Phi: func(u float64) float64 { return -1e6 * u }, Low: -1, High: 3}
			must.Equal(t, worst(n, func(d Data) []float64 { return []float64{d.lossSum(steep, 1)} }, l1),
				c.Sensitivity(), "n %d: a steep loss", n)
		}
	}
}

// The search finds what a wrong query would do: U that is not centred, an AUC over the exact
// number of pairs, ties that are broken by another record, a count that is too heavy.
func TestDefectsOfClassPairsAreFound(t *testing.T) {
	const n = 3
	s := privacy.ClassPairSum{Records: n, Levels: 1, Counted: true, Name: rankName}
	c := must.Get(s.Certify())(t)
	k := s.CountWeight()
	for name, query := range map[string]func(Data) []float64{
		"not centred": func(d Data) []float64 {
			sum, positives := rankSum(d.Scores, d.Positive)
			return []float64{float64(sum) + float64(positives*(n-positives)), k * float64(positives)}
		},
		"over the exact pairs": func(d Data) []float64 {
			sum, positives := rankSum(d.Scores, d.Positive)
			return []float64{float64(sum) / max(float64(positives*(n-positives)), 1) * n * n / 4 * 2}
		},
		"count too heavy": rankQuery(2 * s.CountWeight()),
		"scores standardised by the data": func(d Data) []float64 {
			// A score that depends on the others: here every tie is broken by the largest one.
			largest := slices.Max(d.Scores)
			scores := slices.Clone(d.Scores)
			for i := range scores {
				if scores[i] == 0 && d.Positive[i] && largest > 1 {
					scores[i] = 0.25
				}
				if scores[i] == 0 && !d.Positive[i] && largest > 1 {
					scores[i] = -0.25
				}
			}
			sum, positives := rankSum(scores, d.Positive)
			return []float64{float64(sum), k * float64(positives)}
		},
	} {
		if got := worst(n, query, false); got <= c.Sensitivity()*(1+1e-9) {
			t.Errorf("%s: the worst neighbours move by %v, not more than the certificate %v", name, got, c.Sensitivity())
		}
	}
}

func cellsQuery(thresholds ...float64) func(Data) []float64 {
	return func(d Data) []float64 {
		v := make([]float64, 2*len(thresholds)+2)
		d.cellCounts(v, thresholds)
		return v
	}
}

func TestCellsOfNeighbours(t *testing.T) {
	for _, l1 := range []bool{false, true} {
		c := must.Get(privacy.CellCounts{Cells: 1, Manhattan: l1, Name: cellsName}.Certify())(t)
		for _, thresholds := range [][]float64{{0}, {-1, 0, 0, 0.5}, {-0.5, 0.25, 1}} {
			got := worst(3, cellsQuery(thresholds...), l1)
			must.Within(t, got, c.Sensitivity()*(1-1e-12), c.Sensitivity(), "thresholds %v, L1 %v", thresholds, l1)
		}
	}
}

// Thresholds that are taken from the data, and cumulative counts, move further.
func TestDefectsOfCellsAreFound(t *testing.T) {
	for name, query := range map[string]func(Data) []float64{
		"thresholds from the data": func(d Data) []float64 {
			middle := slices.Clone(d.Scores)
			for i, s := range middle {
				middle[i] = total(s)
			}
			slices.Sort(middle)
			return cellsQuery(middle[len(middle)/2])(d)
		},
		"cumulative": func(d Data) []float64 {
			v := cellsQuery(-0.5, 0.25, 1)(d)
			for i := 1; i < len(v); i++ {
				v[i] += v[i-1]
			}
			return v
		},
	} {
		must.Above(t, worst(3, query, false), math.Sqrt2*(1+1e-9), "%s: moves by", name)
	}
}

func TestScoreSumsOfNeighbours(t *testing.T) {
	c := must.Get(privacy.ScoreSum{Levels: scoreLevels, Name: centreName}.Certify())(t)
	must.Equal(t, worst(3, func(d Data) []float64 { return []float64{d.centreSum(1)} }, false), c.Sensitivity(),
		"the centre")
	for _, centre := range []int{-scoreLevels, -7, 0, scoreLevels} {
		got := worst(2, func(d Data) []float64 { return []float64{d.spreadSum(1, centre)} }, false)
		if got > c.Sensitivity() || centre == scoreLevels && got != c.Sensitivity() {
			t.Errorf("the spread around %d moves by %v, certificate %v", centre, got, c.Sensitivity())
		}
	}
}

func TestRightCountsOfNeighbours(t *testing.T) {
	for _, m := range []int{1, 2, 4} {
		a, b := make([]float64, m), make([]float64, m)
		var wrong, correct [][]bool
		for range m {
			wrong, correct = append(wrong, []bool{true, false}), append(correct, []bool{true, true})
		}
		Data{Correct: wrong}.right(a)
		Data{Correct: correct}.right(b)
		for _, l1 := range []bool{false, true} {
			c := must.Get(privacy.RightCounts{Classifiers: m, Manhattan: l1}.Certify())(t)
			must.Within(t, distance(a, b, l1), c.Sensitivity()*(1-1e-12), c.Sensitivity(),
				"%d classifiers, L1 %v: one record moves them", m, l1)
		}
	}
}

// The rank sum is over all pairs, whatever the scores are.
func TestEveryScoreHasAPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	values := []float64{math.Inf(-1), -1e308, -1, -5e-324, math.Copysign(0, -1), 0, 1, math.Inf(1), math.NaN()}
	for range 200 {
		var d Data
		for range 1 + rng.IntN(30) {
			d.Scores, d.Positive = append(d.Scores, values[rng.IntN(len(values))]), append(d.Positive, rng.IntN(2) == 0)
		}
		var want int64
		count := 0
		for i, p := range d.Scores {
			if !d.Positive[i] {
				continue
			}
			count++
			for j, q := range d.Scores {
				if !d.Positive[j] {
					a, b := total(p), total(q)
					if a != b {
						want += int64(cmp.Compare(a, b))
					}
				}
			}
		}
		if got, positives := rankSum(d.Scores, d.Positive); got != want || positives != count {
			t.Fatalf("rank sum %d of %d positives, want %d of %d: %v", got, positives, want, count, d)
		}
	}
}
