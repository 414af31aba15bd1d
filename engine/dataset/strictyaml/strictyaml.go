// Package strictyaml parses YAML files that people write by hand. A file must be one document without tags,
// anchors, aliases and merge keys, and with few levels. Everything else is refused before it is parsed. The
// reasons are that the memory of the parser is quadratic in the depth of a text, and that the parser
// dereferences nil at some tags.
package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"dyad/internal/words"
)

// MaxBytes is the maximum length of a text for Parse. The lexer needs up to 250 bytes of memory for each byte of text.
const MaxBytes = 4 << 20

// MaxLevels is the largest number of nested lists and mappings.
const MaxLevels = 20

// ErrEmpty is returned if a text has no document.
var ErrEmpty = errors.New("the file is empty")

// Parse returns the body of the only document in text. Pass errors of Parse and Decode to Describe to get a
// message with line and column.
func Parse(text []byte) (ast.Node, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the file is longer than %d bytes", MaxBytes)
	}
	var body ast.Node
	err := guarded(func() error {
		tokens := lexer.Tokenize(string(text))
		var open levels
		for _, tk := range tokens {
			if err := open.check(tk); err != nil {
				return err
			}
		}
		file, err := parser.Parse(tokens, 0)
		if err != nil {
			return err
		}
		for _, doc := range file.Docs {
			if doc.Body == nil {
				continue
			}
			if body != nil {
				return at(doc.Body.GetToken(), "want one YAML document")
			}
			body = doc.Body
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, ErrEmpty
	}
	return body, nil
}

// Read returns the content of f and closes f. If err, the error of opening f, is not nil, Read returns err. Read
// stops at a length that is above MaxBytes and above every file that a program writes next to a YAML text.
func Read(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4*MaxBytes))
}

// Decode stores n in the value that v points to. A key for which v has no field is an error. A fraction in the
// place of a whole number is an error, too; the library would truncate it.
func Decode(n ast.Node, v any) error {
	return guarded(func() error { return cmp.Or(whole(n, reflect.TypeOf(v)), yaml.NodeToValue(n, v, yaml.Strict())) })
}

// whole returns an error for a fraction in the place of a whole number of a type.
func whole(n ast.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := n.(type) {
	case *ast.FloatNode, *ast.StringNode: // to the library, 15e-1 is a text
		k, tk := t.Kind(), n.GetToken()
		x, err := strconv.ParseFloat(tk.Value, 64)
		_, float := n.(*ast.FloatNode)
		if reflect.Int <= k && k <= reflect.Uintptr && (float || err == nil && x != math.Trunc(x)) {
			return at(tk, keyOf(tk)+"want a whole number")
		}
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if t.Kind() == reflect.Slice {
				if err := whole(v, t.Elem()); err != nil {
					return err
				}
			}
		}
	case *ast.MappingNode:
		for _, v := range n.Values {
			if err := whole(v, t); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		if t.Kind() == reflect.Map {
			return whole(n.Value, t.Elem())
		}
		for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
			if keyFor(t.Field(i)) == n.Key.GetToken().Value {
				return whole(n.Value, t.Field(i).Type)
			}
		}
	}
	return nil
}

// keyFor returns the key of a field.
func keyFor(f reflect.StructField) string {
	key, _, _ := strings.Cut(cmp.Or(f.Tag.Get("yaml"), f.Tag.Get("json")), ",")
	return cmp.Or(key, strings.ToLower(f.Name))
}

// Describe returns the message of an error of this package or of the YAML library, with the line and the position in
// the line. If a value has the wrong kind, the message also has the key of the value. It has no excerpt of the text,
// so that it contains no records if the file is a data file by mistake.
func Describe(err error) string {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil {
		return strings.TrimSpace(yaml.FormatError(err, false, false))
	}
	said, tk := located.GetMessage(), located.GetToken()
	var kind *yaml.TypeError
	var node *yaml.UnexpectedNodeTypeError
	var large *yaml.OverflowError
	switch {
	case errors.As(err, &kind):
		said = fmt.Sprintf("%swant %s, not %s", keyOf(tk), kindOf(kind.DstType), kindOf(kind.SrcType))
	case errors.As(err, &node):
		said = fmt.Sprintf("%swant %s, not %s", keyOf(tk), nodeKinds[node.Expected], nodeKinds[node.Actual])
	case errors.As(err, &large):
		said = fmt.Sprintf("%sthe number does not fit %s", keyOf(tk), kindOf(large.DstType))
	}
	said = givenTwice.ReplaceAllString(said, "key $1 is in line $2 already")
	return fmt.Sprintf("line %d, position %d: %s", tk.Position.Line, tk.Position.Column, said)
}

var givenTwice = regexp.MustCompile(`mapping key (".*") already defined at \[(\d+):\d+\]`)

