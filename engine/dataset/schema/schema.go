// Package schema defines what users declare about a data file, validates it, and derives the encoder. The encoder is a
// public map of a single row. The package reads no data files.
package schema

import (
	"cmp"
	"slices"
	"strconv"
)

// Formats of a file. The first five have named columns. The others number their features from 1.
const (
	FormatCSV     = "csv"     // delimited text
	FormatARFF    = "arff"    // format of Weka: a header of attributes, then delimited text
	FormatJSONL   = "jsonl"   // one JSON object on each line
	FormatParquet = "parquet" // flat columns
	FormatXLSX    = "xlsx"    // a sheet of an Excel workbook (Office Open XML), read as a CSV file
	FormatLIBSVM  = "libsvm"  // LABEL [qid:GROUP] INDEX:VALUE ..., also called svmlight
	FormatNPY     = "npy"     // one NumPy matrix; labels are in a second file
	FormatNPZ     = "npz"     // NumPy archive of a matrix and its labels
	FormatIDX     = "idx"     // images and labels in two files, as for MNIST
	FormatImages  = "images"  // a file for each image, in folders that are named after the labels
)

// Storage types of dense records.
const (
	StoreFloat64 = "float64" // the default
	StoreFloat32 = "float32" // features are rounded toward zero after the projection and need half the memory
)

// schemaVersion is the version of the set of schema fields (docs/formats.md).
const schemaVersion = 1

// Schema is the public description of a data set. The field tags are the keys of its YAML form. An unknown
// key is an error. Text fields keep the text of the file, so `positive: 1` and `positive: "1"` both match a
// file with "1.0".
type Schema struct {
	// Version is the version of the set of schema fields. 0 means 1. A program that does not know the version
	// refuses the schema.
	Version int `json:"version,omitempty"`
	// DataID is the name of the data set in the privacy ledger: 1 to 128 letters, digits, dots, hyphens and
	// underscores.
	DataID string `json:"data_id"`
	// Description is free text.
	Description string `json:"description,omitempty"`
	// Format is one of the formats. If it is empty, Load detects the format. If the field Features is not set,
	// the format can be CSV, ARFF, JSON lines or Parquet. If Features and Dense are set, it can be LIBSVM,
	// NPY, NPZ or IDX. If only Features is set, it is LIBSVM.
	Format string `json:"format,omitempty"`
	// Public marks the records themselves as public. Runs then charge no privacy budget.
	Public bool `json:"public,omitempty"`
	// BoundsFromData marks all ranges and categories as taken from the data. Every report then states "bounds
	// not private".
	BoundsFromData bool `json:"bounds_from_data,omitempty"`
	// Draft is the name of the draft from which the schema was made, if the draft took values from the data. LoadSchema
	// marks the values that are still equal to the values of the draft, and then empties Draft. If the memory of the
	// draft (DraftedEnding) is missing, Draft stays, because it is unknown whether the values were replaced.
	Draft string `json:"draft,omitempty"`
	// Persons is the public number of persons, which is the number of distinct ids in the column with role
	// person. If it is set, the ids are private.
	Persons int `json:"persons,omitempty"`
	// IDs is IDsPublic if the ids of persons are public. The number of persons is then public, too.
	IDs string `json:"ids,omitempty"`
	// MaxRowsPerPerson is the public cap on the rows of a person. If a person has more rows, only the first
	// ones in the file are used. 0 means DefaultRowsPerPerson. The cap does not affect the noise.
	MaxRowsPerPerson int `json:"max_rows_per_person,omitempty"`
	// RowsPerPerson is the maximum number of rows of one person in a schema without role person. Plans then
	// also state the resulting guarantee for a person. 0 means unknown.
	RowsPerPerson int `json:"rows_per_person,omitempty"`
	// Missing is the policy of feature columns without a policy of their own.
	Missing *Missing `json:"missing,omitempty"`
	// Basis is the basis of the numeric features without a basis of their own: BasisNone, BasisAuto, or one of
	// basisCurve, basisCosine and basisSpike followed by K, as in "curve:6". If it is empty, training uses
	// BasisAuto, and everything else uses BasisNone. With a basis, features must have names and d is at most 512.
	Basis string `json:"basis,omitempty"`
	// Interactions lists pairs of names of feature columns. The products of the two columns become additional features.
	// Each column can be numeric or categorical. Features must have names, and d is then at most 512.
	Interactions [][]string `json:"interactions,omitempty"`
	// ChooseInteractions is the number of further pairs that training chooses from the records by a private
	// mechanism. A model file lists the chosen pairs among Interactions.
	ChooseInteractions int `json:"choose_interactions,omitempty"`
	// CSV holds the options of FormatCSV. They also apply to FormatXLSX, except for delimiter and encoding.
	CSV CSVOptions `json:"csv,omitzero"`

	// Sheet is the name of the sheet to read in a workbook (FormatXLSX). If it is empty, the workbook must have
	// only one sheet with cells.
	Sheet string `json:"sheet,omitempty"`

	// IgnoreOthers allows columns of an ARFF, JSON lines or Parquet file that
	// the schema does not list.
	IgnoreOthers bool `json:"ignore_others,omitempty"`
	// Sparse reports whether an NPZ file holds a SciPy CSR matrix (save_npz), which has the arrays data,
	// indices, indptr and shape instead of X.
	Sparse bool `json:"sparse,omitempty"`
	// Arrays holds the names of the arrays in an NPZ file.
	Arrays *ArrayNames `json:"arrays,omitempty"`
	// LabelsFile is the labels file of FormatNPY and FormatIDX, relative to the folder of the data file. If it
	// is empty, the usual name applies. For IDX, this is the name of the data file with "labels" instead of
	// "images" and "idx1" instead of "idx3". For NPY, it is the name with "y" instead of a leading "X".
	LabelsFile string `json:"labels_file,omitempty"`

	// Features is the number d of features of a file without column names. It is at least 1.
	Features int `json:"features,omitempty"`
	// NonZeros is the maximum number of features stored in a row of a sparse LIBSVM file. A row with more
	// features is an error. If NonZeros is 0, the value of Features applies.
	NonZeros int `json:"nonzeros,omitempty"`
	// Range is the public range [lo, hi] of the numbered features that Columns does not list.
	Range []float64 `json:"range,omitempty"`
	// Dense stores a LIBSVM file as dense records and scales it like a CSV file. An index that is absent from a
	// row has the value 0.
	Dense bool `json:"dense,omitempty"`

	// Store is StoreFloat64 or StoreFloat32. Empty means StoreFloat64. Store is part of the encoder: a model
	// rounds the records that it scores in the same way as its training records.
	Store string `json:"store,omitempty"`

	// Columns lists the columns of the file. If features are numbered, it lists only the label, the group
	// and those features (by Position) for which Range does not hold.
	Columns []Column `json:"columns"`
}

