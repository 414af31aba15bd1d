package account

import (
	"bytes"
	"math"
	"testing"

	"dyad/internal/must"
)

func TestPureEventsRoundTrip(t *testing.T) {
	for _, e := range []Event{
		Repeat(PureEvent{Epsilon: 0.1}, 3), Repeat(PureEvent{Epsilon: math.SmallestNonzeroFloat64}, math.MaxInt),
		Repeat(LaplaceEvent{Sensitivity: 1. / 3, Scale: math.MaxFloat64}, 2),
		ComposedEvent{[]Event{PureEvent{Epsilon: 2}, Repeat(GaussianEvent{Sensitivity: 1, Sigma: 2}, 3), Repeat(LaplaceEvent{Sensitivity: 1, Scale: 2}, 3)}},
	} {
		raw := must.Get(Encode(e))(t)
		must.Same(t, raw, must.Get(Encode(Decode(raw)))(t), "%v became", e)
		if _, composed := e.(ComposedEvent); !composed && Decode(raw) != e {
			t.Errorf("%v became %v", e, Decode(raw))
		}
	}
	for _, raw := range []string{
		`{"kind":"pure","epsilon":1}`, `{"kind":"pure","count":1}`, `{"kind":"pure","epsilon":-1,"count":1}`, `{"kind":"pure","epsilon":1,"count":0}`,
		`{"kind":"pure","sigma":2,"epsilon":1,"count":1}`, `{"kind":"laplace","sensitivity":1,"count":1}`, `{"kind":"laplace","sensitivity":1,"scale":0,"count":1}`,
		`{"kind":"gaussian","sensitivity":1,"sigma":1,"scale":1,"count":1}`,
	} {
		if e := Decode([]byte(raw)); e != (UnknownEvent{e.(UnknownEvent).Kind}) {
			t.Errorf("%s was read as %v", raw, e)
		}
	}
	for _, e := range []Event{PureEvent{}, PureEvent{Epsilon: math.NaN()}, Repeat(LaplaceEvent{Sensitivity: 1, Scale: 1}, 0)} {
		if raw, err := Encode(e); err == nil {
			t.Errorf("%#v was written as %s", e, raw)
		}
	}
}

func TestParallelEventRoundTrip(t *testing.T) {
	e := ParallelEvent{Parts: []Event{GaussianEvent{Sensitivity: 0.1, Sigma: 3}, Repeat(LaplaceEvent{Sensitivity: 0.1, Scale: 0.3}, 2)}}
	raw := must.Get(Encode(e))(t)
	again, err := Encode(Decode(raw))
	if err != nil || !bytes.Equal(raw, again) {
		t.Errorf("%s is read back as %s (%v)", raw, again, err)
	}
	if back, ok := Decode(raw).(ParallelEvent); !ok || len(back.Parts) != 2 || back.Parts[1] != e.Parts[1] {
		t.Errorf("%s is read back as %#v", raw, back)
	}
	must.Err(Encode(ParallelEvent{}))(t, "a parallel event without parts was encoded")
	if _, ok := Decode([]byte(`{"kind":"parallel"}`)).(UnknownEvent); !ok {
		t.Error("a parallel event without parts was decoded")
	}
}
