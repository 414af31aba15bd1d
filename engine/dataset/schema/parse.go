package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"dyad/engine/dataset/strictyaml"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// LoadSchema reads and validates a schema file. A draft leaves its values in a file next to the schema
// (DraftedEnding). If this file exists, ranges and categories that still equal those values are marked as taken
// from the data, unless the column has KnownFrom. The schema need not name the draft any more (Schema.Draft).
func LoadSchema(path string) (*Schema, error) { return loadSchema(path, false) }

// LoadUnlabelledSchema is like LoadSchema, but the labels of the records may be elsewhere. The records are
// read with LabelsIgnored. The schema may lack a label column. LoadUnlabelledSchema then adds one, under a
// name that the file must not have.
func LoadUnlabelledSchema(path string) (*Schema, error) { return loadSchema(path, true) }

func loadSchema(path string, unlabelled bool) (*Schema, error) {
	text, err := strictyaml.Read(os.Open(path))
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot read schema: %w", err)
	}
	s, err := ParseText(text, unlabelled)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	if err := s.remember(path); err != nil {
		return nil, err
	}
	return s, nil
}

// ParseSchema parses a schema in YAML and validates it. A syntax error or an unknown key is reported with its
// line. Problems found by Validate are all reported together.
func ParseSchema(text []byte) (*Schema, error) { return ParseText(text, false) }

// ParseText is like ParseSchema. If unlabelled is set, the schema may lack a label column, and ParseText then adds one.
func ParseText(text []byte, unlabelled bool) (*Schema, error) {
	body, err := strictyaml.Parse(text)
	if errors.Is(err, strictyaml.ErrEmpty) {
		return nil, errors.New("dataset: schema is empty; \"dyad data schema FILE\" drafts a schema")
	}
	if err != nil {
		return nil, schemaError(err)
	}
	ast.Walk(textFixer{}, body)
	var s Schema
	if err := strictyaml.Decode(body, &s); err != nil {
		return nil, schemaError(err)
	}
	if unlabelled && !s.ByIndex() && s.ColumnOf(RoleLabel) == nil {
		label := Column{Name: noLabel, Role: RoleLabel, Positive: "1"}
		if slices.ContainsFunc(s.Columns, func(c Column) bool { return c.Position > 0 }) {
			label.Position = len(s.Columns) + 1
		}
		s.Columns = append(s.Columns, label)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &s, nil
}

// schemaError adds the prefix to the message of an error. The message contains no excerpt of the text.
func schemaError(err error) error {
	said := strictyaml.Describe(err)
	switch key := strictyaml.NearKey(err, Schema{}); {
	case key != "":
		return fmt.Errorf("dataset: schema: %s; %s", said, key)
	case atKey.MatchString(said): // it is a schema
		return fmt.Errorf("dataset: schema: %s", said)
	}
	return fmt.Errorf("dataset: schema: %s; the file must be a schema in YAML, not data; \"dyad data schema FILE\" "+
		"drafts a schema from data", said)
}

// atKey matches a message about the value of a key.
var atKey = regexp.MustCompile(`^line \d+, position \d+: \w+: `)

// textFixer restores the original text of values where the schema takes texts (`positive: +1`, `categories:
// [007, no]`), because YAML would convert them.
type textFixer struct{}

// Visit implements ast.Visitor.
func (f textFixer) Visit(n ast.Node) ast.Visitor {
	kv, ok := n.(*ast.MappingValueNode)
	if !ok || kv.Key == nil || kv.Key.GetToken() == nil {
		return f
	}
	key := kv.Key.GetToken().Value
	switch {
	case slices.Contains([]string{"name", "field", "positive", "negative", "delimiter", "data_id", "labels_file", "x", "y",
		"trim_suffix", "decimal", "thousands", "suffix", "prefix", "sheet", "from", "to", "draft", "known_from"}, key):
		kv.Value = asText(kv.Value)
	case key == "interactions":
		if list, ok := kv.Value.(*ast.SequenceNode); ok {
			for _, pair := range list.Values {
				textsOf(pair)
			}
		}
	case slices.Contains([]string{"categories", "values", "comment"}, key):
		textsOf(kv.Value)
	}
	return f
}

// textsOf applies asText to the entries of a list.
func textsOf(n ast.Node) {
	if list, ok := n.(*ast.SequenceNode); ok {
		for i, v := range list.Values {
			list.Values[i] = asText(v)
		}
	}
}

// asText replaces a number, boolean or null in the YAML text by its text.
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

// YAML returns the text of the schema, which ParseSchema can parse.
func (s *Schema) YAML() ([]byte, error) {
	text, err := yaml.MarshalWithOptions(s, yaml.IndentSequence(true))
	if err != nil {
		return nil, schemaError(err)
	}
	return text, nil
}

// QuoteYAML quotes a text as a JSON string, which is valid YAML.
func QuoteYAML(s string) string {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	_ = w.Encode(s) // cannot fail for a string
	return strings.TrimSuffix(b.String(), "\n")
}

// QuoteList quotes texts as a YAML list.
func QuoteList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = QuoteYAML(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
