package dataset

import (
	"fmt"

	"dyad/engine"
)

// finish runs the checks that concern the whole file and builds the records.
func (t *table) finish() (*Dataset, error) {
	if t.packed != nil {
		return t.packed, nil
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	e := t.e
	d := &Dataset{Encoder: e, HasLabels: t.readsLabels(), IDs: t.ids, Others: t.others, name: t.name}
	if d.HasLabels && !e.Schema().IsGraded() {
		d.Positives, d.Negatives = t.positives, t.rows-t.positives
	}
	if e.GroupColumn != nil {
		d.Groups, d.GroupCount = t.groups.of.join(), len(t.groups.number)
	}
	var err error
	switch sink := t.sink.(type) {
	case *narrowRows:
		if err = t.flush(0); err == nil {
			d.Records, err = engine.AdoptNarrowRecords(sink.x.join(), sink.y.join(), e.Dim(), e.Bounds())
		}
	case nil:
		if e.Schema().IsSparse() {
			d.Records, err = engine.NewSparseRecords(t.start.join(), t.index.join(), t.value.join(), t.label.join(),
				e.Dim(), e.Bounds())
		} else {
			x := t.dense.join()
			e.MultiplyRows(x)
			d.Records, err = engine.AdoptRecords(x, t.label.join(), e.Dim(), e.Bounds())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	if t.people != nil {
		if err = t.group(d); err != nil {
			return nil, err
		}
		d.IDs, d.Positives, d.Negatives = nil, 0, 0
	}
	return d, nil
}
