package privacy

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

var (
	sessionCert = Certificate{exact: 0.1, total: 0.125, released: "w"}
	sessionMech = Gaussian{Sigma: 0.5}
)

func sessionPlan(count int) []account.Event {
	return []account.Event{account.ComposedEvent{Events: []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 0.125, Sigma: 0.5}, count)}}}
}

// charged is a session whose plan a ledger took.
func charged(t *testing.T, src *Source, events ...account.Event) *LiveSession {
	t.Helper()
	return must.Get(NewSession(src, events, func() (Receipt, error) { return Receipt{Run: "a", Seq: 1}, nil }))(t)
}

// wantRefused checks that the error wraps target and that x was zeroed.
func wantRefused(t *testing.T, name string, x []float64, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: %v, want %v", name, err, target)
	}
	if slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) {
		t.Errorf("%s: x = %v survived the refusal", name, x)
	}
}

func TestReleaseAddsTheNoiseOfTheMechanism(t *testing.T) {
	s := charged(t, NewSeededSource(7), sessionPlan(1)...)
	x := []float64{1, -2, 3}
	want := slices.Clone(x)
	must.Do(t, s.Release(x, sessionCert, sessionMech))
	must.Do(t, sessionMech.add(want, NewSeededSource(7)))
	if !slices.Equal(x, want) || slices.Equal(x, []float64{1, -2, 3}) {
		t.Errorf("released %v, want %v", x, want)
	}
}

func TestReleaseKeepsToThePlan(t *testing.T) {
	next := math.Nextafter(0.5, 0)
	for name, m := range map[string]Gaussian{
		"less noise":  {Sigma: next},
		"more noise":  {Sigma: 1},
		"no noise":    {Sigma: 0},
		"NaN":         {Sigma: math.NaN()},
		"empty value": {},
	} {
		s := must.Get(NewPublicSession(NewSeededSource(1), sessionPlan(1)))(t)
		x := []float64{1, 2}
		wantRefused(t, name, x, s.Release(x, sessionCert, m), ErrUnplanned)
		// A refused release uses up nothing.
		x = []float64{1, 2}
		must.CheckDo(t, s.Release(x, sessionCert, sessionMech), name, ": the planned release failed afterwards")
	}
	for name, c := range map[string]Certificate{
		"larger sensitivity":  {exact: 0.1, total: 0.25},
		"smaller sensitivity": {exact: 0.1, total: math.Nextafter(0.125, 0)},
		"no certificate":      {},
	} {
		s := must.Get(NewPublicSession(NewSeededSource(1), sessionPlan(1)))(t)
		x := []float64{1, 2}
		wantRefused(t, name, x, s.Release(x, c, sessionMech), ErrUnplanned)
	}
}

func TestReleaseCounts(t *testing.T) {
	// Equal events of the plan add up: 2 + 1.
	plan := append(sessionPlan(2), account.GaussianEvent{Sensitivity: 0.125, Sigma: 0.5})
	s := must.Get(NewPublicSession(NewSeededSource(1), plan))(t)
	for i := range 3 {
		must.Do(t, s.Release([]float64{1}, sessionCert, sessionMech), "release ", i+1, " of 3")
	}
	x := []float64{1}
	wantRefused(t, "fourth of three", x, s.Release(x, sessionCert, sessionMech), ErrUnplanned)
}

func TestReleaseNotFiniteIsSpent(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := must.Get(NewPublicSession(NewSeededSource(1), sessionPlan(1)))(t)
		x := []float64{1, bad, 2}
		wantRefused(t, "not finite", x, s.Release(x, sessionCert, sessionMech), errNotFinite)
		x = []float64{1}
		wantRefused(t, "after a vector that was not finite", x, s.Release(x, sessionCert, sessionMech), ErrUnplanned)
	}
	s := must.Get(NewPublicSession(NewSeededSource(1), []account.Event{account.PublicEvent{}}))(t)
	x := []float64{1, math.NaN()}
	wantRefused(t, "exact", x, s.ReleaseExact(x), errNotFinite)
}

func TestReleaseBadGridIsZeroed(t *testing.T) {
	s := must.Get(NewPublicSession(NewSeededSource(1), sessionPlan(1)))(t)
	x := []float64{1, 2}
	if err := s.Release(x, sessionCert, Gaussian{Sigma: 0.5, Grid: 0.3}); err == nil || x[0] != 0 || x[1] != 0 {
		t.Errorf("grid 0.3: %v, x = %v; want an error and zeros", err, x)
	}
}

func TestClosedSessionReleasesNothing(t *testing.T) {
	s := must.Get(NewPublicSession(NewSeededSource(1), append(sessionPlan(5), account.PublicEvent{})))(t)
	s.Close()
	x := []float64{1, 2}
	wantRefused(t, "Release after Close", x, s.Release(x, sessionCert, sessionMech), ErrUnplanned)
	x = []float64{1, 2}
	wantRefused(t, "ReleaseExact after Close", x, s.ReleaseExact(x), ErrUnplanned)
}

