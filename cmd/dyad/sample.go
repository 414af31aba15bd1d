package main

import (
	"slices"

	"dyad/engine"
	"dyad/engine/dataset"
)

// sample are records as the program trains and evaluates them: those of a query
// group are consecutive.
type sample struct {
	records *engine.Records
	groups  []int // number of the group of each record, ascending; nil without groups
	graded  bool  // labels in [-1, 1] instead of two classes
}

// sampleOf orders the records of d by group; groups are public.
func sampleOf(d *dataset.Dataset) sample {
	s := sample{records: d.Records, graded: d.Schema().IsGraded()}
	if d.Groups == nil {
		return s
	}
	rows := make([]int, len(d.Groups))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return int(d.Groups[a]) - int(d.Groups[b]) })
	return s.of(rows, func(row int) int { return int(d.Groups[row]) })
}

// of are the given rows, in that order.
func (s sample) of(rows []int, group func(row int) int) sample {
	out := sample{records: s.records.Subset(rows), graded: s.graded}
	if group != nil {
		out.groups = make([]int, len(rows))
		for i, row := range rows {
			out.groups[i] = group(row)
		}
	}
	return out
}

// size is the number of records or persons, 0 of none.
func (s *sample) size() int {
	if s == nil {
		return 0
	}
	return s.records.Units()
}

// sizes are the sizes of the groups in order, nil without groups.
func (s sample) sizes() []int {
	var out []int
	for i, g := range s.groups {
		if i == 0 || g != s.groups[i-1] {
			out = append(out, 0)
		}
		out[len(out)-1]++
	}
	return out
}

// split holds out a fraction of the records, persons with all their rows, or of the groups if
// there are any.
func (s sample) split(fraction float64, seed uint64) (train, held sample, err error) {
	if s.groups == nil {
		keep, out, err := dataset.Split(s.records.Units(), 1-fraction, seed)
		if err != nil {
			return sample{}, sample{}, err
		}
		part := func(units []int) sample { return sample{records: s.records.UnitSubset(units), graded: s.graded} }
		return part(keep), part(out), nil
	}
	keep, out, err := dataset.Split(len(s.sizes()), 1-fraction, seed)
	if err != nil {
		return sample{}, sample{}, err
	}
	return s.ofGroups(keep), s.ofGroups(out), nil
}

// ofGroups are the records of the groups with these positions.
func (s sample) ofGroups(positions []int) sample {
	wanted := make(map[int]bool)
	for _, p := range positions {
		wanted[p] = true
	}
	var rows []int
	position := -1
	for i, g := range s.groups {
		if i == 0 || g != s.groups[i-1] {
			position++
		}
		if wanted[position] {
			rows = append(rows, i)
		}
	}
	return s.of(rows, func(row int) int { return s.groups[row] })
}

// setGroupColumn gives the named column the role group; "" changes nothing.
func setGroupColumn(s *dataset.Schema, name string) error {
	if name == "" {
		return nil
	}
	found := false
	for i := range s.Columns {
		c := &s.Columns[i]
		switch {
		case c.Name == name:
			*c = dataset.Column{Name: c.Name, Position: c.Position, Role: dataset.RoleGroup}
			found = true
		case c.Role == dataset.RoleGroup:
			c.Role = dataset.RoleIgnore
		}
	}
	if !found {
		return badInput("--group-column %s is not a column of the schema", name)
	}
	return asInput(s.Validate())
}
