package dataset

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// csvPlan is a fast reader for simple lines: lines without quotes, whose numbers have few digits and whose
// numeric columns have no missing values and no notation. A chunk with any other line is read row by row. So a
// plan changes the running time and never the result.
type csvPlan struct {
	delim  byte
	fields []quickField
}

// quickField describes one field of a line. The values that Feature.Scale needs are stored next to each other.
type quickField struct {
	role   string
	at     int             // index of the first output
	column *schema.Feature // the column if the field is a feature
	number bool            // a numeric feature without a basis and without a notation

	exact bool // the inverse of half is exact
	// (lo, hi): no clamping needed, empty if there is a transform; the others define the linear map
	lo, hi, center, half, inverse, factor float64
}

// plan returns the fast reader for lines of layout l. It returns nil if every line has to be read row by row.
func (t *table) plan(l *layout) *csvPlan {
	delim, _ := t.e.Schema().CSV.Separator()
	if t.e.Notations || t.e.Schema().SelectsByLabel() || t.e.Schema().IsSparse() {
		return nil
	}
	p := &csvPlan{delim: delim, fields: make([]quickField, len(l.fields))}
	for i, f := range l.fields {
		p.fields[i].role = f.role
		if f.role == schema.RoleLabel && !t.readsLabels() {
			p.fields[i].role = schema.RoleIgnore
		}
		if f.role != schema.RoleFeature {
			continue
		}
		c := t.e.Listed(f.feature)
		q := quickField{role: f.role, at: c.Offset, column: c, lo: c.Lo, hi: c.Hi, center: c.Center, half: c.Half,
			factor: c.Factor}
		q.number = c.Numeric && c.Cosines == 0 && c.Missing.Numeric && len(c.Missing.Numbers) == 0
		q.inverse, q.exact = c.Inverse()
		if c.Transform != "" {
			q.lo, q.hi = math.Inf(1), math.Inf(-1)
		}
		p.fields[i] = q
	}
	return p
}

// addLine adds a line to the table and the chunk. It returns false if the plan does not cover the line or the
// line breaks a rule. The caller then reads the rows of the chunk one by one.
func (p *csvPlan) addLine(t *table, c *csvChunk, line []byte, number int) bool {
	ends := len(c.ends)
	y, ok := p.encode(t.e, c, line, t.dense.grow(t.e.Dim()))
	if !ok {
		return false
	}
	if len(c.ends) > ends {
		c.numbers = append(c.numbers, number)
	}
	t.label.add(y)
	if y > 0 {
		t.positives++
	}
	t.rows++
	t.seen++
	return true
}

// encode writes the features of a line to x, appends ids, groups and persons to the chunk, and returns the
// label. x must be zero on entry.
func (p *csvPlan) encode(e *schema.Encoder, c *csvChunk, line []byte, x []float64) (y float64, ok bool) {
	wide := line[:cap(line)] // bytes that an 8-byte load may read
	at := 0
	for i := range p.fields {
		f := &p.fields[i]
		if at > len(line) {
			return 0, false // a field is missing
		}
		if f.number {
			if v, n := quickNumber(wide[at:]); n > 0 {
				at += n
				if at == len(line) && i == len(p.fields)-1 || at < len(line) && line[at] == p.delim {
					at++
					if v > f.lo && v < f.hi { // same formula as Feature.Scale
						u := v - f.center
						if f.exact {
							u *= f.inverse
						} else {
							u /= f.half
						}
						if u > -1 && u < 1 {
							x[f.at] = u * f.factor
							continue
						}
					}
					x[f.at] = f.column.Scale(v)
					continue
				}
				at -= n
			}
		}
		end := bytes.IndexByte(line[at:], p.delim) + at
		if end < at {
			end = len(line)
		}
		text := parse.TrimBlanks(line[at:end], p.delim)
		at = end + 1
		switch f.role {
		case schema.RoleFeature:
			if f.column.Encode(text, x[f.at:f.at+f.column.Width]) != "" {
				return 0, false
			}
		case schema.RoleLabel:
			label, rule := c.labels.Encode(e, text)
			if rule != "" {
				return 0, false
			}
			y = label.Y
		case schema.RoleID, schema.RoleGroup, schema.RolePerson:
			c.texts = append(c.texts, text...)
			c.ends = append(c.ends, len(c.texts))
		}
	}
	return y, at == len(line)+1
}

// quickNumber parses the number at the beginning of b. The number has at most 8 bytes, not counting a sign.
// length is the number of bytes used. It is 0 if b does not begin with a number, has less than 9 bytes, or the
// number is longer. quickNumber is parse.ShortNumber without a loop and without a branch on the digits. It
// takes the bytes as one 64-bit word, moves the digits together at the upper end, and adds them up in three
// multiplications. The number is m / 10^e with m < 10^8 and e <= 7, so one division rounds it correctly.
func quickNumber(b []byte) (v float64, length int) {
	const (
		zeros = 0x3030303030303030
		tops  = 0x8080808080808080
	)
	if len(b) < 9 {
		return 0, 0
	}
	sign := (uint64(b[0]^'-') - 1) >> 63 // 1 for a minus sign
	word := binary.LittleEndian.Uint64(b[sign:])
	digits := word ^ zeros // 0 to 9 in the bytes of digits
	// the top bit of each byte that is not a digit; no carry leaves a byte
	others := ((digits&^tops + 0x7676767676767676) | digits) & tops
	whole := bits.TrailingZeros64(others) &^ 7 // number of bits of the leading digits
	end, fraction := whole, 0
	if word>>whole&0xff == '.' {
		end = bits.TrailingZeros64(others&(others-1)) &^ 7
		fraction = end - whole - 8
		below := uint64(1)<<whole - 1
		digits = digits&below | digits>>8&^below
	}
	if end == 64 || word>>end&0xdf == 'E' {
		return 0, 0
	}
	count := end
	if end > whole {
		count -= 8
	}
	if count == 0 {
		return 0, 0
	}
	digits <<= 64 - count
	digits = digits * (1 + 10<<8) >> 8 & 0x00ff00ff00ff00ff // pairs
	digits = digits * (1 + 100<<16) >> 16 & 0x0000ffff0000ffff
	digits = digits * (1 + 10000<<32) >> 32
	v = float64(int64(digits)) / parse.PowersOfTen[fraction>>3&7]
	return math.Float64frombits(math.Float64bits(v) | sign<<63), end>>3 + int(sign)
}

// csvChunk holds whole rows of a file, which one worker encodes.
type csvChunk struct {
	text []byte
	line int   // number of lines before the chunk
	end  error // nil if another chunk follows, otherwise io.EOF or a read error
	done chan struct{}

	// The fields below are the result of a worker. If a row breaks a rule, broken is set. The rows are then
	// read again in order, which finds the first error.
	part    *table
	broken  bool
	numbers []int // numbers of the rows, if the rows have ids, groups or persons
	texts   []byte
	ends    []int // ends, in texts, of the id, group and person fields of each row
	labels  schema.LabelMemo
}
