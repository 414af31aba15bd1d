package algorithms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"

	"dyad/internal/must"
)

// sealed is body with its check sum.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(append(append(slices.Clone(body), '\n'), hex.EncodeToString(sum[:])...), '\n')
}

// The state of a stream is refused, or the stream goes on from it. Half of the inputs get the check sum that an
// edit by hand lacks.
func FuzzStreamState(f *testing.F) {
	p := must.Get(OnPairC{}.Plan(streamSpec(f, StreamOptions{Horizon: 20, Buffer: 4}, 0, Certified)))(f)
	for _, records := range []int{0, 1, 7} {
		saved := savedStream(f, p, records)
		body, _, _ := bytes.Cut(saved, []byte{'\n'})
		f.Add(body, true)
		f.Add(saved, false)
	}
	f.Fuzz(func(t *testing.T, text []byte, seal bool) {
		if seal {
			text = sealed(text)
		}
		state, err := ReadStreamState(bytes.NewReader(text))
		if err != nil {
			return
		}
		if len(state.Position().Digest) != 2*sha256.Size {
			t.Fatal("no digest")
		}
		s := openStream(t, p, 1)
		if state.Updates < 0 || state.Updates > p.Schedule.Steps || s.Skip([]int{state.Updates}) != nil {
			return // refused by the count before
		}
		o, err := ResumeStream(p, s, state)
		if err != nil {
			return
		}
		for range 3 {
			if o.Count() < p.Spec.Horizon {
				must.Get(o.Step(t.Context(), []float64{0.1, 0.2}, 1))(t)
			}
		}
		must.Do(t, o.Save(&bytes.Buffer{}))
	})
}

// A checkpoint is refused, or its vectors have the sizes of the algorithm.
func FuzzCheckpoint(f *testing.F) {
	good := must.Get(json.Marshal(checkpoint{Format: checkpointFormat, Run: "a", Plan: "p", Records: "r", Done: 3, Releases: []int{3}, Order: []int32{1, 0}, Vectors: [][]float64{{1, 2, 3}}}))(f)
	f.Add(good, true)
	f.Add(sealed(good), false)
	f.Add([]byte(`{"vectors":[[],[]],"steps_done":-1}`), true)
	f.Fuzz(func(t *testing.T, text []byte, seal bool) {
		if seal {
			text = sealed(text)
		}
		k := keeper{from: &checkpoint{}}
		if readSealed(bytes.NewReader(text), k.from) != nil {
			return
		}
		order, vector := make([]int32, 2), make([]float64, 3)
		done, err := k.restore(order, vector)
		if err == nil && (done != k.from.Done || len(k.from.Vectors) != 1 || !slices.Equal(vector, k.from.Vectors[0])) {
			t.Fatalf("%q was restored as %d, %v, %v", text, done, order, vector)
		}
	})
}

// A report of a model is refused, or is written as it was read.
func FuzzReport(f *testing.F) {
	for _, seed := range []string{`{"algorithm":"moments","n":3,"events":["x"],"guarantee":{"epsilon":1}}`, `{"a":1,"a":2}`, `{"events":1}`, `[`, `{"guarantee":{"epsilon":null}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r, again Report
		if json.Unmarshal(text, &r) != nil {
			return
		}
		_ = r.Text()
		first, err := json.Marshal(r)
		if err != nil {
			return // an epsilon that is not finite
		}
		must.Do(t, json.Unmarshal(first, &again), first)
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\n%s\n%v", first, second, err)
		}
	})
}
