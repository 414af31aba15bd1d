package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Formats of a file.
const (
	FormatCSV    = "csv"    // delimited text
	FormatLIBSVM = "libsvm" // LABEL INDEX:VALUE ..., also called svmlight
)

// Roles of a column.
const (
	RoleFeature = "feature" // the default
	RoleLabel   = "label"   // exactly one column
	RoleID      = "id"      // kept with Options.KeepIDs, never a feature; at most one
	RoleIgnore  = "ignore"  // read and dropped
)

// Kinds of a feature.
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

// Schema is the public description of a data set. Its YAML form is documented
// by the field tags; unknown keys are errors. Text fields keep the text of the
// file: `positive: 1`, `positive: "1"` and a file with "1.0" all agree.
type Schema struct {
	// DataID names the data set in the privacy ledger: 1 to 128 letters,
	// digits, dots, hyphens and underscores.
	DataID string `yaml:"data_id" json:"data_id"`
	// Description is free text.
	Description string `yaml:"description" json:"description,omitempty"`
	// Format is FormatCSV or FormatLIBSVM. Empty means LIBSVM if Features is
	// set, which only LIBSVM has, and CSV otherwise.
	Format string `yaml:"format" json:"format,omitempty"`
	// Public marks the records themselves as public: nothing is charged.
	Public bool `yaml:"public" json:"public,omitempty"`
	// BoundsFromData marks ranges or categories that were taken from the data.
	// Every report then says "bounds not private".
	BoundsFromData bool `yaml:"bounds_from_data" json:"bounds_from_data,omitempty"`
	// Missing is the policy of feature columns that have none of their own.
	Missing *Missing `yaml:"missing" json:"missing,omitempty"`
	// CSV are options of FormatCSV.
	CSV CSVOptions `yaml:"csv" json:"csv,omitzero"`

	// Features is d of a LIBSVM file, at least 1.
	Features int `yaml:"features" json:"features,omitempty"`
	// NonZeros bounds the features stored in a row of a sparse LIBSVM file;
	// a row with more is an error. 0 means Features.
	NonZeros int `yaml:"nonzeros" json:"nonzeros,omitempty"`
	// Range is [lo, hi] of the LIBSVM features that Columns does not list.
	Range []float64 `yaml:"range" json:"range,omitempty"`
	// Dense stores a LIBSVM file as dense records and scales it like a CSV
	// file; an index that a row leaves out is the value 0.
	Dense bool `yaml:"dense" json:"dense,omitempty"`

	// Columns are, for CSV, the columns of the file; for LIBSVM the label and
	// the features (by Position, the index) that differ from the default.
	Columns []Column `yaml:"columns" json:"columns"`
}

// CSVOptions say how delimited text is cut into fields.
type CSVOptions struct {
	// Delimiter is one ASCII character, or "tab". Empty means a comma.
	Delimiter string `yaml:"delimiter" json:"delimiter,omitempty"`
	// Header says that the first row holds column names. Columns are then
	// found by name, in any order; otherwise by Column.Position.
	Header bool `yaml:"header" json:"header,omitempty"`
	// Comment are prefixes of lines to skip, e.g. ["#"], or ["%", "@"] for the
	// header of an ARFF file. They are not looked for inside quoted fields.
	Comment []string `yaml:"comment" json:"comment,omitempty"`
	// IgnoreOthers allows columns of the file that the schema does not list.
	// It needs a header.
	IgnoreOthers bool `yaml:"ignore_others" json:"ignore_others,omitempty"`
}

// Column describes one column.
type Column struct {
	// Name is unique. It must be the name in the header if there is one.
	Name string `yaml:"name" json:"name"`
	// Position is the field (CSV without a header) or the index (LIBSVM) from
	// 1. For CSV, leave all positions out to mean the order of the list.
	Position int `yaml:"position" json:"position,omitempty"`
	// Role is RoleFeature (default), RoleLabel, RoleID or RoleIgnore.
	Role string `yaml:"role" json:"role,omitempty"`
	// Kind of a feature is KindNumeric or KindCategorical; see the defaults there.
	Kind string `yaml:"kind" json:"kind,omitempty"`
	// Range is the public [lo, hi] of a numeric feature, lo < hi, finite.
	Range []float64 `yaml:"range" json:"range,omitempty"`
	// Transform of a numeric feature is empty or TransformLog1p.
	Transform string `yaml:"transform" json:"transform,omitempty"`
	// Categories are the public values of a categorical feature, at least two
	// counting the one that MissingCategory adds. They match as text, or as
	// plain decimal numbers ("2" and "2.0").
	Categories []string `yaml:"categories" json:"categories,omitempty"`
	// Missing overrides Schema.Missing for this feature.
	Missing *Missing `yaml:"missing" json:"missing,omitempty"`
	// Positive is the value of the label that becomes +1.
	Positive string `yaml:"positive" json:"positive,omitempty"`
	// Negative is the value that becomes -1. If it is empty, every other value
	// is negative; if it is set, every other value is an error.
	Negative string `yaml:"negative" json:"negative,omitempty"`
}

