package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"dyad/engine"
)

// shape is what all records of a configuration have in common.
type shape struct {
	n, d   int
	bounds engine.Bounds
	// levels is the number of different labels: 2 are -LabelAbs and LabelAbs, more are
	// grades between them, 0 stands for any number.
	levels int
	// sparse records are stored as rows of their numbers that are not zero.
	sparse bool
	// persons is the largest number of rows of a record that is a person; 0 if it is a row.
	persons int
	// few says that only fewAtOneEnd is proposed.
	few bool
}

// instance is a data set and a neighbour of it: record k becomes (row, label).
type instance struct {
	x, y  []float64
	k     int
	row   []float64
	label float64
	seed  uint64 // of the rows of persons
}

func (i instance) clone() instance {
	i.x, i.y, i.row = slices.Clone(i.x), slices.Clone(i.y), slices.Clone(i.row)
	return i
}

// records returns both data sets.
func (s shape) records(i instance) (data, neighbour *engine.Records, err error) {
	if s.persons > 0 {
		return s.personRecords(i)
	}
	if data, err = s.store(slices.Clone(i.x), slices.Clone(i.y)); err != nil {
		return nil, nil, err
	}
	x, y := slices.Clone(i.x), slices.Clone(i.y)
	copy(x[i.k*s.d:(i.k+1)*s.d], i.row)
	y[i.k] = i.label
	neighbour, err = s.store(x, y)
	return data, neighbour, err
}

// store takes rows and labels.
func (s shape) store(x, y []float64) (*engine.Records, error) {
	if !s.sparse {
		return engine.AdoptRecords(x, y, s.d, s.bounds)
	}
	start, index, value := make([]int64, 1, s.n+1), []int32{}, []float64{}
	for r := range s.n {
		for j, v := range x[r*s.d : (r+1)*s.d] {
			if v != 0 {
				index, value = append(index, int32(j)), append(value, v)
			}
		}
		start = append(start, int64(len(value)))
	}
	return engine.NewSparseRecords(start, index, value, y, s.d, s.bounds)
}

// randomRow is a direction of random length, often R itself.
func (s shape) randomRow(rng *rand.Rand) []float64 {
	row := make([]float64, s.d)
	square := 0.0
	for j := range row {
		row[j] = rng.NormFloat64()
		square += row[j] * row[j]
	}
	length := s.bounds.FeatureNorm
	if rng.IntN(3) > 0 {
		length *= math.Pow(rng.Float64(), 1/float64(s.d))
	}
	for j := range row {
		row[j] *= length / math.Sqrt(square)
	}
	return row
}

func (s shape) randomLabel(rng *rand.Rand) float64 {
	b := s.bounds.LabelAbs
	switch {
	case s.levels == 0:
		return b * (2*rng.Float64() - 1)
	case s.levels > 2:
		return b * (2*float64(rng.IntN(s.levels))/float64(s.levels-1) - 1)
	case rng.IntN(2) == 0:
		return -b
	}
	return b
}

// norm is the length of a vector.
func norm(v []float64) (length float64) {
	for _, x := range v {
		length = math.Hypot(length, x)
	}
	return length
}

// axis is a vector of length R, along the first coordinate or in a random direction.
func (s shape) axis(rng *rand.Rand) []float64 {
	u := make([]float64, s.d)
	if u[0] = s.bounds.FeatureNorm; rng.IntN(2) == 0 {
		return u
	}
	u = s.randomRow(rng)
	by := s.bounds.FeatureNorm / norm(u)
	for j := range u {
		u[j] *= by
	}
	return u
}

// patterns is the number of kinds of instances that propose knows.
const patterns = 9

