package parquet

import (
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"dyad/engine/dataset/parse"
)

// valueBatch is the number of non-numeric values read at a time.
const valueBatch = 1024

// Column reads one column of one row group in batches. Numbers are taken from the slices of a page. All
// other values are converted to texts.
type Column struct {
	kind    valueType
	numeric bool // the column is a numeric feature
	Numbers bool // batches have values instead of texts
	pages   parquet.Pages
	page    parquet.Page // nil before the first page and after the last page
	left    int          // number of values of the page that are not read yet

	decoded    []float64          // remaining numbers of the page, NaN for null
	buffer     []float64          // memory of decoded, unless the page has float64
	index      []int32            // indices of the remaining numbers in dictionary, if they are not decoded
	dictionary []float64          // numbers in the dictionary of the row group
	from       parquet.Dictionary // source of the field dictionary

	reader parquet.ValueReader // values of the page other than numbers and whole numbers without null
	batch  []parquet.Value
	whole  []int64 // remaining whole numbers of the page, which are read as texts
	known  [4]knownText

	columnBatch             // the batch that is shown
	ahead       columnBatch // the batch that is filled
}

// columnBatch holds n rows, either as values, with NaN for null, or as texts, with nil for null.
type columnBatch struct {
	n      int
	Values []float64
	Texts  [][]byte
	arena  []byte
	spans  []span // positions of the texts in arena
}

type span struct{ from, to int }

// knownText is the position of a whole number's text in the arena. An empty position means that the arena does
// not have the text.
type knownText struct {
	value int64
	span
}

// start continues with the pages of another row group; nil if there are none.
func (c *Column) start(pages parquet.Pages) {
	c.release()
	if c.pages != nil {
		_ = c.pages.Close() // reading has ended
	}
	c.pages, c.from, c.dictionary = pages, nil, nil
}

func (c *Column) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.left, c.decoded, c.index, c.whole, c.reader = nil, 0, nil, nil, nil, nil
}

// Fill reads the next batch of rows. Reader.Finish then makes this batch the current batch. If the file is
// damaged, the batch has fewer rows than requested.
func (c *Column) Fill(rows int) {
	b := &c.ahead
	b.n, b.arena, b.spans, c.known = 0, b.arena[:0], b.spans[:0], [4]knownText{}
	if c.Numbers && cap(b.Values) < rows {
		b.Values = make([]float64, rows)
	}
	c.read(b, rows)
	if c.Numbers {
		return
	}
	if cap(b.Texts) < b.n {
		b.Texts = make([][]byte, rows)
	}
	b.Texts = b.Texts[:cap(b.Texts)]
	for i, s := range b.spans[:b.n] { // the arena is no longer reallocated
		b.Texts[i] = nil
		if s.to > s.from {
			b.Texts[i] = parse.TrimBlanks(b.arena[s.from:s.to:s.to], 0)
		}
	}
}

// read adds rows to a batch and counts them in n. The Parquet library panics for some damaged files; the column
// then ends early.
func (c *Column) read(b *columnBatch, rows int) {
	defer func() { _ = recover() }()
	for b.n < rows {
		if c.left == 0 {
			if !c.nextPage() {
				return
			}
			continue
		}
		k := min(c.left, rows-b.n)
		switch {
		case c.index != nil:
			dictionary, values := c.dictionary, b.Values[b.n:rows]
			for i, at := range c.index[:k] {
				values[i] = dictionary[at]
			}
			c.index = c.index[k:]
		case c.Numbers:
			copy(b.Values[b.n:rows], c.decoded[:k])
			c.decoded = c.decoded[k:]
		case c.whole != nil:
			for _, v := range c.whole[:k] {
				b.spans = append(b.spans, c.textOf(b, v))
			}
			c.whole = c.whole[k:]
		default:
			if c.batch == nil {
				c.batch = make([]parquet.Value, valueBatch)
			}
			if k, _ = c.reader.ReadValues(c.batch[:min(k, valueBatch)]); k == 0 {
				return
			}
			for _, v := range c.batch[:k] {
				from := len(b.arena)
				if !v.IsNull() {
					b.arena = c.appendText(b.arena, v)
				}
				b.spans = append(b.spans, span{from, len(b.arena)})
			}
		}
		b.n += k
		c.left -= k
	}
}

// textOf returns the text of a whole number as appendText writes it. Equal numbers that are close together
// share one text.
func (c *Column) textOf(b *columnBatch, v int64) span {
	known := &c.known[v&3]
	if known.value != v || known.to == 0 {
		from := len(b.arena)
		if c.kind == uint64s {
			b.arena = strconv.AppendUint(b.arena, uint64(v), 10)
		} else {
			b.arena = strconv.AppendInt(b.arena, v, 10)
		}
		*known = knownText{v, span{from, len(b.arena)}}
	}
	return known.span
}

// nextPage moves to the next page. It returns false at the end of the row group or of its readable part.
func (c *Column) nextPage() bool {
	c.release()
	page, err := c.pages.ReadPage()
	if err != nil {
		return false
	}
	c.page, c.left = page, int(page.NumValues())
	if c.Numbers {
		return c.decode()
	}
	if page.NumNulls() == 0 && c.left > 0 {
		c.whole = c.wholeNumbers()
	}
	if c.whole == nil {
		c.reader = page.Values()
	}
	return true
}

