package parquet

import (
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"dyad/engine/dataset/parse"
)

// valueBatch is how many values that are not numbers are read at a time.
const valueBatch = 1024

// Column reads one column of one row group in batches. Numbers come from the
// slices of a page, the others as texts.
type Column struct {
	kind    valueType
	numeric bool // the column is a numeric feature
	Numbers bool // values are filled and not texts
	pages   parquet.Pages
	page    parquet.Page // nil before the first and after the last
	left    int          // values of the page that are not read yet

	decoded    []float64          // numbers that are left of the page, NaN for null
	buffer     []float64          // of decoded, unless the page has float64
	index      []int32            // of the numbers that are left in dictionary, if they are not decoded
	dictionary []float64          // numbers of the dictionary of the row group
	from       parquet.Dictionary // that dictionary was taken from

	reader parquet.ValueReader // values of the page that are not numbers, nor whole numbers without null
	batch  []parquet.Value
	whole  []int64 // whole numbers that are left of the page and are read as texts
	known  [4]knownText

	columnBatch             // that is shown
	ahead       columnBatch // that is filled
}

// columnBatch is n rows of either values, NaN for null, or texts, nil for null.
type columnBatch struct {
	n      int
	Values []float64
	Texts  [][]byte
	arena  []byte
	spans  []span // of the texts in arena
}

type span struct{ from, to int }

// knownText is where the text of a whole number is in the arena; nowhere if it is empty.
type knownText struct {
	value int64
	span
}

// start begins with the pages of another row group, nil for none.
func (c *Column) start(pages parquet.Pages) {
	c.release()
	if c.pages != nil {
		_ = c.pages.Close() // reading is over
	}
	c.pages, c.from, c.dictionary = pages, nil, nil
}

func (c *Column) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.left, c.decoded, c.index, c.whole, c.reader = nil, 0, nil, nil, nil, nil
}

// Fill reads the next batch to ahead; its n stays below rows if the file is damaged.
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
	for i, s := range b.spans[:b.n] { // the arena no longer moves
		b.Texts[i] = nil
		if s.to > s.from {
			b.Texts[i] = parse.TrimBlanks(b.arena[s.from:s.to:s.to], 0)
		}
	}
}

// read counts the rows that it reads in n. The Parquet library panics at some damaged
// files, which then end early.
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

// textOf is appendText of a whole number, which equal ones that are not far apart share.
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

// nextPage is false at the end of the row group or of what is readable of it.
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

// wholeNumbers returns the whole numbers of a page without nulls, nil if it has others.
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

// widenWhole are the whole numbers of a page, nil if they are not of the type of the column.
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

// decode makes the numbers of the page. It is false if the page is not what its header says.
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

// room makes decoded n numbers of any value.
func (c *Column) room(n int) {
	if cap(c.buffer) < n {
		c.buffer = make([]float64, n)
	}
	c.decoded = c.buffer[:n]
}

// spread moves the numbers at the front of decoded to their rows, from the last one on.
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

// widen appends the numbers of a page to dst. It is false if they are not of the type of
// the column.
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
