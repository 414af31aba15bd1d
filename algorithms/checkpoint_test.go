package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// drawn is one release: the exact vector, what came out, and the number of steps that
// were done before.
type drawn struct {
	exact, value []float64
	steps        int
}

// attempt is what one attempt at a run did.
type attempt struct {
	releases []drawn
	from     int // steps that came from a checkpoint
	order    []int32
	ball     [][]float64
	saved    string // the checkpoint after step save
	made     int    // releases in it
	choices  []int
	chosen   int // of them, in the checkpoint
	result   *algorithms.Result
	err      error
}

// lab makes attempts at one run of an algorithm that keeps a checkpoint of every step.
type lab struct {
	t      *testing.T
	a      algorithms.Algorithm
	plan   *algorithms.Plan
	data   *engine.Records
	ledger *ledger.Ledger
	prefix string
	// session and tracker may seed a defect into attempt i.
	session func(i int, s privacy.Session) privacy.Session
	tracker func(i int, t algorithms.Tracker) algorithms.Tracker
	made    int
}

func newLab(t *testing.T, a algorithms.Algorithm, p *algorithms.Plan) *lab {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := must.Get(ledger.Open(path))(t)
	problem := p.Spec.Kernel.Problem()
	return &lab{
		t: t, a: a, plan: p, ledger: l, prefix: path + ".", data: attack.RandomRecords(problem.N, problem.D, problem.Bounds, 3),
		session: func(_ int, s privacy.Session) privacy.Session { return s },
		tracker: func(_ int, t algorithms.Tracker) algorithms.Tracker { return t },
	}
}

// file is the checkpoint of a run.
func (l *lab) file(run string) string { return l.prefix + run + ".checkpoint" }

// spied is an algorithm of which an attempt is noted.
type spied struct {
	algorithms.Algorithm
	l    *lab
	seen *attempt
	save int
}

func (a spied) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	l := a.l
	i := l.made
	l.made++
	k := &keeperSpy{Tracker: t, a: a}
	t.OnRestore, t.OnKeep = k.restore, k.keep
	return a.Algorithm.Train(ctx, ev, p, &sessionSpy{l.session(i, s), a.seen, k}, l.tracker(i, t))
}

type sessionSpy struct {
	privacy.Session
	seen *attempt
	k    *keeperSpy
}

func (s *sessionSpy) Permutation(n int) []int32 {
	order := s.Session.Permutation(n)
	s.seen.order = slices.Clone(order)
	return order
}

func (s *sessionSpy) UniformBall(dst []float64, radius float64) {
	s.Session.UniformBall(dst, radius)
	s.seen.ball = append(s.seen.ball, slices.Clone(dst))
}

func (s *sessionSpy) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	i, err := s.Session.Choose(scores, c, epsilon)
	s.seen.choices = append(s.seen.choices, i)
	return i, err
}

func (s *sessionSpy) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	d := drawn{exact: slices.Clone(x), steps: s.k.done}
	if err := s.Session.Release(x, c, m); err != nil {
		return err
	}
	d.value = slices.Clone(x)
	s.seen.releases = append(s.seen.releases, d)
	return nil
}

// keeperSpy notes the checkpoint of one step.
type keeperSpy struct {
	algorithms.Tracker
	a    spied
	done int
}

func (k *keeperSpy) restore(order []int32, vectors ...[]float64) (int, error) {
	done, err := k.Tracker.Restore(order, vectors...)
	k.done, k.a.seen.from = done, done
	return done, err
}

func (k *keeperSpy) keep(done int, order []int32, vectors ...[]float64) {
	k.Tracker.Keep(done, order, vectors...)
	k.done = done
	if done != k.a.save {
		return
	}
	entries, err := k.a.l.ledger.Unfinished("")
	if err != nil || len(entries) != 1 {
		k.a.l.t.Fatal(entries, err)
	}
	text, err := os.ReadFile(k.a.l.file(entries[0].Run))
	if err != nil {
		k.a.l.t.Error(err)
	}
	k.a.seen.saved, k.a.seen.made, k.a.seen.chosen = string(text), len(k.a.seen.releases), len(k.a.seen.choices)
}

