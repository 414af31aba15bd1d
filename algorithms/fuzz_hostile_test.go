package algorithms

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"dyad/internal/hostile"
	"dyad/internal/must"
)

// hostileStreams are the plans of streams of several algorithms, and documents of what they save after some records.
func hostileStreams(f *testing.F) (plans []*Plan, seeds []*hostile.Value) {
	for _, s := range []struct {
		algorithm interface {
			Plan(Spec) (*Plan, error)
		}
		options StreamOptions
	}{
		{OnPairC{}, StreamOptions{Horizon: 20, Buffer: 4}},
		{OnPairC{}, StreamOptions{Horizon: 20, Buffer: 4, PerClass: true}},
		{DPFTRL{}, StreamOptions{Horizon: 20, Buffer: 4, Batch: 3}},
	} {
		p := must.Get(s.algorithm.Plan(streamSpec(f, s.options, 0, Certified)))(f)
		for _, records := range []int{1, 7, 14} {
			v := must.Get(hostile.Parse(savedStream(f, p, records)))(f)
			plans, seeds = append(plans, p), append(seeds, v)
		}
	}
	return plans, seeds
}

// resealed reads a document whose check sum is true.
func resealed(t testing.TB, v any) io.Reader {
	var b bytes.Buffer
	must.Do(t, writeSealed(&b, v))
	return &b
}

// Whatever is changed in the state of a stream by somebody who computes its check sum again, it is refused, or the stream goes on
// from it to finite iterates, and saves a state that is read again.
func FuzzHostileState(f *testing.F) {
	plans, seeds := hostileStreams(f)
	for i, v := range seeds {
		must.Get(ReadStreamState(resealed(f, v)))(f, "state ", i, ", without a change")
		for k := range v.Leaves() {
			if k%len(seeds) == i {
				f.Add(byte(i), []byte{0, byte(k), byte(7 * k)})
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, changes []byte) {
		at := int(which) % len(seeds)
		p := plans[at]
		state, err := ReadStreamState(resealed(t, seeds[at].Change(changes[:min(len(changes), 12)])))
		if err != nil {
			return
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
				w, err := o.Step(t.Context(), []float64{0.1, 0.2}, 1)
				if err != nil {
					return
				}
				if slices.ContainsFunc(w, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
					t.Fatalf("the iterate is %v", w)
				}
			}
		}
		var b bytes.Buffer
		must.Do(t, o.Save(&b))
		again := must.Get(ReadStreamState(&b))(t)
		must.Get(ResumeStream(p, s, again))(t, "what was saved cannot be resumed")
	})
}

// Whatever is changed in a checkpoint, with a true check sum, it is refused, or what it has is restored to the sizes of the run.
func FuzzHostileCheckpoint(f *testing.F) {
	v := must.Get(hostile.Parse([]byte(`{"format":"dyad-checkpoint/3","run":"a","plan":"p","records":"r","steps_done":3,"releases":[3],"order":[1,0],"vectors":[[1,2,3],[4]]}`)))(f)
	for k := range v.Leaves() {
		f.Add([]byte{0, byte(k), byte(7 * k)})
	}
	f.Fuzz(func(t *testing.T, changes []byte) {
		k := keeper{from: &checkpoint{}}
		if err := readSealed(resealed(t, v.Change(changes[:min(len(changes), 12)])), k.from); err != nil {
			if !errors.Is(err, errSeal) {
				t.Fatal(err)
			}
			return
		}
		order, long, short := make([]int32, 2), make([]float64, 3), make([]float64, 1)
		done, err := k.restore(order, long, short)
		if err == nil && (done != k.from.Done || !slices.Equal(order, k.from.Order) || !slices.Equal(long, k.from.Vectors[0]) || !slices.Equal(short, k.from.Vectors[1])) {
			t.Fatalf("%+v was restored as %d, %v, %v, %v", k.from, done, order, long, short)
		}
	})
}
