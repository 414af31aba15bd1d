package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyad/engine/dataset/parse"
)

var dataID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// IsDataID reports whether a text is a valid name of data in a ledger: 1 to 128 letters, digits, dots, hyphens or
// underscores.
func IsDataID(id string) bool { return dataID.MatchString(id) }

// maxText is the maximum length of a text in a schema, in bytes.
const maxText = 1 << 14

// texts refuses names, categories and other texts that are too long or contain control characters. Tabs and line ends
// are allowed.
func (v *validator) texts(what string, all ...string) {
	for _, s := range all {
		if len(s) > maxText || !utf8.ValidString(s) ||
			strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }) {
			v.addf("%s: a text has more than %d bytes, or characters that are not text; give the column or the category "+
				"another name in the file", what, maxText)
			return
		}
	}
}

// MaxColumns is the maximum of d and of the number of columns of a schema, so that a mistyped number cannot
// lead to unbounded memory use.
const MaxColumns = 1 << 27

// formats lists all formats in the order of messages.
var formats = [...]string{FormatCSV, FormatARFF, FormatJSONL, FormatParquet, FormatXLSX, FormatLIBSVM, FormatNPY,
	FormatNPZ, FormatIDX, FormatImages}

// Validate returns an error that joins all problems of the schema, or nil.
func (s *Schema) Validate() error {
	v := &validator{s: s}
	v.check()
	return errors.Join(v.problems...)
}

type validator struct {
	s        *Schema
	problems []error
}

func (v *validator) addf(format string, args ...any) {
	v.problems = append(v.problems, fmt.Errorf("dataset: schema: "+format, args...))
}

func (v *validator) check() {
	if v.s.Version != 0 && v.s.Version != schemaVersion {
		v.addf("version %d; this program reads version %d: use the program that the schema was written for",
			v.s.Version, schemaVersion)
	}
	s := v.s
	if !dataID.MatchString(s.DataID) {
		v.addf("data_id must be 1 to 128 letters, digits, dots, hyphens or underscores; it names the data in the " +
			"privacy ledger")
	}
	if s.Draft != "" && !isDraftID(s.Draft) {
		v.addf("only a draft writes the key draft; restore the line, or draft the schema again")
	}
	if s.Format != "" && !slices.Contains(formats[:], s.Format) {
		v.addf("format is %q, want %s", s.Format, strings.Join(formats[:], ", "))
	}
	switch {
	case s.Store != "" && s.Store != StoreFloat64 && s.Store != StoreFloat32:
		v.addf("store is %q, want %s or %s; how a file is read into memory is for --store", s.Store,
			StoreFloat64, StoreFloat32)
	case s.IsNarrow() && s.IsSparse():
		v.addf("store: %s is for dense records; sparse records are float64 (or set dense: true)", StoreFloat32)
	}
	if s.Sheet != "" && s.Format != FormatXLSX {
		v.addf("sheet is for format: xlsx")
	}
	v.missing("missing", s.Missing, "")
	v.basis("", s.Basis)
	v.interactions()
	v.texts("description, labels_file, arrays and comments",
		append([]string{s.Description, s.LabelsFile, s.ArraysOf().X, s.ArraysOf().Y, s.ArraysOf().Group, s.ArraysOf().Person},
			s.CSV.Comment...)...)
	if s.ByIndex() {
		v.byIndex()
	} else {
		v.byName()
	}
	v.roles()
	names := map[string]bool{}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Name == "" {
			v.addf("column %d of the list has no name", i+1)
		} else if names[c.Name] {
			v.addf("column %q is listed twice", c.Name)
		}
		names[c.Name] = true
		v.column(c)
	}
	if len(v.problems) == 0 {
		v.basisDim()
	}
}

func (v *validator) roles() {
	count := map[string]int{}
	for i := range v.s.Columns {
		count[v.s.Columns[i].RoleOf()]++
	}
	switch n := count[RoleLabel]; {
	case n == 0:
		v.addf("no column has role: label; give it to the column that tells the classes apart (only labelled pairs need none)")
	case n > 1:
		v.addf("%d columns have role: label, want 1", n)
	}
	for _, role := range []string{RoleID, RoleGroup, RolePerson} {
		if n := count[role]; n > 1 {
			v.addf("%d columns have role: %s, want at most 1", n, role)
		}
	}
	v.persons(count[RolePerson])
	if count[RoleFeature] == 0 && !v.s.ByIndex() {
		v.addf("no column is a feature")
	}
}

