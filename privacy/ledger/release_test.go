package ledger

import (
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// The line of a release has the digest of what is kept, but for streams, which released before.
// What is refused writes nothing, and the run ends by a release that has one.
func TestReleaseNeedsADigest(t *testing.T) {
	gaussian := []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 10}}
	for what, c := range map[string]struct {
		charge Charge
		stream bool
	}{
		"a run that is resumable": {Charge{Events: gaussian, Resumable: true}, false},
		"a run that is not":       {Charge{Events: gaussian}, false},
		"exact":                   {Charge{Events: []account.Event{account.NonPrivateEvent{}}, Resumable: true}, false},
		"a stream":                {Charge{Events: []account.Event{account.StreamEvent{Sensitivity: 1, Sigma: 5, Count: 5}}}, true},
		"an exact stream of a version without counts": {Charge{Events: []account.Event{account.NonPrivateEvent{}}}, true},
	} {
		l := newTestLedger(t)
		c.charge.DataID, c.charge.Run, c.charge.Algorithm = "clinic", "a", "a"
		mustBegin(t, l, c.charge)
		before := read(t, l.path)
		if err := l.Finish("a", StatusReleased); (err == nil) != c.stream || err != nil && !strings.Contains(err.Error(), "digest") {
			t.Errorf("%s: %v", what, err)
		}
		if c.stream {
			continue
		}
		if now := read(t, l.path); now != before {
			t.Errorf("%s: a refused release wrote %q", what, strings.TrimPrefix(now, before))
		}
		must.CheckDo(t, l.Release("a", Kept{Digest: "sha256:0f"}), what)
	}
	l, lock, _ := countedRun(t)
	defer lock.Unlock()
	must.CheckDo(t, l.Finish("r", StatusReleased), "a counted stream")
}

// Ledgers that earlier versions wrote, with releases that name no digest, are read, take charges, are
// compacted, and have the totals of the version that wrote them.
func TestReleasesWithoutADigestAreRead(t *testing.T) {
	for name, want := range map[string]struct { // the commit that wrote it
		release string
		epsilon float64
	}{
		"ledger4": {"RP5HOL4OSVTAPKB6ITEBJSE3E4", 2.0000000000000004}, // 37eed790: a training and a local simulation
		"ledger5": {"V7F7UOKXKSA7WI4N3RIPRL52XY", 1.465169960355415},  // 11567631: a training and figures
	} {
		l := golden(t, name)
		must.Equal(t, must.Get(l.Verify())(t), Verification{Lines: 5}, "%s", name)
		must.Equal(t, must.Get(l.Released(want.release))(t).Kept, Kept{}, "%s", name)
		must.FailDo(t, l.Finish(want.release, StatusReleased), ErrResume, name, ": released twice")
		for _, compact := range []bool{false, true} {
			if compact {
				must.Equal(t, must.Get(l.Compact())(t).Runs, 2, "%s: compacted", name)
			}
			if s, err := l.Summary("clinic", 1e-5); err != nil || s.Runs != 2 || s.Epsilon > want.epsilon || s.Epsilon < 0.98*want.epsilon {
				t.Errorf("%s, compacted %v: %+v, %v; want epsilon at most %v", name, compact, s, err, want.epsilon)
			}
		}
		mustBegin(t, l, resumable("next"))
		must.CheckDo(t, l.Release("next", Kept{Digest: "sha256:0f"}), name)
	}
}
