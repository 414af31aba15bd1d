package dataset

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
)

var dataID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// maxColumns bounds d and the columns of a schema, so that a mistyped number
// cannot ask for unbounded memory.
const maxColumns = 1 << 27

// Validate returns every problem of the schema, joined, or nil.
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
	s := v.s
	if !dataID.MatchString(s.DataID) {
		v.addf("data_id must be 1 to 128 letters, digits, dots, hyphens or underscores; it names the data in the privacy ledger")
	}
	if !slices.Contains([]string{"", FormatCSV, FormatLIBSVM}, s.Format) {
		v.addf("format is %q, want csv or libsvm", s.Format)
	}
	v.missing("missing", s.Missing, "")
	if s.IsLIBSVM() {
		v.libsvm()
	} else {
		v.csv()
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
}

func (v *validator) csv() {
	s := v.s
	if s.Features != 0 || s.NonZeros != 0 || s.Range != nil || s.Dense {
		v.addf("features, nonzeros, range and dense at the top level are for format: libsvm")
	}
	if _, ok := s.CSV.delimiter(); !ok {
		v.addf("csv.delimiter is %q, want one ASCII character other than a quote, a letter, a digit or a point, or tab", s.CSV.Delimiter)
	}
	for _, p := range s.CSV.Comment {
		if p == "" {
			v.addf("csv.comment has an empty prefix, which every line begins with")
		}
	}
	if s.CSV.IgnoreOthers && !s.CSV.Header {
		v.addf("csv.ignore_others needs csv.header: true")
	}
	if len(s.Columns) == 0 {
		v.addf("columns is empty; list the columns of the file")
	}
	positions := map[int]bool{}
	given := 0
	for _, c := range s.Columns {
		if c.Position == 0 {
			continue
		}
		given++
		switch {
		case s.CSV.Header:
			v.addf("column %q has a position, but the header already says where it is", c.Name)
		case c.Position < 1 || c.Position > len(s.Columns):
			v.addf("position of column %q is %d, want 1 to %d; list every column of the file (role: ignore drops one)", c.Name, c.Position, len(s.Columns))
		case positions[c.Position]:
			v.addf("position %d is used twice", c.Position)
		}
		positions[c.Position] = true
	}
	if given != 0 && given != len(s.Columns) {
		v.addf("%d of %d columns have a position; give all of them or none", given, len(s.Columns))
	}
}

func (v *validator) libsvm() {
	s := v.s
	if s.Features < 1 || s.Features > maxColumns {
		v.addf("features is %d, want 1 to %d", s.Features, maxColumns)
	}
	if s.NonZeros < 0 || s.NonZeros > s.Features {
		v.addf("nonzeros is %d, want 0 (not bounded) to features", s.NonZeros)
	}
	if s.Dense && s.NonZeros != 0 {
		v.addf("nonzeros is for sparse records; leave it out or remove dense")
	}
	if !s.CSV.isZero() {
		v.addf("csv options are for format: csv")
	}
	positions := map[int]bool{}
	listed := 0
	for _, c := range s.Columns {
		if c.role() != RoleFeature {
			if c.role() == RoleLabel && c.Position != 0 {
				v.addf("column %q: the label of a LIBSVM file is its first token; remove position", c.Name)
			}
			if c.role() == RoleID || c.role() == RoleIgnore {
				v.addf("column %q: a LIBSVM file has a label and features only", c.Name)
			}
			continue
		}
		listed++
		switch {
		case c.Position < 1 || c.Position > s.Features:
			v.addf("position of column %q is %d, want its index from 1 to features", c.Name, c.Position)
		case positions[c.Position]:
			v.addf("position %d is used twice", c.Position)
		}
		positions[c.Position] = true
		if c.kind() == KindCategorical {
			v.addf("column %q: features of a LIBSVM file are numeric", c.Name)
		}
		if s.IsSparse() && c.Missing != nil {
			v.addf("column %q: sparse records have no missing values; use dense: true", c.Name)
		}
	}
	if s.IsSparse() && s.Missing != nil {
		v.addf("missing: sparse records have no missing values; use dense: true")
	}
	switch {
	case s.Range != nil:
		v.numericRange("range", s.Range, "")
	case listed < s.Features:
		v.addf("range is missing; it is the public [lo, hi] of the features that columns does not list")
	}
}

