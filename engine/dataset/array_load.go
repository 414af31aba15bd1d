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
	return t.addArrays(x, y, nil)
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

// readNPZ reads the arrays of an archive.
func readNPZ(t *table, in *input) error {
	z, x, closer, err := t.openNPZ(in)
	if err != nil {
		return err
	}
	defer closer()
	names := t.e.schema.arrays()
	var y, group []float64
	if t.o.Labels != LabelsIgnored {
		if y, err = t.memberVector(in, z, names.Y, t.o.Labels == LabelsRequired, t.e.label.Name); err != nil {
			return err
		}
	}
	if t.e.group != nil {
		if group, err = t.memberVector(in, z, names.Group, true, t.e.group.Name); err != nil {
			return err
		}
	}
	return t.addArrays(x, y, group)
}

// openNPZ opens an archive and its features.
func (t *table) openNPZ(in *input) (z *zip.Reader, x *array, closer func(), err error) {
	if z, err = zip.NewReader(in.at, in.size); err != nil {
		return nil, nil, nil, t.errorf(0, "", 0, ruleBadZip)
	}
	x, closer, err = t.member(in, z, t.e.schema.arrays().X, true, "")
	return z, x, closer, err
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

// addArrays adds all rows. y and group are nil without.
func (t *table) addArrays(x *array, y, group []float64) error {
	if len(x.shape) < 2 || t.e.schema.Format == FormatNPY && len(x.shape) != 2 {
		return x.errorf(0, ruleMatrix)
	}
	if x.d != t.e.dim {
		return x.errorf(0, fmt.Sprintf("rows have %d numbers, want the %d features of the schema; correct features, or the array", x.d, t.e.dim))
	}
	if y != nil && len(y) != x.n || group != nil && len(group) != x.n {
		return x.errorf(0, ruleArrayRows)
	}
	t.hasLabels = y != nil
	t.allocate(sizes{rows: x.n, bytes: x.size}, x.d*x.element.size)
	row := 0
	var text []byte
	for {
		block, err := x.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for ; len(block) > 0; block = block[x.d:] {
			var label, id []byte
			if y != nil {
				text = appendNumber(text[:0], y[row])
				label = text
			}
			if group != nil {
				text = appendNumber(text[:len(label)], group[row])
				id = text[len(label):]
			}
			row++
			if err := t.addArrayRow(row, block[:x.d], label, id); err != nil {
				return err
			}
		}
	}
}

// appendNumber writes a label or group; NaN is empty, which means missing.
func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) {
		return b
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// addArrayRow encodes row number, from 1.
func (t *table) addArrayRow(number int, values []float64, label, group []byte) error {
	l, err := t.readLabel(label, number, 0)
	if err != nil {
		return err
	}
	if l.drop {
		return t.count(1)
	}
	if t.e.group != nil {
		if err := t.addGroup(group, number, 0); err != nil {
			return err
		}
	}
	if t.scan != nil {
		t.scan.row.Label, t.scan.row.Value = string(label), values
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
	return t.endRow(number, l.y)
}
