package dataset

import (
	"context"
	"math"
	"sync/atomic"

	"dyad/internal/tasks"
)

// pieceRows is how many rows a worker encodes at a time: their records stay in its cache.
const pieceRows = 1024

// batchRows is how many rows of a number of columns are decoded before they are encoded:
// enough to keep all workers busy, and few enough to find most of them in the caches: 2 MB of numbers.
func batchRows(columns int) int {
	return min(max((1<<18)/max(columns, 1), pieceRows), progressRows)
}

// parallel calls work for each i below n, on up to workers goroutines.
func parallel(workers, n int, work func(i int)) {
	_ = tasks.Each(context.Background(), workers, n, func(_, i int) { work(i) }) // never done
}

// addBatch adds the rows of a batch, as addRow does one after the other. Features and
// labels of rows that break no rule are encoded in parallel, column by column; a batch
// with another row is left to addRow, which says what is wrong first. What depends on the
// rows before (ids, groups, persons) is done in order. It also does jobs, which read the batch
// after this one: nobody waits for the slowest column.
func (t *table) addBatch(l *layout, r *parquetReader, rows, jobs int, job func(k int)) error {
	alone := t.scan != nil || t.e.notations || t.e.schema.SelectsByLabel()
	if alone {
		parallel(r.workers, jobs, job)
	}
	if alone || !t.encodeBatch(l, r, rows, jobs, job) {
		for i := range rows {
			r.take(i)
			if err := t.addRow(l, r.texts, r.values, r.row+i+1); err != nil {
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
		r.take(i)
		for k, f := range l.fields {
			if !identity(f.role) {
				continue
			}
			if err := t.addIdentity(f.role, r.texts[k], r.row+i+1, k+1); err != nil {
				return err
			}
		}
		if err := t.count(1); err != nil {
			return err
		}
	}
	return nil
}

// encodeBatch appends features and labels of a batch, or nothing if one breaks a rule, and does jobs.
func (t *table) encodeBatch(l *layout, r *parquetReader, rows, jobs int, job func(k int)) bool {
	d := t.e.dim
	piece := min(max((16<<10)/(8*d), 32), pieceRows) // columns are written one by one: 16 KB stay in the first cache
	x, y := t.dense.grow(rows*d), t.label.grow(rows)
	var broken atomic.Bool
	parallel(r.workers, jobs+(rows+pieceRows-1)/pieceRows, func(k int) {
		if k < jobs {
			job(k)
			return
		}
		k -= jobs
		from, to := k*pieceRows, min((k+1)*pieceRows, rows)
		var labels labelMemo
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

// encodePiece encodes the rows from and below to of a batch. It is false if one breaks a rule.
func (t *table) encodePiece(l *layout, r *parquetReader, labels *labelMemo, from, to int, x, y []float64) bool {
	for i, f := range l.fields {
		c := r.cursors[i]
		switch {
		case f.role == RoleLabel && t.readsLabels():
			for k, text := range c.texts[from:to] {
				label, rule := labels.encode(t.e, text)
				if rule != "" {
					return false
				}
				y[k] = label.y
			}
		case f.role != RoleFeature:
		case c.numbers:
			e := &t.e.columns[f.feature]
			if !e.encodeNumbers(c.values[from:to], x[e.offset:], t.e.dim) {
				return false
			}
		default:
			e := &t.e.columns[f.feature]
			for k, text := range c.texts[from:to] {
				at := k*t.e.dim + e.offset
				if e.encode(text, x[at:at+e.width]) != "" {
					return false
				}
			}
		}
	}
	return true
}

// encodeNumbers encodes the numbers of a numeric column, NaN for missing, to every stride-th
// place of dst. It is false if one breaks a rule.
func (f *featureEncoder) encodeNumbers(values, dst []float64, stride int) bool {
	// Most values take the first branch of scale, which has no call here; a NaN and what a clamp changes do not.
	plain := f.transform == "" && f.cosines == 0 && len(f.missing.numbers) == 0
	lo, hi, center, half, factor := f.lo, f.hi, f.center, f.half, f.factor
	inverse, exact := f.inverse()
	for i, v := range values {
		if plain && v > lo && v < hi {
			u := v - center
			if exact {
				u *= inverse
			} else {
				u /= half
			}
			if u > -1 && u < 1 {
				dst[i*stride] = u * factor
				continue
			}
		}
		rule := ""
		switch out := dst[i*stride:][:f.width]; {
		case math.IsNaN(v):
			rule = f.encodeMissing(out)
		case math.IsInf(v, 0):
			return false
		default:
			rule = f.encodeNumber(v, out)
		}
		if rule != "" {
			return false
		}
	}
	return true
}
