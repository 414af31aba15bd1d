package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shellWords splits a command line as a shell does, for words in single quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// Every example of every help text runs.
func TestHelpExamplesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	dir := clinic(t, 300)
	people(t, dir)
	write(t, dir, "dummy", "")
	public, err := os.ReadFile(filepath.Join(dir, "patients.csv"))
	if err != nil {
		t.Fatal(err)
	}
	public = public[:bytes.LastIndexByte(public[:len(public)-1], '\n')+1] // not the records that are charged
	write(t, dir, "public.csv", string(public))
	write(t, dir, "settings.yaml", searchSettings)
	write(t, dir, "known.yaml", "age: {range: [18, 95]}\n")
	if err := os.MkdirAll(filepath.Join(dir, "bench", "schemas"), 0o700); err != nil {
		t.Fatal(err)
	}
	pima, err := os.ReadFile(filepath.Join("..", "..", "bench", "schemas", "pima.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "bench", "schemas"), "pima.yaml", string(pima))
	paths, err := commandPaths()
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	a := &app{ctx: context.Background()}
	for _, words := range paths {
		help, err := helpOf(a, words)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, line := range strings.Split(help, "\n") {
			if example, ok := strings.CutPrefix(strings.TrimSpace(line), "dyad "); ok {
				examples = append(examples, example)
				count++
			}
		}
		if count == 0 && words[0] != "docs" && !slices.Equal(words, []string{"local", "model"}) { // TestLocalModel has the server
			t.Errorf("dyad %s --help shows no example", strings.Join(words, " "))
		}
	}
	// Examples of train come first: others use the model and the ledger.
	for _, wantTrain := range []bool{true, false} {
		for _, e := range examples {
			if strings.HasPrefix(e, "train") != wantTrain {
				continue
			}
			e, _, _ = strings.Cut(e, " > ")
			if strings.HasPrefix(e, "bench") {
				e += " --records 64 --runs 1" // the sizes of the examples take minutes
			}
			if code, _, errs := dyad(t, dir, shellWords(e)...); code != exitOK {
				t.Errorf("dyad %s: exit %d: %s", e, code, errs)
			}
		}
	}
	if len(examples) < 20 {
		t.Errorf("only %d examples found", len(examples))
	}
}