// propose returns an instance of a kind: random records, and those on which defects of
// pairwise sums show: all pairs of one record turned around, a few records of one class,
// all margins equal, records at the range, duplicates, zero rows, one class.
func (s shape) propose(kind int, rng *rand.Rand) instance {
	i := instance{x: make([]float64, s.n*s.d), y: make([]float64, s.n), row: make([]float64, s.d)}
	i.k = [...]int{0, rng.IntN(s.n), rng.IntN(s.n), s.n - 1}[rng.IntN(4)]
	if s.persons > 0 {
		i.seed = rng.Uint64()
	}
	u, b := s.axis(rng), s.bounds.LabelAbs
	if s.few {
		i.k = [...]int{0, s.n - 1}[kind/8%2]
		s.fewAtOneEnd(&i, 1+kind%min(8, s.n-1), b, u)
		return i
	}
	put := func(r int, sign, label float64) {
		for j, v := range u {
			i.x[r*s.d+j] = sign * v
		}
		i.y[r] = label
	}
	mirror := func() {
		for j := range i.row {
			i.row[j] = -i.x[i.k*s.d+j]
		}
	}
	keep := func() { copy(i.row, i.x[i.k*s.d:(i.k+1)*s.d]) }
	switch kind % patterns {
	default: // everything at random
		for r := range s.n {
			copy(i.x[r*s.d:], s.randomRow(rng))
			i.y[r] = s.randomLabel(rng)
		}
		switch copy(i.row, s.randomRow(rng)); rng.IntN(3) {
		case 0:
			keep()
		case 1:
			mirror()
		}
		i.label = s.randomLabel(rng)
	case 1, 2: // all alike, and one turned around
		sign := float64(1 - 2*rng.IntN(2))
		for r := range s.n {
			put(r, -sign, -b)
		}
		mirror()
		i.label = b
	case 3, 4: // a few of one class at one end, the others at the other; a label flips
		few := 1 + rng.IntN(min(8, s.n-1))
		if rng.IntN(4) == 0 {
			few = 1 + rng.IntN(s.n-1)
		}
		s.fewAtOneEnd(&i, few, pick(rng, b, b, -b), u)
		if rng.IntN(3) == 0 {
			mirror()
		}
	case 5: // duplicates with random labels
		for r := range s.n {
			put(r, 1, s.randomLabel(rng))
		}
		mirror()
		i.label = s.randomLabel(rng)
	case 6: // zero rows among records at the range
		for r := range s.n {
			put(r, float64(rng.IntN(3)-1), s.randomLabel(rng))
		}
		if i.label = -i.y[i.k]; rng.IntN(2) == 0 {
			mirror()
		}
	case 7: // one class
		for r := range s.n {
			put(r, float64(1-2*rng.IntN(2)), b)
		}
		if i.label = -b; rng.IntN(2) == 0 {
			keep()
		} else {
			mirror()
		}
	case 8: // corners, one record turned around
		for r := range s.n {
			clear(u)
			u[rng.IntN(s.d)] = s.bounds.FeatureNorm
			put(r, float64(1-2*rng.IntN(2)), s.randomLabel(rng))
		}
		mirror()
		i.label = -i.y[i.k]
	}
	return i
}

// fewAtOneEnd puts the first records at -u with one label and the others at u with the
// other; record k is replaced by itself with the other label. No margin of the others
// changes, only the class that record k is in.
func (s shape) fewAtOneEnd(i *instance, few int, label float64, u []float64) {
	for r := range s.n {
		sign := 1.0
		if r < few {
			sign = -1
		}
		for j, v := range u {
			i.x[r*s.d+j] = sign * v
		}
		i.y[r] = sign * label
	}
	copy(i.row, i.x[i.k*s.d:(i.k+1)*s.d])
	i.label = -i.y[i.k]
}

// change alters an instance a little.
func (s shape) change(best instance, rng *rand.Rand) instance {
	i := best.clone()
	if s.persons > 0 && rng.IntN(3) == 0 {
		i.seed = rng.Uint64()
		return i
	}
	r := rng.IntN(s.n)
	row := i.x[r*s.d : (r+1)*s.d]
	if rng.IntN(4) == 0 { // the replacement
		r, row = -1, i.row
	}
	switch rng.IntN(7) {
	case 0:
		copy(row, s.randomRow(rng))
	case 1:
		for j := range row {
			row[j] = -row[j]
		}
	case 2: // to the end of its direction
		if length := norm(row); length > 0 {
			for j := range row {
				row[j] *= s.bounds.FeatureNorm / length
			}
		}
	case 3: // a small step
		size := s.bounds.FeatureNorm * math.Pow(10, -3*rng.Float64())
		for j := range row {
			row[j] += size * rng.NormFloat64()
		}
	case 4:
		copy(row, i.x[rng.IntN(s.n)*s.d:])
	case 5:
		i.k = rng.IntN(s.n)
	case 6:
		if r < 0 {
			i.label = s.randomLabel(rng)
		} else {
			i.y[r] = s.randomLabel(rng)
		}
	}
	return i
}
