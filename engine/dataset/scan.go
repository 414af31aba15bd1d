package dataset

// showRow passes the row that endRow ends to the scan and discards it.
func (t *table) showRow(number int, y float64) error {
	r := &t.scan.row
	r.Number, r.Y = number, y
	if err := t.scan.show(r); err != nil {
		return err
	}
	t.label.reset()
	if t.e.Schema().IsSparse() {
		t.start.reset()
		t.start.add(0)
		t.index.reset()
		t.value.reset()
	} else {
		t.dense.reset()
	}
	if t.e.GroupColumn != nil {
		t.groups.of.reset()
	}
	r.Index, r.Value, r.ID, r.Group, r.Label = r.Index[:0], r.Value[:0], "", "", ""
	return nil
}

// addPair stores one numbered feature.
func (s *scanner) addPair(k int, v float64) {
	s.row.Index = append(s.row.Index, int32(k))
	s.row.Value = append(s.row.Value, v)
}
