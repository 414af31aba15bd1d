package dataset

import "io"

// ScanReader is Scan from r, which is read as its rows are shown, so that r may be
// a stream that goes on while they are used. name stands for the file in errors.
// The format is looked for in the first bytes, so the first row is shown once
// there are 4096 of them, or r ends.
func ScanReader(name string, r io.Reader, s *Schema, o Options, show func(*Row) error) error {
	e, err := encoderFor(s, o)
	if err != nil {
		return err
	}
	t := newTable(name, e, o, &scanner{show: show})
	if err := t.read(&input{name: name, r: r}); err != nil {
		return err
	}
	return t.check()
}

// EncodeRow returns the features of a row that Scan has shown: the same bits as
// Load gives. An error is a *ParseError without file and row.
func (e *Encoder) EncodeRow(r *Row) ([]float64, error) {
	x := make([]float64, e.dim)
	encoded := func(k int, rule string) error {
		if rule == "" {
			return nil
		}
		return &ParseError{Column: e.featureName(k), Position: k + 1, Rule: rule}
	}
	if r.Fields != nil {
		for k, field := range r.Fields {
			f, offset := e.feature(k)
			if err := encoded(k, f.encode(field, x[offset:offset+f.width])); err != nil {
				return nil, err
			}
		}
		return x, e.project(x)
	}
	value := func(k int, v float64) string {
		f, _ := e.feature(k)
		switch {
		case e.schema.IsSparse():
			x[k] = f.scale(v)
			return ""
		case v != v: // of an array
			return f.encodeMissing(x[k : k+1])
		}
		return f.encodeNumber(v, x[k:k+1])
	}
	if r.Index == nil || !e.schema.IsSparse() && len(r.Index) < e.dim {
		stored := make([]float64, e.dim) // an index that is left out is 0
		if r.Index == nil {
			copy(stored, r.Value)
		}
		for j, k := range r.Index {
			stored[k] = r.Value[j]
		}
		for k, v := range stored {
			if err := encoded(k, value(k, v)); err != nil {
				return nil, err
			}
		}
		return x, e.project(x)
	}
	for j, k := range r.Index {
		if err := encoded(int(k), value(int(k), r.Value[j])); err != nil {
			return nil, err
		}
	}
	return x, e.project(x)
}
