package dataset

import (
	"sync/atomic"

	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/schema"
)

// addBatch adds the rows of a batch with the same result as calling addRow for each row in order. Features and
// labels are encoded in parallel, column by column, if all rows of the batch are valid. Otherwise addRow
// processes the batch and reports the first error. Work that depends on earlier rows (ids, groups, persons) is
// done in order. addBatch also runs the given jobs, which read the next batch, so that no worker waits for the
// slowest column.
func (t *table) addBatch(l *layout, r *parquet.Reader, rows, jobs int, job func(k int)) error {
	alone := t.scan != nil || t.e.Notations || t.e.Schema().SelectsByLabel()
	if alone {
		parallel(r.Workers, jobs, job)
	}
	if alone || !t.encodeBatch(l, r, rows, jobs, job) {
		for i := range rows {
			r.Take(i)
			if err := t.addRow(l, r.Texts, r.Values, r.Row+i+1); err != nil {
				return err
			}
		}
		return nil
	}
	t.rows += rows
	for _, y := range t.label.tail(rows) {
		if y > 0 {
			t.positives++
		}
	}
	if err := t.flush(flushFloats); err != nil {
		return err
	}
	if !l.identifies() {
		return t.count(rows)
	}
	for i := range rows {
		r.Take(i)
		for k, f := range l.fields {
			if !identity(f.role) {
				continue
			}
			if err := t.addIdentity(f.role, r.Texts[k], r.Row+i+1, k+1); err != nil {
				return err
			}
		}
		if err := t.count(1); err != nil {
			return err
		}
	}
	return nil
}

// encodeBatch appends the features and labels of a batch and runs the jobs. If a row breaks a rule, it appends
// nothing and returns false.
func (t *table) encodeBatch(l *layout, r *parquet.Reader, rows, jobs int, job func(k int)) bool {
	d := t.e.Dim()
	// columns are written one by one, and 16 KB fit into the first-level cache
	piece := min(max((16<<10)/(8*d), 32), pieceRows)
	x, y := t.dense.grow(rows*d), t.label.grow(rows)
	var broken atomic.Bool
	parallel(r.Workers, jobs+(rows+pieceRows-1)/pieceRows, func(k int) {
		if k < jobs {
			job(k)
			return
		}
		k -= jobs
		from, to := k*pieceRows, min((k+1)*pieceRows, rows)
		var labels schema.LabelMemo
		for at := from; at < to && !broken.Load(); at += piece {
			next := min(at+piece, to)
			if !t.encodePiece(l, r, &labels, at, next, x[at*d:next*d], y[at:next]) {
				broken.Store(true)
			}
		}
	})
	if broken.Load() {
		t.dense.drop(rows * d)
		t.label.drop(rows)
	}
	return !broken.Load()
}

// encodePiece encodes the rows from, ..., to-1 of a batch. It returns false if a row breaks a rule.
func (t *table) encodePiece(l *layout, r *parquet.Reader, labels *schema.LabelMemo, from, to int, x, y []float64) bool {
	for i, f := range l.fields {
		c := r.Cursors[i]
		switch {
		case f.role == schema.RoleLabel && t.readsLabels():
			for k, text := range c.Texts[from:to] {
				label, rule := labels.Encode(t.e, text)
				if rule != "" {
					return false
				}
				y[k] = label.Y
			}
		case f.role != schema.RoleFeature:
		case c.Numbers:
			e := t.e.Listed(f.feature)
			if !e.EncodeNumbers(c.Values[from:to], x[e.Offset:], t.e.Dim()) {
				return false
			}
		default:
			e := t.e.Listed(f.feature)
			for k, text := range c.Texts[from:to] {
				at := k*t.e.Dim() + e.Offset
				if e.Encode(text, x[at:at+e.Width]) != "" {
					return false
				}
			}
		}
	}
	return true
}
