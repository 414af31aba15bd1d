package dataset

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"dyad/engine/dataset/array"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// readArrayFiles reads features from in and labels from the separate labels file.
func readArrayFiles(t *table, format string, in *source.Input, u *source.Unpacked) error {
	x, err := array.Open(format, in, u)
	if err != nil {
		return err
	}
	y, err := t.labelArray(format)
	if err != nil {
		return err
	}
	return t.addArrays(x, marks{y: y})
}

// labelsPath returns the path of the labels file that belongs to the data file.
func (t *table) labelsPath(format string) string {
	switch dir, base := filepath.Split(t.name); {
	case t.o.LabelsFile != "":
		return t.o.LabelsFile
	case t.e.Schema().LabelsFile != "":
		return filepath.Join(dir, t.e.Schema().LabelsFile)
	case format == schema.FormatIDX:
		return dir + strings.NewReplacer("images", "labels", "idx3", "idx1").Replace(base)
	case strings.HasPrefix(base, "X"):
		return dir + "y" + base[1:]
	default:
		return t.name
	}
}

// labelArray reads the labels. It returns nil if there are no labels and labels are not required.
func (t *table) labelArray(format string) (labels []float64, err error) {
	if t.o.Labels == LabelsIgnored {
		return nil, nil
	}
	path := t.labelsPath(format)
	in, err := source.OpenInput(path, "labels")
	if path == t.name || errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			in.File.Close()
		}
		if t.o.Labels == LabelsRequired || t.o.LabelsFile != "" {
			return nil, &source.ParseError{File: path, Column: t.e.LabelColumn.Name, Rule: ruleNoLabels}
		}
		return nil, nil
	}
	t.labels = append(t.labels, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = in.Close(err) }()
	u, err := source.Unpack(path, in.R)
	if err != nil {
		return nil, err
	}
	defer u.Close()
	a, err := array.Open(format, in, u)
	if err != nil {
		return nil, err
	}
	return a.Vector()
}

// marks holds the arrays besides the features. An array that is absent is nil.
type marks struct {
	y, group, person []float64
	label            []byte // labels as bytes, used instead of y
}

// fit reports whether every array that is present has n numbers.
func (m marks) fit(n int) bool {
	for _, a := range [][]float64{m.y, m.group, m.person} {
		if a != nil && len(a) != n {
			return false
		}
	}
	return true
}

func (t *table) memberVector(in *source.Input, z *zip.Reader, name string, required bool,
	column string) ([]float64, error) {
	a, closer, err := array.OpenMember(in, z, name, required, column)
	if err != nil || a == nil {
		return nil, err
	}
	defer closer()
	return a.Vector()
}

// memberIDs reads the array of numbers that identify persons or groups. It refuses numbers from 2^53 on, because
// float64 cannot represent every integer in that range.
func (t *table) memberIDs(in *source.Input, z *zip.Reader, name string, required bool,
	column string) ([]float64, error) {
	ids, err := t.memberVector(in, z, name, required, column)
	for i, v := range ids {
		if math.Abs(v) >= 1<<53 {
			return nil, t.errorf(i+1, column, 0, ruleArrayID)
		}
	}
	return ids, err
}

// addArrays adds all rows of the array.
func (t *table) addArrays(x *array.Array, m marks) error {
	if len(x.Shape) < 2 || t.e.Schema().Format == schema.FormatNPY && len(x.Shape) != 2 {
		return x.Refuse(0, array.RuleMatrix)
	}
	if x.Width != t.e.Dim() {
		return x.Refuse(0, fmt.Sprintf("rows have %d numbers, but the schema has %d features; correct the schema "+
			"or the array", x.Width, t.e.Dim()))
	}
	if !m.fit(x.Rows) {
		return x.Refuse(0, ruleArrayRows)
	}
	t.hasLabels = m.y != nil
	t.allocate(source.Sizes{Rows: x.Rows, Bytes: x.Size}, x.Width*x.Element.Size)
	row := 0
	return source.Each(x.Next, func(block []float64) error {
		for ; len(block) > 0; block = block[x.Width:] {
			err := t.addArrayRow(row, m, func() error { return t.addNumbers(row+1, block[:x.Width]) })
			if err != nil {
				return err
			}
			row++
		}
		return nil
	})
}

// appendNumber appends the text of a label, group or person to b. NaN becomes the empty text, which means missing. -0
// is written as 0; otherwise one person would count as two.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return b
	case v == 0:
		return append(b, '0')
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// addArrayRow adds the row with index i. The function add encodes its features.
func (t *table) addArrayRow(i int, m marks, add func() error) error {
	label := m.label
	if m.y != nil {
		t.mark = appendNumber(t.mark[:0], m.y[i])
		label = t.mark
	}
	l, err := t.readLabel(label, i+1, 0)
	if err != nil {
		return err
	}
	if l.Drop {
		return t.count(1)
	}
	if t.scan != nil {
		t.scan.row.Label = string(label)
	}
	if t.e.GroupColumn != nil {
		t.mark = appendNumber(t.mark[:0], m.group[i])
		if err := t.addGroup(t.mark, i+1, 0); err != nil {
			return err
		}
	}
	if t.people != nil && m.person != nil {
		t.mark = appendNumber(t.mark[:0], m.person[i])
		if err := t.addIdentity(schema.RolePerson, t.mark, i+1, 0); err != nil {
			return err
		}
	}
	if err := add(); err != nil {
		return err
	}
	return t.endRow(i+1, l.Y)
}

// addNumbers encodes the features of the row with the given number. Rows are numbered from 1.
func (t *table) addNumbers(number int, values []float64) error {
	if t.scan != nil {
		t.scan.row.Value = values
	}
	x := t.dense.grow(t.e.Dim())
	for k, v := range values {
		f, _ := t.e.Feature(k)
		var rule string
		switch {
		case math.IsNaN(v):
			rule = f.EncodeMissing(x[k : k+1])
		case math.IsInf(v, 0):
			rule = parse.RuleNotFinite
		default:
			rule = f.EncodeNumber(v, x[k:k+1])
		}
		if rule != "" {
			return t.errorf(number, t.e.FeatureName(k), k+1, rule)
		}
	}
	return nil
}
