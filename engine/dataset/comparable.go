package dataset

import (
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

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
