package attack

import (
	"math/rand/v2"
	"slices"

	"dyad/engine"
)

// RandomPersons returns random records, drawn as in RandomRecords, of persons with 1 to most rows each
// (docs/theory.md#persons).
func RandomPersons(persons, most, d int, b engine.Bounds, seed uint64) *engine.Records {
	rng := rand.New(rand.NewPCG(seed, 11))
	counts := make([]int, persons)
	for k := range counts {
		counts[k] = 1 + rng.IntN(most)
	}
	return PersonRecords(counts, most, d, b, func(_ int, row []float64) float64 {
		randomRecord(rng, row, b)
		return randomLabel(rng, b)
	})
}

// PersonNeighbours returns count copies of r with all rows of one person replaced. Every person has at most
// `most` rows. The copies use three kinds of new rows in turn: a random number of random rows, `most`
// mirrored rows, and a single row at the end of the first axis.
func PersonNeighbours(r *engine.Records, count, most int, seed uint64) []*engine.Records {
	rng := rand.New(rand.NewPCG(seed, 12))
	out := make([]*engine.Records, count)
	for c := range out {
		k := rng.IntN(r.Units())
		counts, first := make([]int, r.Units()), make([]int, r.Units())
		for p := range counts {
			from, to := r.UnitRows(p)
			counts[p], first[p] = to-from, from
		}
		old := counts[k]
		counts[k] = []int{1 + rng.IntN(most), most, 1}[c%3]
		at := 0
		out[c] = PersonRecords(counts, most, r.Dim(), r.Bounds(), func(p int, row []float64) float64 {
			if p != k {
				i := first[p]
				first[p]++
				r.Row(i, row)
				return r.Label(i)
			}
			switch c % 3 {
			case 0:
				randomRecord(rng, row, r.Bounds())
				return randomLabel(rng, r.Bounds())
			case 1:
				i := first[k] + at%old
				at++
				r.Row(i, row)
				for j := range row {
					row[j] = -row[j]
				}
				return -r.Label(i)
			default:
				row[0] = r.Bounds().FeatureNorm
				return r.Bounds().LabelAbs
			}
		})
	}
	return out
}

// WorstPersons returns the two data sets of WorstCase for persons. In data, every row is (-R u, -b). In
// neighbour, person k has a single row (R u, b), even if the person has several rows in data.
func WorstPersons(counts []int, d, k int, b engine.Bounds) (data, neighbour *engine.Records) {
	most := slices.Max(counts)
	row := func(sign float64) func(int, []float64) float64 {
		return func(p int, row []float64) float64 {
			s := -1.0
			if p == k {
				s = sign
			}
			row[0] = s * b.FeatureNorm
			return s * b.LabelAbs
		}
	}
	data = PersonRecords(counts, most, d, b, row(-1))
	counts = slices.Clone(counts)
	counts[k] = 1
	return data, PersonRecords(counts, most, d, b, row(1))
}

// PersonRecords returns the rows of persons. Person k has counts[k] rows, and `most` is the cap on these
// numbers. The function `row` fills in the features of a row and returns the label.
func PersonRecords(counts []int, most, d int, b engine.Bounds,
	row func(person int, row []float64) float64) *engine.Records {
	var x, y []float64
	var of []int32
	for k, m := range counts {
		for range m {
			x = append(x, make([]float64, d)...)
			y, of = append(y, row(k, x[len(x)-d:])), append(of, int32(k))
		}
	}
	r, err := mustRecords(x, y, d, b).GroupPersons(of, len(counts), most)
	if err != nil {
		panic(err) // the shapes are set by this package
	}
	return r
}
