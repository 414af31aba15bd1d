package files

import (
	"path/filepath"
	"slices"
	"strings"

	"dyad/internal/input"
)

// Content tells what a file contains, such as "model".
type Content string

// contents are the endings of each content. CheckEnding refuses all other endings of the table below for this content.
// An ending that is not in the table is the user's choice.
var contents = map[Content]struct {
	words   string
	endings []string
}{
	"model":       {"a model in JSON", []string{".json"}},
	"clusters":    {"clusters in JSON", []string{".json"}},
	"figures":     {"figures in JSON", []string{".json"}},
	"protocol":    {"a protocol in JSON", []string{".json"}},
	"page":        {"an HTML page", []string{".html", ".htm"}},
	"curves":      {"curves in JSON, SVG, PDF or PNG", []string{".json", ".svg", ".pdf", ".png"}},
	"table":       {"a table in CSV", []string{".csv"}},
	"scores":      {"a table in CSV", []string{".csv", ".npy"}},
	"schema":      {"a schema in YAML", []string{".yaml", ".yml"}},
	"recipe":      {"a recipe in YAML", []string{".yaml", ".yml"}},
	"pack":        {"a pack", []string{".dyadpack"}},
	"onnx":        {"ONNX", []string{".onnx"}},
	"sql":         {"SQL", []string{".sql"}},
	"python":      {"Python", []string{".py"}},
	"go":          {"Go", []string{".go"}},
	"javascript":  {"JavaScript", []string{".mjs", ".js"}},
	"npz":         {"an NPZ archive", []string{".npz"}},
	"safetensors": {"safetensors", []string{".safetensors"}},
}

// formats are the endings that name a format. Each has the name of the format and a remedy: the command that
// writes the format, or advice on what to write instead.
var formats = map[string]struct{ name, remedy string }{
	".json": {"JSON", "change the ending of the file name"},
	".html": {"an HTML page", `"dyad report MODEL --out FILE.html" writes the page of a model`},
	".htm":  {"an HTML page", `"dyad report MODEL --out FILE.html" writes the page of a model`},
	".onnx": {"ONNX", `save a model as JSON, and "dyad export MODEL --onnx -o FILE.onnx" writes it`},
	".sql":  {"SQL", `save a model as JSON, and "dyad export MODEL --sql duckdb -o FILE.sql" writes it`},
	".py":   {"Python", `save a model as JSON, and "dyad export MODEL --python -o FILE.py" writes it`},
	".go":   {"Go", `save a model as JSON, and "dyad export MODEL --go -o FILE.go" writes it`},
	".mjs":  {"JavaScript", `save a model as JSON, and "dyad export MODEL -o FILE.mjs" writes it`},
	".js":   {"JavaScript", `save a model as JSON, and "dyad export MODEL -o FILE.mjs" writes it`},
	".npz":  {"NPZ", `save a model as JSON, and "dyad export MODEL --npz -o FILE.npz" writes it`},
	".safetensors": {"safetensors",
		`save a model as JSON, and "dyad export MODEL --safetensors -o FILE.safetensors" writes it`},
	".csv":      {"CSV", `"dyad predict MODEL --data FILE -o FILE.csv" writes scores`},
	".npy":      {"NPY", `"dyad predict MODEL --data FILE -o FILE.npy" writes scores`},
	".parquet":  {"Parquet", `"dyad data convert FILE OUT.parquet --schema SCHEMA" writes records`},
	".dyadpack": {"a pack", `"dyad data pack FILE --schema SCHEMA -o NAME.dyadpack" writes records`},
	".yaml":     {"YAML", `"dyad data schema FILE -o SCHEMA.yaml" drafts a schema`},
	".yml":      {"YAML", `"dyad data schema FILE -o SCHEMA.yaml" drafts a schema`},
	".pdf":      {"PDF", "write an HTML page with --report, and print it to PDF in a browser"},
	".svg":      {"SVG", "write an HTML page with --report, which has the pictures"},
	".png":      {"PNG", "write an HTML page with --report, which has the pictures"},
	".docx":     {"a text document", "write an HTML page with --report, and open the page in a word processor"},
	".xlsx":     {"a spreadsheet", "write CSV, which spreadsheets open"},
	".xls":      {"a spreadsheet", "write CSV, which spreadsheets open"},
	".ods":      {"a spreadsheet", "write CSV, which spreadsheets open"},
	".pkl":      {"a pickle", "save a model as JSON, which the Python package loads"},
	".pickle":   {"a pickle", "save a model as JSON, which the Python package loads"},
	".joblib":   {"a pickle", "save a model as JSON, which the Python package loads"},
	".pt":       {"PyTorch", `save a model as JSON, and "dyad export MODEL --onnx -o FILE.onnx" writes ONNX`},
	".pth":      {"PyTorch", `save a model as JSON, and "dyad export MODEL --onnx -o FILE.onnx" writes ONNX`},
	".h5":       {"HDF5", `save a model as JSON, and "dyad export MODEL --onnx -o FILE.onnx" writes ONNX`},
	".pmml":     {"PMML", `save a model as JSON, and "dyad export MODEL --onnx -o FILE.onnx" writes ONNX`},
	".gz":       {"a compressed file", "leave the ending out, and compress the file afterwards"},
	".zst":      {"a compressed file", "leave the ending out, and compress the file afterwards"},
	".bz2":      {"a compressed file", "leave the ending out, and compress the file afterwards"},
	".zip":      {"a compressed file", "leave the ending out, and compress the file afterwards"},
}

// CheckEnding returns an error if the ending of a file name stands for a format that the file does not have.
// Other programs use the ending to choose a format.
func CheckEnding(path string, content Content) error {
	ending := strings.ToLower(filepath.Ext(path))
	format, known := formats[ending]
	is := contents[content]
	if !known || slices.Contains(is.endings, ending) {
		return nil
	}
	return input.Errorf("%s would contain %s, but its ending means %s; %s", path, is.words,
		format.name, format.remedy)
}

// Known reports whether this content exists.
func (c Content) Known() bool { return len(contents[c].endings) > 0 }
