package schema

import (
	"cmp"

	"dyad/engine/dataset/parse"
)

// UnknownOther encodes a category that the schema does not list by 0 in every output of the column.
const UnknownOther = "other"

// DateFormat describes the dates of a column. A date is encoded as the number of days since From.
type DateFormat struct {
	// Format is one of YYYY-MM-DD, YYYY/MM/DD, DD.MM.YYYY, DD/MM/YYYY, DD-MM-YYYY and MM/DD/YYYY. Dates may
	// lack leading zeros. A time of day after the date is ignored.
	Format string `yaml:"format" json:"format"`
	// From and To are the public range, as YYYY-MM-DD. Dates outside the range are clamped.
	From string `yaml:"from" json:"from"`
	To   string `yaml:"to" json:"to"`
}

// bounds returns the first and the last day. ok is false unless both are dates and the first is not after the last.
func (d *DateFormat) bounds() (from, to int, ok bool) {
	from, a := parse.Date("2006-1-2", []byte(d.From))
	to, b := parse.Date("2006-1-2", []byte(d.To))
	return from, to, a && b && from < to
}

// Valid reports whether From and To are valid dates in order.
func (d *DateFormat) Valid() bool {
	_, _, ok := d.bounds()
	return ok
}

// NotationOf returns the notation of a numeric column, or nil for plain numbers.
func (s *Schema) NotationOf(c *Column) *parse.Notation {
	n := parse.Notation{Decimal: cmp.Or(c.Decimal, s.CSV.Decimal, ".")[0], Thousands: c.Thousands,
		Prefix: []byte(c.Prefix), Suffix: []byte(c.Suffix)}
	if c.Thousands == "" && (c.Decimal == "" || c.Decimal == s.CSV.Decimal) {
		n.Thousands = s.CSV.Thousands
	}
	if c.Date != nil {
		n.Layout = parse.DateLayout(c.Date.Format)
		n.From, _, _ = c.Date.bounds()
	}
	if n.Decimal == '.' && n.Thousands == "" && len(n.Suffix)+len(n.Prefix) == 0 && n.Layout == "" {
		return nil
	}
	return &n
}

// Writes reports whether a field has to be read in the column's notation. Fields that the schema declares
// missing are recognised by their text first, because 9.999 may stand for 9999.
func (f *Feature) Writes(field []byte) bool {
	if f.Notation == nil || len(field) == 0 {
		return false
	}
	_, missing := f.Missing.Text[string(field)]
	return !missing
}
