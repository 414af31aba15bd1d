package dataset

import (
	"bytes"
	"io"
	"math"
	"strconv"
)

// libsvmReader reads lines "LABEL qid:GROUP INDEX:VALUE ... # comment" with
// indices that count from 1 and increase.
type libsvmReader struct {
	t   *table
	src *source
}

func readLIBSVM(t *table, src *source, z sizes) error {
	t.allocate(z, 1)
	r := &libsvmReader{t: t, src: src}
	var absent *absentRow
	if t.e.schema.Dense {
		absent = t.newAbsentRow()
	}
	for {
		line, err := src.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.addLine(line, absent); err != nil {
			return err
		}
	}
}

func (r *libsvmReader) addLine(line []byte, absent *absentRow) error {
	t := r.t
	if k := bytes.IndexByte(line, '#'); k >= 0 {
		line = line[:k]
	}
	first, rest := cutToken(line)
	if len(first) == 0 {
		return nil
	}
	hasLabel := bytes.IndexByte(first, ':') < 0
	switch {
	case t.seen == t.first && (hasLabel || t.o.Labels == LabelsRequired):
		t.hasLabels = true
	case t.seen > t.first && t.o.Labels != LabelsRequired && hasLabel != t.hasLabels:
		return t.errorf(r.src.line, t.e.label.Name, 0, ruleMixedLabels)
	}
	var label encodedLabel
	if !t.hasLabels {
		rest = line
	} else {
		var err error
		if label, err = r.label(first); err != nil {
			return err
		}
		if label.drop {
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
		err = r.addSparse(rest)
	}
	if err != nil {
		return err
	}
	if t.scan != nil && t.readsLabels() {
		t.scan.row.Label = string(first)
	}
	return t.endRow(r.src.line, label.y)
}

func (r *libsvmReader) label(token []byte) (l encodedLabel, err error) {
	t, name, row := r.t, r.t.e.label.Name, r.src.line
	if bytes.IndexByte(token, ':') >= 0 {
		return l, t.errorf(row, name, 0, ruleNoLabel)
	}
	if t.o.Labels == LabelsIgnored {
		return l, nil
	}
	if _, rule := parseNumber(token); rule != "" {
		if bytes.IndexByte(token, ',') >= 0 {
			rule = ruleNoPair
		} else {
			rule = ruleLabelNumber
		}
		return l, t.errorf(row, name, 0, rule)
	}
	return t.readLabel(token, row, 0)
}

var qidPrefix = []byte("qid:")

// group takes the query id off a line.
func (r *libsvmReader) group(rest []byte) ([]byte, error) {
	token, more := cutToken(rest)
	id, has := bytes.CutPrefix(token, qidPrefix)
	switch {
	case has && r.t.e.group == nil:
		return nil, r.t.errorf(r.src.line, "", 0, ruleQID)
	case has:
		return more, r.t.addGroup(id, r.src.line, 0)
	case r.t.e.group != nil:
		return nil, r.t.errorf(r.src.line, r.t.e.group.Name, 0, ruleNoGroup)
	}
	return rest, nil
}

// pairs calls add for each pair of a line, index from 0, and checks the order.
func (r *libsvmReader) pairs(rest []byte, add func(k int, v float64) error) error {
	t := r.t
	prev := 0
	for {
		token, more := cutToken(rest)
		if len(token) == 0 {
			return nil
		}
		rest = more
		k, v, rule := libsvmPair(token)
		switch {
		case rule != "" && k > 0 && k <= t.e.dim:
			return t.errorf(r.src.line, t.e.featureName(k-1), k, rule)
		case rule != "":
			return t.errorf(r.src.line, "", 0, rule)
		case k > t.e.dim:
			return t.errorf(r.src.line, "", k, "index is above features; raise features in the schema, or correct the row")
		case k <= prev:
			return t.errorf(r.src.line, t.e.featureName(k-1), k, ruleIndexOrder)
		}
		prev = k
		if err := add(k-1, v); err != nil {
			return err
		}
	}
}

// libsvmPair reads INDEX:VALUE. With a rule, index is 0 unless it could be read.
func libsvmPair(token []byte) (index int, v float64, rule string) {
	colon := bytes.IndexByte(token, ':')
	if colon < 0 {
		return 0, 0, ruleNoPair
	}
	if bytes.HasPrefix(token, qidPrefix) {
		return 0, 0, ruleQIDFirst
	}
	index, err := strconv.Atoi(string(token[:colon]))
	if err != nil || index < 1 {
		return 0, 0, ruleIndex
	}
	v, rule = parseNumber(token[colon+1:])
	return index, v, rule
}

func (r *libsvmReader) addSparse(rest []byte) error {
	stored := 0
	err := r.pairs(rest, func(k int, v float64) error {
		added, err := r.t.addPair(r.src.line, k, v, stored)
		stored += added
		return err
	})
	if err != nil {
		return err
	}
	r.t.endPairs(stored)
	return nil
}

// addPair encodes value v of feature k of a sparse row that has stored others so far, and
// says how many it added: 0 for a value of 0.
func (t *table) addPair(row, k int, v float64, stored int) (added int, err error) {
	if t.scan != nil {
		t.scan.addPair(k, v)
	}
	f, _ := t.e.feature(k)
	u := f.scale(v)
	if u == 0 {
		return 0, nil
	}
	if bound := t.e.NonZerosPerRow(); stored == bound {
		return 0, t.errorf(row, "", 0, tooManyNonZeros(bound))
	}
	t.index.add(int32(k))
	t.value.add(u)
	return 1, nil
}

// endPairs ends the pairs of a sparse row.
func (t *table) endPairs(stored int) {
	t.start.add(t.start.last[len(t.start.last)-1] + int64(stored))
}

// absentRow is a dense row whose indices are all left out.
type absentRow struct {
	x        []float64
	required []int // columns where 0 is a missing value, which their policy refuses
}

func (t *table) newAbsentRow() *absentRow {
	a := &absentRow{x: make([]float64, t.e.dim)}
	for k := range a.x {
		f, _ := t.e.feature(k)
		if rule := f.encodeNumber(0, a.x[k:k+1]); rule != "" {
			a.x[k] = math.NaN()
			a.required = append(a.required, k)
		}
	}
	return a
}

func (r *libsvmReader) addDense(rest []byte, absent *absentRow) error {
	t := r.t
	x := t.dense.grow(t.e.dim)
	copy(x, absent.x)
	err := r.pairs(rest, func(k int, v float64) error {
		if t.scan != nil {
			t.scan.addPair(k, v)
		}
		f, _ := t.e.feature(k)
		if rule := f.encodeNumber(v, x[k:k+1]); rule != "" {
			return t.errorf(r.src.line, t.e.featureName(k), k+1, rule)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range absent.required {
		if math.IsNaN(x[k]) {
			return t.errorf(r.src.line, t.e.featureName(k), k+1, ruleMissing)
		}
	}
	return nil
}

// cutToken returns the first run of bytes that are not blanks, and what follows.
func cutToken(b []byte) (token, rest []byte) {
	start := skipBlanks(b, 0)
	end := start
	for end < len(b) && !isBlank(b[end], 0) {
		end++
	}
	return b[start:end], b[end:]
}