// CSVOptions describe delimited text.
type CSVOptions struct {
	// Delimiter is one ASCII character, or "tab". If it is empty, the delimiter is a comma.
	Delimiter string `json:"delimiter,omitempty"`
	// Header reports whether the first row holds column names. If it does, columns are found by name, in any
	// order. Otherwise they are found by Column.Position.
	Header bool `json:"header,omitempty"`
	// Comment lists prefixes of lines to skip, e.g. ["#"]. Lines inside quoted fields are not skipped.
	Comment []string `json:"comment,omitempty"`
	// IgnoreOthers allows columns of the file that the schema does not list. It requires a header.
	IgnoreOthers bool `json:"ignore_others,omitempty"`
	// Decimal is the decimal separator: "." (the default) or ",".
	Decimal string `json:"decimal,omitempty"`
	// Thousands is the separator between groups of three digits: ",", ".", "'" or "space". If it is empty,
	// numbers have no such separator. If it is set, a number may still be written without separators.
	Thousands string `json:"thousands,omitempty"`
	// Encoding is EncodingUTF16 or EncodingWindows1252. If it is empty, the file is UTF-8, or UTF-16 if it
	// begins with the byte order mark of UTF-16.
	Encoding string `json:"encoding,omitempty"`
}

// ArrayNames holds the names of the arrays in an NPZ file. If a name is empty, its default applies.
type ArrayNames struct {
	X     string `json:"x,omitempty"`     // array of n x d features; default "X"
	Y     string `json:"y,omitempty"`     // array of n labels; default "y"
	Group string `json:"group,omitempty"` // array of n whole numbers; default "group"
	// Person is the name of the array with the ids of persons, which are n whole numbers. The default is "person".
	Person string `json:"person,omitempty"`
}

// format returns the format as far as the schema alone determines it. If Format is empty, FormatCSV stands for
// all formats with column names.
func (s *Schema) format() string {
	switch {
	case s.Format != "":
		return s.Format
	case s.Features > 0:
		return FormatLIBSVM
	}
	return FormatCSV
}

