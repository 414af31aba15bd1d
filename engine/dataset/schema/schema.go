// Package schema holds what people declare of a data file, its validation, and the encoder that follows from it: a public map of one
// row alone. It reads no file of data.
package schema

import (
	"cmp"
	"slices"
)

// Formats of a file. The first five have named columns, the others number their
// features from 1.
const (
	FormatCSV     = "csv"     // delimited text
	FormatARFF    = "arff"    // Weka: a header of attributes, then delimited text
	FormatJSONL   = "jsonl"   // one JSON object a line
	FormatParquet = "parquet" // flat columns
	FormatXLSX    = "xlsx"    // a sheet of an Excel workbook (Office Open XML), read as a CSV file
	FormatLIBSVM  = "libsvm"  // LABEL [qid:GROUP] INDEX:VALUE ..., also called svmlight
	FormatNPY     = "npy"     // one NumPy matrix, the labels in a second file
	FormatNPZ     = "npz"     // NumPy archive of a matrix and its labels
	FormatIDX     = "idx"     // images and labels in two files, as MNIST has them
	FormatImages  = "images"  // a file for each image, in folders that are named after the labels
)

// Roles of a column.
const (
	RoleFeature = "feature" // the default
	RoleLabel   = "label"   // exactly one column
	RoleID      = "id"      // kept with Options.KeepIDs, never a feature; at most one
	RoleGroup   = "group"   // public query of the row, for ranking; at most one
	RolePerson  = "person"  // whose row it is: all rows of a person are protected together; at most one
	RoleIgnore  = "ignore"  // read and dropped
)

// What dense records are stored in.
const (
	StoreFloat64 = "float64" // the default
	StoreFloat32 = "float32" // features are rounded toward zero, after the projection: half the memory
)

// OthersDrop leaves out the rows whose label is neither of the two classes.
const OthersDrop = "drop"

// Kinds of a feature; a label of KindNumeric is graded.
const (
	KindNumeric     = "numeric"     // needs Range; the default without Categories
	KindCategorical = "categorical" // needs Categories; the default with them
)

// TransformLog1p replaces x by log(1 + x) before scaling. Its range must begin
// at 0 or above. It suits counts, areas and concentrations.
const TransformLog1p = "log1p"

// Policies for missing values.
const (
	MissingError    = "error"    // a ParseError; the default
	MissingMiddle   = "middle"   // 0 after scaling: the centre of the (transformed) range, all-zero for categories
	MissingValue    = "value"    // the public number Missing.Value; numeric columns only
	MissingCategory = "category" // a category of its own; categorical columns only
)

// schemaVersion is the version of the fields of a schema (docs/formats.md).
const schemaVersion = 1

