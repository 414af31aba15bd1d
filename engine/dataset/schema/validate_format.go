package schema

import (
	"dyad/engine/dataset/source"
)

// byName checks the keys of formats with named columns.
func (v *validator) byName() {
	s := v.s
	v.addIf(s.Features != 0 || s.NonZeros != 0 || s.Range != nil || s.Dense || s.Sparse,
		"the top-level keys features, nonzeros, range, dense and sparse need format: libsvm, npy, npz, idx or images")
	v.addIf(s.Arrays != nil || s.LabelsFile != "", "arrays needs format: npz; labels_file needs format: npy or idx")
	v.addIf(len(s.Columns) == 0, "columns is empty; list the columns of the file")
	fields := map[string]bool{}
	for i := range s.Columns {
		c := &s.Columns[i]
		if f := c.FieldOf(); fields[f] && c.Field != "" {
			v.addf("column %q has the same field as another column; give each column its own field", c.Name)
		}
		fields[c.FieldOf()] = true
	}
	if f := s.format(); f == FormatCSV || f == FormatXLSX {
		v.csv()
		return
	}
	v.addIf(!s.CSV.IsZero(), "csv options need format: csv or xlsx")
	for _, c := range s.Columns {
		v.addIf(c.Position != 0, "column %q has a position, but this format finds columns by name; leave position out",
			c.Name)
	}
}

// asCSV reports whether the schema names a format whose rows are read like rows of a CSV file.
func (s *Schema) asCSV() bool { return s.Format == FormatCSV || s.Format == FormatXLSX }

func (v *validator) csv() {
	s := v.s
	if _, ok := s.CSV.Separator(); !ok {
		v.addf("csv.delimiter is %q; want tab, or one ASCII character such as , ; : or |", s.CSV.Delimiter)
	}
	v.notation("csv.", s.CSV.Decimal, s.CSV.Decimal, s.CSV.Thousands)
	if e := s.CSV.Encoding; e != "" && e != source.EncodingUTF16 && e != source.EncodingWindows1252 {
		v.addf("csv.encoding is %q; want utf-16 or windows-1252 (also for latin-1), or leave it out for UTF-8", e)
	}
	for _, p := range s.CSV.Comment {
		v.addIf(p == "", "csv.comment has an empty prefix, which every line begins with; remove this prefix")
	}
	v.addIf(s.CSV.IgnoreOthers && !s.CSV.Header, "csv.ignore_others needs csv.header: true")
	v.addIf(s.asCSV() && s.IgnoreOthers, "for a CSV file or a workbook, ignore_others must be under csv")
	positions := map[int]bool{}
	given := 0
	for _, c := range s.Columns {
		v.addIf(s.asCSV() && !s.CSV.Header && c.Field != "",
			"column %q: `field` is only for files with column names; remove it", c.Name)
		if c.Position == 0 {
			continue
		}
		given++
		switch {
		case s.CSV.Header:
			v.addf("column %q has a position, but the header already gives the order of columns; leave position out", c.Name)
		case c.Position < 1 || c.Position > len(s.Columns):
			v.addf("the position of column %q is %d, but it must be 1 to %d; list every column of the file (role: "+
				"ignore drops a column)", c.Name, c.Position, len(s.Columns))
		case positions[c.Position]:
			v.addf("position %d is used twice", c.Position)
		}
		positions[c.Position] = true
	}
	v.addIf(given != 0 && given != len(s.Columns),
		"only %d of %d columns have a position; give all columns a position, or no column", given, len(s.Columns))
}

// byIndex checks the keys of formats with numbered features.
func (v *validator) byIndex() {
	s := v.s
	v.addIf(s.Features < 1 || s.Features > MaxColumns, "features is %d, want 1 to %d", s.Features, MaxColumns)
	v.addIf(s.NonZeros < 0 || s.NonZeros > s.Features, "nonzeros is %d, want 0 (not bounded) to features", s.NonZeros)
	v.addIf(!s.IsSparse() && s.NonZeros != 0, "`nonzeros` is only for sparse records; remove `nonzeros` or `dense`")
	v.addIf(s.Sparse && s.Format != FormatNPZ, "sparse: true needs format: npz; leave it out for LIBSVM files, "+
		"which are sparse by default")
	v.addIf(s.Dense && !s.IsLIBSVM(), "dense needs format: libsvm; records of %s are always dense", s.Format)
	v.addIf(!s.CSV.IsZero() || s.IgnoreOthers,
		"csv options need format: csv or xlsx; `ignore_others` needs files with column names")
	// Without a format, a dense schema may be used with any of these formats.
	open := s.Format == "" && s.Dense
	v.addIf(s.Arrays != nil && s.format() != FormatNPZ && !open, "arrays is for format: npz")
	v.addIf(s.LabelsFile != "" && s.format() != FormatNPY && s.format() != FormatIDX && !open,
		"labels_file needs format: npy or idx")
	listed := v.indexColumns()
	v.addIf(s.IsSparse() && s.Missing != nil,
		"sparse records have no missing values; remove the key missing, or set dense: true")
	switch {
	case s.Range != nil:
		v.numericRange("range", s.Range, "")
	case listed < s.Features:
		v.addf("range is missing; set the public [lo, hi] of all features not listed in columns")
	}
}

// indexColumns checks the listed columns and returns the number of features among them.
func (v *validator) indexColumns() (listed int) {
	s := v.s
	positions := map[int]bool{}
	for _, c := range s.Columns {
		v.addIf(c.Field != "", "column %q: `field` is only for files with column names; remove it", c.Name)
		switch c.RoleOf() {
		case RoleLabel, RoleGroup, RolePerson:
			v.addIf(c.Position != 0,
				"column %q: the format sets the position of this column; remove `position`", c.Name)
			v.addIf(c.RoleOf() == RoleGroup && (s.Format == FormatNPY || s.Format == FormatIDX || s.Format == FormatImages),
				"column %q cannot be a group, because %s has no query groups; use libsvm or npz", c.Name, s.Format)
			v.addIf(c.RoleOf() == RolePerson && s.format() != FormatNPZ,
				"column %q cannot be a person, because this format has no persons; use npz", c.Name)
			continue
		case RoleID, RoleIgnore:
			v.addf("column %q: a file with numbered features takes only the roles feature, label and group; npz "+
				"also takes person", c.Name)
			continue
		}
		listed++
		switch {
		case c.Position < 1 || c.Position > s.Features:
			v.addf("the position of column %q is %d, but must be from 1 to the value of the key features", c.Name, c.Position)
		case positions[c.Position]:
			v.addf("position %d is used twice", c.Position)
		}
		positions[c.Position] = true
		v.addIf(c.kind() == KindCategorical, "column %q: numbered features are numeric", c.Name)
		v.addIf(s.IsSparse() && c.Missing != nil,
			`column %q has the key "missing", but sparse records cannot have missing values; use dense: true`, c.Name)
	}
	return listed
}
