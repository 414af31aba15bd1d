package dataset

// endRow ends a row whose features and group were added, and stores its label y.
func (t *table) endRow(number int, y float64) error {
	t.rows++
	t.label.add(y)
	if y > 0 {
		t.positives++
	}
	if t.scan != nil {
		if err := t.showRow(number, y); err != nil {
			return err
		}
	}
	if err := t.flush(flushFloats); err != nil {
		return err
	}
	return t.count(1)
}