// Schema is the public description of a data set. Its YAML form is documented
// by the field tags; unknown keys are errors. Text fields keep the text of the
// file: `positive: 1`, `positive: "1"` and a file with "1.0" all agree.
type Schema struct {
	// Version numbers the set of schema fields: 1, or 0 for the same. A program that does not know it refuses the
	// schema.
	Version int `yaml:"version,omitempty" json:"version,omitempty"`
	// DataID names the data set in the privacy ledger: 1 to 128 letters,
	// digits, dots, hyphens and underscores.
	DataID string `yaml:"data_id" json:"data_id"`
	// Description is free text.
	Description string `yaml:"description,omitempty" json:"description,omitempty"`
	// Format is one of the formats. Empty means that Load looks at the file,
	// among the formats that encode alike: without Features CSV, ARFF, JSON
	// lines or Parquet; with Features and Dense LIBSVM, NPY, NPZ or IDX; with
	// Features alone LIBSVM.
	Format string `yaml:"format,omitempty" json:"format,omitempty"`
	// Public marks the records themselves as public: runs make no charge.
	Public bool `yaml:"public,omitempty" json:"public,omitempty"`
	// BoundsFromData marks ranges or categories that were taken from the data.
	// Every report then says "bounds not private".
	BoundsFromData bool `yaml:"bounds_from_data,omitempty" json:"bounds_from_data,omitempty"`
	// Draft names the draft that a schema began as, if it took something from the data. LoadSchema marks what is still of that
	// draft and empties Draft; where the memory of the draft is away (DraftedEnding) Draft stays, and nobody knows
	// whether the ranges were replaced.
	Draft string `yaml:"draft,omitempty" json:"draft,omitempty"`
	// Persons is the public number of persons, the different ids of the column with role
	// person. Their ids are then private.
	Persons int `yaml:"persons,omitempty" json:"persons,omitempty"`
	// IDs is IDsPublic if the ids of persons are public, which their number then is, too.
	IDs string `yaml:"ids,omitempty" json:"ids,omitempty"`
	// MaxRowsPerPerson is the public cap of the rows of a person: of one with more the first
	// ones of the file are used. 0 means DefaultRowsPerPerson. It is not in the noise.
	MaxRowsPerPerson int `yaml:"max_rows_per_person,omitempty" json:"max_rows_per_person,omitempty"`
	// RowsPerPerson says, without role person, how many rows of one person there may be:
	// plans then also state the resulting guarantee for a person. 0 means unknown.
	RowsPerPerson int `yaml:"rows_per_person,omitempty" json:"rows_per_person,omitempty"`
	// Missing is the policy of feature columns that have none of their own.
	Missing *Missing `yaml:"missing,omitempty" json:"missing,omitempty"`
	// Basis of the numeric features that have none of their own: BasisNone, BasisAuto, or basisCurve, basisCosine or basisSpike followed by K, as in
	// "curve:6". Without it training has BasisAuto, everything else BasisNone. Features must have names, and d is then at most 512.
	Basis string `yaml:"basis,omitempty" json:"basis,omitempty"`
	// Interactions are pairs of feature columns, by their names, whose products are features, too: of numbers, categories, or one of
	// each. Features must have names, and d is then at most 512.
	Interactions [][]string `yaml:"interactions,omitempty" json:"interactions,omitempty"`
	// ChooseInteractions is the number of other pairs that training chooses in private, by the records; model files
	// have them among Interactions.
	ChooseInteractions int `yaml:"choose_interactions,omitempty" json:"choose_interactions,omitempty"`
	// CSV are options of FormatCSV, and of FormatXLSX but for delimiter and encoding.
	CSV CSVOptions `yaml:"csv,omitzero" json:"csv,omitzero"`

	// Sheet names the sheet of a workbook (FormatXLSX). Empty means its only sheet with cells.
	Sheet string `yaml:"sheet,omitempty" json:"sheet,omitempty"`

	// IgnoreOthers allows columns of an ARFF, JSON lines or Parquet file that
	// the schema does not list.
	IgnoreOthers bool `yaml:"ignore_others,omitempty" json:"ignore_others,omitempty"`
	// Sparse reports whether an NPZ file holds a SciPy CSR matrix (save_npz): data, indices,
	// indptr and shape in the place of X.
	Sparse bool `yaml:"sparse,omitempty" json:"sparse,omitempty"`
	// Arrays names the arrays of an NPZ file.
	Arrays *ArrayNames `yaml:"arrays,omitempty" json:"arrays,omitempty"`
	// LabelsFile is the file of the labels of FormatNPY and FormatIDX, relative
	// to the folder of the data file. Empty means the usual name: for IDX
	// "labels" in place of "images" and "idx1" of "idx3", for NPY "y" in place
	// of a leading "X".
	LabelsFile string `yaml:"labels_file,omitempty" json:"labels_file,omitempty"`

	// Features is d of a file without column names, at least 1.
	Features int `yaml:"features,omitempty" json:"features,omitempty"`
	// NonZeros bounds the features stored in a row of a sparse LIBSVM file;
	// a row with more is an error. 0 means Features.
	NonZeros int `yaml:"nonzeros,omitempty" json:"nonzeros,omitempty"`
	// Range is [lo, hi] of the numbered features that Columns does not list.
	Range []float64 `yaml:"range,omitempty" json:"range,omitempty"`
	// Dense stores a LIBSVM file as dense records and scales it like a CSV
	// file; an index that a row leaves out is the value 0.
	Dense bool `yaml:"dense,omitempty" json:"dense,omitempty"`

	// Store is StoreFloat32, or empty or StoreFloat64. It is part of the encoder: a model
	// rounds what it scores as its records were.
	Store string `yaml:"store,omitempty" json:"store,omitempty"`

	// Columns are the columns of the file; where features are numbered, the
	// label, the group and the features (by Position) that differ from Range.
	Columns []Column `yaml:"columns" json:"columns"`
}

