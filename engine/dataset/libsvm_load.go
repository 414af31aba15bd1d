package dataset

import (
	"bytes"
	"math"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/engine/dataset/sparse"
)

// libsvmReader reads lines "LABEL qid:GROUP INDEX:VALUE ... # comment". Indices count from 1 and increase along
// the line.
type libsvmReader struct {
	t   *table
	src *source.Lines
}

func readLIBSVM(t *table, src *source.Lines, z source.Sizes) error {
	t.allocate(z, 1)
	r := &libsvmReader{t: t, src: src}
	var absent *absentRow
	if t.e.Schema().Dense {
		absent = t.newAbsentRow()
	}
	return source.Each(src.Next, func(line []byte) error { return r.addLine(line, absent) })
}

func (r *libsvmReader) addLine(line []byte, absent *absentRow) error {
	t := r.t
	if k := bytes.IndexByte(line, '#'); k >= 0 {
		line = line[:k]
	}
	first, rest := sparse.CutToken(line)
	if len(first) == 0 {
		return nil
	}
	hasLabel := bytes.IndexByte(first, ':') < 0
	switch {
	case t.seen == t.first && (hasLabel || t.o.Labels == LabelsRequired):
		t.hasLabels = true
	case t.seen > t.first && t.o.Labels != LabelsRequired && hasLabel != t.hasLabels:
		return t.errorf(r.src.Line, t.e.LabelColumn.Name, 0, ruleMixedLabels)
	}
	var label schema.Label
	if !t.hasLabels {
		rest = line
	} else {
		var err error
		if label, err = r.label(first); err != nil {
			return err
		}
		if label.Drop {
			return t.count(1)
		}
	}
	rest, err := r.group(rest)
	if err != nil {
		return err
	}
	if absent != nil {
		err = r.addDense(rest, absent)
	} else {
		stored := 0
		err = r.pairs(rest, func(k int, v float64) error {
			added, err := t.addPair(r.src.Line, k, v, stored)
			stored += added
			return err
		})
		t.endPairs(stored)
	}
	if err != nil {
		return err
	}
	if t.scan != nil && t.readsLabels() {
		t.scan.row.Label = string(first)
	}
	return t.endRow(r.src.Line, label.Y)
}

func (r *libsvmReader) label(token []byte) (l schema.Label, err error) {
	t, name, row := r.t, r.t.e.LabelColumn.Name, r.src.Line
	if bytes.IndexByte(token, ':') >= 0 {
		return l, t.errorf(row, name, 0, schema.RuleNoLabel)
	}
	if t.o.Labels == LabelsIgnored {
		return l, nil
	}
	if _, rule := parse.Number(token); rule != "" {
		if bytes.IndexByte(token, ',') >= 0 {
			rule = sparse.RuleNoPair
		} else {
			rule = schema.RuleLabelNumber
		}
		return l, t.errorf(row, name, 0, rule)
	}
	return t.readLabel(token, row, 0)
}

// group cuts the query id off the beginning of a line.
func (r *libsvmReader) group(rest []byte) ([]byte, error) {
	token, more := sparse.CutToken(rest)
	id, has := bytes.CutPrefix(token, sparse.QueryPrefix)
	switch {
	case has && r.t.e.GroupColumn == nil:
		return nil, r.t.errorf(r.src.Line, "", 0, ruleQID)
	case has:
		return more, r.t.addGroup(id, r.src.Line, 0)
	case r.t.e.GroupColumn != nil:
		return nil, r.t.errorf(r.src.Line, r.t.e.GroupColumn.Name, 0, ruleNoGroup)
	}
	return rest, nil
}

// pairs checks the order of a line's indices and calls add for each pair with the index counted from 0.
func (r *libsvmReader) pairs(rest []byte, add func(k int, v float64) error) error {
	t := r.t
	k, rule, err := sparse.EachPair(rest, t.e.Dim(), add)
	switch {
	case rule == "":
		return err
	case k == 0 || k > t.e.Dim():
		return t.errorf(r.src.Line, "", k, rule)
	}
	return t.errorf(r.src.Line, t.e.FeatureName(k-1), k, rule)
}

// addPair encodes value v of feature k of a sparse row that has stored others so far. It returns the number of
// values added, which is 0 if v is 0.
func (t *table) addPair(row, k int, v float64, stored int) (added int, err error) {
	if t.scan != nil {
		t.scan.addPair(k, v)
	}
	f, _ := t.e.Feature(k)
	u := f.Scale(v)
	if u == 0 {
		return 0, nil
	}
	if bound := t.e.NonZerosPerRow(); stored == bound {
		return 0, t.errorf(row, "", 0, schema.TooManyNonZeros(bound))
	}
	t.index.add(int32(k))
	t.value.add(u)
	return 1, nil
}

// endPairs ends a sparse row with the given number of stored values.
func (t *table) endPairs(stored int) {
	t.start.add(t.start.last[len(t.start.last)-1] + int64(stored))
}

// absentRow is the encoding of a dense row from which all indices are absent.
type absentRow struct {
	x        []float64
	required []int // columns in which 0 means missing and the policy refuses missing values
}

func (t *table) newAbsentRow() *absentRow {
	a := &absentRow{x: make([]float64, t.e.Dim())}
	for k := range a.x {
		f, _ := t.e.Feature(k)
		if rule := f.EncodeNumber(0, a.x[k:k+1]); rule != "" {
			a.x[k] = math.NaN()
			a.required = append(a.required, k)
		}
	}
	return a
}

func (r *libsvmReader) addDense(rest []byte, absent *absentRow) error {
	t := r.t
	x := t.dense.grow(t.e.Dim())
	copy(x, absent.x)
	err := r.pairs(rest, func(k int, v float64) error {
		if t.scan != nil {
			t.scan.addPair(k, v)
		}
		f, _ := t.e.Feature(k)
		if rule := f.EncodeNumber(v, x[k:k+1]); rule != "" {
			return t.errorf(r.src.Line, t.e.FeatureName(k), k+1, rule)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range absent.required {
		if math.IsNaN(x[k]) {
			return t.errorf(r.src.Line, t.e.FeatureName(k), k+1, schema.RuleMissing)
		}
	}
	return nil
}
