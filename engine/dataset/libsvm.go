package dataset

import (
	"bytes"
	"io"
	"math"
	"strconv"
)

// readLIBSVM reads lines "LABEL INDEX:VALUE ... # comment" with indices that
// count from 1 and increase.
func readLIBSVM(t *table, z sizes) error {
	t.allocate(z, 1)
	var absent *absentRow
	for {
		line, err := t.src.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if k := bytes.IndexByte(line, '#'); k >= 0 {
			line = line[:k]
		}
		first, rest := cutToken(line)
		if len(first) == 0 {
			continue
		}
		hasLabel := bytes.IndexByte(first, ':') < 0
		switch {
		case t.rows == 0 && (hasLabel || t.o.Labels == LabelsRequired):
			t.hasLabels = true
		case t.rows > 0 && t.o.Labels != LabelsRequired && hasLabel != t.hasLabels:
			return t.errorf(t.src.line, t.e.label.Name, 0, ruleMixedLabels)
		}
		var y float64
		if t.hasLabels {
			if y, err = t.libsvmLabel(first); err != nil {
				return err
			}
		} else {
			rest = line
		}
		if t.e.schema.Dense {
			if absent == nil {
				absent = t.newAbsentRow()
			}
			err = t.addDense(rest, absent)
		} else {
			err = t.addSparse(rest)
		}
		if err != nil {
			return err
		}
		if err := t.endRow(y); err != nil {
			return err
		}
	}
}

func (t *table) libsvmLabel(token []byte) (y float64, err error) {
	name, row := t.e.label.Name, t.src.line
	if bytes.IndexByte(token, ':') >= 0 {
		return 0, t.errorf(row, name, 0, ruleNoLabel)
	}
	if t.o.Labels == LabelsIgnored {
		return 0, nil
	}
	if _, rule := parseNumber(token); rule != "" {
		if bytes.IndexByte(token, ',') >= 0 {
			rule = ruleNoPair
		} else {
			rule = ruleLabelNumber
		}
		return 0, t.errorf(row, name, 0, rule)
	}
	y, rule := t.e.encodeLabel(token)
	if rule != "" {
		return 0, t.errorf(row, name, 0, rule)
	}
	return y, nil
}

// pairs calls add for each pair of a line, index from 0, and checks the order.
func (t *table) pairs(rest []byte, add func(k int, v float64) error) error {
	prev := 0
	for {
		token, more := cutToken(rest)
		if len(token) == 0 {
			return nil
		}
		rest = more
		k, v, rule := t.pair(token)
		switch {
		case rule != "" && k > 0 && k <= t.e.dim:
			return t.errorf(t.src.line, t.e.featureName(k-1), k, rule)
		case rule != "":
			return t.errorf(t.src.line, "", 0, rule)
		case k > t.e.dim:
			return t.errorf(t.src.line, "", k, "index is above features; raise features in the schema, or correct the row")
		case k <= prev:
			return t.errorf(t.src.line, t.e.featureName(k-1), k, ruleIndexOrder)
		}
		prev = k
		if err := add(k-1, v); err != nil {
			return err
		}
	}
}

// pair reads INDEX:VALUE. With a rule, index is 0 unless it could be read.
func (t *table) pair(token []byte) (index int, v float64, rule string) {
	colon := bytes.IndexByte(token, ':')
	if colon < 0 {
		return 0, 0, ruleNoPair
	}
	if string(token[:colon]) == "qid" {
		return 0, 0, ruleQID
	}
	index, err := strconv.Atoi(string(token[:colon]))
	if err != nil || index < 1 {
		return 0, 0, ruleIndex
	}
	v, rule = parseNumber(token[colon+1:])
	return index, v, rule
}

func (t *table) addSparse(rest []byte) error {
	stored, bound := 0, t.e.NonZerosPerRow()
	err := t.pairs(rest, func(k int, v float64) error {
		f, _ := t.e.feature(k)
		u := f.scale(v)
		if u == 0 {
			return nil
		}
		if stored++; stored > bound {
			return t.errorf(t.src.line, "", 0, tooManyNonZeros(bound))
		}
		t.index.add(int32(k))
		t.value.add(u)
		return nil
	})
	if err != nil {
		return err
	}
	t.start.add(t.start.last[len(t.start.last)-1] + int64(stored))
	return nil
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

func (t *table) addDense(rest []byte, absent *absentRow) error {
	x := t.dense.grow(t.e.dim)
	copy(x, absent.x)
	err := t.pairs(rest, func(k int, v float64) error {
		f, _ := t.e.feature(k)
		if rule := f.encodeNumber(v, x[k:k+1]); rule != "" {
			return t.errorf(t.src.line, t.e.featureName(k), k+1, rule)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range absent.required {
		if math.IsNaN(x[k]) {
			return t.errorf(t.src.line, t.e.featureName(k), k+1, ruleMissing)
		}
	}
	return nil
}

// cutToken returns the first run of bytes that are no blanks, and what follows.
func cutToken(b []byte) (token, rest []byte) {
	start := skipBlanks(b, 0)
	end := start
	for end < len(b) && !isBlank(b[end], 0) {
		end++
	}
	return b[start:end], b[end:]
}