// Missing says which values stand for "not known" and what becomes of them. An
// empty field is always missing.
type Missing struct {
	// Values are further texts that mean missing, matched like categories:
	// "0" also matches 0.0.
	Values []string `yaml:"values" json:"values,omitempty"`
	// Policy is MissingError (default), MissingMiddle, MissingValue or
	// MissingCategory.
	Policy string `yaml:"policy" json:"policy,omitempty"`
	// Value is used by MissingValue; it is clamped to the range.
	Value *float64 `yaml:"value" json:"value,omitempty"`
}

// maxSchemaBytes bounds the text of a schema.
const maxSchemaBytes = 8 << 20

// LoadSchema reads and validates a schema file.
func LoadSchema(path string) (*Schema, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot read schema: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSchemaBytes+1))
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot read schema: %w", err)
	}
	s, err := ParseSchema(text)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return s, nil
}

// ParseSchema reads a schema from YAML and validates it. A syntax error or an
// unknown key is reported with its line; problems found by Validate are
// reported all at once.
func ParseSchema(text []byte) (*Schema, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("dataset: schema is longer than %d bytes", maxSchemaBytes)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, schemaError(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, schemaError(&yaml.SyntaxError{Message: "want one YAML document", Token: doc.Body.GetToken()})
		}
		body = doc.Body
	}
	if body == nil {
		return nil, errors.New("dataset: schema is empty; Draft writes one from a file")
	}
	fix := &textFixer{}
	ast.Walk(fix, body)
	if fix.err != nil {
		return nil, schemaError(fix.err)
	}
	var s Schema
	if err := yaml.NodeToValue(body, &s, yaml.Strict()); err != nil {
		return nil, schemaError(err)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &s, nil
}

// schemaError adds the prefix and keeps the line and the excerpt of the schema.
func schemaError(err error) error {
	return fmt.Errorf("dataset: schema: %w", err)
}

// textFixer undoes YAML's typing where the schema wants the text of the file
// (`positive: +1`, `categories: [007, no]`), and refuses fractions where it wants
// a whole number, which the decoder would cut off.
type textFixer struct{ err error }

// Visit implements ast.Visitor.
func (f *textFixer) Visit(n ast.Node) ast.Visitor {
	kv, ok := n.(*ast.MappingValueNode)
	if !ok || f.err != nil || kv.Key == nil || kv.Key.GetToken() == nil {
		return f
	}
	key := kv.Key.GetToken().Value
	switch {
	case slices.Contains([]string{"name", "positive", "negative", "delimiter", "data_id"}, key):
		kv.Value = asText(kv.Value)
	case slices.Contains([]string{"categories", "values", "comment"}, key):
		if list, ok := kv.Value.(*ast.SequenceNode); ok {
			for i, v := range list.Values {
				list.Values[i] = asText(v)
			}
		}
	case slices.Contains([]string{"features", "nonzeros", "position"}, key):
		if _, ok := kv.Value.(*ast.FloatNode); ok {
			f.err = &yaml.SyntaxError{Message: key + " must be a whole number", Token: kv.Value.GetToken()}
		}
	}
	return f
}

// asText replaces a number, boolean or null that is written out by its text.
func asText(n ast.Node) ast.Node {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		tk := n.GetToken()
		if tk == nil || tk.Value == "" {
			return n
		}
		return ast.String(&token.Token{
			Type: token.StringType, Value: tk.Value, Origin: tk.Origin, Position: tk.Position,
			Prev: tk.Prev, Next: tk.Next,
		})
	}
	return n
}

// IsLIBSVM says that the file format is LIBSVM.
func (s *Schema) IsLIBSVM() bool {
	return s.Format == FormatLIBSVM || s.Format == "" && s.Features > 0
}

// IsSparse says that records are stored as compressed rows.
func (s *Schema) IsSparse() bool { return s.IsLIBSVM() && !s.Dense }
