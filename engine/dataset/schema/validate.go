package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"dyad/engine/dataset/parse"
)

var dataID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// IsDataID reports whether a text is a valid name of data in a ledger: 1 to 128 letters, digits, dots, hyphens or
// underscores.
func IsDataID(id string) bool { return dataID.MatchString(id) }

// formats lists all formats in the order of messages.
var formats = [...]string{FormatCSV, FormatARFF, FormatJSONL, FormatParquet, FormatXLSX, FormatLIBSVM, FormatNPY,
	FormatNPZ, FormatIDX, FormatImages}

// Validate returns an error that joins all problems of the schema, or nil.
func (s *Schema) Validate() error {
	v := &validator{s: s}
	v.check()
	return errors.Join(v.problems...)
}

func (v *validator) check() {
	v.addIf(v.s.Version != 0 && v.s.Version != schemaVersion,
		"the schema has version %d, but this program reads version %d; use the program for which the schema "+
			"was written", v.s.Version, schemaVersion)
	s := v.s
	v.addIf(!dataID.MatchString(s.DataID),
		"data_id must be 1 to 128 letters, digits, dots, hyphens or underscores; it names the data in the "+
			"privacy ledger")
	v.addIf(s.Draft != "" && !isDraftID(s.Draft),
		`the key "draft" has an invalid value; restore the original line, or draft the schema again`)
	v.addIf(s.Format != "" && !slices.Contains(formats[:], s.Format),
		"format is %q, want %s", s.Format, strings.Join(formats[:], ", "))
	switch {
	case s.Store != "" && s.Store != StoreFloat64 && s.Store != StoreFloat32:
		v.addf("store is %q; want %s or %s; for mmap, use --store", s.Store,
			StoreFloat64, StoreFloat32)
	case s.IsNarrow() && s.IsSparse():
		v.addf("store: %s is only for dense records; leave store out, or set dense: true", StoreFloat32)
	}
	v.addIf(s.Sheet != "" && s.Format != FormatXLSX, "sheet is for format: xlsx")
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
		v.addf("no column has role: label; give this role to the column of the classes (labelled pairs need none)")
	case n > 1:
		v.addf("%d columns have role: label, but only one column may have it", n)
	}
	for _, role := range []string{RoleID, RoleGroup, RolePerson} {
		v.addIf(count[role] > 1, "%d columns have role: %s, but at most one may have it", count[role], role)
	}
	v.persons(count[RolePerson])
	v.addIf(count[RoleFeature] == 0 && !v.s.ByIndex(), "no column is a feature")
}

func (v *validator) column(c *Column) {
	where := fmt.Sprintf("column %.80q", c.Name)
	role := c.RoleOf()
	v.texts(where, append([]string{c.Name, c.Field, c.Suffix, c.Positive, c.Negative, c.TrimSuffix, c.KnownFrom},
		c.Categories...)...)
	if !slices.Contains([]string{RoleFeature, RoleLabel, RoleID, RoleGroup, RolePerson, RoleIgnore}, role) {
		v.addf("%s: role is %q, but it must be feature, label, id, group, person or ignore", where, c.Role)
		return
	}
	v.addIf(role != RoleFeature && (c.Transform != "" || c.Basis != "" || c.Categories != nil || c.Missing != nil ||
		c.writesNumbers() || c.Date != nil || c.Unknown != "" || c.FromData || c.KnownFrom != ""),
		"%s: only features may have these keys: transform, basis, categories, unknown, suffix, prefix, decimal, "+
			"thousands, date, missing, from_data, known_from", where)
	v.addIf(role != RoleFeature && role != RoleLabel && (c.Kind != "" || c.Range != nil),
		"%s: only features and graded labels may have kind and range", where)
	v.addIf(role != RoleLabel && (c.Positive != "" || c.Negative != "" || c.Others != "" || c.TrimSuffix != "" || c.Fold),
		"%s: only the label may have these keys: positive, negative, others, fold, trim_suffix", where)
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
	v.addIf(c.Range != nil, "%s: only a label of kind: numeric may have a range", where)
	if c.Positive == "" {
		v.addf("%s: positive is missing; give the value that should score high (for graded labels, kind: numeric "+
			"and a range)", where)
	} else if c.Negative != "" && parse.NewSet([]string{c.class(c.Positive)}).Find([]byte(c.class(c.Negative))) >= 0 {
		v.addf("%s: positive and negative have the same value", where)
	}
	v.addIf(v.s.ByIndex() && v.s.Format != FormatImages &&
		(!parse.IsPlainDecimal(c.Positive) || c.Negative != "" && !parse.IsPlainDecimal(c.Negative)),
		"%s: the labels of a file with numbered features must be numbers", where)
	switch {
	case c.Others != "" && c.Others != OthersDrop:
		v.addf("%s: `others` is %q; write `others: drop`, or remove the key", where, c.Others)
	case c.Others != "" && c.Negative == "":
		v.addf("%s: `others` needs `negative`; set `negative`, or leave `others` out", where)
	}
}

func (v *validator) gradedLabel(where string, c *Column) {
	v.addIf(c.Kind != KindNumeric, "%s: the kind of a label is %q, but it must be numeric, or left out", where, c.Kind)
	v.addIf(c.Positive != "" || c.Negative != "" || c.Others != "" || c.Fold,
		"%s: a graded label has only a range; remove `positive`, `negative`, `others` and `fold`", where)
	if len(c.Range) != 2 {
		v.addf("%s: a graded label needs its public range, as in `range: [lo, hi]`", where)
		return
	}
	v.ordered(where, c.Range)
}

