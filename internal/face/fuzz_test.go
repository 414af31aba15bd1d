package face

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dyad"
	"dyad/engine"
	"dyad/internal/files"
)

// A model file is refused, or it is written and read again as the same model, and scores.
func FuzzModel(f *testing.F) {
	names, err := filepath.Glob(filepath.FromSlash("../../cmd/dyad/testdata/formats/model-*.json"))
	if err != nil || len(names) == 0 {
		f.Fatalf("%d models, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		path, data := filepath.Join(dir, "m.json"), filepath.Join(dir, "x.csv")
		write := func(name string, text []byte) {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(path, resealed(text))
		m, err := dyad.Load(path)
		if err != nil {
			return
		}
		first, most, err := m.Size()
		if err != nil || len(first) > most {
			t.Fatalf("%d bytes, at most %d: %v", len(first), most, err)
		}
		write(path, first)
		again, err := dyad.Load(path)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second, err := again.Text(); err != nil || string(second) != string(first) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
		write(data, []byte("age,dose,out\n20,1,no\n50,5,yes\n80,9,yes\n"))
		d, err := again.Open(data)
		if err != nil {
			return
		}
		if m.Task == dyad.AUC {
			_, err = again.Score(d.Records)
		} else {
			_, _, err = again.Transform(d.Records)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// resealed has the checksum that belongs to the text: else nothing that was changed gets further.
func resealed(text []byte) []byte {
	at := bytes.LastIndex(text, []byte(",\n  \"checksum\""))
	if at < 0 {
		return text
	}
	sum := sha256.Sum256(append(bytes.Clone(text[:at]), "\n}\n"...))
	return fmt.Appendf(text[:at:at], ",\n  \"checksum\": \"sha256:%x\"\n}\n", sum)
}

// Whatever a file of clusters has, it is refused or assigns every record to one of its clusters.
func FuzzClusters(f *testing.F) {
	text, err := os.ReadFile(filepath.FromSlash("../../cmd/dyad/testdata/formats/clusters-1.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(`"centres"`), []byte(`"centre"`), 1))
	f.Add(bytes.Replace(text, []byte(`"metric"`), []byte(`"matrix"`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(path, resealed(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := dyad.LoadClusters(path)
		if err != nil {
			return
		}
		if c.Encoder.Dim() > 1000 {
			t.Skip("many features")
		}
		r, err := engine.NewRecords(make([]float64, 2*c.Encoder.Dim()), make([]float64, 2), c.Encoder.Dim(), engine.UnitBounds())
		if err != nil {
			t.Fatal(err)
		}
		places, err := c.Assign(r)
		if err != nil {
			return // a map that overflows
		}
		if len(places) != 2 || places[0] != places[1] || places[0] < 1 || places[0] > len(c.Centres) {
			t.Fatalf("clusters %v of %d", places, len(c.Centres))
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2]}`), int64(20))
	f.Add([]byte(`{} {}`), int64(20))
	f.Add([]byte(`"aaaaaaaaaaaaaaaaaaaaaaaa`), int64(3))
	f.Fuzz(func(t *testing.T, text []byte, limit int64) {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var v any
		if err := files.ReadJSON(path, min(max(limit, 0), 1<<20), &v); err == nil && len(text) == 0 {
			t.Fatal("a value of no text")
		}
	})
}
