package dataset

import (
	"io"

	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

var parquetNames = names{ruleParquetNames, "the Parquet schema", "ignore_others: true"}

func readParquet(t *table, in *source.Input) (err error) {
	r, err := parquet.Open(in)
	if err != nil {
		return err
	}
	r.Spare, t.spare = t.spare, nil
	defer func() {
		r.Close()
		t.spare = r.Opened()
	}()
	l, err := t.headerLayout(fieldsOf(r.Names()), 0, &parquetNames)
	if err != nil {
		return err
	}
	r.AsTexts = t.scan != nil
	for i, f := range l.fields {
		if f.role != schema.RoleIgnore && !r.Use(i, f.role == schema.RoleFeature && t.e.Listed(f.feature).Numeric) {
			return t.errorf(0, f.name, i+1, ruleParquetType)
		}
	}
	t.hasLabels = l.hasLabel
	t.allocate(r.Sizes(in), 1)
	rows, end := r.Fill()
	for rows > 0 {
		want, next, ahead := 0, end, []*parquet.Column(nil)
		if next == nil {
			if want, next = r.Begin(); next == nil {
				ahead = r.Reading
			}
		}
		if err := t.addBatch(l, r, rows, len(ahead), func(k int) { ahead[k].Fill(want) }); err != nil {
			return err
		}
		r.Row += rows
		if rows, end = 0, next; end == nil {
			rows, end = r.Finish(want)
		}
	}
	if end == io.EOF {
		return nil
	}
	return end
}
