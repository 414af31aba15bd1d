package command

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// realFiles are the files of ../shared/data that docs/guide-data-sets.md names, cut to every
// k-th record. Files that cannot be cut by lines are taken whole.
var realFiles = []struct {
	name, from string
	every      int
}{
	{"pima.data", "pima/pima-indians-diabetes.data", 3},
	{"pima.libsvm", "pima/diabetes.libsvm", 3},
	{"debrecen.arff", "debrecen/messidor_features.arff", 4},
	{"wdbc.data", "wdbc/wdbc.data", 2},
	{"hepatitis.data", "hepatitis/hepatitis.data", 1},
	{"a7a", "a7a/a7a.gz", 20},
	{"adult.data", "adult/adult.data.gz", 60},
	{"bank.csv", "bank/bank-full.csv.gz", 60},
	{"mnist38-images-idx3-ubyte.gz", "mnist38/mnist38-t10k-images-idx3-ubyte.gz", 0},
	{"mnist38-labels-idx1-ubyte.gz", "mnist38/mnist38-t10k-labels-idx1-ubyte.gz", 0},
}

// cut keeps headers and every k-th record of a text file.
func cut(text string, every int) string {
	var out strings.Builder
	records := 0
	for i, line := range strings.SplitAfter(text, "\n") {
		header := strings.HasPrefix(line, "@") || strings.HasPrefix(line, "%") || strings.TrimSpace(line) == "" || i == 0
		if !header {
			records++
		}
		if header || records%every == 0 {
			out.WriteString(line)
		}
	}
	return out.String()
}

func realSlices(t *testing.T, dir string) {
	t.Helper()
	root := filepath.Join("..", "..", "..", "shared", "data")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared/data is not here")
	}
	for _, folder := range []string{"data", "bench/schemas"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	read := func(path string) []byte {
		return must.Get(os.ReadFile(path))(t)
	}
	for _, s := range realFiles {
		text := read(filepath.Join(root, s.from))
		if s.every > 0 && strings.HasSuffix(s.from, ".gz") {
			z := must.Get(gzip.NewReader(bytes.NewReader(text)))(t)
			text = must.Get(io.ReadAll(z))(t)
		}
		if s.every > 0 {
			text = []byte(cut(string(text), s.every))
		}
		write(t, filepath.Join(dir, "data"), s.name, string(text))
	}
	schemas := must.Get(filepath.Glob("../../bench/schemas/*.yaml"))(t)
	for _, s := range schemas {
		write(t, filepath.Join(dir, "bench", "schemas"), filepath.Base(s), string(read(s)))
	}
}

// The blocks of docs/guide-data-sets.md that begin with "```console real" run on slices of
// the real data sets.
func TestDocsRunOnRealData(t *testing.T) {
	sizes.NotShort(t, "slow")
	guide := must.Get(os.ReadFile("../../docs/guide-data-sets.md"))(t)
	dir := t.TempDir()
	realSlices(t, dir)
	p := readPage(strings.ReplaceAll(strings.ReplaceAll(string(guide), "```console runnable", "```console"), "```console real", "```console runnable"))
	if len(p.commands) < 15 {
		t.Fatalf("docs/guide-data-sets.md has only %d commands on real data", len(p.commands))
	}
	for _, c := range p.commands {
		mustRun(t, dir, shellWords(c)...)
	}
}