// stopper cancels after a number of steps.
type stopper struct {
	at     int
	cancel func()
}

func (s stopper) Step(done, _ int) {
	if done == s.at {
		s.cancel()
	}
}

// chargedBy is the error of an attempt that charged a run and did not end it.
func chargedBy(t *testing.T, a *attempt) *algorithms.ChargedError {
	t.Helper()
	charged, ok := errors.AsType[*algorithms.ChargedError](a.err)
	if !ok {
		t.Fatal(a.err)
	}
	return charged
}

// attempt runs until step stop, 0 for the end, and notes the checkpoint of step save.
func (l *lab) attempt(resume string, stop, save int) *attempt {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := &attempt{}
	o := algorithms.Options{
		Ledger: l.ledger, DataID: "x", Resume: resume, Tracker: algorithms.Tracker{OnStep: stopper{stop, cancel}.Step},
		Checkpoints: algorithms.Checkpoints{Prefix: l.prefix, Every: time.Nanosecond, Failed: func(err error) { l.t.Error(err) }},
	}
	seen.result, seen.err = algorithms.Run(ctx, l.data, promised{spied{l.a, l, seen, save}}, l.plan, o)
	return seen
}

// again answers with what was drawn, and checks that the same is asked for.
type again struct {
	privacy.Session
	parts    *attempt // order and random points
	releases []drawn
	broken   func(string)
	next     int
}

func (a *again) Permutation(int) []int32 { return slices.Clone(a.parts.order) }

func (a *again) UniformBall(dst []float64, _ float64) {
	copy(dst, a.parts.ball[0])
	a.parts.ball = a.parts.ball[1:]
}

func (a *again) Choose([]int64, privacy.Certificate, float64) (int, error) {
	if len(a.parts.choices) == 0 {
		return 0, errors.New("more choices than were drawn")
	}
	i := a.parts.choices[0]
	a.parts.choices = a.parts.choices[1:]
	return i, nil
}

func (a *again) Release(x []float64, _ privacy.Certificate, _ privacy.Mechanism) error {
	if a.next >= len(a.releases) {
		return errors.New("more releases than were drawn")
	}
	r := a.releases[a.next]
	a.next++
	if !slices.Equal(r.exact, x) {
		a.broken("releases what one run would")
	}
	copy(x, r.value)
	return nil
}

