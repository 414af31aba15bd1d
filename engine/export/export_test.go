package export_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyad/engine/dataset"
	"dyad/engine/export"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mixed has a column of every kind.
const mixed = `data_id: mixed
csv: {header: true}
columns:
  - {name: age, range: [18, 95], missing: {policy: middle, values: ["-1"]}}
  - {name: lab, range: [0, 500], transform: log1p, missing: {policy: value, value: 7}}
  - {name: score, range: [-2, 3]}
  - {name: sex, categories: [f, m], missing: {policy: middle}}
  - {name: "the ward's", categories: [a, "b\"", c], unknown: other, missing: {policy: category}}
  - {name: code, categories: ["1", "2", "3.5"], unknown: other, missing: {policy: middle}}
  - {name: y, role: label, positive: "1"}
`

// pairs are interactions of all kinds of columns.
const pairs = "interactions: [[age, lab], [code, score], [\"the ward's\", sex], [sex, age], [code, \"the ward's\"]]\n"

func function(t testing.TB, schema string) *export.Function {
	t.Helper()
	s := must.Get(dataset.ParseSchema([]byte(schema)))(t)
	e := must.Get(dataset.NewEncoder(s))(t)
	w := make([]float64, e.Dim())
	for k := range w {
		w[k] = math.Round(1000*math.Sin(float64(k+1))) / 1000
	}
	return &export.Function{Encoder: e, Output: "score", Layers: []export.Layer{{Name: "weights", Rows: 1, Cols: len(w), W: w}},
		About: []export.Fact{{Name: "guarantee", Text: "epsilon = 1,\ndelta = 1e-05 for one record"}}}
}

// What a reader gets is kept, so that a change of it is seen.
func TestSnippets(t *testing.T) {
	f := function(t, mixed)
	for name, text := range map[string]func() ([]byte, error){
		"score.py": f.Python, "score.go.txt": f.Go, "score.mjs": f.JavaScript, "score.sql": func() ([]byte, error) { return f.SQL(export.SQL, `clinic."Visits"`) },
	} {
		got := must.Get(text())(t)
		path := filepath.Join("testdata", name)
		if *update {
			must.Do(t, os.WriteFile(path, got, 0o644))
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from what it was (-update writes it): %v", name, err)
		}
	}
}

// record is what a snippet takes, and the texts of the same fields.
type record struct {
	Numbers map[string]float64
	Texts   map[string]string
	fields  []string
}

// draw draws records with values outside of ranges, missing and unknown ones.
func draw(rng *rand.Rand, f *export.Function) record {
	r := record{Numbers: map[string]float64{}, Texts: map[string]string{}}
	for _, in := range f.Encoder.Inputs() {
		field := ""
		switch {
		case in.Numeric:
			v := []float64{in.Lo + (in.Hi-in.Lo)*rng.Float64(), in.Hi * (4*rng.Float64() - 2), in.Lo, in.Hi, 1e15, -1}[rng.IntN(6)]
			field = strconv.FormatFloat(v, 'g', -1, 64)
			if r.Numbers[in.Name] = v; rng.IntN(10) == 0 && !math.IsNaN(in.MissingOutputs[0]) {
				field = ""
				delete(r.Numbers, in.Name)
			}
		case rng.IntN(6) == 0:
		case rng.IntN(6) == 0 && in.UnknownCode != dataset.CodeRefused:
			field = "77"
		default:
			field = in.Categories[rng.IntN(len(in.Categories))].Text
		}
		if !in.Numeric && in.ByNumber && field != "" {
			r.Numbers[in.Name], _ = strconv.ParseFloat(field, 64)
		} else if !in.Numeric {
			r.Texts[in.Name] = field
		}
		r.fields = append(r.fields, field)
	}
	return r
}

const program = `package main

import (
	"encoding/json"
	"fmt"
	"os"

	"snippet/broken"
	"snippet/score"
)

func main() {
	var records []struct {
		Numbers map[string]float64
		Texts   map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&records); err != nil {
		panic(err)
	}
	for _, r := range records {
		a, err := score.Score(r.Numbers, r.Texts)
		b, _ := broken.Score(r.Numbers, r.Texts)
		fmt.Println(a, b, err != nil)
	}
}
`