// IsNumbered reports whether the features of a format have numbers instead of names.
func IsNumbered(format string) bool {
	return slices.Contains([]string{FormatLIBSVM, FormatNPY, FormatNPZ, FormatIDX, FormatImages}, format)
}

// ByIndex reports whether the features have numbers instead of names.
func (s *Schema) ByIndex() bool { return IsNumbered(s.format()) }

// IsLIBSVM reports whether the schema describes a LIBSVM file.
func (s *Schema) IsLIBSVM() bool { return s.format() == FormatLIBSVM }

// ByPairs reports whether the rows of the file consist of pairs of index and value.
func (s *Schema) ByPairs() bool { return s.IsLIBSVM() || s.Sparse }

// IsSparse reports whether records are stored as compressed rows.
func (s *Schema) IsSparse() bool { return s.Sparse || s.IsLIBSVM() && !s.Dense }

// RangesFromData reports whether a range or a list of categories was taken from the data.
func (s *Schema) RangesFromData() bool {
	return s.BoundsFromData || slices.ContainsFunc(s.Columns, func(c Column) bool { return c.FromData })
}

// SelectsByLabel reports whether rows whose label is neither of the two classes are left out. Membership in the
// records then depends on the label.
func (s *Schema) SelectsByLabel() bool { return s.label().Others == OthersDrop }

// IsNarrow reports whether features are stored as float32.
func (s *Schema) IsNarrow() bool { return s.Store == StoreFloat32 }

// Unlabelled reports whether the schema was loaded by LoadUnlabelledSchema and has no label column of its own.
func (s *Schema) Unlabelled() bool { return s.label().Name == noLabel }

// IsGraded reports whether labels are numbers in [-1, 1] instead of two classes.
func (s *Schema) IsGraded() bool { return s.label().Kind == KindNumeric }

// label returns the column with the label, or a column without any key.
func (s *Schema) label() *Column {
	if c := s.ColumnOf(RoleLabel); c != nil {
		return c
	}
	return &Column{}
}

// ColumnOf returns the first column with a role, or nil.
func (s *Schema) ColumnOf(role string) *Column {
	for i := range s.Columns {
		if s.Columns[i].RoleOf() == role {
			return &s.Columns[i]
		}
	}
	return nil
}

// ArraysOf returns the names of the arrays with defaults filled in. The names for group and person are empty if
// there is no such column.
func (s *Schema) ArraysOf() ArrayNames {
	a := ArrayNames{}
	if s.Arrays != nil {
		a = *s.Arrays
	}
	a.X, a.Y = cmp.Or(a.X, "X"), cmp.Or(a.Y, "y")
	if a.Group = cmp.Or(a.Group, "group"); s.ColumnOf(RoleGroup) == nil {
		a.Group = ""
	}
	if a.Person = cmp.Or(a.Person, "person"); !s.ByPerson() {
		a.Person = ""
	}
	return a
}

// missingOf returns the policy that applies to c, which can be nil.
func (s *Schema) missingOf(c *Column) *Missing { return cmp.Or(c.Missing, s.Missing) }

// IsZero reports whether no option is set.
func (o *CSVOptions) IsZero() bool {
	return o.Delimiter == "" && !o.Header && o.Comment == nil && !o.IgnoreOthers && o.Decimal == "" && o.Thousands == "" &&
		o.Encoding == ""
}

// Classes returns what the labels of the two classes and the choice of rows depend on.
func (s *Schema) Classes() (of [6]string) {
	if c := s.ColumnOf(RoleLabel); c != nil {
		of = [6]string{c.Name, c.Positive, c.Negative, c.TrimSuffix, c.Others, strconv.FormatBool(c.Fold)}
	}
	return of
}

// SameRows reports whether data of two schemas have the same labels in the same order, if they come from one file. Data
// with query groups or persons are sorted by them.
func (s *Schema) SameRows(other *Schema) bool {
	for _, role := range []string{RoleGroup, RolePerson} {
		one, two := s.ColumnOf(role), other.ColumnOf(role)
		if (one == nil) != (two == nil) || one != nil && one.FieldOf() != two.FieldOf() {
			return false
		}
	}
	return s.Classes() == other.Classes()
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

// MaxColumns is the maximum of d and of the number of columns of a schema, so that a mistyped number cannot
// lead to unbounded memory use.
const MaxColumns = 1 << 27

// ByPerson reports whether a column has role person.
func (s *Schema) ByPerson() bool { return s.ColumnOf(RolePerson) != nil }

// noLabel is the name of the added label column of a schema without a label.
const noLabel = "no label"
