package dataset

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

func draftLIBSVM(text []byte, path string) ([]byte, error) {
	// Reading by the widest schema checks the syntax and finds d.
	probe := &Schema{
		DataID: "draft", Features: maxColumns, Range: []float64{-math.MaxFloat64 / 4, math.MaxFloat64 / 4},
		Columns: []Column{{Name: "label", Role: RoleLabel, Positive: "1"}},
	}
	e, err := NewEncoder(probe)
	if err != nil {
		return nil, err
	}
	src, closer, err := openLines(path)
	if err != nil {
		return nil, err
	}
	defer closer()
	r := &libsvmReader{t: newTable(path, e, Options{}, nil), src: src}
	r.t.hasLabels = true
	groups := false
	features, nonzeros := 0, 0
	var lo, hi float64 // 0 is among the values: it is what a row leaves out
	labels := newColumnStats()
	for {
		line, err := src.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if k := bytes.IndexByte(line, '#'); k >= 0 {
			line = line[:k]
		}
		first, rest := cutToken(line)
		if len(first) == 0 {
			continue
		}
		if _, err := r.label(first); err != nil {
			return nil, err
		}
		labels.add(first)
		row := 0
		if token, more := cutToken(rest); bytes.HasPrefix(token, qidPrefix) {
			groups, rest = true, more
		}
		err = r.pairs(rest, func(k int, v float64) error {
			features = max(features, k+1)
			lo, hi = min(lo, v), max(hi, v)
			if v != 0 {
				row++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		nonzeros = max(nonzeros, row)
	}
	switch {
	case len(labels.texts) != 2:
		return nil, &ParseError{File: path, Rule: "want exactly two different labels; write the schema by hand"}
	case !(lo < hi) || math.IsInf(hi-lo, 0):
		return nil, &ParseError{File: path, Rule: "every feature is 0, or a value is too large to scale; write the schema by hand"}
	}
	group := ""
	if groups {
		group = "  - {name: query, role: group} # the qid of a row\n"
	}
	positive, negative := labels.guessClasses()
	return fmt.Appendf(text, `format: libsvm
features: %d # FROM THE DATA: the largest index
nonzeros: %d # FROM THE DATA: the most features that are not 0 in a row
range: [%s, %s] # FROM THE DATA
columns:
  - {name: label, role: label, positive: %s, negative: %s} # check which class should score high
%s`, features, nonzeros, formatNumber(lo), formatNumber(hi), quoteYAML(positive), quoteYAML(negative), group), nil
}
