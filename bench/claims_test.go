package bench_test

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyad/bench"
	"dyad/internal/must"
)

var update = flag.Bool("update", false, "compute the raw files that claims rest on in full, and write them")

// claim is a raw file that a sentence in a document rests on and that a test can compute again.
type claim struct {
	file, comments, columns string
	keys                    int // columns that say what a line is of
	lines                   []claimed
}

// claimed is a line: its first columns, and the others, which it computes.
type claimed struct {
	key     string
	often   bool // computed by every run of the test, not only with -update
	numbers func(t *testing.T) []float64
}

// check computes lines again and compares them with the file: two numbers differ by at most relative times the larger, or by
// absolute. With -update it writes the file.
func (c claim) check(t *testing.T, relative, absolute float64) {
	if testing.Short() {
		t.Skip("slow")
	}
	path := filepath.Join("results", c.file)
	var out bytes.Buffer
	if *update {
		bench.Header(&out, "go -C bench test . -run "+t.Name()+" -update", nil)
		fmt.Fprint(&out, c.comments, c.columns, "\n")
		for _, l := range c.lines {
			fmt.Fprint(&out, l.key)
			for _, v := range l.numbers(t) {
				fmt.Fprintf(&out, ",%.6g", v)
			}
			fmt.Fprintln(&out)
		}
		must.Do(t, os.WriteFile(path, out.Bytes(), 0o644))
		return
	}
	raw := must.Get(os.ReadFile(path))(t)
	in := csv.NewReader(bytes.NewReader(raw))
	in.Comment, in.LazyQuotes = '#', true
	rows := must.Get(in.ReadAll())(t)
	if got := strings.Join(rows[0], ","); got != c.columns || len(rows) != len(c.lines)+1 {
		t.Fatalf("%s has %d lines of %s, want %d of %s", path, len(rows)-1, got, len(c.lines), c.columns)
	}
	recorded := map[string][]string{}
	for _, row := range rows[1:] {
		recorded[strings.Join(row[:c.keys], ",")] = row[c.keys:]
	}
	for _, l := range c.lines {
		row, ok := recorded[strings.ReplaceAll(l.key, `"`, "")]
		if !ok {
			t.Errorf("%s has no line of %s", path, l.key)
		}
		if !ok || !l.often {
			continue
		}
		for i, got := range l.numbers(t) {
			want := must.Get(strconv.ParseFloat(row[i], 64))(t)
			if !(math.Abs(got-want) <= max(absolute, relative*max(math.Abs(got), math.Abs(want)))) {
				t.Errorf("%s, %s: %s is %v, in the file %v", path, l.key, rows[0][c.keys+i], got, want)
			}
		}
	}
}