func (v *validator) column(c *Column) {
	where := fmt.Sprintf("column %.80q", c.Name)
	role := c.RoleOf()
	v.texts(where, append([]string{c.Name, c.Field, c.Suffix, c.Positive, c.Negative, c.TrimSuffix, c.KnownFrom},
		c.Categories...)...)
	if !slices.Contains([]string{RoleFeature, RoleLabel, RoleID, RoleGroup, RolePerson, RoleIgnore}, role) {
		v.addf("%s: role is %q, want feature, label, id, group, person or ignore", where, c.Role)
		return
	}
	if role != RoleFeature && (c.Transform != "" || c.Basis != "" || c.Categories != nil || c.Missing != nil ||
		c.writesNumbers() || c.Date != nil || c.Unknown != "" || c.FromData || c.KnownFrom != "") {
		v.addf("%s: transform, basis, categories, unknown, suffix, prefix, decimal, thousands, date, missing, from_data and "+
			"known_from are for features", where)
	}
	if role != RoleFeature && role != RoleLabel && (c.Kind != "" || c.Range != nil) {
		v.addf("%s: kind and range are for features and graded labels", where)
	}
	if role != RoleLabel && (c.Positive != "" || c.Negative != "" || c.Others != "" || c.TrimSuffix != "" || c.Fold) {
		v.addf("%s: positive, negative, others, fold and trim_suffix are for the label", where)
	}
	switch {
	case role == RoleLabel && c.Kind != "":
		v.gradedLabel(where, c)
	case role == RoleLabel:
		v.label(where, c)
	case role == RoleFeature:
		v.feature(where, c)
	}
}

func (v *validator) label(where string, c *Column) {
	if c.Range != nil {
		v.addf("%s: range is for a label of kind: numeric", where)
	}
	if c.Positive == "" {
		v.addf("%s: positive is missing; give the value of the class that should score high (or give kind: numeric and a "+
			"range for graded labels)", where)
	} else if c.Negative != "" && parse.NewSet([]string{c.class(c.Positive)}).Find([]byte(c.class(c.Negative))) >= 0 {
		v.addf("%s: positive and negative are the same value", where)
	}
	if v.s.ByIndex() && v.s.Format != FormatImages &&
		(!parse.IsPlainDecimal(c.Positive) || c.Negative != "" && !parse.IsPlainDecimal(c.Negative)) {
		v.addf("%s: labels of a file with numbered features are numbers", where)
	}
	switch {
	case c.Others != "" && c.Others != OthersDrop:
		v.addf("%s: others is %q, want drop or none", where, c.Others)
	case c.Others != "" && c.Negative == "":
		v.addf("%s: others needs negative; without negative, every other value counts as negative", where)
	}
}

func (v *validator) gradedLabel(where string, c *Column) {
	if c.Kind != KindNumeric {
		v.addf("%s: kind of a label is %q, want numeric or none", where, c.Kind)
	}
	if c.Positive != "" || c.Negative != "" || c.Others != "" || c.Fold {
		v.addf("%s: a graded label takes only a range; positive, negative, fold and others are for two classes", where)
	}
	if len(c.Range) != 2 {
		v.addf("%s: a graded label needs its public range: [lo, hi]", where)
		return
	}
	v.ordered(where, c.Range)
}

func (v *validator) feature(where string, c *Column) {
	switch c.kind() {
	case KindNumeric:
		if c.Categories != nil {
			v.addf("%s: a numeric column has no categories", where)
		}
		if c.Unknown != "" {
			v.addf("%s: unknown is for categories; values outside a range are clamped", where)
		}
		switch {
		case c.Date != nil:
			v.date(where, c)
		case c.Range == nil:
			v.addf("%s: a numeric column needs its public range: [lo, hi]", where)
		default:
			v.numericRange(where, c.Range, c.Transform)
		}
		v.basis(where+": ", c.Basis)
		v.notation(where+": ", cmp.Or(c.Decimal, v.s.CSV.Decimal), c.Decimal, c.Thousands)
	case KindCategorical:
		if c.Range != nil || c.Transform != "" || c.Basis != "" || c.writesNumbers() || c.Date != nil {
			v.addf("%s: a categorical column has no range, transform, basis, suffix, prefix, decimal, thousands or date", where)
		}
		if c.Unknown != "" && c.Unknown != UnknownOther {
			v.addf("%s: unknown is %q, want other or none", where, c.Unknown)
		}
		n := len(c.Categories)
		if m := v.s.missingOf(c); m != nil && m.Policy == MissingCategory {
			n++
		}
		if n < 2 {
			v.addf("%s: needs at least 2 categories; use role: ignore for a constant column", where)
		}
		seen := map[string]bool{}
		for _, k := range c.Categories {
			if k == "" {
				v.addf("%s: a category is empty; an empty field means missing", where)
			} else if seen[k] {
				v.addf("%s: category %q is listed twice", where, k)
			}
			seen[k] = true
		}
	default:
		v.addf("%s: kind is %q, want numeric or categorical", where, c.Kind)
	}
	if c.FromData && c.KnownFrom != "" {
		v.addf("%s: from_data means that the values were taken from the data, and known_from means that they are known "+
			"without the data; delete one of the two", where)
	}
	v.missing(where+": missing", c.Missing, c.kind())
}

// date checks a column of dates.
func (v *validator) date(where string, c *Column) {
	if parse.DateLayout(c.Date.Format) == "" {
		var known []string
		for _, l := range parse.DateLayouts {
			known = append(known, l.Format)
		}
		v.addf("%s: date.format is %q, want one of %s", where, c.Date.Format, strings.Join(known, ", "))
	}
	if _, _, ok := c.Date.bounds(); !ok {
		v.addf("%s: date.from and date.to are the public range, two days YYYY-MM-DD in order", where)
	}
	if c.Range != nil || c.Transform != "" || c.writesNumbers() || c.Missing != nil && c.Missing.Value != nil {
		v.addf("%s: a date has no range, transform, suffix, prefix, decimal, thousands or value for missing dates; "+
			"date.from and date.to are its range", where)
	}
}