// CSVOptions describe delimited text.
type CSVOptions struct {
	// Delimiter is one ASCII character, or "tab". Empty means a comma.
	Delimiter string `yaml:"delimiter,omitempty" json:"delimiter,omitempty"`
	// Header reports whether the first row holds column names. Columns are then
	// found by name, in any order; otherwise by Column.Position.
	Header bool `yaml:"header,omitempty" json:"header,omitempty"`
	// Comment are prefixes of lines to skip, e.g. ["#"]. They are not looked for
	// inside quoted fields.
	Comment []string `yaml:"comment,omitempty" json:"comment,omitempty"`
	// IgnoreOthers allows columns of the file that the schema does not list.
	// It needs a header.
	IgnoreOthers bool `yaml:"ignore_others,omitempty" json:"ignore_others,omitempty"`
	// Decimal separates the fraction of a number: "." (the default) or ",".
	Decimal string `yaml:"decimal,omitempty" json:"decimal,omitempty"`
	// Thousands separates groups of three digits before the fraction: ",", ".", "'" or
	// "space". Empty means that there are none; a number may also do without them.
	Thousands string `yaml:"thousands,omitempty" json:"thousands,omitempty"`
	// Encoding is EncodingUTF16 or EncodingWindows1252. Empty means UTF-8, or UTF-16 where
	// the file begins with its byte order mark.
	Encoding string `yaml:"encoding,omitempty" json:"encoding,omitempty"`
}

// ArrayNames are the arrays of an NPZ file; an empty name is the default.
type ArrayNames struct {
	X     string `yaml:"x,omitempty" json:"x,omitempty"`         // n x d features; default "X"
	Y     string `yaml:"y,omitempty" json:"y,omitempty"`         // n labels; default "y"
	Group string `yaml:"group,omitempty" json:"group,omitempty"` // n whole numbers; default "group"
	// Person names n whole numbers, the ids of persons; default "person".
	Person string `yaml:"person,omitempty" json:"person,omitempty"`
}

