package schema

import (
	"bytes"
	"cmp"

	"dyad/engine/dataset/parse"
)

// Roles of a column.
const (
	RoleFeature = "feature" // the default
	RoleLabel   = "label"   // exactly one column
	RoleID      = "id"      // kept with Options.KeepIDs, never a feature; at most one column
	RoleGroup   = "group"   // public query of the row, for ranking; at most one column
	// person to whom the row belongs; all rows of a person are protected together; at most one column
	RolePerson = "person"
	RoleIgnore = "ignore" // read and dropped
)

// OthersDrop leaves out rows whose label is neither of the two classes.
const OthersDrop = "drop"

// Kinds of a feature. A label of KindNumeric is graded.
const (
	KindNumeric     = "numeric"     // needs Range; the default for columns without Categories
	KindCategorical = "categorical" // needs Categories; the default for columns with Categories
)

// TransformLog1p replaces x by log(1 + x) before scaling. The range must begin at 0 or above. The transform
// suits counts, areas and concentrations.
const TransformLog1p = "log1p"

// Policies for missing values.
const (
	MissingError = "error" // a missing value is a ParseError; this is the default
	// MissingMiddle encodes a missing number as the centre of the (transformed) range, which is 0 after
	// scaling. It encodes a missing category as 0 in all outputs of the column.
	MissingMiddle   = "middle"
	MissingValue    = "value"    // the public number Missing.Value; numeric columns only
	MissingCategory = "category" // an additional category; categorical columns only
)

// UnknownOther encodes a category that the schema does not list by 0 in every output of the column.
const UnknownOther = "other"

// Column describes one column.
type Column struct {
	// Name is the unique name of the column. If the file has column names and Field is empty, Name is also the
	// name in the file.
	Name string `json:"name"`
	// Field is the name in the file (header, attribute, key). If it is empty, the name in the file is Name.
	Field string `json:"field,omitempty"`
	// Position is the number of the field (CSV without a header) or of the feature, from 1. If all positions of
	// a CSV schema are 0, the columns are in the order of the list.
	Position int `json:"position,omitempty"`
	// Role is RoleFeature (default), RoleLabel, RoleID, RoleGroup, RolePerson or RoleIgnore.
	Role string `json:"role,omitempty"`
	// Kind is KindNumeric or KindCategorical for a feature. The comments of these constants describe the
	// defaults. A label with KindNumeric is graded. All other labels have two classes.
	Kind string `json:"kind,omitempty"`
	// Range is the public range [lo, hi] of a numeric feature or label. Both ends are finite, and lo < hi. A
	// feature outside the range is clamped. A label outside the range is an error.
	Range []float64 `json:"range,omitempty"`
	// Transform is the transform of a numeric feature: empty or TransformLog1p.
	Transform string `json:"transform,omitempty"`
	// Basis overrides Schema.Basis for this numeric feature.
	Basis string `json:"basis,omitempty"`
	// Categories lists the public values of a categorical feature. There are at least two, including the
	// category added by MissingCategory. Values match as text, or as plain decimal numbers ("2" and "2.0").
	Categories []string `json:"categories,omitempty"`
	// Unknown is UnknownOther or empty. If it is empty, a category that is not listed is an error.
	Unknown string `json:"unknown,omitempty"`
	// Suffix is a text that is removed from the end of a number together with blanks before it, e.g. "%" or "mg/l".
	Suffix string `json:"suffix,omitempty"`
	// Prefix is a text that is removed from the beginning of a number together with blanks after it, e.g. "€".
	Prefix string `json:"prefix,omitempty"`
	// Decimal and Thousands override the fields of CSVOptions for this numeric feature, in every format with
	// named columns. In a JSON or Parquet file they apply to texts.
	Decimal   string `json:"decimal,omitempty"`
	Thousands string `json:"thousands,omitempty"`
	// Date declares the column as dates, which are encoded in days. It replaces Range.
	Date *DateFormat `json:"date,omitempty"`
	// FromData marks the range or the categories of this column as taken from the data. Schema.BoundsFromData
	// marks all columns.
	FromData bool `json:"from_data,omitempty"`
	// KnownFrom names the source of the range or the categories of a feature, such as "code book of 2019". This
	// source is not the data. With KnownFrom, values that a draft also found in the data are not marked as taken
	// from the data.
	KnownFrom string `json:"known_from,omitempty"`
	// Missing overrides Schema.Missing for this feature.
	Missing *Missing `json:"missing,omitempty"`
	// Positive is the value of the label that is encoded as +1.
	Positive string `json:"positive,omitempty"`
	// Negative is the value of the label that is encoded as -1. If Negative is empty, every value other than
	// Positive is negative. If it is set, every other value is an error.
	Negative string `json:"negative,omitempty"`
	// TrimSuffix is a text that is removed from the end of the label before the label is compared, e.g. "." if
	// one of two files ends its labels with a dot.
	TrimSuffix string `json:"trim_suffix,omitempty"`
	// Fold compares labels of two classes without regard to case and surrounding blanks, so that "Ja" and "ja "
	// are one class.
	Fold bool `json:"fold,omitempty"`
	// Others is OthersDrop or empty. With OthersDrop, rows whose label is neither Positive nor Negative are
	// left out, so the data set consists of the rows of two classes.
	Others string `json:"others,omitempty"`
}

