package ledger

import (
	"path/filepath"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// The event of a stream is that of one Gaussian release of the joint sensitivity,
// counts its releases, and survives the ledger. Pure noise has no event for it.
func TestStreamEvent(t *testing.T) {
	c := must.Get(privacy.PairwiseStream{PairDiameter: 1, Horizon: 4, Batch: 1, BurnIn: 1}.Certify())(t)
	noise := must.Get(privacy.CalibrateGaussian(c, privacy.Budget{Epsilon: 1, Delta: 1e-5}, 1))(t)
	event := noise.Event(c)
	if event != (account.StreamEvent{Sensitivity: c.Sensitivity(), Sigma: noise.Sigma, Count: 3}) {
		t.Fatalf("event %v", event)
	}
	var gdp account.GDP
	if err := gdp.Compose(event); err != nil || !(gdp.Epsilon(1e-5) <= 1) || gdp.Epsilon(1e-5) < 0.999 {
		t.Errorf("epsilon %v, %v", gdp.Epsilon(1e-5), err)
	}
	for _, p := range []privacy.Mechanism{privacy.Laplace{Scale: 1, Coordinates: 2}, privacy.KNorm{Scale: 1}} {
		must.ErrDo(t, new(account.GDP).Compose(p.Event(c)), "%v has the event %v of a joint certificate", p, p.Event(c))
	}
	must.Err(privacy.CalibratePure(c, 1, 2, privacy.KNormNoise))(t, "pure noise was calibrated to a joint certificate")
	must.Err(privacy.CalibrateGaussian(c, privacy.Budget{Epsilon: 1, Delta: 1e-5}, 2))(t, "a joint certificate was used twice")
	must.Err(privacy.NewPublicSession(privacy.NewSeededSource(1), []account.Event{event, event}))(t, "a plan with the same stream twice was accepted")
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger")))(t)
	charge := Charge{DataID: "people", Algorithm: "a", Events: []account.Event{event}}
	s := must.Get(l.Begin(charge, privacy.NewSeededSource(1)))(t)
	release := func(s privacy.Session) error { return s.Release([]float64{1, 2}, c, noise) }
	for i := range 4 {
		must.Equal(t, release(s) == nil, i < 3, "release %d", i+1)
	}
	run := s.Receipt().Run
	before := must.Get(l.Summary("people", 1e-5))(t)
	again := must.Get(l.ResumeStream(run, charge, 2, 1, privacy.NewSeededSource(2)))(t)
	for i := range 2 {
		must.Equal(t, release(again) == nil, i < 1, "resumed after 2 of 3, release %d", i+1)
	}
	other := charge
	other.Events = []account.Event{account.StreamEvent{Sensitivity: c.Sensitivity(), Sigma: noise.Sigma * 0.5, Count: 3}}
	for name, try := range map[string]func() (*privacy.LiveSession, error){
		"an old copy": func() (*privacy.LiveSession, error) {
			return l.ResumeStream(run, charge, 1, 2, privacy.NewSeededSource(2))
		},
		"a copy from before the resume": func() (*privacy.LiveSession, error) {
			return l.ResumeStream(run, charge, 2, 1, privacy.NewSeededSource(2))
		},
		"a number that is ahead": func() (*privacy.LiveSession, error) {
			return l.ResumeStream(run, charge, 2, 3, privacy.NewSeededSource(2))
		},
		"less noise": func() (*privacy.LiveSession, error) {
			return l.ResumeStream(run, other, 2, 2, privacy.NewSeededSource(2))
		},
		"more than all": func() (*privacy.LiveSession, error) {
			return l.ResumeStream(run, charge, 4, 2, privacy.NewSeededSource(2))
		},
		"an unknown run": func() (*privacy.LiveSession, error) {
			return l.ResumeStream("x", charge, 2, 1, privacy.NewSeededSource(2))
		},
		"as a batch run": func() (*privacy.LiveSession, error) { return l.Resume(run, charge, privacy.NewSeededSource(2)) },
		"a released batch": func() (*privacy.LiveSession, error) {
			return l.ResumeStream(batchRun(t, l), charge, 0, 1, privacy.NewSeededSource(2))
		},
	} {
		must.Fail(try())(t, ErrResume, name)
	}
	if after, err := l.Summary("people", 1e-5); err != nil || after.Mu != before.Mu && after.Runs == before.Runs {
		t.Errorf("resuming changed the total from %v to %v (%v)", before.Mu, after.Mu, err)
	}
	must.Do(t, l.Finish(run, "ended"))
	must.Fail(l.ResumeStream(run, charge, 3, 2, privacy.NewSeededSource(2)))(t, ErrResume, "a finished stream was resumed")
}

// A stream without noise is charged as infinite, and goes on without a new charge.
func TestResumeStreamWithoutNoise(t *testing.T) {
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger")))(t)
	charge := Charge{DataID: "people", Algorithm: "a", Events: []account.Event{account.NonPrivateEvent{}}}
	s := must.Get(l.Begin(charge, privacy.NewSeededSource(1)))(t)
	again := must.Get(l.ResumeStream(s.Receipt().Run, charge, 2, 1, privacy.NewSeededSource(2)))(t)
	must.CheckDo(t, again.ReleaseExact([]float64{1}))
	must.Fail(l.ResumeStream(s.Receipt().Run, charge, 1, 2, privacy.NewSeededSource(2)))(t, ErrResume, "an old copy")
	private := Charge{DataID: "people", Algorithm: "a", Events: []account.Event{account.StreamEvent{Sensitivity: 1, Sigma: 1, Count: 3}}}
	s = must.Get(l.Begin(private, privacy.NewSeededSource(1)))(t)
	again = must.Get(l.ResumeStream(s.Receipt().Run, private, 1, 1, privacy.NewSeededSource(2)))(t)
	must.FailDo(t, again.ReleaseExact([]float64{1}), privacy.ErrUnplanned, "an exact release of a private stream")
}

// batchRun charges a run that promised to release nothing before its end.
func batchRun(t *testing.T, l *Ledger) string {
	s := must.Get(l.Begin(Charge{DataID: "batch", Algorithm: "a", Resumable: true, Events: []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 1}}}, privacy.NewSeededSource(1)))(t)
	return s.Receipt().Run
}
