package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/privacy"
)

// columns holds the columns of a file before they are scaled to norm 1, for peers that bin. A number is given as its
// place in its public range, from 0 to 1, and a category as its place in the schema.
type columns struct {
	kinds  []int     // for each column the number of categories, or 0 for a number
	values []float64 // rows of len(kinds)
}

// readColumns reads the columns of a file. The rows have the order in which Load returns the records.
func readColumns(ctx context.Context, path string, s *dataset.Schema) (*columns, error) {
	e, err := dataset.NewEncoder(s)
	if err != nil {
		return nil, err
	}
	c := &columns{}
	for k := range e.Width() {
		switch f, _ := e.Feature(k); {
		case f.Cosines > 0:
			return nil, errors.New("peers cannot read a schema with a basis; remove the basis")
		case f.Numeric:
			c.kinds = append(c.kinds, 0)
		default:
			c.kinds = append(c.kinds, len(f.CatNames))
		}
	}
	x := make([]float64, e.Dim())
	err = dataset.Scan(path, s, dataset.Options{Progress: func(int) error { return ctx.Err() }}, func(r *dataset.Row) error {
		if s.IsSparse() { // within norm 1 by its scale alone
			if x, err = e.EncodeRow(r); err != nil {
				return err
			}
			for _, v := range x {
				c.values = append(c.values, v/e.Factor())
			}
			return nil
		}
		for k, text := range r.Fields {
			f, _ := e.Feature(k)
			out := x[:f.Width]
			clear(out)
			if rule := f.Encode(text, out); rule != "" {
				return fmt.Errorf("column %s: %s", e.FeatureName(k), rule)
			}
			v := (out[0]/f.Factor + 1) / 2 // a number, or one of two categories
			if f.Width > 1 {
				if v = float64(slices.Index(out, f.Factor)); v < 0 {
					return fmt.Errorf("column %s has a value outside its categories, which peers cannot read", e.FeatureName(k))
				}
			}
			c.values = append(c.values, v)
		}
		return nil
	})
	return c, err
}

// write writes rows of the columns as NPY.
func (c *columns) write(path string, rows []int) error {
	var values []float64
	for _, i := range rows {
		values = append(values, c.values[i*len(c.kinds):][:len(c.kinds)]...)
	}
	return writeNew(path, func(to io.Writer) error { return dataset.WriteNPY(to, values, len(c.kinds)) })
}

// columns adds the columns of this block to a request. The files are written when the first peer asks for them.
func (w *worker) columns(one run, q *request) error {
	l := w.data[w.at]
	if l.columns == nil {
		return errors.New("a peer can read columns only from a data file with one record per person")
	}
	keep, out, err := l.rows(one.row.N, one.row.Split)
	if err != nil {
		return err
	}
	test := l.columns
	if l.test != nil {
		test = l.testColumns
	}
	q.Columns = l.columns.kinds
	q.TrainColumns, q.TestColumns = filepath.Join(w.folder, "train-columns.npy"),
		filepath.Join(w.folder, "test-columns.npy")
	if w.wrote {
		return nil
	}
	w.wrote = true
	return errors.Join(l.columns.write(q.TrainColumns, keep), test.write(q.TestColumns, out))
}

// curved returns the worker with the block's records in the basis that the program uses by default for a run, if it
// uses a basis.
func (w *worker) curved(ctx context.Context, one run) (*worker, error) {
	l := w.data[w.at]
	if !one.method.settings.curved || l.schema == nil || l.schema.Basis != "" {
		return w, nil
	}
	a, _, err := w.planned(one)
	if _, moments := a.(algorithms.Moments); !moments || err != nil {
		return w, nil // the run without a basis reports an error
	}
	budget := privacy.Budget{Epsilon: one.row.Epsilon, Delta: one.row.Delta}
	basis, _ := algorithms.ChooseBasis(one.row.N, one.row.N, budget, l.schema.DimWith)
	if basis == dataset.BasisNone {
		return w, nil
	}
	bent, err := w.bend(ctx, l.schema.WithBasis(basis))
	if err != nil {
		return nil, err
	}
	c := *w
	c.encoder = bent.encoder
	c.train, c.test, err = bent.split(one.row.N, one.row.Split)
	return &c, err
}

// bend is the data set of the block by a schema with a basis, which is loaded once.
func (w *worker) bend(ctx context.Context, s *dataset.Schema) (loaded, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprint(w.at, s.Basis)
	l, ok := w.bent[key]
	if ok {
		return l, nil
	}
	d := &w.plan.Data[w.at]
	l, err := d.readBy(ctx, s, w.o.Folders)
	if err == nil {
		w.bent[key] = l
	}
	return l, err
}

// shrinks makes algorithms of moments shrink the nonlinear part of a basis, as the program does in training.
func shrinks(a algorithms.Algorithm, e *dataset.Encoder) algorithms.Algorithm {
	if m, ok := a.(algorithms.Moments); ok && e != nil {
		m.Blocks, m.Lines = e.Blocks(), e.Lines()
		return m
	}
	return a
}
