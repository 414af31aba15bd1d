package dataset

import (
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// labelSpread collects the facts about labels that CheckPairs needs. K is the type of group keys.
type labelSpread[K comparable] struct {
	lo, hi  float64
	first   map[K]float64 // first maps a group to the label of its first record
	compare bool          // some group has two different labels
}

// add processes the label y of the next record.
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

// check returns the error of CheckPairs.
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