// Column describes one column.
type Column struct {
	// Name is unique. It must be the name in the file if there is one there
	// and Field is empty.
	Name string `yaml:"name" json:"name"`
	// Field is the name in the file (header, attribute, key) if it is not Name.
	Field string `yaml:"field,omitempty" json:"field,omitempty"`
	// Position is the field (CSV without a header) or the number of the feature
	// from 1. For CSV, leave all positions out to mean the order of the list.
	Position int `yaml:"position,omitempty" json:"position,omitempty"`
	// Role is RoleFeature (default), RoleLabel, RoleID, RoleGroup, RolePerson or RoleIgnore.
	Role string `yaml:"role,omitempty" json:"role,omitempty"`
	// Kind of a feature is KindNumeric or KindCategorical; see the defaults
	// there. A label is one of two classes, or graded with KindNumeric.
	Kind string `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Range is the public [lo, hi] of a numeric feature or label, lo < hi,
	// finite. A feature outside is clamped; a label outside is an error.
	Range []float64 `yaml:"range,omitempty" json:"range,omitempty"`
	// Transform of a numeric feature is empty or TransformLog1p.
	Transform string `yaml:"transform,omitempty" json:"transform,omitempty"`
	// Basis overrides Schema.Basis for this numeric feature.
	Basis string `yaml:"basis,omitempty" json:"basis,omitempty"`
	// Categories are the public values of a categorical feature, at least two
	// counting the one that MissingCategory adds. They match as text, or as
	// plain decimal numbers ("2" and "2.0").
	Categories []string `yaml:"categories,omitempty" json:"categories,omitempty"`
	// Unknown is UnknownOther, or empty: then a category that is not listed is an error.
	Unknown string `yaml:"unknown,omitempty" json:"unknown,omitempty"`
	// Suffix is cut off the end of a number, with blanks before it, e.g. "%" or "mg/l".
	Suffix string `yaml:"suffix,omitempty" json:"suffix,omitempty"`
	// Prefix is cut off the beginning of a number, with blanks after it, e.g. "€".
	Prefix string `yaml:"prefix,omitempty" json:"prefix,omitempty"`
	// Decimal and Thousands override those of CSVOptions for this numeric feature, in every format
	// whose columns have names: in a JSON or Parquet file they are about texts.
	Decimal   string `yaml:"decimal,omitempty" json:"decimal,omitempty"`
	Thousands string `yaml:"thousands,omitempty" json:"thousands,omitempty"`
	// Date makes the column a date, in days, and replaces Range.
	Date *DateFormat `yaml:"date,omitempty" json:"date,omitempty"`
	// FromData marks a range or categories that were taken from the data, as
	// Schema.BoundsFromData does for all of them.
	FromData bool `yaml:"from_data,omitempty" json:"from_data,omitempty"`
	// KnownFrom says in words where the range or the categories of a feature are known from without the data, such as
	// "code book of 2019". A column with it may have what the draft found in the data.
	KnownFrom string `yaml:"known_from,omitempty" json:"known_from,omitempty"`
	// Missing overrides Schema.Missing for this feature.
	Missing *Missing `yaml:"missing,omitempty" json:"missing,omitempty"`
	// Positive is the value of the label that becomes +1.
	Positive string `yaml:"positive,omitempty" json:"positive,omitempty"`
	// Negative is the value that becomes -1. If it is empty, every other value
	// is negative; if it is set, every other value is an error.
	Negative string `yaml:"negative,omitempty" json:"negative,omitempty"`
	// TrimSuffix is cut off the end of the label before it is compared, e.g. "."
	// where one of two files ends its labels in a dot.
	TrimSuffix string `yaml:"trim_suffix,omitempty" json:"trim_suffix,omitempty"`
	// Fold compares a label of two classes without regard to capitals and to blanks around it, so
	// that "Ja" and "ja " are one class.
	Fold bool `yaml:"fold,omitempty" json:"fold,omitempty"`
	// Others is OthersDrop to leave out rows with a label that is neither
	// Positive nor Negative: the data set is then the rows of two classes.
	Others string `yaml:"others,omitempty" json:"others,omitempty"`
}

// Missing says which values stand for "not known" and what becomes of them. An
// empty field is always missing.
type Missing struct {
	// Values are further texts that mean missing, matched like categories:
	// "0" also matches 0.0.
	Values []string `yaml:"values,omitempty" json:"values,omitempty"`
	// Policy is MissingError (default), MissingMiddle, MissingValue or
	// MissingCategory.
	Policy string `yaml:"policy,omitempty" json:"policy,omitempty"`
	// Value is used by MissingValue; it is clamped to the range.
	Value *float64 `yaml:"value,omitempty" json:"value,omitempty"`
}

// format is the format, as far as the schema alone tells it: FormatCSV stands
// for all formats with column names if Format is empty.
func (s *Schema) format() string {
	switch {
	case s.Format != "":
		return s.Format
	case s.Features > 0:
		return FormatLIBSVM
	}
	return FormatCSV
}

// IsNumbered reports whether the features of a format are numbered, not named.
func IsNumbered(format string) bool {
	return slices.Contains([]string{FormatLIBSVM, FormatNPY, FormatNPZ, FormatIDX, FormatImages}, format)
}

// ByIndex reports whether the features are numbered, not named.
func (s *Schema) ByIndex() bool { return IsNumbered(s.format()) }

// IsLIBSVM reports whether the schema describes a LIBSVM file.
func (s *Schema) IsLIBSVM() bool { return s.format() == FormatLIBSVM }

// ByPairs reports whether a row of the file lists pairs of index and value.
func (s *Schema) ByPairs() bool { return s.IsLIBSVM() || s.Sparse }

// IsSparse reports whether records are stored as compressed rows.
func (s *Schema) IsSparse() bool { return s.Sparse || s.IsLIBSVM() && !s.Dense }

// RangesFromData reports whether a range or a list of categories was taken from the data.
func (s *Schema) RangesFromData() bool {
	return s.BoundsFromData || slices.ContainsFunc(s.Columns, func(c Column) bool { return c.FromData })
}

// SelectsByLabel reports whether rows with a label of neither class are left out: who is among
// the records then depends on the label.
func (s *Schema) SelectsByLabel() bool {
	c := s.ColumnOf(RoleLabel)
	return c != nil && c.Others == OthersDrop
}

// IsNarrow reports whether features are stored as float32.
func (s *Schema) IsNarrow() bool { return s.Store == StoreFloat32 }

// Unlabelled reports whether the schema came from LoadUnlabelledSchema and has no label column
// of its own.
func (s *Schema) Unlabelled() bool {
	c := s.ColumnOf(RoleLabel)
	return c != nil && c.Name == noLabel
}

// IsGraded reports whether labels are numbers in [-1, 1] and not two classes.
func (s *Schema) IsGraded() bool {
	c := s.ColumnOf(RoleLabel)
	return c != nil && c.Kind == KindNumeric
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

// ArraysOf are the names with their defaults; group and person are empty without a column for them.
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

// FieldOf is the name of the column in the file.
func (c *Column) FieldOf() string { return cmp.Or(c.Field, c.Name) }