// Exact values leave only through a plan that says so, and on private data a
// PublicEvent, which costs nothing, must not open the door.
func TestReleaseExact(t *testing.T) {
	private := func(e account.Event) *LiveSession {
		return charged(t, NewSeededSource(1), sessionPlan(2)[0], account.ComposedEvent{Events: []account.Event{e}})
	}
	public := func(e account.Event) *LiveSession {
		return must.Get(NewPublicSession(NewSeededSource(1), []account.Event{e}))(t)
	}
	noise := account.GaussianEvent{Sensitivity: 1, Sigma: 1}
	for name, s := range map[string]*LiveSession{
		"private, noise only":     private(noise),
		"private, public event":   private(account.PublicEvent{}),
		"public data, noise only": public(noise),
	} {
		x := []float64{1, 2}
		wantRefused(t, name, x, s.ReleaseExact(x), ErrUnplanned)
	}
	for name, s := range map[string]*LiveSession{
		"private, non-private event":     private(account.NonPrivateEvent{}),
		"public data, public event":      public(account.PublicEvent{}),
		"public data, non-private event": public(account.NonPrivateEvent{}),
	} {
		x := []float64{1, 2}
		must.Do(t, s.ReleaseExact(x))
		must.Same(t, x, []float64{1, 2}, "%s: x", name)
	}
}

func TestPublicSession(t *testing.T) {
	s := must.Get(NewPublicSession(NewSeededSource(1), []account.Event{account.PublicEvent{}}))(t)
	must.Contain(t, strings.Join(s.Receipt().Warnings, "\n"), "no budget was charged", "noise is not secret")
	if s.Receipt().Run != "" || s.Receipt().Seq != 0 {
		t.Errorf("receipt %+v, want no charge", s.Receipt())
	}
	x := []float64{1}
	wantRefused(t, "unplanned", x, s.Release(x, sessionCert, sessionMech), ErrUnplanned)
	must.Err(NewPublicSession(nil, []account.Event{account.PublicEvent{}}))(t, "a session without a source was made")
	must.Err(NewPublicSession(NewSeededSource(1), nil))(t, "a session without a plan was made")
	must.Err(NewPublicSession(NewSeededSource(1), []account.Event{account.UnknownEvent{Kind: "x"}}))(t, "a session for an unknown event was made")
	deep := account.Event(account.PublicEvent{})
	for range account.MaxDepth + 2 {
		deep = account.ComposedEvent{Events: []account.Event{deep}}
	}
	must.Fail(NewPublicSession(NewSeededSource(1), []account.Event{deep}))(t, "nested", "too deep a plan")
	must.Fail(account.Encode(deep))(t, "nested", "too deep an event")
}

func TestSessionDrawsFromItsSource(t *testing.T) {
	s := must.Get(NewPublicSession(NewSeededSource(3), []account.Event{account.PublicEvent{}}))(t)
	src := NewSeededSource(3)
	must.Same(t, s.Permutation(20), src.Permutation(20), "permutation")
	got, want := make([]float64, 3), make([]float64, 3)
	s.UniformBall(got, 2)
	src.UniformBall(want, 2)
	must.Same(t, got, want, "ball")
}

// Goroutines that share a session cannot make more releases than planned.
func TestSessionConcurrentReleases(t *testing.T) {
	s := must.Get(NewPublicSession(NewSeededSource(3), sessionPlan(50)))(t)
	var wg sync.WaitGroup
	released := make([]int, 8)
	for g := range released {
		wg.Go(func() {
			for range 20 {
				if s.Release([]float64{1}, sessionCert, sessionMech) == nil {
					released[g]++
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range released {
		total += n
	}
	must.Equal(t, total, 50, "releases")
}

// What an earlier attempt released is used up without noise, and no more than the plan
// has.
func TestSkip(t *testing.T) {
	open := func() *LiveSession {
		return must.Get(NewPublicSession(NewSeededSource(1), []account.Event{account.ParallelEvent{Parts: []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 2}, 3), account.GaussianEvent{Sensitivity: 1, Sigma: 4}}}, account.GaussianEvent{Sensitivity: 1, Sigma: 2}}))(t)
	}
	release := func(s *LiveSession, sigma float64) error {
		return s.Release([]float64{1}, Certificate{exact: 1, total: 1}, Gaussian{Sigma: sigma})
	}
	s := open()
	must.Do(t, release(s, 2))
	must.Same(t, s.Releases(), []int{1, 0}, "releases")
	for _, bad := range [][]int{nil, {1}, {4, 0}, {0, 2}, {-1, 0}, {0, 0, 0}} {
		must.FailDo(t, s.Skip(bad), ErrUnplanned, bad, " was skipped")
	}
	must.Do(t, s.Skip([]int{2, 1}))
	must.Same(t, s.Releases(), []int{3, 1}, "releases")
	must.FailDo(t, release(s, 4), ErrUnplanned, "a skipped release was made")
	must.CheckDo(t, release(s, 2), "the last one")
	must.FailDo(t, release(s, 2), ErrUnplanned, "one too many")
}
