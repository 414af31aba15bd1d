package schema

import (
	"cmp"

	"dyad/engine/dataset/parse"
)

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
