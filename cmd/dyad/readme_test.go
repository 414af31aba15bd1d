package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeRoad: the commands that README.md shows for a file of one's own work, in order, on the
// file that it suggests if none is at hand; the edit in between takes the marks away.
func TestReadmeRoad(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if !strings.Contains(string(text), "./dyad data synth patients.csv") {
		t.Fatal("the README suggests no file")
	}
	if code, _, errs := dyad(t, dir, "data", "synth", "patients.csv"); code != exitOK {
		t.Fatal(errs)
	}
	road := 0
	for line := range strings.Lines(string(text)) {
		command, ok := strings.CutPrefix(line, "$ ./dyad ")
		if !ok {
			continue
		}
		command, _, _ = strings.Cut(command, " #")
		road++
		code, out, errs := dyad(t, dir, strings.Fields(command)...)
		if code != exitOK {
			t.Fatalf("dyad %s: exit %d: %s", command, code, errs)
		}
		schema := filepath.Join(dir, "patients.yaml")
		switch draft, err := os.ReadFile(schema); {
		case strings.HasPrefix(command, "data schema"):
			if err != nil || !strings.Contains(string(draft), ", from_data: true") {
				t.Fatalf("the draft has no marks (%v):\n%s", err, draft)
			}
			write(t, dir, "patients.yaml", strings.ReplaceAll(string(draft), ", from_data: true", ""))
		case strings.Contains(out, "BOUNDS NOT PRIVATE"):
			t.Errorf("dyad %s: the ranges still count as taken from the data", command)
		}
	}
	if road < 7 {
		t.Errorf("the README shows %d commands, want those of the whole road", road)
	}
}
