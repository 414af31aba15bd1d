package privacy

import (
	"math"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

func pureMechanisms(t *testing.T, coordinates int) []Mechanism {
	t.Helper()
	var out []Mechanism
	for _, kind := range []PureNoise{KNormNoise, LaplaceNoise} {
		m := must.Get(CalibratePure(sessionCert, 0.75, coordinates, kind))(t)
		out = append(out, m)
	}
	return out
}

// A planned pure release is made once, with the noise of its mechanism.
func TestSessionReleasesPureNoise(t *testing.T) {
	for _, m := range pureMechanisms(t, 3) {
		s := must.Get(NewPublicSession(NewSeededSource(7), []account.Event{m.Event(sessionCert)}))(t)
		x, want := []float64{1, -2, 3}, []float64{1, -2, 3}
		must.Do(t, s.Release(x, sessionCert, m))
		must.Do(t, m.add(want, NewSeededSource(7)))
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
	event account.Event
}

func (l liar) Event(Certificate) account.Event { return l.event }

func TestSessionRefusesForeignMechanisms(t *testing.T) {
	planned := KNorm{Scale: 1}.Event(sessionCert)
	quiet := KNorm{Scale: 1e-9}
	fresh := func(events ...account.Event) *LiveSession {
		return must.Get(NewPublicSession(NewSeededSource(1), events))(t)
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
		must.CheckDo(t, s.Release(x, sessionCert, KNorm{Scale: 1}), name, ": the planned release failed afterwards")
	}
	// Laplace noise for fewer coordinates than are released is too little noise.
	few := Laplace{Scale: 1, Coordinates: 2}
	s := fresh(few.Event(sessionCert))
	x := []float64{1, 2, 3}
	if err := s.Release(x, sessionCert, few); err == nil || !slices.Equal(x, []float64{0, 0, 0}) {
		t.Errorf("Laplace for 2 coordinates on 3: %v, x = %v", err, x)
	}
	for _, e := range []account.Event{account.Repeat(account.PureEvent{Epsilon: 1}, 0), account.LaplaceEvent{Sensitivity: 1}, account.PureEvent{Epsilon: math.Inf(1)}} {
		must.Err(NewPublicSession(NewSeededSource(1), []account.Event{e}))(t, "a session for %#v was made", e)
	}
	must.Err(NewPublicSession(NewSeededSource(1), []account.Event{account.Repeat(account.PureEvent{Epsilon: 1}, math.MaxInt), account.PureEvent{Epsilon: 1}}))(t, "a plan of more than MaxInt releases was accepted")
}
