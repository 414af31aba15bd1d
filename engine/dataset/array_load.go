package dataset

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// readArrayFiles reads features from in, and labels from the file next to it.
func readArrayFiles(t *table, format string, in *input, u *unpacked) error {
	x, err := openArray(format, in, u)
	if err != nil {
		return err
	}
	y, err := t.labelArray(format)
	if err != nil {
		return err
	}
	return t.addArrays(x, marks{y: y})
}

// openArray reads the header of an array file.
func openArray(format string, in *input, u *unpacked) (*array, error) {
	switch {
	case in.at == nil:
		held, err := in.hold(u)
		if err != nil {
			return nil, err
		}
		return openArrayAt(format, held, held.r)
	case u.compressed:
		size, err := unpackedSize(in)
		if err != nil {
			return nil, err
		}
		return openArrayAt(format, &input{name: in.name, size: size}, u)
	}
	return openArrayAt(format, in, u)
}

func openArrayAt(format string, in *input, r io.Reader) (*array, error) {
	var a *array
	var err error
	if format == FormatNPY {
		a, err = readNPYHeader(in.name, r, in.size)
	} else {
		a, err = readIDXHeader(in.name, r, in.size)
	}
	if err != nil {
		return nil, err
	}
	a.at = in.at
	return a, nil
}

// unpackedSize reads a compressed file once, to know how long it is.
func unpackedSize(in *input) (int64, error) {
	u, err := unpack(in.name, io.NewSectionReader(in.at, 0, in.size))
	if err != nil {
		return 0, err
	}
	defer u.close()
	n, err := io.Copy(io.Discard, u)
	if err != nil {
		return 0, u.readError(in.name, 0, err)
	}
	return n, nil
}

// labelsPath is the file of the labels that belongs to the data file.
func (t *table) labelsPath(format string) string {
	switch dir, base := filepath.Split(t.name); {
	case t.o.LabelsFile != "":
		return t.o.LabelsFile
	case t.e.schema.LabelsFile != "":
		return filepath.Join(dir, t.e.schema.LabelsFile)
	case format == FormatIDX:
		return dir + strings.NewReplacer("images", "labels", "idx3", "idx1").Replace(base)
	case strings.HasPrefix(base, "X"):
		return dir + "y" + base[1:]
	default:
		return t.name
	}
}

// labelArray reads the labels; nil without labels where they are not required.
func (t *table) labelArray(format string) (labels []float64, err error) {
	if t.o.Labels == LabelsIgnored {
		return nil, nil
	}
	path := t.labelsPath(format)
	in, err := openInput(path, "labels")
	if path == t.name || errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			in.file.Close()
		}
		if t.o.Labels == LabelsRequired || t.o.LabelsFile != "" {
			return nil, &ParseError{File: path, Column: t.e.label.Name, Rule: ruleNoLabels}
		}
		return nil, nil
	}
	t.labels = append(t.labels, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = in.close(err) }()
	u, err := unpack(path, in.r)
	if err != nil {
		return nil, err
	}
	defer u.close()
	a, err := openArray(format, in, u)
	if err != nil {
		return nil, err
	}
	return a.vector()
}

// marks are the arrays besides the features, each nil if it is not there.
type marks struct{ y, group, person []float64 }

// fit says that every array has n numbers.
func (m marks) fit(n int) bool {
	for _, a := range [][]float64{m.y, m.group, m.person} {
		if a != nil && len(a) != n {
			return false
		}
	}
	return true
}

// readNPZ reads the arrays of an archive.
func readNPZ(t *table, in *input) error {
	z, err := zip.NewReader(in.at, in.size)
	if err != nil {
		return t.errorf(0, "", 0, ruleBadZip)
	}
	names := t.e.schema.arrays()
	var m marks
	if t.o.Labels != LabelsIgnored {
		if m.y, err = t.memberVector(in, z, names.Y, t.o.Labels == LabelsRequired, t.e.label.Name); err != nil {
			return err
		}
	}
	if t.e.group != nil {
		if m.group, err = t.memberIDs(in, z, names.Group, t.e.group.Name); err != nil {
			return err
		}
	}
	if t.people != nil {
		if m.person, err = t.memberIDs(in, z, names.Person, t.e.person.Name); err != nil {
			return err
		}
	}
	if t.e.schema.Sparse {
		return t.readCSR(in, z, m)
	}
	x, closer, err := t.member(in, z, names.X, true, "")
	if err != nil {
		return err
	}
	defer closer()
	return t.addArrays(x, m)
}

// npzSizes are the sizes of an archive, from the header of one array.
func (t *table) npzSizes(in *input) (sizes, error) {
	z, err := zip.NewReader(in.at, in.size)
	if err != nil {
		return sizes{}, t.errorf(0, "", 0, ruleBadZip)
	}
	name, extra := t.e.schema.arrays().X, 0
	if t.e.schema.Sparse {
		name, extra = "indptr", 1 // it has the end of the last row, too
	}
	a, closer, err := t.member(in, z, name, true, "")
	if err != nil {
		return sizes{}, err
	}
	closer()
	return sizes{rows: a.n - extra, bytes: a.size}, nil
}

