package face

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"dyad"
	"dyad/engine/export"
	"dyad/internal/hostile"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// genuine are the files of models and clusters of every format.
func genuine(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.FromSlash("../../cmd/command/testdata/formats/" + pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(t)
		all[filepath.Base(name)] = text
	}
	return all
}

// room is where a test or a fuzz target writes its files: making a folder for each takes longer than all else.
func room(t testing.TB) func(text []byte) (path string) {
	path := filepath.Join(t.TempDir(), "file")
	return func(text []byte) string {
		must.Do(t, os.WriteFile(path, text, 0o600))
		return path
	}
}

// Every text of a model file is replaced by texts that end a string, a comment or a statement somewhere, by a forger who
// computes the checksum again: the file is refused, or every export of it is a program of the parts that it has for any model.
func TestHostileTexts(t *testing.T) {
	write := room(t)
	refused, exported := 0, 0
	for name, text := range genuine(t, "model-*.json") {
		document := must.Get(hostile.Parse(text))(t)
		texts := len(hostile.Texts)
		if testing.Short() || name != "model-1.json" {
			texts = 5
		}
		found := 0
		for i, leaf := range document.Leaves() {
			if !strings.HasPrefix(leaf, `"`) {
				continue
			}
			if found++; found%3 != 0 && !sizes.Full() {
				continue
			}
			for k := range texts {
				m, err := dyad.Load(write(sealed(document.Change([]byte{byte(i >> 8), byte(i), byte(k)}))))
				if err != nil {
					refused++
					continue
				}
				exported++
				for _, problem := range exports(m, formats, true) {
					t.Errorf("%s with %.40q: %v", name, hostile.Texts[k], problem)
				}
			}
		}
		if found < 20 {
			t.Errorf("%s has %d texts", name, found)
		}
	}
	least := 100
	if testing.Short() {
		least = 60
	}
	if refused < least || exported < least {
		t.Errorf("%d files were refused and %d exported", refused, exported)
	}
	// What the test is for is found.
	for language, source := range map[string]string{
		"python": "\"\"\"Scores.\n\ndata_id: \"\"\"; print(1); \"\"\"\n\"\"\"\n", "go": "package score\n\nfunc init() { panic(1) }\n", "javascript": "// a\nalert(1)\nexport const MODEL = {};\n\nconst clip = 0", "sql": "-- a\nDROP TABLE r;\nSELECT 1;\n", "onnx": "\x0a\xff\xff",
	} {
		if err := compiles(language, []byte(source)); err == nil && (language != "python" || python() != nil) {
			t.Errorf("%s of another kind is accepted", language)
		}
	}
}

// seal is the text of a document with the checksum of a file of ours.
func seal(t testing.TB, document any) []byte {
	t.Helper()
	text := must.Get(json.Marshal(document))(t)
	v := must.Get(hostile.Parse(text))(t)
	return sealed(v)
}

// sealed is the text of a model or of clusters, with a true checksum if the document has any. It is in one line: to indent it takes as
// long as to read it.
func sealed(v *hostile.Value) []byte {
	text, _ := v.Without("checksum").MarshalJSON() // never fails
	if v.Get("checksum") == nil {
		return text
	}
	return resealed(append(text[:len(text)-1], ",\n  \"checksum\": \"\"\n}\n"...))
}

// formats are those of exports, with the languages of compiles.
var formats = [][2]string{{export.Python, "python"}, {export.GoSource, "go"}, {export.JavaScript, "javascript"}, {export.SQL, "sql"}, {export.ONNX, "onnx"}, {export.NPZ, "npz"}, {export.Safetensors, "safetensors"}}

// exports are the problems of the exports of a model. A format that refuses the model has none. Where compile is not set they are
// written and no more.
func exports(m *dyad.Model, formats [][2]string, compile bool) (problems []error) {
	for _, f := range formats {
		format, language := f[0], f[1]
		text, err := m.Export(format, "")
		switch {
		case errors.Is(err, dyad.ErrInput):
		case err != nil:
			problems = append(problems, fmt.Errorf("export to %s: %w", format, err))
		case compile:
			if err := compiles(language, text); err != nil {
				problems = append(problems, fmt.Errorf("export to %s: %w\n%.2000s", format, err, text))
			}
		}
	}
	return problems
}

// compiles says why a text is not an export in a language, with the parts of every other.
func compiles(language string, text []byte) error {
	switch language {
	case "python":
		return compilesPython(text)
	case "go":
		return compilesGo(text)
	case "javascript":
		return compilesJavaScript(string(text))
	case "sql":
		return compilesSQL(string(text))
	case "onnx":
		return wire(text, 0)
	case "npz":
		_, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		return err
	}
	if len(text) < 8 || !json.Valid(text[8:8+min(binary.LittleEndian.Uint64(text), uint64(len(text)-8))]) {
		return errors.New("the header is not JSON")
	}
	return nil
}

