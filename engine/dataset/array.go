package dataset

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// element is the type of the numbers of an array.
type element struct {
	kind byte // 'f' float, 'i' signed, 'u' unsigned, 'b' bool
	size int  // bytes
	big  bool // big endian
}

// decode reads len(dst) numbers. Whole numbers beyond 2^53 are rounded.
func (e element) decode(dst []float64, src []byte) {
	var order binary.ByteOrder = binary.LittleEndian
	if e.big {
		order = binary.BigEndian
	}
	switch {
	case e.size == 1 && e.kind == 'i':
		for i := range dst {
			dst[i] = float64(int8(src[i]))
		}
	case e.size == 1 && e.kind == 'b':
		for i := range dst {
			dst[i] = 0
			if src[i] != 0 {
				dst[i] = 1
			}
		}
	case e.size == 1:
		for i := range dst {
			dst[i] = float64(src[i])
		}
	case e.size == 2:
		for i := range dst {
			v := order.Uint16(src[2*i:])
			dst[i] = float64(v)
			if e.kind == 'i' {
				dst[i] = float64(int16(v))
			}
		}
	case e.size == 4:
		for i := range dst {
			switch v := order.Uint32(src[4*i:]); e.kind {
			case 'f':
				dst[i] = float64(math.Float32frombits(v))
			case 'i':
				dst[i] = float64(int32(v))
			default:
				dst[i] = float64(v)
			}
		}
	default:
		for i := range dst {
			switch v := order.Uint64(src[8*i:]); e.kind {
			case 'f':
				dst[i] = math.Float64frombits(v)
			case 'i':
				dst[i] = float64(int64(v))
			default:
				dst[i] = float64(v)
			}
		}
	}
}

// array is an array of numbers in a file, read in blocks of rows.
type array struct {
	name    string // of the file, and of the array in an archive
	element element
	shape   []int
	fortran bool  // column by column
	size    int64 // bytes that the file has from the first element on

	r      io.Reader   // at the first element
	at     io.ReaderAt // for fortran; nil: held is read from r
	offset int64       // of the first element in at
	held   []byte

	n, d int // rows, numbers in a row
	row  int // rows read
	buf  []byte
	col  []float64
	out  []float64
}

// errorf is a ParseError at the array.
func (a *array) errorf(row int, rule string) error {
	return &ParseError{File: a.name, Row: row, Rule: rule}
}

// check sets n and d and compares the shape with the size of the file.
func (a *array) check() error {
	a.n, a.d = a.shape[0], 1
	total := int64(1)
	for _, s := range a.shape {
		if s < 0 || total > math.MaxInt64/16/int64(max(s, 1)) {
			return a.errorf(0, ruleArrayShort)
		}
		total *= int64(s)
	}
	for _, s := range a.shape[1:] {
		a.d *= s
	}
	switch want := total * int64(a.element.size); {
	case want > a.size:
		return a.errorf(0, ruleArrayShort)
	case want < a.size:
		return a.errorf(0, ruleArrayLong)
	}
	return nil
}

// blockValues bounds the numbers of a block of rows.
const blockValues = 1 << 16

// next returns the next block of whole rows, row-major, valid until the next
// call, or io.EOF.
func (a *array) next() ([]float64, error) {
	if a.row == a.n || a.d == 0 {
		return nil, io.EOF
	}
	k := min(max(blockValues/a.d, 1), a.n-a.row)
	a.out = slices.Grow(a.out[:0], k*a.d)[:k*a.d]
	var err error
	if a.fortran && a.d > 1 {
		err = a.columns(k)
	} else {
		err = a.rows(k)
	}
	a.row += k
	return a.out, err
}

func (a *array) rows(k int) error {
	a.buf = slices.Grow(a.buf[:0], k*a.d*a.element.size)[:k*a.d*a.element.size]
	if _, err := io.ReadFull(a.r, a.buf); err != nil {
		return a.errorf(a.row+1, ruleArrayShort)
	}
	a.element.decode(a.out, a.buf)
	return nil
}

// columns gathers k rows of an array that is stored column by column.
func (a *array) columns(k int) error {
	if a.at == nil && a.held == nil {
		a.held = make([]byte, a.size)
		if _, err := io.ReadFull(a.r, a.held); err != nil {
			return a.errorf(a.row+1, ruleArrayShort)
		}
	}
	size := a.element.size
	a.buf = slices.Grow(a.buf[:0], k*size)[:k*size]
	a.col = slices.Grow(a.col[:0], k)[:k]
	for j := range a.d {
		from := (int64(j)*int64(a.n) + int64(a.row)) * int64(size)
		if a.held != nil {
			copy(a.buf, a.held[from:])
		} else if _, err := a.at.ReadAt(a.buf, a.offset+from); err != nil && err != io.EOF {
			return a.errorf(a.row+1, ruleArrayShort)
		}
		a.element.decode(a.col, a.buf)
		for i, v := range a.col {
			a.out[i*a.d+j] = v
		}
	}
	return nil
}

// vector reads an array of one number a row.
func (a *array) vector() ([]float64, error) {
	if len(a.shape) > 2 || len(a.shape) == 2 && a.shape[1] != 1 {
		return nil, a.errorf(0, ruleVector)
	}
	out := make([]float64, 0, a.n)
	for {
		block, err := a.next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, block...)
	}
}