// maxDeflate is the most that deflate expands: a match of 258 bytes in 2 bits.
const maxDeflate = 1032

// member opens one array of an archive, nil if it is absent and not required.
func (t *table) member(in *input, z *zip.Reader, name string, required bool, column string) (a *array, closer func(), err error) {
	var f *zip.File
	for _, m := range z.File {
		if m.Name == name+".npy" || m.Name == name {
			f = m
		}
	}
	if f == nil {
		if required {
			return nil, nil, t.errorf(0, column, 0, ruleNPZArray)
		}
		return nil, func() {}, nil
	}
	r, err := f.Open()
	if err != nil || f.UncompressedSize64 > math.MaxInt64/2 || f.UncompressedSize64 > maxDeflate*(f.CompressedSize64+1) {
		return nil, nil, t.errorf(0, column, 0, ruleBadZip)
	}
	a, err = readNPYHeader(in.name+": "+name, r, int64(f.UncompressedSize64))
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	if start, err := f.DataOffset(); err == nil && f.Method == zip.Store {
		a.at, a.offset = in.at, a.offset+start
	}
	return a, func() { r.Close() }, nil
}

func (t *table) memberVector(in *input, z *zip.Reader, name string, required bool, column string) ([]float64, error) {
	a, closer, err := t.member(in, z, name, required, column)
	if err != nil || a == nil {
		return nil, err
	}
	defer closer()
	return a.vector()
}

// memberIDs reads the numbers that stand for persons or groups. From 2^53 on, where float64 has not every integer, none is an id.
func (t *table) memberIDs(in *input, z *zip.Reader, name, column string) ([]float64, error) {
	ids, err := t.memberVector(in, z, name, true, column)
	for i, v := range ids {
		if math.Abs(v) >= 1<<53 {
			return nil, t.errorf(i+1, column, 0, ruleArrayID)
		}
	}
	return ids, err
}

// addArrays adds all rows.
func (t *table) addArrays(x *array, m marks) error {
	if len(x.shape) < 2 || t.e.schema.Format == FormatNPY && len(x.shape) != 2 {
		return x.errorf(0, ruleMatrix)
	}
	if x.d != t.e.dim {
		return x.errorf(0, fmt.Sprintf("rows have %d numbers, want the %d features of the schema; correct features, or the array", x.d, t.e.dim))
	}
	if !m.fit(x.n) {
		return x.errorf(0, ruleArrayRows)
	}
	t.hasLabels = m.y != nil
	t.allocate(sizes{rows: x.n, bytes: x.size}, x.d*x.element.size)
	row := 0
	for {
		block, err := x.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for ; len(block) > 0; block = block[x.d:] {
			err := t.addArrayRow(row, m, func() error { return t.addNumbers(row+1, block[:x.d]) })
			if err != nil {
				return err
			}
			row++
		}
	}
}

// appendNumber writes a label, group or person; NaN is empty, which means missing. -0 is 0, or a person would be two.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return b
	case v == 0:
		return append(b, '0')
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// addArrayRow adds the row with index i, whose features add encodes.
func (t *table) addArrayRow(i int, m marks, add func() error) error {
	var label []byte
	if m.y != nil {
		t.mark = appendNumber(t.mark[:0], m.y[i])
		label = t.mark
	}
	l, err := t.readLabel(label, i+1, 0)
	if err != nil {
		return err
	}
	if l.drop {
		return t.count(1)
	}
	if t.scan != nil {
		t.scan.row.Label = string(label)
	}
	if t.e.group != nil {
		t.mark = appendNumber(t.mark[:0], m.group[i])
		if err := t.addGroup(t.mark, i+1, 0); err != nil {
			return err
		}
	}
	if t.people != nil {
		t.mark = appendNumber(t.mark[:0], m.person[i])
		if err := t.addIdentity(RolePerson, t.mark, i+1, 0); err != nil {
			return err
		}
	}
	if err := add(); err != nil {
		return err
	}
	return t.endRow(i+1, l.y)
}

// addNumbers encodes the features of row number, from 1.
func (t *table) addNumbers(number int, values []float64) error {
	if t.scan != nil {
		t.scan.row.Value = values
	}
	x := t.dense.grow(t.e.dim)
	for k, v := range values {
		f, _ := t.e.feature(k)
		var rule string
		switch {
		case math.IsNaN(v):
			rule = f.encodeMissing(x[k : k+1])
		case math.IsInf(v, 0):
			rule = ruleNotFinite
		default:
			rule = f.encodeNumber(v, x[k:k+1])
		}
		if rule != "" {
			return t.errorf(number, t.e.featureName(k), k+1, rule)
		}
	}
	return nil
}
