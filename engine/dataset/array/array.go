// Package array reads arrays of numbers: NPY files, the members of NPZ archives, and IDX files.
package array

import (
	"io"
	"math"
	"slices"
	"strconv"

	"dyad/engine/dataset/source"
	"dyad/internal/pages"
)

// Element is the type of the numbers of an array.
type Element struct {
	Kind byte // 'f' floating point, 'i' signed integer, 'u' unsigned integer, 'b' boolean
	Size int  // size of a number in bytes
	big  bool // big endian
}

// decoders maps the kind and the size of an element to the function that decodes its numbers.
var decoders = map[string]func(dst []float64, src []byte){
	"f4": widen[float32], "f8": widen[float64], "i1": widen[int8], "i2": widen[int16], "i4": widen[int32],
	"i8": widen[int64],
	"b1": widen[uint8], "u1": widen[uint8], "u2": widen[uint16], "u4": widen[uint32], "u8": widen[uint64],
}

// widen decodes little-endian numbers. Integers beyond 2^53 are rounded.
func widen[T pages.Number](dst []float64, src []byte) {
	for i, v := range pages.Slice[T](src) {
		dst[i] = float64(v)
	}
}

// read reads len(dst) numbers from src, which it may change.
func (a *Array) read(dst []float64, src []byte) {
	if a.Element.big {
		for number := range slices.Chunk(src, a.Element.Size) {
			slices.Reverse(number)
		}
	}
	a.decode(dst, src)
	if a.Element.Kind == 'b' {
		for i, v := range dst {
			dst[i] = min(v, 1)
		}
	}
}

// Array is an array of numbers in a file, read in blocks of rows.
type Array struct {
	name    string // name of the file, followed by the array's name if the file is an archive
	Element Element
	Shape   []int
	fortran bool  // the numbers are stored column by column
	Size    int64 // Size is the number of bytes from the first element to the end of the file

	r      io.Reader   // reader positioned at the first element
	at     io.ReaderAt // source of a Fortran-ordered array; if nil, the array is read from r into held
	offset int64       // position of the first element in at
	held   []byte

	Rows, Width int // Rows is the number of rows, Width the number of values in a row
	row         int // number of rows read so far
	decode      func(dst []float64, src []byte)
	buf         []byte
	col         []float64
	out         []float64
}

// Refuse returns a ParseError with the location of the array.
func (a *Array) Refuse(row int, rule string) error {
	return &source.ParseError{File: a.name, Row: row, Rule: rule}
}

// check sets n and d and compares the shape with the size of the file.
func (a *Array) check() error {
	a.Rows, a.Width, a.decode = a.Shape[0], 1, decoders[string(a.Element.Kind)+strconv.Itoa(a.Element.Size)]
	total := int64(1)
	for _, s := range a.Shape {
		if s < 0 || total > math.MaxInt64/16/int64(max(s, 1)) {
			return a.Refuse(0, RuleArrayShort)
		}
		total *= int64(s)
	}
	for _, s := range a.Shape[1:] {
		a.Width *= s
	}
	switch want := total * int64(a.Element.Size); {
	case want > a.Size:
		return a.Refuse(0, RuleArrayShort)
	case want < a.Size:
		return a.Refuse(0, RuleArrayLong)
	}
	return nil
}

// blockValues is the largest number of values in a block of rows.
const blockValues = 1 << 16

// Next returns the next block of whole rows in row-major order, or io.EOF. The block is valid until the next
// call.
func (a *Array) Next() ([]float64, error) {
	if a.row == a.Rows || a.Width == 0 {
		return nil, io.EOF
	}
	k := min(max(blockValues/a.Width, 1), a.Rows-a.row)
	a.out = slices.Grow(a.out[:0], k*a.Width)[:k*a.Width]
	var err error
	if a.fortran && a.Width > 1 {
		err = a.readColumns(k)
	} else {
		err = a.readRows(k)
	}
	a.row += k
	return a.out, err
}

func (a *Array) readRows(k int) error {
	a.buf = slices.Grow(a.buf[:0], k*a.Width*a.Element.Size)[:k*a.Width*a.Element.Size]
	if _, err := io.ReadFull(a.r, a.buf); err != nil {
		return a.Refuse(a.row+1, RuleArrayShort)
	}
	a.read(a.out, a.buf)
	return nil
}

// readColumns gathers k rows of an array that is stored column by column.
func (a *Array) readColumns(k int) error {
	if a.at == nil && a.held == nil {
		a.held = make([]byte, a.Size)
		if _, err := io.ReadFull(a.r, a.held); err != nil {
			return a.Refuse(a.row+1, RuleArrayShort)
		}
	}
	size := a.Element.Size
	a.buf = slices.Grow(a.buf[:0], k*size)[:k*size]
	a.col = slices.Grow(a.col[:0], k)[:k]
	for j := range a.Width {
		from := (int64(j)*int64(a.Rows) + int64(a.row)) * int64(size)
		if a.held != nil {
			copy(a.buf, a.held[from:])
		} else if _, err := a.at.ReadAt(a.buf, a.offset+from); err != nil && err != io.EOF {
			return a.Refuse(a.row+1, RuleArrayShort)
		}
		a.read(a.col, a.buf)
		for i, v := range a.col {
			a.out[i*a.Width+j] = v
		}
	}
	return nil
}

// Vector reads an array that has one number in each row.
func (a *Array) Vector() ([]float64, error) {
	if len(a.Shape) > 2 || len(a.Shape) == 2 && a.Shape[1] != 1 {
		return nil, a.Refuse(0, RuleVector)
	}
	out := make([]float64, 0, a.Rows)
	err := source.Each(a.Next, func(block []float64) error {
		out = append(out, block...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// The rules of an array.
const (
	RuleNPYHeader = "the file does not begin with an NPY header; write the array with numpy.save"
	RuleNPYType   = "the element type is not float32, float64, a whole number of 1 to 8 bytes, or bool; convert " +
		"the array"
	RuleIDXHeader  = "the file does not begin with an IDX header (two zeros, type, number of axes, lengths of axes)"
	RuleVector     = "each row must have exactly one number as its label or its group"
	RuleMatrix     = "the features must be a matrix with one row for each record and one column for each feature"
	RuleArrayShort = "the array has fewer values than its header states, so the file is truncated; fetch or write " +
		"the file again"
	RuleArrayLong = "the file continues after the array that its header describes; write the file again"
	RuleNPZArray  = "the archive has no such array; set `arrays` in the schema"
	RuleBadZip    = "the archive is damaged, or is not an NPZ file; fetch or write it again"
)
