package experiment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dyad/internal/input"
	"dyad/internal/must"
)

// A plan is refused with an error of input, or it has a number of runs within the limit.
func FuzzPlan(f *testing.F) {
	names, err := filepath.Glob(filepath.FromSlash("reproduce/plans/*.yaml"))
	if err != nil || len(names) < 3 {
		f.Fatalf("%d plans, %v", len(names), err)
	}
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(f)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("plan", "testdata", text)
		if err != nil && !errors.Is(err, input.Err) {
			t.Fatalf("%v is no error of input", err)
		} else if err == nil && p.name == "" {
			t.Fatal("a plan without a name")
		}
	})
}

// A table is refused with an error of input, or its rows are those of its lines; NaN is equal to no row.
func FuzzTable(f *testing.F) {
	p := &Plan{}
	header := csvLine(p.columns())
	f.Add([]byte("# plan x\n" + header + "pima,512,8,1,1e-05,moments,,0,7,0.8,0.1,2,ok\n"))
	f.Add([]byte(header + "a,1,2,NaN,0,b,,0,1,,,,ok\na,1,2"))
	f.Add([]byte("\"\n"))
	path := filepath.Join(f.TempDir(), "table.csv")
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		table, whole, err := p.readTable(path)
		if err != nil && !errors.Is(err, input.Err) {
			t.Fatalf("%v is no error of input", err)
		} else if err == nil && (whole > int64(len(text)) || len(table.rows) > bytes.Count(text, []byte{'\n'})) {
			t.Fatalf("%d rows in %d bytes of %q", len(table.rows), whole, text)
		}
	})
}