// resumeViolations stops a run after step stop, goes on from the checkpoint of step
// save and returns the promises that were broken.
func (l *lab) resumeViolations(stop, save int) (broken []string) {
	l.t.Helper()
	note := func(promise string) {
		if !slices.Contains(broken, promise) {
			broken = append(broken, promise)
		}
	}
	first := l.attempt("", stop, save)
	var charged *algorithms.ChargedError
	if !errors.As(first.err, &charged) || !charged.Resumable || !errors.Is(first.err, context.Canceled) {
		l.t.Fatalf("stopped after step %d: %v", stop, first.err)
	}
	if info, err := os.Stat(l.file(charged.Run)); err != nil || info.Mode().Perm() != 0o600 {
		l.t.Errorf("the checkpoint: %v, %v", info, err)
	}
	must.Do(l.t, os.WriteFile(l.file(charged.Run), []byte(first.saved), 0o600))
	second := l.attempt(charged.Run, 0, 0)
	if second.err != nil {
		note("goes on")
		return broken
	}
	if second.from != save || second.result.Restored != save {
		note("starts after the steps of the checkpoint")
	}
	// No noise vector is drawn twice, in whatever attempt.
	seen := map[string]bool{}
	for _, r := range append(slices.Clone(first.releases), second.releases...) {
		z := ""
		for k := range r.value {
			z += fmt.Sprintf("%.9g ", r.value[k]-r.exact[k])
		}
		if seen[z] {
			note("draws fresh noise")
		}
		seen[z] = true
	}
	// What is in the checkpoint and what came after it is one run: with these answers
	// an undisturbed training asks for the same and returns the same.
	path := append(slices.Clone(first.releases[:first.made]), second.releases...)
	first.ball = append(first.ball[:min(save, len(first.ball))], second.ball...) // one a step of the burn-in
	first.choices = append(first.choices[:first.chosen], second.choices...)
	one := &again{parts: first, releases: path, broken: note}
	ev := must.Get(l.plan.Spec.Kernel.Bind(l.data))(l.t)
	defer ev.Close()
	weights, err := l.a.Train(context.Background(), ev, l.plan, one, algorithms.Tracker{})
	if err != nil || one.next != len(path) {
		note("makes every release once")
	} else if !slices.Equal(weights, second.result.Weights) {
		note("returns what one run would")
	}
	entries := must.Get(l.ledger.Entries())(l.t)
	charges := 0
	for _, e := range entries {
		if e.Charge != nil {
			charges++
		}
	}
	if charges != 1 {
		note("is charged once")
	}
	if left, err := filepath.Glob(l.prefix + "*.checkpoint*"); err != nil || len(left) > 0 {
		note("removes its checkpoint")
	}
	if third := l.attempt(charged.Run, 0, 0); !errors.Is(third.err, ledger.ErrResume) {
		note("is never released twice")
	}
	return broken
}

// checkpointed are the algorithms with few steps, with one release or many.
func checkpointed(t *testing.T) map[string]*lab {
	t.Helper()
	labs := map[string]*lab{}
	for _, c := range []struct {
		a     algorithms.Algorithm
		l2    float64
		delta float64
		mode  algorithms.Mode
	}{
		{algorithms.DPGDSC{Steps: 9}, 0.01, 1e-5, algorithms.Certified},
		{algorithms.DPGDSC{Steps: 9}, 0.01, 0, algorithms.Certified},
		{algorithms.OffPairStrC{}, 0.01, 1e-5, algorithms.Certified},
		{algorithms.OffPairStrC{}, 10, 1e-5, algorithms.Paper}, // averages, random points
		{algorithms.OffPairC{}, 0, 1e-5, algorithms.Certified},
		{algorithms.DPGDC{Steps: 9}, 0, 1e-5, algorithms.Certified},
		{algorithms.DPGDC2{Steps: 9}, 0, 1e-5, algorithms.Certified},
		{algorithms.DPEGD{Steps: 4}, 0, 1e-5, algorithms.Certified},
		{algorithms.GradientPerturbation{Steps: 9}, 0, 1e-5, algorithms.Certified},
	} {
		p := must.Get(c.a.Plan(newSpec(t, 41, 3, 0.3, c.l2, privacy.Budget{Epsilon: 1, Delta: c.delta}, c.mode)))(t)
		labs[fmt.Sprintf("%s %s %g", c.a.Info().Name, c.mode, c.delta)] = newLab(t, c.a, p)
	}
	return labs
}

