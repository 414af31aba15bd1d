package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyad/engine/dataset/source"
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

// wantRule reports an error of the test unless err names the row, column and position of want, and its file if want has one. The rule
// of err must contain the rule of want. It may not contain 7391, which marks the values that are refused.
func wantRule(t testing.TB, err error, want source.ParseError, what ...any) {
	t.Helper()
	var p *source.ParseError
	if !errors.As(err, &p) || p.Row != want.Row || p.Column != want.Column || p.Position != want.Position || want.File != "" && p.File != want.File || !strings.Contains(p.Rule, want.Rule) || strings.Contains(p.Rule, "7391") {
		t.Errorf("%s: got %v, want %+v", fmt.Sprint(what...), err, want)
	}
}

// fuzzLoad loads each content by each schema with each of the options.
func fuzzLoad(f *testing.F, schemas []string, options []Options, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	var parsed []*Schema
	for _, text := range schemas {
		parsed = append(parsed, mustSchema(f, text))
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, s := range parsed {
			for _, o := range options {
				d, err := load(s, content, o)
				checkLoaded(t, d, err)
			}
		}
	})
}

// allocated returns the number of bytes that f allocates.
func allocated(t testing.TB, f func() error) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must.Do(t, f())
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
