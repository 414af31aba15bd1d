package evaluate

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/internal/must"
	"dyad/privacy"
)

// ofPersons are the data of persons with these rows.
func ofPersons(all [][]person) (d Data) {
	d.First = []int{0}
	for _, rows := range all {
		some := dataOf(rows)
		d.Scores, d.Positive = append(d.Scores, some.Scores...), append(d.Positive, some.Positive...)
		d.First = append(d.First, len(d.Scores))
	}
	d.weight = shares(d.First)
	return d
}

// everyPerson are persons of one row and of two or three that differ in class and score.
func everyPerson() (all [][]person) {
	for _, r := range everyRecord() {
		all = append(all, []person{r})
	}
	low, high := person{-1, true}, person{0.5, false}
	return append(all, []person{low, high}, []person{high, low}, []person{{-1, false}, {0.5, true}}, []person{low, {0.5, true}, high},
		[]person{{0, true}, {0, false}}, []person{low, low, low, {0.5, true}})
}

// worstPersons is the largest move of a query between data sets of n persons in which one has other
// rows.
func worstPersons(n int, query func(Data) []float64, l1 bool) float64 {
	return attack.Exhaust(everyPerson(), n, func(set [][]person) []float64 { return query(ofPersons(set)) }, func(a, b []float64) float64 { return distance(a, b, l1) })
}

func personQueries(k float64) map[string]func(Data) []float64 {
	steep := &ClampedLoss{Phi: func(u float64) float64 { return -1e6 * u }, Low: -1, High: 3}
	return map[string]func(Data) []float64{
		rankName: func(d Data) []float64 {
			r := d.ranks()
			return []float64{r.Sum, k * r.Positives}
		},
		cellsName: func(d Data) []float64 {
			v := make([]float64, 8)
			d.cellCounts(v, []float64{-0.5, 0.25, 1})
			return v
		},
		centreName: func(d Data) []float64 { return []float64{d.centreSum(1)} },
		lossName:   func(d Data) []float64 { return []float64{d.lossSum(steep, 1)} },
	}
}

// TestFiguresOfReplacedPersons: over all data sets of a few persons, whose rows have mixed classes, ties
// and scores that are not finite, no query moves further than its certificate when all rows of one
// person are replaced, and each attains it up to the rounding in it. Rows that count as records do.
func TestFiguresOfReplacedPersons(t *testing.T) {
	n := 3
	if testing.Short() {
		n = 2
	}
	for _, l1 := range []bool{false, true} {
		o := Options{Records: n, PersonRows: 4}
		rank := privacy.ClassPairSum{Records: n, Levels: 1, Counted: true, Manhattan: l1, Name: rankName}
		k := rank.CountWeight()
		rank.Error = o.rounding(float64(n)/4 + k)
		for name, c := range map[string]interface {
			Certify() (privacy.Certificate, error)
		}{
			rankName:   rank,
			cellsName:  privacy.CellCounts{Cells: 8, Manhattan: l1, Error: o.rounding(1), Name: cellsName},
			centreName: privacy.ScoreSum{Levels: scoreLevels, Manhattan: l1, Error: o.rounding(2 * scoreLevels), Name: centreName},
			lossName:   privacy.ClassPairSum{Records: n, Levels: lossLevels, Manhattan: l1, Error: 1e-9, Name: lossName},
		} {
			if name == lossName && n > 2 {
				continue // slow
			}
			certificate := must.Get(c.Certify())(t)
			query := personQueries(k)[name]
			must.Within(t, worstPersons(n, query, l1), certificate.Sensitivity()*(1-1e-9), certificate.Sensitivity(),
				"%s, L1 %v: the worst persons move it", name, l1)
			// The known defect: every row weighs what a person does.
			rows := func(d Data) []float64 {
				for i := range d.weight {
					d.weight[i] = shareUnit
				}
				return query(d)
			}
			if got := worstPersons(2, rows, l1); name != rankName && name != lossName && got <= certificate.Sensitivity()*1.4 {
				t.Errorf("%s, L1 %v: rows that count as records move it by %v only", name, l1, got)
			}
		}
	}
	// The same for sums over pairs, whose certificate depends on n.
	c := must.Get(privacy.ClassPairSum{Records: 2, Levels: 1, Counted: true, Name: rankName}.Certify())(t)
	if got := worstPersons(2, func(d Data) []float64 {
		for i := range d.weight {
			d.weight[i] = shareUnit
		}
		return personQueries(1)[rankName](d)
	}, false); got <= 1.4*c.Sensitivity() {
		t.Errorf("pairs of rows move the rank sum by %v only", got)
	}
}

