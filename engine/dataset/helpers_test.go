package dataset

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

func mustSchema(t testing.TB, text string) *Schema {
	t.Helper()
	return must.Get(ParseSchema([]byte(text)))(t)
}

func mustEncoder(t testing.TB, text string) *Encoder {
	t.Helper()
	return must.Get(NewEncoder(mustSchema(t, text)))(t)
}

func load(s *Schema, content string, o Options) (*Dataset, error) {
	return LoadReader("file", strings.NewReader(content), s, o)
}

// repeat yields text over and over, n times.
type repeat struct {
	text []byte
	n    int
	at   int
}

func (r *repeat) Read(b []byte) (int, error) {
	if r.n <= 0 {
		return 0, io.EOF
	}
	k := copy(b, r.text[r.at:])
	if r.at += k; r.at == len(r.text) {
		r.at = 0
		r.n--
	}
	return k, nil
}

func readAfter(text string, r io.Reader) io.Reader {
	return io.MultiReader(strings.NewReader(text), r)
}

// put writes a file and returns its name.
func put[T string | []byte](t testing.TB, path string, content T) string {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// writeFile writes a file of that name to a folder of its own.
func writeFile[T string | []byte](t testing.TB, name string, content T) string {
	t.Helper()
	return put(t, filepath.Join(t.TempDir(), name), content)
}