// wholeNumbers returns the whole numbers of a page without nulls. It returns nil for other pages.
func (c *Column) wholeNumbers() []int64 {
	data := c.page.Data()
	if d := c.page.Dictionary(); d != nil {
		values := c.widenWhole(d.Page().Data())
		if values == nil || data.Kind() != encoding.Int32 {
			return nil
		}
		index := data.Int32()[:c.left]
		all := make([]int64, len(index))
		for i, k := range index {
			all[i] = values[k]
		}
		return all
	}
	if all := c.widenWhole(data); len(all) == c.left {
		return all
	}
	return nil
}

// widenWhole returns the whole numbers of a page as int64. It returns nil if they are not of the type of the column.
func (c *Column) widenWhole(data encoding.Values) []int64 {
	switch kind := data.Kind(); {
	case kind == encoding.Int64 && (c.kind == int64s || c.kind == uint64s):
		return data.Int64()
	case kind == encoding.Int32 && c.kind == int32s:
		return appendNumbers([]int64(nil), data.Int32())
	case kind == encoding.Int32 && c.kind == uint32s:
		return appendNumbers([]int64(nil), data.Uint32())
	}
	return nil
}

// decode decodes the numbers of the page. It returns false if the page does not match its header.
func (c *Column) decode() bool {
	nulls := int(c.page.NumNulls())
	if nulls == c.left {
		c.room(c.left)
		for i := range c.decoded {
			c.decoded[i] = math.NaN()
		}
		return true
	}
	data := c.page.Data()
	if d := c.page.Dictionary(); d != nil {
		if c.from != d {
			values, ok := c.widen(nil, d.Page().Data())
			if !ok {
				return false
			}
			c.from, c.dictionary = d, values
		}
		if data.Kind() != encoding.Int32 {
			return false
		}
		index := data.Int32()
		if nulls == 0 {
			c.index = index[:c.left]
			return true
		}
		c.room(c.left)
		for i, k := range index[:c.left-nulls] {
			c.decoded[i] = c.dictionary[k]
		}
	} else {
		if c.kind == doubles && nulls == 0 && data.Kind() == encoding.Double {
			c.decoded = data.Double()
			return len(c.decoded) == c.left
		}
		c.room(c.left)
		values, ok := c.widen(c.decoded[:0], data)
		if !ok || len(values) != c.left-nulls {
			return false
		}
	}
	return c.spread(nulls)
}

// room sets the length of decoded to n. The values are undefined.
func (c *Column) room(n int) {
	if cap(c.buffer) < n {
		c.buffer = make([]float64, n)
	}
	c.decoded = c.buffer[:n]
}

// spread moves the numbers at the front of decoded to their rows, beginning with the last number.
func (c *Column) spread(nulls int) bool {
	if nulls == 0 {
		return true
	}
	levels, next := c.page.DefinitionLevels(), c.left-nulls
	if len(levels) != c.left {
		return false
	}
	for i := c.left - 1; i >= 0; i-- {
		if levels[i] == 0 {
			c.decoded[i] = math.NaN()
			continue
		}
		next--
		c.decoded[i] = c.decoded[next]
	}
	return true
}

// widen appends the numbers of a page to dst. It returns false if they are not of the type of the column.
func (c *Column) widen(dst []float64, data encoding.Values) ([]float64, bool) {
	switch kind := data.Kind(); {
	case kind == encoding.Double && c.kind == doubles:
		return append(dst, data.Double()...), true
	case kind == encoding.Float && c.kind == floats:
		return appendNumbers(dst, data.Float()), true
	case kind == encoding.Int32 && c.kind == int32s:
		return appendNumbers(dst, data.Int32()), true
	case kind == encoding.Int32 && c.kind == uint32s:
		return appendNumbers(dst, data.Uint32()), true
	case kind == encoding.Int64 && c.kind == int64s:
		return appendNumbers(dst, data.Int64()), true
	case kind == encoding.Int64 && c.kind == uint64s:
		return appendNumbers(dst, data.Uint64()), true
	}
	return dst, false
}

func appendNumbers[D float64 | int64, T float32 | int32 | uint32 | int64 | uint64](dst []D, values []T) []D {
	dst = slices.Grow(dst, len(values))
	for _, v := range values {
		dst = append(dst, D(v))
	}
	return dst
}

// valueType is the way in which the values of a Parquet column are read.
type valueType int

const (
	refused valueType = iota // dates, decimals, lists, ...
	texts
	bools
	int32s
	uint32s
	int64s
	uint64s
	floats
	doubles
)

// appendText appends the text that a CSV file would have for a value. NaN is written as missing.
func (c *Column) appendText(b []byte, v parquet.Value) []byte {
	switch c.kind {
	case texts:
		return append(b, v.ByteArray()...)
	case bools:
		return strconv.AppendBool(b, v.Boolean())
	case floats:
		bits := 32
		if c.numeric { // a scan has to show the number that a load reads
			bits = 64
		}
		return AppendFloat(b, float64(v.Float()), bits)
	case doubles:
		return AppendFloat(b, v.Double(), 64)
	case uint32s:
		return strconv.AppendUint(b, uint64(v.Uint32()), 10)
	case uint64s:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case int32s:
		return strconv.AppendInt(b, int64(v.Int32()), 10)
	}
	return strconv.AppendInt(b, v.Int64(), 10)
}

// AppendFloat appends a number in a form that lets whole numbers match categories such as "2". NaN becomes the
// empty text. -0 is written as 0, because a person with the ids 0 and -0 would otherwise count as two persons.
func AppendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return b
	case v == 0:
		return append(b, '0')
	case math.Abs(v) >= 1e21 || v != 0 && math.Abs(v) < 1e-6:
		return strconv.AppendFloat(b, v, 'g', -1, bits)
	}
	return strconv.AppendFloat(b, v, 'f', -1, bits)
}
