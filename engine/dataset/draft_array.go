package dataset

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"strings"
)

// draftArrays drafts a schema for a matrix and its labels.
func draftArrays(text []byte, path, format string) ([]byte, error) {
	in, u, closer, err := openPath(path)
	if err != nil {
		return nil, err
	}
	defer closer()
	probe := &Encoder{schema: &Schema{Format: format}, label: &Column{Name: "label"}}
	t := newTable(path, probe, Options{}, nil)
	arrays := ""
	var x *array
	var y []float64
	if format == FormatNPZ {
		x, y, arrays, err = draftNPZ(t, in)
	} else if x, err = openArray(format, in, u); err == nil {
		y, err = t.labelArray(format)
	}
	if err != nil {
		return nil, err
	}
	if len(x.shape) < 2 || x.d < 1 {
		return nil, x.errorf(0, ruleMatrix)
	}
	lo, hi, comment, err := arrayRange(x)
	if err != nil {
		return nil, err
	}
	labels := newColumnStats()
	for _, v := range y {
		labels.add(appendNumber(nil, v))
	}
	switch {
	case len(labels.texts) != 2:
		return nil, &ParseError{File: path, Rule: "want exactly two different labels; write the schema by hand"}
	case !(lo < hi) || math.IsInf(hi-lo, 0):
		return nil, &ParseError{File: path, Rule: "every feature is the same, or a value is too large to scale; write the schema by hand"}
	}
	positive, negative := labels.guessClasses()
	return fmt.Appendf(text, `format: %s
%sfeatures: %d
range: [%s, %s] # %s
columns:
  - {name: label, role: label, positive: %s, negative: %s} # check which class should score high
`, format, arrays, x.d, formatNumber(lo), formatNumber(hi), comment, quoteYAML(positive), quoteYAML(negative)), nil
}

// draftNPZ takes the first matrix and the first vector of an archive.
func draftNPZ(t *table, in *input) (x *array, y []float64, keys string, err error) {
	if in.at == nil {
		return nil, nil, "", t.errorf(0, "", 0, "an archive cannot be drafted from a pipe; store it first")
	}
	z, err := zip.NewReader(in.at, in.size)
	if err != nil {
		return nil, nil, "", t.errorf(0, "", 0, ruleBadZip)
	}
	var xName, yName string
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		a, closer, err := t.member(in, z, name, true, "")
		if err != nil {
			continue // not an array of numbers
		}
		axes := len(a.shape)
		closer()
		switch {
		case xName == "" && axes == 2 && a.d > 1:
			xName = name
		case yName == "" && (axes == 1 || axes == 2 && a.d == 1):
			yName = name
		}
	}
	if xName == "" || yName == "" {
		return nil, nil, "", t.errorf(0, "", 0, "the archive has no matrix and vector of numbers; write the schema by hand")
	}
	if y, err = t.memberVector(in, z, yName, true, "label"); err != nil {
		return nil, nil, "", err
	}
	// The member stays open for the caller, which reads it to its end.
	x, _, err = t.member(in, z, xName, true, "")
	return x, y, fmt.Sprintf("arrays: {x: %s, y: %s}\n", quoteYAML(xName), quoteYAML(yName)), err
}

// arrayRange is the range of the element type for bytes, otherwise that of the
// values.
func arrayRange(x *array) (lo, hi float64, comment string, err error) {
	switch {
	case x.element.kind == 'b':
		return 0, 1, "of the type bool", nil
	case x.element.kind == 'u' && x.element.size == 1:
		return 0, 255, "of the type: bytes", nil
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for {
		block, err := x.next()
		if err == io.EOF {
			return lo, hi, "FROM THE DATA", nil
		}
		if err != nil {
			return 0, 0, "", err
		}
		for _, v := range block {
			if v < lo {
				lo = v
			}
			if v > hi {
				hi = v
			}
		}
	}
}
