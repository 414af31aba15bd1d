package algorithms

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"dyad/internal/must"
)

var newGolden = flag.Bool("golden", false, "write the golden files of formats that have none; an old one is never changed")

func goldenFile(t *testing.T, name string, make func(b *bytes.Buffer)) []byte {
	t.Helper()
	path := filepath.Join("testdata", "formats", name)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) && *newGolden {
		var b bytes.Buffer
		make(&b)
		text = b.Bytes()
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// States and checkpoints of this version of the format are read to the last bit, whichever program of the version wrote them. A new
// version of a format comes with a file of its own; files of old versions may be refused (docs/formats.md).
func TestFilesOfThisVersionAreRead(t *testing.T) {
	p := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: 20, Buffer: 4}, 0, Certified)))(t)
	text := goldenFile(t, "stream-4.state", func(b *bytes.Buffer) {
		o := must.Get(NewStream(p, openStream(t, p, 1)))(t)
		feedStream(t, o, 7)
		must.Do(t, o.Save(b))
	})
	state, err := ReadStreamState(bytes.NewReader(text))
	if err != nil || state.Count != 7 || state.Updates != 6 || state.Position().Digest != "7da2ffbc7b7675afd6d0919b74e3416a870c880f22f690446b59b3006df8c8c5" {
		t.Fatalf("%+v, %v, %s", state, err, state.Position().Digest)
	}
	s := openStream(t, p, 2)
	must.Do(t, s.Skip([]int{state.Updates}))
	o := must.Get(ResumeStream(p, s, state))(t)
	var again bytes.Buffer
	if err := o.Save(&again); err != nil || !bytes.Equal(again.Bytes(), text) {
		t.Errorf("%v: the state is written otherwise:\n%s\n%s", err, text, again.Bytes())
	}

	for file, format := range map[string]string{"run-2.checkpoint": "dyad-checkpoint/2", "run-3.checkpoint": checkpointFormat} {
		want := checkpoint{Format: format, Run: "a", Plan: "p", Records: "r", Done: 3, Releases: []int{3}, Order: []int32{1, 0}, Vectors: [][]float64{{1, 0.1, -1e-300}}}
		text = goldenFile(t, file, func(b *bytes.Buffer) {
			must.Do(t, writeSealed(b, want))
		})
		var got checkpoint
		must.Do(t, readSealed(bytes.NewReader(text), &got))
		a, _ := json.Marshal(want)
		if b, err := json.Marshal(got); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s\n%s\n%v", a, b, err)
		}
	}
}