// TestPersonSumsAreExact: rank and loss sums are those over pairs of rows of different persons, by
// definition, in exact arithmetic; shares add up, and depend on the rows of their person alone.
func TestPersonSumsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	loss := &ClampedLoss{Phi: func(u float64) float64 { return math.Log1p(math.Exp(-u)) }, High: 2}
	terms := lossTerms(loss, 1)
	for trial := range 60 {
		var all [][]person
		for range 2 + rng.IntN(9) {
			rows := make([]person, 1+rng.IntN(1+rng.IntN(20)))
			for i := range rows {
				rows[i] = person{math.Round(8*rng.Float64()-4) / 4, rng.IntN(3) == 0}
			}
			all = append(all, rows)
		}
		d := ofPersons(all)
		rank, losses, unit := new(big.Rat), new(big.Rat), big.NewRat(1, shareUnit)
		for p := range all {
			var share int64
			for i := d.First[p]; i < d.First[p+1]; i++ {
				share += d.weight[i]
				for q := range all {
					for j := d.First[q]; j < d.First[q+1] && q != p; j++ {
						if !d.Positive[i] || d.Positive[j] {
							continue
						}
						w := new(big.Rat).Mul(new(big.Rat).Mul(big.NewRat(d.weight[i], 1), unit), new(big.Rat).Mul(big.NewRat(d.weight[j], 1), unit))
						sign := int64(0)
						switch a, b := d.Scores[i], d.Scores[j]; {
						case a > b:
							sign = 1
						case a < b:
							sign = -1
						}
						rank.Add(rank, new(big.Rat).Mul(w, big.NewRat(sign, 1)))
						term := terms[level(d.Scores[i], 1)-level(d.Scores[j], 1)+2*scoreLevels]
						losses.Add(losses, new(big.Rat).Mul(w, big.NewRat(term, 1)))
					}
				}
			}
			if share != shareUnit {
				t.Fatalf("the shares of a person add up to %d", share)
			}
		}
		want, _ := rank.Float64()
		wantLoss, _ := losses.Float64()
		must.Equal(t, d.ranks().Sum, want, "trial %d: rank sum", trial)
		ranks, err := d.Ranks(len(all), 20)
		if below := new(big.Rat).Sub(rank, new(big.Rat).SetInt64(ranks.Floor)); err != nil || below.Sign() < 0 || below.Cmp(big.NewRat(1, 1)) >= 0 {
			t.Errorf("trial %d: rank sum %v rounded down is %d: %v", trial, rank, ranks.Floor, err)
		}
		must.Equal(t, d.lossSum(loss, 1), wantLoss, "trial %d: sum of losses", trial)
	}
	for _, m := range []int{1, 7, 16, 17, 1000, shareUnit + 5} {
		alone, among := shares([]int{0, m}), shares([]int{0, 3, 3 + m, 4 + m})
		must.Same(t, alone, among[3:3+m], "%d rows: the shares depend on others", m)
		sum := int64(0)
		for _, share := range alone {
			sum += share
		}
		must.Equal(t, sum, shareUnit, "%d rows: sum of the shares", m)
	}
}

// TestPersonsOfOneRowAreRecords: with one row a person, the figures equal the figures of records, but for the
// factor of the pairs within persons in the intervals of figures over pairs.
func TestPersonsOfOneRowAreRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var rows []person
	var alone [][]person
	const n = 1500
	for i := range n {
		r := person{rng.NormFloat64(), i%3 == 0}
		if r.positive {
			r.score++
		}
		rows, alone = append(rows, r), append(alone, []person{r})
	}
	o := Options{Records: n, Budget: privacy.Budget{Epsilon: 1e6}, ScoreBound: 5}
	figures := func(o Options, d Data) *Figures {
		p := must.Get(New(o))(t)
		out := must.Get(algorithms.Execute(context.Background(), p.Job(func(context.Context) (Data, error) { return d, nil }), algorithms.Options{Public: true, Source: privacy.NewSeededSource(3)}))(t)
		return must.Get(p.Figures(out.Weights, 0.95))(t)
	}
	records := figures(o, dataOf(rows))
	o.PersonRows = 3
	persons := figures(o, ofPersons(alone))
	if math.Abs(records.AUC.Value-persons.AUC.Value) > 1e-5 || math.Abs(records.AUC.High-persons.AUC.High) > 1/float64(n) || persons.AUC.High <= records.AUC.High || records.Unit != "" || persons.Unit != personUnit {
		t.Errorf("records %+v, persons %+v", records.AUC, persons.AUC)
	}
	for _, bad := range []Data{dataOf(rows), {Scores: []float64{1}, Positive: []bool{true}, First: []int{0, 1}}, ofPersons(append(alone[:n-1:n-1], make([]person, 4)))} {
		p := must.Get(New(o))(t)
		must.Err(algorithms.Execute(context.Background(), p.Job(func(context.Context) (Data, error) { return bad, nil }), algorithms.Options{Public: true}))(t, "data that do not fit the plan were evaluated")
	}
}

// TestFloorsMoveByIntegers: rounding down moves by s where the sum does, of any size and sign. From the
// nearest float64 it would move by more.
func TestFloorsMoveByIntegers(t *testing.T) {
	const s = 1<<27 - 2
	unit := big.NewInt(shareUnit * shareUnit)
	wide := false
	for _, whole := range []int64{0, 1, -1, s, s / 2, -s, 1 << 40, 1<<50 - 1, -1 << 50} {
		for _, part := range []int64{0, 1, -1, shareUnit, -shareUnit * shareUnit / 2} {
			v := new(big.Int).Mul(big.NewInt(whole), unit)
			v.Add(v, big.NewInt(part))
			less := new(big.Int).Sub(v, new(big.Int).Mul(big.NewInt(s), unit))
			if a, b := floorUnit(v), floorUnit(less); a-b != s {
				t.Errorf("%d and %d parts: %d and %d", whole, part, a, b)
			}
			wide = wide || math.Floor(overUnit(v))-math.Floor(overUnit(less)) > s
		}
	}
	if !wide {
		t.Error("no sum shows the defect")
	}
}
