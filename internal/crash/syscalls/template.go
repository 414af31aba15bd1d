package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// dataIDs are the data ids of the schemas of a template: records, individuals of pairs, users. Costs of different units
// cannot be added.
var dataIDs = []string{"clinic", "people", "users"}

// template is a folder with private data, a ledger with a finished run, and the model of this run. Every cell
// starts with a copy of this folder.
type template struct {
	dir    string
	books  *books
	files  map[string]string           // what commands of kind file write, by row; "" if two runs differ
	places map[string]map[string][]int // of calls, by row and call
}

const candidates = "candidates:\n- {name: strong, algorithm: moments, ridge: 4}\n- {name: weak, algorithm: moments, " +
	"ridge: 1}\n"

// newTemplate fills a folder, and runs every command twice on copies of it.
func newTemplate(path, work string) (*template, error) {
	t := &template{dir: filepath.Join(work, "template"), files: map[string]string{}, places: map[string]map[string][]int{}}
	if err := os.MkdirAll(filepath.Join(t.dir, "tmp"), 0o700); err != nil {
		return nil, err
	}
	p := program{path, t.dir}
	if err := p.must("data synth p.csv --schema public.yaml -n 300"); err != nil {
		return nil, err
	}
	schema, err := os.ReadFile(filepath.Join(t.dir, "public.yaml"))
	if err != nil {
		return nil, err
	}
	id := []byte("synthetic-clinical")
	if !bytes.Contains(schema, id) {
		return nil, fmt.Errorf("the schema of dyad data synth has no data id %q", id)
	}
	schema = bytes.Replace(schema, []byte("public: true"), []byte("public: false"), 1)
	for i, name := range []string{"p.yaml", "i.yaml", "u.yaml"} {
		text := bytes.ReplaceAll(schema, id, []byte(dataIDs[i]))
		if err := os.WriteFile(filepath.Join(t.dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(t.dir, "c.yaml"), []byte(candidates), 0o600); err != nil {
		return nil, err
	}
	for _, args := range []string{"train --algorithm moments --out m.json" + onFile + atOne,
		"data pack p.csv --schema p.yaml --out p.dyadpack"} {
		if err := p.must(args); err != nil {
			return nil, err
		}
	}
	if t.books, err = read(t.dir, nil); err != nil {
		return nil, err
	}
	for _, c := range commands {
		if err := t.measure(path, work, c); err != nil {
			return nil, fmt.Errorf("%s: %w", c.row, err)
		}
	}
	return t, nil
}

// measure runs a command without a fault: once under strace, once without.
func (t *template) measure(path, work string, c command) error {
	var texts []string
	for i := range 2 {
		dir, err := os.MkdirTemp(work, "clean")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		p := program{path, filepath.Join(dir, "at")}
		if err := os.CopyFS(p.dir, os.DirFS(t.dir)); err != nil {
			return err
		}
		if i == 0 {
			t.places[c.row], err = p.places(c.args, filepath.Join(dir, "log"))
		} else {
			err = p.must(c.args)
		}
		if err != nil {
			return err
		}
		if c.kind == file {
			text, err := os.ReadFile(filepath.Join(p.dir, c.out))
			if err != nil {
				return err
			}
			texts = append(texts, string(text))
		}
	}
	if c.kind == file && texts[0] == texts[1] {
		t.files[c.row] = texts[0]
	}
	return nil
}

func (p program) must(args string) error {
	e, err := p.run(nil, args)
	if err == nil && e.code != exitOK {
		err = errors.New(args + ": " + strings.TrimSpace(e.stderr))
	}
	return err
}
