package dataset

import (
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// CheckPairs returns a *ParseError unless a pairwise loss has something to compare: two
// records whose labels differ, of the same query group if there are groups. Labels must
// have been read.
//
// The answer is a joint property of well-formed records: flip one label, and it can be
// another one. So nobody may ask it about private data before they are charged, nor let it
// end a run: a private run trains on such records like on all others. Its gradients are 0
// (or those of pairs of one class), and the noise that is released is the same.
func (d *Dataset) CheckPairs() error {
	var spread labelSpread[int32]
	for i, y := range d.Records.Labels() {
		var group int32
		if d.Groups != nil {
			group = d.Groups[i]
		}
		spread.add(group, y)
	}
	return spread.check(d.name, d.Encoder)
}

// labelSpread is what CheckPairs needs of labels in groups with keys of type K.
type labelSpread[K comparable] struct {
	lo, hi  float64
	first   map[K]float64 // label of the first record of each group
	compare bool          // two labels of one group differ
}

// add takes the label y of the next record.
func (s *labelSpread[K]) add(group K, y float64) {
	if s.first == nil {
		s.first, s.lo, s.hi = map[K]float64{}, y, y
	}
	s.lo, s.hi = min(s.lo, y), max(s.hi, y)
	if first, ok := s.first[group]; !ok {
		s.first[group] = y
	} else if first != y {
		s.compare = true
	}
}

// check is CheckPairs.
func (s *labelSpread[K]) check(file string, e *schema.Encoder) error {
	p := &source.ParseError{File: file, Column: e.LabelColumn.Name}
	switch {
	case s.compare:
		return nil
	case s.lo < s.hi:
		p.Column, p.Rule = e.GroupColumn.Name, ruleNoGroupPair
	case e.Schema().IsGraded():
		p.Rule = ruleSameLabel
	case s.hi > 0:
		p.Rule = ruleNoNegative
	default:
		p.Rule = ruleNoPositive
	}
	return p
}
