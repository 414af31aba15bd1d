package dataset

import (
	"io"
	"strings"
	"testing"
)

func mustSchema(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := ParseSchema([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustEncoder(t testing.TB, text string) *Encoder {
	t.Helper()
	e, err := NewEncoder(mustSchema(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return e
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
