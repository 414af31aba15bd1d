package dataset

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

// A file of pairs gives a ParseError, or pairs of two different individuals each, no two of them twice.
func FuzzPairs(f *testing.F) {
	for _, seed := range []string{"first,second,label\na,b,1\nb,c,0\n", "first,second\na,b\n", "\"first\",second,label\n\"a\",\"b\n\",1\n", "PAR1"} {
		f.Add(seed)
	}
	ids := []string{"a", "b", "c", "d"}
	path := filepath.Join(f.TempDir(), "pairs")
	f.Fuzz(func(t *testing.T, content string) {
		put(t, path, content)
		for _, oriented := range []bool{false, true} {
			pairs, err := readPairs(path, ids, "records", "id", PairOptions{True: "1", False: "0", Oriented: oriented})
			if p := new(source.ParseError); err != nil && !errors.As(err, &p) {
				t.Fatalf("content gave %v, which is no ParseError", err)
			}
			seen := map[[2]int32]bool{}
			for _, p := range pairs {
				key := [2]int32{min(p.A, p.B), max(p.A, p.B)}
				if p.A == p.B || key[0] < 0 || int(key[1]) >= len(ids) || seen[key] {
					t.Fatalf("pair %v", p)
				}
				seen[key] = true
			}
		}
	})
}

// The JSON of an encoder, which is in every model, is refused or is that of an encoder that writes the same again.
func FuzzEncoder(f *testing.F) {
	for _, schema := range []string{headerSchema, plainSchema, sparseSchema, denseSchema, mixedSchema, clinicalSchema} {
		b := must.Get(mustEncoder(f, schema).MarshalJSON())(f)
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var e Encoder
		if e.UnmarshalJSON([]byte(text)) != nil {
			return
		}
		if checkEncoder(t, e.Schema()) == nil {
			return
		}
		d, err := load(e.Schema(), "30,60,1\n40,70,0\n", Options{Labels: LabelsIgnored})
		if err == nil || !strings.HasPrefix(err.Error(), "dataset: ") {
			checkLoaded(t, d, err)
		}
	})
}

// Answers are refused, or can be used in a draft.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{"age: {range: [18, 110]}\n", "sex: {categories: [f, m], unknown: other}\nid: {role: person, persons: 3}\n", "a: {date: {layout: x}}\n", "a: b\n", "- a\n"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "x.csv")
	put(f, path, "age,sex,y\n30,f,1\n40,m,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		answers, err := ParseAnswers([]byte(text))
		if err != nil {
			return
		}
		draft, err := Draft(path, DraftOptions{Label: "y", Answers: answers})
		if err != nil {
			return
		}
		must.Get(ParseSchema(draft.Schema))(t, string(draft.Schema))
	})
}