// checkScores compares what a snippet gives for records, the first of which is refused, with the encoder. Scores without the projection
// must differ.
func checkScores(t *testing.T, f *export.Function, records []record, scored func(i int) (refused bool, score, without float64)) {
	t.Helper()
	differ := 0
	for i, r := range records {
		refused, got, without := scored(i)
		x, err := f.Encoder.Encode(r.fields)
		if refused != (err != nil) || refused != (i == 0) {
			t.Fatalf("record %d: refused %v, and by the encoder: %v", i, refused, err)
		}
		if err != nil {
			continue
		}
		var want float64
		for k, v := range x {
			want += v * f.Layers[0].W[k]
		}
		if !(math.Abs(got-want) <= 1e-12) {
			t.Fatalf("record %d: %v, want %v", i, got, want)
		}
		if !(math.Abs(without-want) <= 1e-6) {
			differ++
		}
	}
	if differ == 0 {
		t.Error("the records do not see a missing projection")
	}
}

// TestGoSnippetScores builds the Go source and compares it with the encoder on random records; a source
// without the projection must differ.
func TestGoSnippetScores(t *testing.T) {
	sizes.NotShort(t, "builds programs")
	heads := []string{"store: float32\n", "basis: curve:3\n", "basis: spike:5\n" + pairs}
	if sizes.Full() {
		heads = append(heads, "", "basis: cosine:6\n", "basis: cosine:5\n"+pairs, pairs)
	}
	for _, head := range heads {
		schema := head + mixed
		if strings.Contains(head, "spike") { // another basis in one column
			schema = strings.Replace(schema, "range: [-2, 3]", "range: [-2, 3], basis: curve:2", 1)
		}
		f := function(t, schema)
		source := must.Get(f.Go())(t)
		broken := strings.Replace(string(source), "max(math.Sqrt(sum), radius)", "radius + 0*sum", 1)
		dir := t.TempDir()
		for name, text := range map[string]string{
			"go.mod": "module snippet\n\ngo 1.21\n", "main.go": program, "score/score.go": string(source),
			"broken/score.go": strings.Replace(broken, "package score", "package broken", 1),
		} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		}
		rng := rand.New(rand.NewPCG(1, 2))
		records := make([]record, 300)
		for i := range records {
			records[i] = draw(rng, f)
		}
		records[0].Texts["sex"], records[0].fields[3] = "x", "x" // refused
		text := must.Get(json.Marshal(records))(t)
		cmd := exec.Command("go", "run", ".")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(text)
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		must.Do(t, err, string(out))
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		must.Equal(t, len(lines), len(records), "scores")
		checkScores(t, f, records, func(i int) (bool, float64, float64) {
			parts := strings.Fields(lines[i])
			got, _ := strconv.ParseFloat(parts[0], 64)
			without, _ := strconv.ParseFloat(parts[1], 64)
			return parts[2] == "true", got, without
		})
	}
}

// TestJavaScriptScores runs the module in Node and compares it with the encoder on random records, those of every kind of column; a module
// without the projection must differ.
func TestJavaScriptScores(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node")
	}
	dir := t.TempDir()
	for _, head := range []string{"store: float32\n", "basis: curve:3\n", "basis: spike:5\n" + pairs} {
		f := function(t, head+mixed)
		source := must.Get(f.JavaScript())(t)
		rng := rand.New(rand.NewPCG(3, 4))
		records, rows := make([]record, 300), make([]map[string]any, 300)
		for i := range records {
			records[i], rows[i] = draw(rng, f), map[string]any{}
			for name, text := range records[i].Texts {
				rows[i][name] = text
			}
			for name, v := range records[i].Numbers {
				rows[i][name] = v
			}
		}
		rows[0]["sex"], records[0].fields[3] = "constructor", "constructor" // refused; a name that every object has
		text := must.Get(json.Marshal(rows))(t)
		broken := strings.Replace(string(source), "Math.max(Math.sqrt(", "Math.min(Math.sqrt(", 1)
		for name, text := range map[string]string{"score.mjs": string(source), "broken.mjs": broken, "main.mjs": `import { score } from "./score.mjs";
import { score as broken } from "./broken.mjs";
console.log(JSON.stringify(JSON.parse(process.argv[2]).map((row) => [score(row), broken(row)])));
`} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		out, err := exec.Command(node, filepath.Join(dir, "main.mjs"), string(text)).CombinedOutput()
		var scores [][2]*float64
		if err != nil || json.Unmarshal(out, &scores) != nil || len(scores) != len(records) {
			t.Fatalf("%v: %s", err, out)
		}
		checkScores(t, f, records, func(i int) (refused bool, score, without float64) {
			if scores[i][0] == nil {
				return true, 0, 0
			}
			if without = math.NaN(); scores[i][1] != nil {
				without = *scores[i][1]
			}
			return false, *scores[i][0], without
		})
	}
}

func TestNonlinearModelsHaveNoSnippet(t *testing.T) {
	f := function(t, mixed)
	f.UnitFloor = 1
	must.Err(f.Go())(t, "a network is written as a linear score")
}