func (v *validator) roles() {
	var labels, ids, features int
	for i := range v.s.Columns {
		switch v.s.Columns[i].role() {
		case RoleLabel:
			labels++
		case RoleID:
			ids++
		case RoleFeature:
			features++
		}
	}
	if labels != 1 {
		v.addf("%d columns have role: label, want 1", labels)
	}
	if ids > 1 {
		v.addf("%d columns have role: id, want at most 1", ids)
	}
	if features == 0 && !v.s.IsLIBSVM() {
		v.addf("no column is a feature")
	}
}

func (v *validator) column(c *Column) {
	where := fmt.Sprintf("column %q", c.Name)
	role := c.role()
	if !slices.Contains([]string{RoleFeature, RoleLabel, RoleID, RoleIgnore}, role) {
		v.addf("%s: role is %q, want feature, label, id or ignore", where, c.Role)
		return
	}
	if role != RoleFeature && (c.Kind != "" || c.Range != nil || c.Transform != "" || c.Categories != nil || c.Missing != nil) {
		v.addf("%s: kind, range, transform, categories and missing are for features", where)
	}
	if role != RoleLabel && (c.Positive != "" || c.Negative != "") {
		v.addf("%s: positive and negative are for the label", where)
	}
	switch role {
	case RoleLabel:
		if c.Positive == "" {
			v.addf("%s: positive is missing; it is the value of the class that should score high", where)
		} else if c.Negative != "" && newValueSet([]string{c.Positive}).find([]byte(c.Negative)) >= 0 {
			v.addf("%s: positive and negative are the same value", where)
		}
		if v.s.IsLIBSVM() && (!isPlainDecimal(c.Positive) || c.Negative != "" && !isPlainDecimal(c.Negative)) {
			v.addf("%s: labels of a LIBSVM file are numbers", where)
		}
	case RoleFeature:
		v.feature(where, c)
	}
}

func (v *validator) feature(where string, c *Column) {
	switch c.kind() {
	case KindNumeric:
		if c.Categories != nil {
			v.addf("%s: a numeric column has no categories", where)
		}
		if c.Range == nil {
			v.addf("%s: a numeric column needs its public range: [lo, hi]", where)
		} else {
			v.numericRange(where, c.Range, c.Transform)
		}
	case KindCategorical:
		if c.Range != nil || c.Transform != "" {
			v.addf("%s: a categorical column has no range and no transform", where)
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
	v.missing(where+": missing", c.Missing, c.kind())
}

func (v *validator) numericRange(where string, r []float64, transform string) {
	if len(r) != 2 {
		v.addf("%s: range has %d numbers, want [lo, hi]", where, len(r))
		return
	}
	lo, hi := r[0], r[1]
	if !(lo < hi) || math.IsInf(hi-lo, 0) {
		v.addf("%s: range is [%v, %v], want finite lo < hi", where, lo, hi)
	}
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
		v.addf("%s: a sparse range must contain 0, because features left out are 0; use dense: true", where)
	}
}

// missing checks one policy; kind is empty for the default of the schema, which
// must suit the columns that use it.
func (v *validator) missing(where string, m *Missing, kind string) {
	if m == nil {
		return
	}
	switch m.policy() {
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
	if m.Value != nil && m.policy() != MissingValue {
		v.addf("%s: value is used by policy: value only", where)
	}
}

func (c *Column) role() string {
	if c.Role == "" {
		return RoleFeature
	}
	return c.Role
}

func (c *Column) kind() string {
	switch {
	case c.Kind != "":
		return c.Kind
	case c.Categories != nil:
		return KindCategorical
	}
	return KindNumeric
}

func (m *Missing) policy() string {
	if m == nil || m.Policy == "" {
		return MissingError
	}
	return m.Policy
}

// missingOf is the policy that holds for c, possibly nil.
func (s *Schema) missingOf(c *Column) *Missing {
	if c.Missing != nil {
		return c.Missing
	}
	return s.Missing
}

func (o *CSVOptions) isZero() bool {
	return o.Delimiter == "" && !o.Header && o.Comment == nil && !o.IgnoreOthers
}

// delimiter returns the byte between fields; ok is false if it is not usable.
func (o *CSVOptions) delimiter() (b byte, ok bool) {
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
