package privacy

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

func pureMechanisms(t *testing.T, coordinates int) []Mechanism {
	t.Helper()
	var out []Mechanism
	for _, kind := range []PureNoise{KNormNoise, LaplaceNoise} {
		m, err := CalibratePure(sessionCert, 0.75, coordinates, kind)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// A planned pure release is made once, with the noise of its mechanism.
func TestSessionReleasesPureNoise(t *testing.T) {
	for _, m := range pureMechanisms(t, 3) {
		s, err := NewPublicSession(NewSeededSource(7), []Event{m.Event(sessionCert)})
		if err != nil {
			t.Fatal(err)
		}
		x, want := []float64{1, -2, 3}, []float64{1, -2, 3}
		if err := s.Release(x, sessionCert, m); err != nil {
			t.Fatal(err)
		}
		if err := m.add(want, NewSeededSource(7)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x, want) || slices.Equal(x, []float64{1, -2, 3}) {
			t.Errorf("%v: released %v, want %v", m, x, want)
		}
		x = []float64{1, 2, 3}
		wantRefused(t, "second of one", x, s.Release(x, sessionCert, m), ErrUnplanned)
	}
}

// liar has the noise of its mechanism and the event of another.
type liar struct {
	Mechanism
	event Event
}

func (l liar) Event(Certificate) Event { return l.event }

func TestSessionRefusesForeignMechanisms(t *testing.T) {
	planned := KNorm{Scale: 1}.Event(sessionCert)
	quiet := KNorm{Scale: 1e-9}
	fresh := func(events ...Event) *LiveSession {
		s, err := NewPublicSession(NewSeededSource(1), events)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, m := range map[string]Mechanism{
		"nil":                nil,
		"another event":      liar{quiet, planned},
		"a pointer":          &KNorm{Scale: 1},
		"less noise":         KNorm{Scale: math.Nextafter(1, 0)},
		"no noise":           KNorm{},
		"NaN":                KNorm{Scale: math.NaN()},
		"Laplace for K-norm": Laplace{Scale: 1, Coordinates: 1},
		"Gaussian":           Gaussian{Sigma: 1},
	} {
		s := fresh(planned)
		x := []float64{1, 2}
		wantRefused(t, name, x, s.Release(x, sessionCert, m), ErrUnplanned)
		x = []float64{1, 2}
		if err := s.Release(x, sessionCert, KNorm{Scale: 1}); err != nil {
			t.Errorf("%s: the planned release failed afterwards: %v", name, err)
		}
	}
	// Laplace noise for fewer coordinates than are released is too little noise.
	few := Laplace{Scale: 1, Coordinates: 2}
	s := fresh(few.Event(sessionCert))
	x := []float64{1, 2, 3}
	if err := s.Release(x, sessionCert, few); err == nil || !slices.Equal(x, []float64{0, 0, 0}) {
		t.Errorf("Laplace for 2 coordinates on 3: %v, x = %v", err, x)
	}
	for _, e := range []Event{PureEvent{Epsilon: 1}, LaplaceEvent{Sensitivity: 1, Count: 1}, PureEvent{Epsilon: math.Inf(1), Count: 1}} {
		if _, err := NewPublicSession(NewSeededSource(1), []Event{e}); err == nil {
			t.Errorf("a session for %#v was made", e)
		}
	}
	if _, err := NewPublicSession(NewSeededSource(1), []Event{PureEvent{1, math.MaxInt}, PureEvent{1, 1}}); err == nil {
		t.Error("a plan of more than MaxInt releases was accepted")
	}
}

func TestPureEventsRoundTripThroughTheLedger(t *testing.T) {
	for _, e := range []Event{
		PureEvent{Epsilon: 0.1, Count: 3}, PureEvent{Epsilon: math.SmallestNonzeroFloat64, Count: math.MaxInt},
		LaplaceEvent{Sensitivity: 1. / 3, Scale: math.MaxFloat64, Count: 2},
		ComposedEvent{[]Event{PureEvent{2, 1}, GaussianEvent{1, 2, 3}, LaplaceEvent{1, 2, 3}}},
	} {
		raw, err := encodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := encodeEvent(decodeEvent(raw))
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%v became %s (%v)", e, again, err)
		}
		if _, composed := e.(ComposedEvent); !composed && decodeEvent(raw) != e {
			t.Errorf("%v became %v", e, decodeEvent(raw))
		}
	}
	for _, raw := range []string{
		`{"kind":"pure","epsilon":1}`, `{"kind":"pure","count":1}`, `{"kind":"pure","epsilon":-1,"count":1}`, `{"kind":"pure","epsilon":1,"count":0}`,
		`{"kind":"pure","sigma":2,"epsilon":1,"count":1}`, `{"kind":"laplace","sensitivity":1,"count":1}`, `{"kind":"laplace","sensitivity":1,"scale":0,"count":1}`,
		`{"kind":"gaussian","sensitivity":1,"sigma":1,"scale":1,"count":1}`,
	} {
		if e := decodeEvent([]byte(raw)); e != (unknownEvent{e.(unknownEvent).kind}) {
			t.Errorf("%s was read as %v", raw, e)
		}
	}
	for _, e := range []Event{PureEvent{}, PureEvent{Epsilon: math.NaN(), Count: 1}, LaplaceEvent{Sensitivity: 1, Scale: 1}} {
		if raw, err := encodeEvent(e); err == nil {
			t.Errorf("%#v was written as %s", e, raw)
		}
	}
}

// Pure runs are charged, add up, and count against a cap together with Gaussian
// ones.
func TestLedgerComposesPureRuns(t *testing.T) {
	l := newTestLedger(t)
	if err := l.SetCap("people", Budget{Epsilon: 2, Delta: 1e-5}); err != nil {
		t.Fatal(err)
	}
	begin := func(run string, events ...Event) error {
		_, err := l.Begin(Charge{DataID: "people", Run: run, Algorithm: "a", Events: events}, NewSeededSource(1))
		return err
	}
	if err := begin("a", PureEvent{Epsilon: 1, Count: 1}); err != nil {
		t.Fatal(err)
	}
	s, err := l.Summary("people", 1e-9)
	if err != nil || s.Epsilon < 1 || s.Epsilon > 1+1e-12 || s.Pure < 1 || s.Pure > 1+1e-12 || !strings.Contains(s.String(), "pure epsilon 1") {
		t.Errorf("after one pure run of 1: %+v (%s), %v", s, s, err)
	}
	if err := begin("b", LaplaceEvent{Sensitivity: 1, Scale: 2, Count: 1}); err != nil {
		t.Fatal(err)
	}
	gauss := GaussianEvent{Sensitivity: 1, Sigma: 1 / GDPMu(0.4, 1e-5), Count: 1}
	if err := begin("c", gauss); err != nil {
		t.Fatal(err)
	}
	s, err = l.Summary("people", 1e-5)
	if err != nil || s.Epsilon < 1.5 || s.Epsilon > 1.9+1e-9 || !math.IsInf(s.Pure, 1) || strings.Contains(s.String(), "pure") {
		t.Errorf("after pure runs of 1 and 0.5 and a Gaussian one of 0.4: %+v (%s), %v", s, s, err)
	}
	if err := begin("d", PureEvent{Epsilon: 0.2, Count: 1}); err == nil {
		t.Error("a run over the cap was charged")
	}
}