// kindOf names the values of a type as a file has them.
func kindOf(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return kindOf(t.Elem())
	case k == reflect.Bool:
		return "true or false"
	case reflect.Int <= k && k <= reflect.Uintptr:
		return "a whole number"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k == reflect.Slice || k == reflect.Array:
		return "a list"
	case k == reflect.Map || k == reflect.Struct:
		return "keys with values"
	}
	return "a text"
}

// nodeKinds names the values that stand in a file.
var nodeKinds = map[ast.NodeType]string{
	ast.NullType: "nothing", ast.BoolType: "true or false", ast.IntegerType: "a whole number", ast.FloatType: "a number",
	ast.InfinityType: "a number", ast.NanType: "a number", ast.StringType: "a text", ast.LiteralType: "a text",
	ast.MappingType: "keys with values", ast.MappingValueType: "keys with values", ast.SequenceType: "a list",
}

// keyOf returns the key whose value begins at a token, or contains it in a list, with a colon. It returns "" if there
// is none.
func keyOf(tk *token.Token) string {
	if tk.Type == token.MappingValueType && tk.Prev != nil { // the token of a mapping is the colon of its first key
		tk = tk.Prev
	}
	first := tk
	for first.Prev != nil && first.Prev.Position.Line == tk.Position.Line {
		first = first.Prev
	}
	left := first.Position.Column // keys above begin to the left of it
	if first.Type == token.SequenceEntryType {
		left++
	}
	closed := 0
	for at := tk.Prev; at != nil; at = at.Prev {
		switch at.Type {
		case token.SequenceEndType, token.MappingEndType:
			closed++
		case token.SequenceStartType, token.MappingStartType:
			closed = max(closed-1, 0)
		case token.MappingValueType:
			key := at.Prev
			if closed == 0 && key != nil && (key.Position.Line == tk.Position.Line || key.Position.Column < left) {
				return key.Value + ": "
			}
		}
	}
	return ""
}

// guarded converts a panic of the library to an error, because an invalid input is not a fault of the program.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the file cannot be parsed as YAML; write it in the simple form that the documentation " +
				"describes")
		}
	}()
	return f()
}

// levels holds the lists and mappings that are open at a token. A level begins at a bracket. In block form, it
// begins at a dash or a key to the right of all open levels.
type levels struct {
	brackets int
	columns  []int // columns of block lists and mappings, in increasing order
}

func (l *levels) check(tk *token.Token) error {
	switch tk.Type {
	case token.TagType:
		return at(tk, "tags are not supported; put text that begins with \"!\" in quotes")
	case token.AnchorType, token.AliasType, token.MergeKeyType:
		return at(tk, "anchors, aliases and merge keys are not supported; repeat the values, and quote text that "+
			`begins with "&", "*" or "<<"`)
	case token.DirectiveType:
		return at(tk, "directives are not supported; put text that begins with \"%\" in quotes")
	case token.SequenceStartType, token.MappingStartType:
		l.brackets++
	case token.SequenceEndType, token.MappingEndType:
		l.brackets = max(l.brackets-1, 0)
	case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
		if l.brackets > 0 {
			return nil
		}
		column := tk.Position.Column
		if key := tk.Prev; tk.Type == token.MappingValueType && key != nil && key.Position.Line == tk.Position.Line {
			column = key.Position.Column
		}
		for len(l.columns) > 0 && l.columns[len(l.columns)-1] >= column {
			l.columns = l.columns[:len(l.columns)-1]
		}
		l.columns = append(l.columns, column)
	}
	if l.brackets+len(l.columns) > MaxLevels {
		return at(tk, fmt.Sprintf("there are more than %d levels of lists and mappings", MaxLevels))
	}
	return nil
}

func at(tk *token.Token, message string) error {
	return &yaml.SyntaxError{Message: message, Token: tk}
}

// NearKey applies Near to the unknown key in err and to the keys of v and its parts. It returns "" for other errors.
func NearKey(err error, v any) string {
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) {
		return ""
	}
	return Near(unknown.Token.Value, slices.Sorted(slices.Values(keysOf(reflect.TypeOf(v), map[reflect.Type]bool{}))))
}

// keysOf returns the keys of a type and of its component types that are not in seen.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		keys = append(append(keys, keyFor(t.Field(i))), keysOf(t.Field(i).Type, seen)...)
	}
	return keys
}

// Near returns the question "did you mean KEY?" for the key that is most similar to the wrong key, or "" if no
// key is similar.
func Near(wrong string, keys []string) string {
	best, least := "", min(3, len(wrong)/2+1)
	for _, key := range keys {
		if d := words.Distance(strings.ToLower(wrong), key); d < least {
			best, least = key, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}
