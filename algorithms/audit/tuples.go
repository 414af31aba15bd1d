package audit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// TupleSide is one data set of records with classes, row-major.
type TupleSide struct {
	X       []float64
	Classes []int32
}

// Clone returns a copy.
func (s TupleSide) Clone() TupleSide { return TupleSide{slices.Clone(s.X), slices.Clone(s.Classes)} }

// Reversing returns two neighbours that differ in the class of one record. Their clipped terms are opposite if
// the clip is small. All other records are at one point, with the given classes in turn. The differing record
// is at the opposite point and has class 0 in the data and class 1 in the neighbour.
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

// alone returns a neighbour whose victim is the only record of its class. In losses that need a positive (triplet,
// n-pair) this victim only pushes other records away, while a victim of another record's class pulls.
func (s TupleSide) alone(victim int) TupleSide {
	s = s.Clone()
	s.Classes[victim] = 1 + slices.Max(s.Classes)
	return s
}

// WorstTuples searches for two neighbours, and a start, for which the exact vectors of p differ most. The
// neighbours differ in one record. A network starts at the start of its plan. For a network, WorstTuples
// also tries several distances between the record that changes its class and the other records.
func WorstTuples(ctx context.Context, p *pairs.Plan) (Target, error) {
	s := p.Spec
	var targets []Target
	add := func(text string, data, neighbour TupleSide, start []float64) error {
		t, err := OnTuples(p, data, neighbour, start)
		t.Instance = text
		targets = append(targets, t)
		return err
	}
	for _, at := range tupleSides(s) {
		if s.Network != nil {
			for _, place := range []float64{-1, 0, 0.5, 0.9} {
				data, neighbour := at.data.Clone(), at.neighbour.Clone()
				data.X[at.victim*s.Dim], neighbour.X[at.victim*s.Dim] = place*s.Bound, place*s.Bound
				if err := add(fmt.Sprintf("record %d lies at %.3g R and changes its class; the others lie at R and "+
					"have classes %s (R = norm bound)",
					at.victim, place, at.classes), data, neighbour, nil); err != nil {
					return Target{}, err
				}
			}
			continue
		}
		for _, w := range tupleStarts(s) {
			start := make([]float64, s.Rows*s.Dim)
			start[0] = w
			if err := add(fmt.Sprintf("record %d changes its class; the others have classes %s; the matrix W "+
				"starts at (%.3g, 0, ...)", at.victim,
				at.classes, w), at.data, at.neighbour, start); err != nil {
				return Target{}, err
			}
		}
	}
	return furthest(ctx, targets, 0)
}

// tupleSides returns the neighbours that WorstTuples tries. The class of the victim changes between two classes of the
// other records, or to a class of its own. In tuples of three records, the other records of the second class may
// also be half way to the victim. A record then pulls in one class and pushes in the other.
func tupleSides(s pairs.Spec) (all []turnedSides) {
	for _, victim := range []int{s.Individuals - 1, 0} {
		for _, classes := range [][]int32{{0}, {1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 0, 1}} {
			data, neighbour := Reversing(s, victim, classes...)
			all = append(all, turnedSides{fmt.Sprint(classes), victim, data, neighbour},
				turnedSides{fmt.Sprint(classes, ", then of its own class"), victim, data, data.alone(victim)})
			if s.Tuple != 3 || len(classes) != 2 {
				continue
			}
			data, neighbour = data.Clone(), neighbour.Clone()
			for i, class := range data.Classes {
				if class == 1 && i != victim {
					data.X[i*s.Dim], neighbour.X[i*s.Dim] = 0, 0
				}
			}
			all = append(all, turnedSides{fmt.Sprint(classes, ", where records of class 1 are at 0"), victim, data, neighbour})
		}
	}
	return all
}

// turnedSides are neighbours that differ in the class of a victim. The other records have the given classes.
type turnedSides struct {
	classes         string
	victim          int
	data, neighbour TupleSide
}

// tupleStarts returns two norms of W at which both classes of the victim pull: a norm with distances below
// the margin, and the largest norm of a start.
func tupleStarts(s pairs.Spec) []float64 {
	w := 1.0
	switch l := s.Loss.(type) {
	case embedding.Contrastive:
		w = min(1, l.Margin/(4*s.Bound))
	case embedding.Triplet:
		w = min(1, math.Sqrt(l.Margin)/(4*s.Bound))
	case embedding.NPair:
		w = min(1, math.Sqrt(l.Temperature)/(4*s.Bound))
	}
	return []float64{w, 1}
}

// OnTuples returns the attack on p with these data sets. start is the initial W; if it is nil, W starts at a
// random matrix.
func OnTuples(p *pairs.Plan, data, neighbour TupleSide, start []float64) (Target, error) {
	s := p.Spec
	g, err := pairgraph.New(s.Individuals, nil)
	if err != nil {
		return Target{}, err
	}
	records := [2]TupleSide{data, neighbour}
	var sides [2]*embedding.Data
	for i, r := range records {
		if sides[i], err = embedding.NewData(slices.Clone(r.X), s.Dim, s.Norm(), s.Bound, g, nil); err != nil {
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
			session = startAt(session, start)
		}
		side := index(neighbour)
		return pairs.Train(ctx, sides[side], records[side].Classes, p, session, 1, algorithms.Tracker{})
	}
	return Target{Program: program}, nil
}