// Missing declares which values mean "not known" and how they are encoded. An empty field is always missing.
type Missing struct {
	// Values lists further texts that mean missing. They are matched like categories: "0" also matches 0.0.
	Values []string `json:"values,omitempty"`
	// Policy is MissingError (default), MissingMiddle, MissingValue or
	// MissingCategory.
	Policy string `json:"policy,omitempty"`
	// Value is the number used by MissingValue. It is clamped to the range.
	Value *float64 `json:"value,omitempty"`
}

// FieldOf returns the name of the column in the file.
func (c *Column) FieldOf() string { return cmp.Or(c.Field, c.Name) }

// RoleOf returns the role, by default RoleFeature.
func (c *Column) RoleOf() string { return cmp.Or(c.Role, RoleFeature) }

func (c *Column) kind() string {
	switch {
	case c.Kind != "":
		return c.Kind
	case c.Categories != nil:
		return KindCategorical
	}
	return KindNumeric
}

// writesNumbers reports whether the column declares the notation of its numbers.
func (c *Column) writesNumbers() bool {
	return c.Suffix != "" || c.Prefix != "" || c.Decimal != "" || c.Thousands != ""
}

// Bounds returns the range of a numeric column. The range of a column of dates is in days since Date.From.
func (c *Column) Bounds() (lo, hi float64) {
	if c.Date != nil {
		from, to, _ := c.Date.bounds()
		return 0, float64(to - from)
	}
	return c.Range[0], c.Range[1]
}

// PolicyOf returns the policy, by default MissingError.
func (m *Missing) PolicyOf() string {
	if m == nil || m.Policy == "" {
		return MissingError
	}
	return m.Policy
}

// DateFormat describes the dates of a column. A date is encoded as the number of days since From.
type DateFormat struct {
	// Format is one of YYYY-MM-DD, YYYY/MM/DD, DD.MM.YYYY, DD/MM/YYYY, DD-MM-YYYY and MM/DD/YYYY. Dates may
	// lack leading zeros. A time of day after the date is ignored.
	Format string `json:"format"`
	// From and To are the public range, as YYYY-MM-DD. Dates outside the range are clamped.
	From string `json:"from"`
	To   string `json:"to"`
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

// class returns the text with which a value of the label is compared.
func (c *Column) class(value string) string {
	if c.Fold {
		return string(Fold(value))
	}
	return value
}

// Fold maps texts that differ only in case and in surrounding blanks to the same text.
func Fold[T string | []byte](text T) []byte {
	return bytes.ToLower(bytes.TrimSpace([]byte(text)))
}
