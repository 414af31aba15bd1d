package face

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dyad"
	"dyad/engine"
	"dyad/internal/files"
	"dyad/internal/must"
)

// A model file is refused, or it is written and read again as the same model, and scores.
func FuzzModel(f *testing.F) {
	names, err := filepath.Glob(filepath.FromSlash("../../cmd/command/testdata/formats/model-*.json"))
	if err != nil || len(names) == 0 {
		f.Fatalf("%d models, %v", len(names), err)
	}
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(f)
		f.Add(text)
	}
	write := room(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := dyad.Load(write(resealed(text)))
		if err != nil {
			return
		}
		same(t, m, write)
	})
}

// same checks that a model that was read is written and read again as the same model, and scores.
func same(t *testing.T, m *dyad.Model, write func([]byte) string) {
	t.Helper()
	first, most, err := m.Size()
	if err != nil || len(first) > most {
		t.Fatalf("%d bytes, at most %d: %v", len(first), most, err)
	}
	again := must.Get(dyad.Load(write(first)))(t, first)
	if second, err := again.Text(); err != nil || string(second) != string(first) {
		t.Fatalf("%v\n%s\n%s", err, first, second)
	}
	d, err := again.Open(write([]byte("age,dose,out\n20,1,no\n50,5,yes\n80,9,yes\n")))
	if err != nil {
		return
	}
	if m.Task == dyad.AUC {
		_, err = again.Score(d.Records)
	} else {
		_, _, err = again.Transform(d.Records)
	}
	if err != nil && !errors.Is(err, dyad.ErrInput) {
		t.Fatal(err)
	}
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
	text := must.Get(os.ReadFile(filepath.FromSlash("../../cmd/command/testdata/formats/clusters-1.json")))(f)
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(`"centres"`), []byte(`"centre"`), 1))
	f.Add(bytes.Replace(text, []byte(`"metric"`), []byte(`"matrix"`), 1))
	write := room(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := dyad.LoadClusters(write(resealed(text)))
		if err != nil {
			return
		}
		if c.Encoder.Dim() > 1000 {
			t.Skip("many features")
		}
		r := must.Get(engine.NewRecords(make([]float64, 2*c.Encoder.Dim()), make([]float64, 2), c.Encoder.Dim(), engine.UnitBounds()))(t)
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
	write := room(f)
	f.Fuzz(func(t *testing.T, text []byte, limit int64) {
		var v any
		if err := files.ReadJSON(write(text), min(max(limit, 0), 1<<20), &v); err == nil && len(text) == 0 {
			t.Fatal("a value of no text")
		}
	})
}