// compilesJavaScript: comments, the model as one line of JSON, and what is the same for every model.
func compilesJavaScript(text string) error {
	head, rest, found := strings.Cut(text, "\nexport const MODEL = ")
	for line := range strings.Lines(head) {
		if line != "\n" && !strings.HasPrefix(line, "// ") || strings.ContainsAny(line, "\r\u2028\u2029") {
			return fmt.Errorf("a line that is no comment: %q", line)
		}
	}
	data, rest, _ := strings.Cut(rest, ";\n")
	if !found || !json.Valid([]byte(data)) || strings.ContainsAny(data, "\n\u2028\u2029") || !strings.HasPrefix(rest, "\nconst clip = ") {
		return errors.New("the model is not one line of JSON")
	}
	return nil
}

// standard are the packages that exports import, as far as they use them.
var standard = sync.OnceValue(func() map[string]*types.Package {
	all := map[string]*types.Package{}
	for name, source := range map[string]string{
		"fmt": "package fmt\nfunc Errorf(string, ...any) error { return nil }",
		"math": "package math\nfunc NaN() float64 { return 0 }\nfunc Sqrt(float64) float64 { return 0 }\nfunc Log1p(float64) float64 { return 0 }\nfunc IsNaN(float64) bool { return false }\n" +
			"func IsInf(float64, int) bool { return false }\nfunc Abs(float64) float64 { return 0 }\nfunc Nextafter32(a, b float32) float32 { return 0 }",
	} {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, source, 0)
		if err == nil {
			all[name], err = (&types.Config{}).Check(name, set, []*ast.File{f}, nil)
		}
		if err != nil {
			panic(err)
		}
	}
	return all
})

type stubs struct{}

func (stubs) Import(path string) (*types.Package, error) {
	if p := standard()[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("import of %q", path)
}

func compilesGo(text []byte) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "score.go", text, parser.ParseComments)
	if err != nil {
		return err
	}
	p, err := (&types.Config{Importer: stubs{}}).Check("score", set, []*ast.File{f}, nil)
	if err != nil {
		return err
	}
	for _, name := range p.Scope().Names() {
		if !slices.Contains([]string{"number", "nan", "numbers", "category", "categories", "factor", "radius", "Score", "stored"}, name) {
			return fmt.Errorf("it declares %s", name)
		}
	}
	for _, d := range f.Decls {
		if fun, ok := d.(*ast.FuncDecl); ok && fun.Name.Name == "init" || p.Name() != "score" {
			return errors.New("it does more than declare")
		}
	}
	return nil
}

// compilesSQL takes comments at the start, and one SELECT to the end.
func compilesSQL(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
	}
	if !strings.HasPrefix(text, "SELECT r.*, z.") {
		return errors.New("it does not begin with the SELECT")
	}
	depth := 0
	for len(text) > 0 {
		c := text[0]
		text = text[1:]
		switch {
		case c == '\'' || c == '"':
			for { // twice is one of the text
				_, rest, found := strings.Cut(text, string(c))
				if !found {
					return errors.New("a text has no end")
				}
				if text = rest; !strings.HasPrefix(text, string(c)) {
					break
				}
				text = text[1:]
			}
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return errors.New("a bracket is closed that is not open")
			}
		case c == ';':
			if depth != 0 || text != "\n" {
				return errors.New("a statement ends before the end")
			}
			return nil
		case c == '-' && strings.HasPrefix(text, "-"), c == '/' && strings.HasPrefix(text, "*"), c == '$', c == '\\', c >= 0x80:
			return fmt.Errorf("%q outside of a text", c)
		}
	}
	return errors.New("the statement has no end")
}

// wire walks a message of protocol buffers, and the graph in it.
func wire(text []byte, depth int) error {
	for len(text) > 0 {
		key, n := binary.Uvarint(text)
		if n <= 0 || key>>3 == 0 {
			return errors.New("a key is cut short")
		}
		text = text[n:]
		size := uint64(0)
		switch key & 7 {
		case 0:
			_, n := binary.Uvarint(text)
			if n <= 0 {
				return errors.New("a number is cut short")
			}
			text = text[n:]
			continue
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			if size, n = binary.Uvarint(text); n <= 0 {
				return errors.New("a length is cut short")
			}
			text = text[n:]
		default:
			return fmt.Errorf("a field of kind %d", key&7)
		}
		if uint64(len(text)) < size {
			return errors.New("a field is longer than the message")
		}
		body := text[:size]
		if text = text[size:]; depth == 0 && key == 7<<3|2 {
			if err := wire(body, 1); err != nil {
				return err
			}
		}
		if key == 14<<3|2 && depth == 0 {
			if err := wire(body, 2); err != nil {
				return fmt.Errorf("a fact: %w", err)
			}
		}
	}
	return nil
}

