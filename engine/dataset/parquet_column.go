package dataset

import (
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// parquetBatch is how many values that are not numbers are read at a time.
const parquetBatch = 1024

// parquetColumn reads one column of one row group in batches. Numbers come from the
// slices of a page, the others as texts.
type parquetColumn struct {
	kind    parquetType
	numeric bool // the column is a numeric feature
	numbers bool // values are filled and not texts
	pages   parquet.Pages
	page    parquet.Page // nil before the first and after the last
	left    int          // values of the page that are not read yet

	decoded    []float64          // numbers that are left of the page, NaN for null
	buffer     []float64          // of decoded, unless the page has float64
	dictionary []float64          // numbers of the dictionary of the row group
	from       parquet.Dictionary // that dictionary was taken from

	reader parquet.ValueReader // values of the page that are not numbers
	batch  []parquet.Value

	// The batch: n rows of either values, NaN for null, or texts, nil for null.
	n      int
	values []float64
	texts  [][]byte
	arena  []byte
	ends   []int // of the texts in arena
}

// start begins with the pages of another row group, nil for none.
func (c *parquetColumn) start(pages parquet.Pages) {
	c.release()
	if c.pages != nil {
		_ = c.pages.Close() // reading is over
	}
	c.pages, c.from, c.dictionary = pages, nil, nil
}

func (c *parquetColumn) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.left, c.decoded, c.reader = nil, 0, nil, nil
}

// fill reads the next batch; n stays below rows if the file is damaged.
func (c *parquetColumn) fill(rows int) {
	c.n, c.arena, c.ends = 0, c.arena[:0], c.ends[:0]
	if c.numbers && cap(c.values) < rows {
		c.values = make([]float64, rows)
	}
	c.read(rows)
	if c.numbers {
		return
	}
	if cap(c.texts) < c.n {
		c.texts = make([][]byte, rows)
	}
	begin := 0
	for i, end := range c.ends[:c.n] { // the arena no longer moves
		c.texts[i] = nil
		if end > begin {
			c.texts[i] = trimBlanks(c.arena[begin:end:end], 0)
		}
		begin = end
	}
}

// read counts the rows that it reads in n. The Parquet library panics at some damaged
// files, which then end early.
func (c *parquetColumn) read(rows int) {
	defer func() { _ = recover() }()
	for c.n < rows {
		if c.left == 0 {
			if !c.nextPage() {
				return
			}
			continue
		}
		k := min(c.left, rows-c.n)
		if c.numbers {
			copy(c.values[c.n:rows], c.decoded[:k])
			c.decoded = c.decoded[k:]
		} else {
			if c.batch == nil {
				c.batch = make([]parquet.Value, parquetBatch)
			}
			if k, _ = c.reader.ReadValues(c.batch[:min(k, parquetBatch)]); k == 0 {
				return
			}
			for _, v := range c.batch[:k] {
				if !v.IsNull() {
					c.arena = c.appendText(c.arena, v)
				}
				c.ends = append(c.ends, len(c.arena))
			}
		}
		c.n += k
		c.left -= k
	}
}

// nextPage is false at the end of the row group or of what is readable of it.
func (c *parquetColumn) nextPage() bool {
	c.release()
	page, err := c.pages.ReadPage()
	if err != nil {
		return false
	}
	c.page, c.left = page, int(page.NumValues())
	if !c.numbers {
		c.reader = page.Values()
		return true
	}
	return c.decode()
}

// decode makes the numbers of the page. It is false if the page is not what its header says.
func (c *parquetColumn) decode() bool {
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
		c.room(c.left)
		index := data.Int32()
		for i, k := range index[:c.left-nulls] {
			c.decoded[i] = c.dictionary[k]
		}
	} else {
		if c.kind == parquetDouble && nulls == 0 && data.Kind() == encoding.Double {
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
func (c *parquetColumn) room(n int) {
	if cap(c.buffer) < n {
		c.buffer = make([]float64, n)
	}
	c.decoded = c.buffer[:n]
}

// spread moves the numbers at the front of decoded to their rows, from the last one on.
func (c *parquetColumn) spread(nulls int) bool {
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
func (c *parquetColumn) widen(dst []float64, data encoding.Values) ([]float64, bool) {
	switch kind := data.Kind(); {
	case kind == encoding.Double && c.kind == parquetDouble:
		return append(dst, data.Double()...), true
	case kind == encoding.Float && c.kind == parquetFloat:
		return appendNumbers(dst, data.Float()), true
	case kind == encoding.Int32 && c.kind == parquetInt32:
		return appendNumbers(dst, data.Int32()), true
	case kind == encoding.Int32 && c.kind == parquetUint32:
		return appendNumbers(dst, data.Uint32()), true
	case kind == encoding.Int64 && c.kind == parquetInt64:
		return appendNumbers(dst, data.Int64()), true
	case kind == encoding.Int64 && c.kind == parquetUint64:
		return appendNumbers(dst, data.Uint64()), true
	}
	return dst, false
}

func appendNumbers[T float32 | int32 | uint32 | int64 | uint64](dst []float64, values []T) []float64 {
	for _, v := range values {
		dst = append(dst, float64(v))
	}
	return dst
}