func (v *validator) feature(where string, c *Column) {
	switch c.kind() {
	case KindNumeric:
		v.addIf(c.Categories != nil, "%s: a numeric column cannot have categories", where)
		v.addIf(c.Unknown != "",
			"%s: `unknown` is only for categorical columns; remove it", where)
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
		v.addIf(c.Range != nil || c.Transform != "" || c.Basis != "" || c.writesNumbers() || c.Date != nil,
			"%s: a categorical column cannot have range, transform, basis, suffix, prefix, decimal, "+
				"thousands or date", where)
		v.addIf(c.Unknown != "" && c.Unknown != UnknownOther,
			"%s: unknown is %q, but it must be other, or left out", where, c.Unknown)
		n := len(c.Categories)
		if m := v.s.missingOf(c); m != nil && m.Policy == MissingCategory {
			n++
		}
		v.addIf(n < 2,
			"%s: a categorical column needs at least 2 categories; use role: ignore for a constant column", where)
		seen := map[string]bool{}
		for _, k := range c.Categories {
			if k == "" {
				v.addf("%s: a category is empty, but an empty field means a missing value; remove the empty category", where)
			} else if seen[k] {
				v.addf("%s: category %q is listed twice", where, k)
			}
			seen[k] = true
		}
	default:
		v.addf("%s: kind is %q, but it must be numeric or categorical", where, c.Kind)
	}
	v.addIf(c.FromData && c.KnownFrom != "",
		"%s: remove from_data or known_from; known_from is for values that are known without the data", where)
	v.missing(where+": missing", c.Missing, c.kind())
}

// date checks a column of dates.
func (v *validator) date(where string, c *Column) {
	if parse.DateLayout(c.Date.Format) == "" {
		var known []string
		for _, l := range parse.DateLayouts {
			known = append(known, l.Format)
		}
		v.addf("%s: date.format is %q, but it must be one of %s", where, c.Date.Format, strings.Join(known, ", "))
	}
	if _, _, ok := c.Date.bounds(); !ok {
		v.addf("%s: date.from and date.to must be public dates (YYYY-MM-DD), with from before to", where)
	}
	v.addIf(c.Range != nil || c.Transform != "" || c.writesNumbers() || c.Missing != nil && c.Missing.Value != nil,
		"%s: a date column cannot have the keys range, transform, suffix, prefix, decimal, thousands and "+
			"missing.value", where)
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
		v.addIf(m.Value == nil || math.IsNaN(*m.Value) || math.IsInf(*m.Value, 0),
			`%s: if the policy is "value", the key "value" must be a finite number`, where)
		v.addIf(kind != KindNumeric,
			"%s: policy: value is only for numeric columns; choose another policy", where)
	case MissingCategory:
		v.addIf(kind != KindCategorical,
			"%s: policy: category is only for categorical columns; choose another policy", where)
	default:
		v.addf("%s: policy is %q, but it must be error, middle, value or category", where, m.Policy)
	}
	v.addIf(m.Value != nil && m.PolicyOf() != MissingValue, `%s: leave "value" out, or set the policy to "value"`, where)
}

// basis checks the value of one basis key.
func (v *validator) basis(where, basis string) {
	switch _, _, ok := cosines(basis); {
	case basis == BasisAuto && where == "" && !v.s.ByIndex():
	case basis == BasisAuto && where != "":
		v.addf("%sbasis: %s is only for the whole schema; for one column, use %s, %sK, %sK or %sK, where K is a "+
			"number", where,
			BasisAuto, BasisNone, basisCurve, basisCosine, basisSpike)
	case !ok && basis != BasisAuto:
		v.addf("%sbasis is %q, want %s, %s, %sK, %sK or %sK with K from %d to %d, such as %s6", where, basis, BasisAuto,
			BasisNone, basisCurve, basisCosine, basisSpike, minCosines, maxCosines, basisCurve)
	case basis != "" && v.s.ByIndex():
		v.addf("%sbasis needs named columns; leave basis out, or convert the file to CSV (dyad data convert)", where)
	}
}

// basisDim refuses a basis that leads to more than maxBasisDim features. The schema must be valid otherwise.
func (v *validator) basisDim() {
	dim, curved := 0, len(v.s.Interactions) > 0 || v.s.ChooseInteractions != 0
	columns := map[string]Feature{}
	for i := range v.s.Columns {
		if c := &v.s.Columns[i]; c.RoleOf() == RoleFeature {
			f := v.s.featureEncoder(c, map[*Missing]*parse.Set{})
			dim, curved = dim+f.Width, curved || f.Cosines > 0
			columns[c.Name] = f
		}
	}
	products := v.s.products(columns)
	v.choice(columns, dim+products)
	switch {
	case curved && dim > maxBasisDim:
		v.addf("the encoded columns make %d features, but at most %d are allowed; choose a smaller K, fewer "+
			"categories, or basis: %s for some columns", dim, maxBasisDim, BasisNone)
	case dim+products > maxBasisDim && products > 0:
		v.addf("interactions may add at most %d products (%d features in all); use fewer pairs, fewer categories "+
			"or a smaller K", maxBasisDim-dim, maxBasisDim)
	}
}