// Bounds returns the range of a numeric column. For dates, it is in days from the first day.
func (c *Column) Bounds() (lo, hi float64) {
	if c.Date != nil {
		from, to, _ := c.Date.bounds()
		return 0, float64(to - from)
	}
	return c.Range[0], c.Range[1]
}

// ordered checks the two ends of a range.
func (v *validator) ordered(where string, r []float64) {
	if lo, hi := r[0], r[1]; !(lo < hi) || math.IsInf(hi-lo, 0) {
		v.addf("%s: range is [%v, %v], want finite lo < hi", where, lo, hi)
	}
}

func (v *validator) numericRange(where string, r []float64, transform string) {
	if len(r) != 2 {
		v.addf("%s: range has %d numbers, want [lo, hi]", where, len(r))
		return
	}
	v.ordered(where, r)
	lo, hi := r[0], r[1]
	switch {
	case transform != "" && transform != TransformLog1p:
		v.addf("%s: transform is %q, want log1p or none", where, transform)
	case transform == TransformLog1p && lo < 0:
		v.addf("%s: transform log1p needs a range from 0 or above", where)
	}
	if lo < hi && !(lo < 0 && transform != "") {
		if _, half := centerAndHalf(lo, hi, transform, v.s.IsSparse()); !(half > 0) {
			v.addf("%s: range is too narrow to divide by", where)
		}
	}
	if v.s.IsSparse() && (lo > 0 || hi < 0) {
		v.addf("%s: a sparse range must contain 0, because omitted features are 0; otherwise use dense: true", where)
	}
}

// missing checks one policy. kind is the kind of the column. It is empty for the default policy of the schema,
// which must suit the columns that use it.
func (v *validator) missing(where string, m *Missing, kind string) {
	if m == nil {
		return
	}
	v.texts(where, m.Values...)
	switch m.PolicyOf() {
	case MissingError, MissingMiddle:
	case MissingValue:
		if m.Value == nil || math.IsNaN(*m.Value) || math.IsInf(*m.Value, 0) {
			v.addf("%s: policy value needs a finite value", where)
		}
		if kind != KindNumeric {
			v.addf("%s: policy value is for numeric columns; give it there", where)
		}
	case MissingCategory:
		if kind != KindCategorical {
			v.addf("%s: policy category is for categorical columns; give it there", where)
		}
	default:
		v.addf("%s: policy is %q, want error, middle, value or category", where, m.Policy)
	}
	if m.Value != nil && m.PolicyOf() != MissingValue {
		v.addf("%s: value is used by policy: value only", where)
	}
}

// writesNumbers reports whether the column declares the notation of its numbers.
func (c *Column) writesNumbers() bool {
	return c.Suffix != "" || c.Prefix != "" || c.Decimal != "" || c.Thousands != ""
}

// notation checks the separators of numbers. decimal is the decimal separator in effect.
func (v *validator) notation(where, decimal, ownDecimal, thousands string) {
	if d := ownDecimal; d != "" && d != "." && d != "," {
		v.addf("%sdecimal is %q, want a point or a comma", where, d)
	}
	if !slices.Contains([]string{"", ".", ",", "'", parse.ThousandsSpace}, thousands) {
		v.addf("%sthousands is %q, want a point, a comma, an apostrophe or space", where, thousands)
	} else if thousands != "" && thousands == cmp.Or(decimal, ".") {
		v.addf("%sthousands and decimal are the same sign; set decimal: \",\" for numbers such as 1.234,5", where)
	}
}

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

// PolicyOf returns the policy, by default MissingError.
func (m *Missing) PolicyOf() string {
	if m == nil || m.Policy == "" {
		return MissingError
	}
	return m.Policy
}

// missingOf returns the policy that applies to c, which can be nil.
func (s *Schema) missingOf(c *Column) *Missing { return cmp.Or(c.Missing, s.Missing) }

// IsZero reports whether no option is set.
func (o *CSVOptions) IsZero() bool {
	return o.Delimiter == "" && !o.Header && o.Comment == nil && !o.IgnoreOthers && o.Decimal == "" && o.Thousands == "" &&
		o.Encoding == ""
}

// Separator returns the delimiter as a byte. ok is false if the delimiter is not valid.
func (o *CSVOptions) Separator() (b byte, ok bool) {
	switch {
	case o.Delimiter == "":
		return ',', true
	case o.Delimiter == "tab":
		return '\t', true
	case len(o.Delimiter) != 1:
		return 0, false
	}
	b = o.Delimiter[0]
	switch {
	case b == '"', b == '.', b == '+', b == '-', b == '\n', b == '\r', b >= 0x80, b == 0,
		b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
		return 0, false
	}
	return b, true
}