// A run that is stopped after any step and goes on from that or an older checkpoint is
// one execution of its plan, with one noise vector for every release.
func TestResumeFromCheckpoint(t *testing.T) {
	sizes.NotShort(t, "slow")
	for name := range checkpointed(t) {
		for _, c := range sizes.Of([][2]int{{1, 1}, {7, 4}}, [][2]int{{1, 1}, {5, 5}, {7, 4}, {8, 1}}) {
			l := checkpointed(t)[name]
			if broken := l.resumeViolations(c[0], c[1]); len(broken) > 0 {
				t.Errorf("%s stopped after step %d, checkpoint of step %d: broken promises %q", name, c[0], c[1], broken)
			}
		}
	}
	// DPEGD at the ends of its epochs, moments after each pass, optimizers.
	// With a state of the optimizer, whose vectors are in the checkpoint.
	adam := algorithms.GradientPerturbation{Steps: 8, StepSize: 0.1, Optimizer: algorithms.Optimizer{Update: "adam", Decay: "cosine", Tail: 0.5}}
	for _, a := range []algorithms.Algorithm{algorithms.DPEGD{Steps: 4}, algorithms.Moments{}, algorithms.MomentMetric{}, adam} {
		p := must.Get(a.Plan(newSpecOf(t, attack.Loss(a.Info()), 41, 3, 0.3, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)))(t)
		for step := 1; step < p.Schedule.Steps; step++ {
			if broken := newLab(t, a, p).resumeViolations(step, step); len(broken) > 0 {
				t.Errorf("%s stopped after step %d: broken promises %q", p.Algorithm, step, broken)
			}
		}
	}
}

// reusing draws in the second attempt the noise of the first once more.
type reusing struct {
	privacy.Session
	noise *[][]float64
	again bool
}

func (s *reusing) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	exact := slices.Clone(x)
	if err := s.Session.Release(x, c, m); err != nil {
		return err
	}
	if s.again {
		for k := range x {
			x[k] = exact[k] + (*s.noise)[0][k]
		}
		*s.noise = (*s.noise)[1:]
		return nil
	}
	for k := range exact {
		exact[k] = x[k] - exact[k]
	}
	*s.noise = append(*s.noise, exact)
	return nil
}

// late keeps the state of a step as the state of the step before, so the step is made again.
func late(t algorithms.Tracker) algorithms.Tracker {
	keep := t.OnKeep
	t.OnKeep = func(done int, order []int32, vectors ...[]float64) { keep(done-1, order, vectors...) }
	return t
}

// forgetful keeps another iterate.
func forgetful(t algorithms.Tracker) algorithms.Tracker {
	keep := t.OnKeep
	t.OnKeep = func(done int, order []int32, vectors ...[]float64) {
		w := slices.Clone(vectors[0])
		w[0] += 0x1p-40
		keep(done, order, append([][]float64{w}, vectors[1:]...)...)
	}
	return t
}

// restarting starts at step 1 although the releases of the checkpoint are made.
func restarting(t algorithms.Tracker) algorithms.Tracker {
	t.OnRestore = nil
	return t
}

// stepping neither keeps nor restores.
func stepping(t algorithms.Tracker) algorithms.Tracker { return algorithms.Tracker{OnStep: t.OnStep} }

func gradientLab(t *testing.T) *lab {
	return checkpointed(t)[algorithms.GradientPerturbation{}.Info().Name+" certified 1e-05"]
}

func TestReusedNoiseOnResumeIsCaught(t *testing.T) {
	l := gradientLab(t)
	var noise [][]float64
	l.session = func(i int, s privacy.Session) privacy.Session { return &reusing{s, &noise, i > 0} }
	must.Same(t, l.resumeViolations(5, 5), []string{"draws fresh noise"}, "reused noise breaks")
}

func TestCheckpointDefectsAreCaught(t *testing.T) {
	for name, c := range map[string]struct {
		tracker func(algorithms.Tracker) algorithms.Tracker
		want    string
	}{
		"a step is made twice":     {late, "goes on"},
		"another iterate is kept":  {forgetful, "releases what one run would"},
		"releases are made again":  {restarting, "goes on"},
		"the checkpoint is unused": {stepping, "goes on"},
	} {
		l := gradientLab(t)
		l.tracker = func(i int, t algorithms.Tracker) algorithms.Tracker {
			if name == "the checkpoint is unused" && i == 0 {
				return t
			}
			return c.tracker(t)
		}
		if broken := l.resumeViolations(5, 5); !slices.Contains(broken, c.want) {
			t.Errorf("%s: breaks %q, not %q", name, broken, c.want)
		}
	}
}