// pythonProgram reads programs, each after the line with its length, and answers each with a line.
const pythonProgram = `
import ast, sys
for line in sys.stdin.buffer:
    try:
        source = sys.stdin.buffer.read(int(line))
        compile(source, "score.py", "exec")
        said = "ok"
        for k, n in enumerate(ast.parse(source).body):
            doc = k == 0 and isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
            own = isinstance(n, ast.FunctionDef) and n.name in ("score", "_code")
            known = isinstance(n, ast.Import) and [a.name for a in n.names] == ["numpy"]
            constant = isinstance(n, ast.Assign) and n.targets[0].id in ("NUMBERS", "CATEGORIES", "FACTOR", "RADIUS") and not any(
                isinstance(x, ast.Call) or isinstance(x, ast.Name) and x.id not in ("np", "NUMBERS", "CATEGORIES", "FACTOR", "RADIUS") for x in ast.walk(n))
            if not (doc or own or known or constant):
                said = "statement %d is not one of an export" % k
    except Exception as e:
        said = repr(e)
    sys.stdout.buffer.write(said.encode("ascii", "replace").replace(b"\n", b" ") + b"\n")
    sys.stdout.buffer.flush()
`

type interpreter struct {
	sync.Mutex
	to   io.Writer
	from *bufio.Reader
}

// python is an interpreter, nil where there is none.
var python = sync.OnceValue(func() *interpreter {
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	cmd := exec.Command(path, "-I", "-c", pythonProgram)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if errors.Join(err1, err2) != nil || cmd.Start() != nil {
		return nil
	}
	return &interpreter{to: in, from: bufio.NewReader(out)} // ends with this process
})

func compilesPython(text []byte) error {
	p := python()
	if p == nil {
		return nil
	}
	p.Lock()
	defer p.Unlock()
	if _, err := fmt.Fprintf(p.to, "%d\n%s", len(text), text); err != nil {
		return err
	}
	said, err := p.from.ReadString('\n')
	if said = strings.TrimSpace(said); err == nil && said != "ok" {
		err = errors.New(said)
	}
	return err
}

// A network whose sizes are missing, or which says other sizes than its weights have, is refused when it is read: commands
// that score have ended in a panic.
func TestLoadBuildsTheNetwork(t *testing.T) {
	write := room(t)
	text := genuine(t, "model-2.json")["model-2.json"]
	for _, key := range []string{"kind", "features", "hidden", "dim", "activation", "gain"} {
		for _, value := range []any{nil, 0, -1, 1e300, "x", []int{}, []int{1 << 40}} {
			var document map[string]any
			must.Do(t, json.Unmarshal(text, &document))
			network := document["network"].(map[string]any)
			network[key] = value
			if value == nil {
				delete(network, key)
			}
			must.Fail(dyad.Load(write(seal(t, document))))(t, dyad.ErrInput, fmt.Sprintf("network.%s = %v", key, value))
		}
	}
}

// Whatever is changed in a genuine file, sealed again, it is refused, or it is written and read as the same model, and
// scores, and its exports are programs.
func FuzzHostileModel(f *testing.F) {
	names := []string{"model-1.json", "model-1-plan.json", "model-1-plan-2.json", "model-2.json", "11567631/linear.json", "11567631/local.json", "11567631/pairs.json", "37eed79/metric.json", "37eed79/online.json"}
	var seeds []*hostile.Value
	write := room(f)
	for _, name := range names {
		v := must.Get(hostile.Parse(genuine(f, name)[filepath.Base(name)]))(f)
		must.Get(dyad.Load(write(sealed(v))))(f, fmt.Sprintf("%s, without a change", name))
		seeds = append(seeds, v)
	}
	for i := range byte(30) {
		f.Add(i, []byte{0, 7 * i, 5 * i, 0, 3 * i, i})
	}
	f.Fuzz(func(t *testing.T, which byte, changes []byte) {
		changes = changes[:min(len(changes), 12)]
		m, err := dyad.Load(write(sealed(seeds[int(which)%len(seeds)].Change(changes))))
		if err != nil {
			return
		}
		// What takes longer is for some inputs, and depends on nothing but the input.
		sum := int(crc32.ChecksumIEEE(append(changes, which)))
		if sum%4 == 0 {
			same(t, m, write)
			if v := m.Verdict(); v.Verdict == "" {
				t.Error("no verdict")
			}
		}
		some := formats[sum%len(formats):][:1]
		if sum%32 == 0 {
			some = formats
		}
		for _, problem := range exports(m, some, sum%32 == 0) {
			t.Error(problem)
		}
	})
}
