package audit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
	"dyad/engine/terms"
	"dyad/privacy"
)

// TupleSide is one data set of records with classes, row-major.
type TupleSide struct {
	X       []float64
	Classes []int32
}

// Clone is a copy.
func (s TupleSide) Clone() TupleSide { return TupleSide{slices.Clone(s.X), slices.Clone(s.Classes)} }

// Reversing are two neighbours that differ in the class of one record and whose clipped
// terms are opposite where the clip is small: all other records sit at one place with the
// given classes in turn, and that one opposite, of class 0 and then 1.
func Reversing(s pairs.Spec, victim int, classes ...int32) (data, neighbour TupleSide) {
	data = TupleSide{make([]float64, s.Individuals*s.Dim), make([]int32, s.Individuals)}
	for i := range s.Individuals {
		data.X[i*s.Dim] = s.Bound
		data.Classes[i] = classes[i%len(classes)]
	}
	data.X[victim*s.Dim] = -s.Bound
	data.Classes[victim] = 0
	neighbour = data.Clone()
	neighbour.Classes[victim] = 1
	return data, neighbour
}

// WorstTuples searches the pair of neighbours that differ in one record, and a start, on
// which the exact vectors of p move most. A network starts where its plan says, and the record
// that changes its class is tried at several distances from the others.
func WorstTuples(ctx context.Context, p *pairs.Plan) (Target, error) {
	s := p.Spec
	var targets []Target
	for _, victim := range []int{s.Individuals - 1, 0} {
		for _, classes := range [][]int32{{0}, {1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 0, 1}} {
			data, neighbour := Reversing(s, victim, classes...)
			if s.Network != nil {
				for _, place := range []float64{-1, 0, 0.5, 0.9} {
					data, neighbour := data.Clone(), neighbour.Clone()
					data.X[victim*s.Dim], neighbour.X[victim*s.Dim] = place*s.Bound, place*s.Bound
					t, err := OnTuples(p, data, neighbour, nil)
					if err != nil {
						return Target{}, err
					}
					t.Instance = fmt.Sprintf("class of record %d at %.3g turned, the others at 1 of classes %v", victim, place, classes)
					targets = append(targets, t)
				}
				continue
			}
			for _, w := range tupleStarts(s) {
				start := make([]float64, s.Rows*s.Dim)
				start[0] = w
				t, err := OnTuples(p, data, neighbour, start)
				if err != nil {
					return Target{}, err
				}
				t.Instance = fmt.Sprintf("class of record %d turned, the others of classes %v, W = (%.3g, 0, ...)", victim, classes, w)
				targets = append(targets, t)
			}
		}
	}
	return furthest(ctx, targets, 0)
}

// tupleStarts are norms of W at which both classes pull: distances below the margin, or as
// large as it starts.
func tupleStarts(s pairs.Spec) []float64 {
	w := 1.0
	switch l := s.Loss.(type) {
	case terms.MeanContrastive:
		w = min(1, l.Margin/(4*s.Bound))
	case terms.Triplet:
		w = min(1, math.Sqrt(l.Margin)/(4*s.Bound))
	case terms.NPair:
		w = min(1, math.Sqrt(l.Temperature)/(4*s.Bound))
	}
	return []float64{w, 1}
}

// OnTuples is the attack on p with these data sets; start is where W starts, nil for a
// random matrix.
func OnTuples(p *pairs.Plan, data, neighbour TupleSide, start []float64) (Target, error) {
	s := p.Spec
	g, err := pairgraph.New(s.Individuals, nil)
	if err != nil {
		return Target{}, err
	}
	records := [2]TupleSide{data, neighbour}
	var sides [2]*terms.Data
	for i, r := range records {
		if sides[i], err = terms.NewData(slices.Clone(r.X), s.Dim, s.Norm(), s.Bound, g, nil); err != nil {
			return Target{}, err
		}
	}
	variant := fmt.Sprintf("all pairs, %d epochs, %d rows", s.Epochs, s.Rows)
	if !s.AllPairs {
		variant = fmt.Sprintf("tuples of %d, batches of %d, %d epochs, %d rows", s.Tuple, s.Batch, s.Epochs, s.Rows)
	}
	if s.Network != nil {
		variant += ", " + s.Network.Model.Network.Name()
	}
	program := programOf(p, variant)
	program.Train = func(ctx context.Context, neighbour bool, session privacy.Session) ([]float64, error) {
		if start != nil {
			session = StartAt(session, start)
		}
		side := index(neighbour)
		return pairs.Train(ctx, sides[side], records[side].Classes, p, session, 1, algorithms.Tracker{})
	}
	return Target{Program: program}, nil
}
