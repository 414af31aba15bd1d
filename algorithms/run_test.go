package algorithms_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// runFunc is algorithms.Run or a version of it with a defect.
type runFunc func(context.Context, *engine.Records, algorithms.Algorithm, *algorithms.Plan, algorithms.Options) (*algorithms.Result, error)

// world is a ledger, a plan and hooks around its training.
type world struct {
	t      *testing.T
	path   string
	ledger *ledger.Ledger
	data   *engine.Records
	plan   *algorithms.Plan

	onBind, onClose func()
	onTrain         func(s privacy.Session, w []float64) error // after the training
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "ledger.jsonl"), onBind: func() {}, onClose: func() {}}
	w.ledger = must.Get(ledger.Open(w.path))(t)
	w.data = attack.RandomRecords(60, 3, engine.UnitBounds(), 1)
	w.plan = must.Get(algorithms.DPGDSC{}.Plan(newSpec(t, 60, 3, 0.2, 0.01, privacy.Budget{Epsilon: 1, Delta: 1e-5},
		algorithms.Certified)))(t)
	w.plan.Spec.Kernel = hookedKernel{w.plan.Spec.Kernel, w}
	return w
}

type hookedKernel struct {
	engine.Kernel
	w *world
}

func (k hookedKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	k.w.onBind()
	ev, err := k.Kernel.Bind(r)
	return hookedEvaluator{ev, k.w}, err
}

type hookedEvaluator struct {
	engine.Evaluator
	w *world
}

func (e hookedEvaluator) Close() error {
	e.w.onClose()
	return e.Evaluator.Close()
}

type hookedAlgorithm struct {
	algorithms.DPGDSC
	w *world
}

func (a hookedAlgorithm) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	if a.w.onTrain == nil {
		return a.DPGDSC.Train(ctx, ev, p, s, t)
	}
	w := make([]float64, 3)
	return w, a.w.onTrain(s, w)
}

func (w *world) run(run runFunc, ctx context.Context, resume string) (*algorithms.Result, error) {
	return run(ctx, w.data, promised{hookedAlgorithm{w: w}}, w.plan, algorithms.Options{Ledger: w.ledger, DataID: "x", Resume: resume})
}

// promised is an algorithm that promises to withhold what it releases.
type promised struct{ a algorithms.Algorithm }

func (p promised) Info() algorithms.Info                            { return p.a.Info() }
func (p promised) Plan(s algorithms.Spec) (*algorithms.Plan, error) { return p.a.Plan(s) }
func (p promised) Train(ctx context.Context, ev engine.Evaluator, plan *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	return p.a.Train(ctx, ev, plan, s, t)
}

// state is the number of charges and of runs without a finish line, and the last
// run.
func (w *world) state() (charges, unfinished int, run string) {
	w.t.Helper()
	entries := must.Get(w.ledger.Entries())(w.t)
	for _, e := range entries {
		if e.Charge != nil {
			charges++
			run = e.Run
		}
	}
	open := must.Get(w.ledger.Unfinished("x"))(w.t)
	return charges, len(open), run
}

var errOwn = errors.New("the algorithm failed")

// runViolations are the promises that run breaks, by name.
func runViolations(t *testing.T, run runFunc) (broken []string) {
	t.Helper()
	check := func(promise string, ok bool) {
		if !ok && !slices.Contains(broken, promise) {
			broken = append(broken, promise)
		}
	}
	ctx := context.Background()
	withheld := func(res *algorithms.Result, err error, resumable bool) bool {
		var c *algorithms.ChargedError
		return res == nil && errors.As(err, &c) && c.Resumable == resumable
	}

	w := newWorld(t)
	w.onBind = func() {
		charges, _, _ := w.state()
		check("is charged before the records are bound", charges == 1)
	}
	w.onClose = func() {
		_, unfinished, _ := w.state()
		check("is released after the training", unfinished == 1)
	}
	res, err := w.run(run, ctx, "")
	charges, unfinished, id := w.state()
	check("returns weights", err == nil && len(res.Weights) == 3)
	check("is charged once", charges == 1)
	check("records the release before it returns", unfinished == 0)
	_, err = w.run(run, ctx, id)
	check("is never released twice", errors.Is(err, ledger.ErrResume))

	// The head is lost during the training, and found again.
	w = newWorld(t)
	head, away := w.path+".head", w.path+".away"
	w.onClose = func() {
		must.Do(t, os.Rename(head, away))
	}
	res, err = w.run(run, ctx, "")
	check("withholds what it cannot record", res == nil && errors.Is(err, ledger.ErrUnavailable))
	must.Do(t, os.Rename(away, head))
	w.onClose = func() {}
	if charges, unfinished, id := w.state(); charges == 1 && unfinished == 1 {
		res, err = w.run(run, ctx, id)
		charges, unfinished, _ = w.state()
		check("resumes at no cost", err == nil && res.Run == id && charges == 1 && unfinished == 0)
	}

	// Somebody else resumes and releases the run meanwhile.
	w = newWorld(t)
	w.onClose = func() {
		if _, _, id := w.state(); id != "" {
			_ = w.ledger.Release(id, ledger.Kept{Digest: "0f"}) // fails if a defect released it before
		}
	}
	res, err = w.run(run, ctx, "")
	check("withholds what another process released", withheld(res, err, false) && errors.Is(err, ledger.ErrResume))

	// An interrupt, before and after the noise.
	for _, noise := range []bool{false, true} {
		w = newWorld(t)
		cancelled, cancel := context.WithCancel(ctx)
		w.onTrain = func(s privacy.Session, x []float64) error {
			cancel()
			if noise {
				return s.Release(x, w.plan.Certificate(), w.plan.Noise())
			}
			return cancelled.Err()
		}
		res, err = w.run(run, cancelled, "")
		_, unfinished, _ = w.state()
		check("can be resumed after an interrupt", withheld(res, err, true) && errors.Is(err, context.Canceled) && unfinished == 1)
	}

	// A failure of the algorithm, before and after the noise.
	for _, noise := range []bool{false, true} {
		w = newWorld(t)
		w.onTrain = func(s privacy.Session, x []float64) error {
			if noise {
				return errors.Join(s.Release(x, w.plan.Certificate(), w.plan.Noise()), errOwn)
			}
			return errOwn
		}
		res, err = w.run(run, ctx, "")
		_, unfinished, _ = w.state()
		if noise {
			check("is closed by a failure after the noise", withheld(res, err, false) && errors.Is(err, errOwn) && unfinished == 0)
		} else {
			check("can be resumed after a failure before the noise", withheld(res, err, true) && errors.Is(err, errOwn) && unfinished == 1)
		}
	}
	// A failure after the coins of a batch.
	for _, poisson := range []bool{false, true} {
		w = newWorld(t)
		w.onTrain = func(s privacy.Session, x []float64) error {
			if poisson {
				_, err := s.SamplePoisson(nil, w.data.Len(), 0.5)
				return errors.Join(err, errOwn)
			}
			return errors.Join(s.Sample(make([]int32, w.data.Len()), 1), errOwn)
		}
		res, err = w.run(run, ctx, "")
		_, unfinished, _ = w.state()
		check("is closed by a failure after a batch was drawn", withheld(res, err, false) && errors.Is(err, errOwn) && unfinished == 0)
	}
	slices.Sort(broken)
	return broken
}

func TestRunKeepsItsPromises(t *testing.T) {
	if broken := runViolations(t, algorithms.Run); len(broken) > 0 {
		t.Errorf("broken promises: %q", broken)
	}
}

// A run on public data has nothing to resume.
// An algorithm that is not the catalogue's own could let a release out before it
// returns, so its runs are never continued without a new charge.
func TestForeignAlgorithmCannotResume(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	var kept [][]float64 // noisy vectors that the algorithm keeps for itself
	w.onTrain = func(s privacy.Session, x []float64) error {
		err := s.Release(x, w.plan.Certificate(), w.plan.Noise())
		kept = append(kept, x)
		cancel()
		return err
	}
	run := func(ctx context.Context, resume string) error {
		_, err := algorithms.Run(ctx, w.data, hookedAlgorithm{w: w}, w.plan, algorithms.Options{Ledger: w.ledger, DataID: "x", Resume: resume})
		return err
	}
	if err := run(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first run: %v", err)
	}
	_, _, id := w.state()
	if err := run(context.Background(), id); !errors.Is(err, ledger.ErrResume) || len(kept) != 1 {
		t.Errorf("the run was continued: %v, %d vectors kept for one charge", err, len(kept))
	}
}

func TestPublicRunCannotResume(t *testing.T) {
	w := newWorld(t)
	must.Err(algorithms.Run(context.Background(), w.data, algorithms.DPGDSC{}, w.plan, algorithms.Options{Public: true, Resume: "a"}))(t, "a public run was resumed")
}

// The stages come in the documented order.
func TestRunTrace(t *testing.T) {
	w := newWorld(t)
	var got []string
	o := algorithms.Options{Ledger: w.ledger, DataID: "x", Trace: func(stage string) { got = append(got, stage) }}
	must.Get(algorithms.Run(context.Background(), w.data, algorithms.DPGDSC{}, w.plan, o))(t)
	must.Same(t, []string{"charged", "bound", "trained", "released"}, got, "stages")
}

// defects are steps that a wrong Run could leave out or do in another order.
type defects struct {
	uncharged        bool // no Begin
	chargeAfterBind  bool
	ignoreFinish     bool // weights although Finish failed
	finishFirst      bool // released before the training
	resumeCharges    bool
	resumeReleased   bool // no look at the finish line, before and after
	failureStaysOpen bool // after the noise
	coinsUnseen      bool // a failure after a batch was drawn leaves the run open
}

// run is algorithms.Run, step by step, with the defects.
func (d defects) run(ctx context.Context, r *engine.Records, a algorithms.Algorithm, p *algorithms.Plan, o algorithms.Options) (*algorithms.Result, error) {
	src, err := privacy.NewSource()
	if err != nil {
		return nil, err
	}
	var ev engine.Evaluator
	bind := func() error {
		ev, err = p.Spec.Kernel.Bind(r)
		return err
	}
	if d.chargeAfterBind {
		if err := bind(); err != nil {
			return nil, err
		}
	}
	c := ledger.Charge{DataID: o.DataID, Algorithm: p.Algorithm, Events: p.Events(), Unit: p.Guarantee.Unit, Relation: p.Guarantee.Relation, Resumable: true}
	var s *privacy.LiveSession
	switch {
	case d.uncharged:
		s, err = privacy.NewPublicSession(src, p.Events())
	case o.Resume != "" && !d.resumeCharges:
		s, err = o.Ledger.Resume(o.Resume, c, src)
		if err != nil && d.resumeReleased {
			s, err = privacy.NewPublicSession(src, p.Events())
		}
	default:
		s, err = o.Ledger.Begin(c, src)
	}
	if err != nil {
		return nil, err
	}
	result := &algorithms.Result{Run: s.Receipt().Run}
	if d.finishFirst {
		if err := o.Ledger.Release(result.Run, ledger.Kept{Digest: "0f"}); err != nil {
			return nil, err
		}
	}
	if !d.chargeAfterBind {
		if err := bind(); err != nil {
			return nil, err
		}
	}
	noise := &noiseSession{Session: s, blind: d.coinsUnseen}
	result.Weights, err = a.Train(ctx, ev, p, noise, algorithms.Tracker{})
	err = errors.Join(err, ev.Close(), ctx.Err())
	switch {
	case result.Run == "" || d.finishFirst && err == nil:
	case err == nil:
		if err = o.Ledger.Release(result.Run, ledger.Kept{Digest: "0f"}); d.ignoreFinish {
			err = nil
		}
	case noise.drawn && ctx.Err() == nil && !d.failureStaysOpen:
		err = errors.Join(err, o.Ledger.Finish(result.Run, "failed"))
	}
	if err != nil {
		open, errOpen := o.Ledger.Unfinished("")
		return nil, &algorithms.ChargedError{Run: result.Run, Resumable: errOpen != nil || len(open) > 0, Err: err}
	}
	return result, nil
}

type noiseSession struct {
	privacy.Session
	drawn, blind bool
}

func (s *noiseSession) Sample(order []int32, m int) error {
	s.drawn = s.drawn || !s.blind
	return s.Session.Sample(order, m)
}

func (s *noiseSession) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	s.drawn = s.drawn || !s.blind
	return s.Session.SamplePoisson(dst, n, rate)
}

func (s *noiseSession) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	s.drawn = true
	return s.Session.Release(x, c, m)
}

func wantCaught(t *testing.T, d defects, promises ...string) {
	t.Helper()
	broken := runViolations(t, d.run)
	for _, p := range promises {
		if !slices.Contains(broken, p) {
			t.Errorf("the defect was not noticed by %q, only by %q", p, broken)
		}
	}
	if len(promises) == 0 && len(broken) > 0 {
		t.Errorf("broken promises without a defect: %q", broken)
	}
}

// Control: the steps without a defect break nothing.
func TestRunStepsWithoutDefect(t *testing.T) { wantCaught(t, defects{}) }

func TestUnchargedRunIsCaught(t *testing.T) {
	wantCaught(t, defects{uncharged: true}, "is charged once", "is charged before the records are bound")
}

func TestChargeAfterBindIsCaught(t *testing.T) {
	wantCaught(t, defects{chargeAfterBind: true}, "is charged before the records are bound")
}

func TestWeightsDespiteFailedFinishAreCaught(t *testing.T) {
	wantCaught(t, defects{ignoreFinish: true}, "withholds what it cannot record", "withholds what another process released")
}

func TestReleaseBeforeTrainingIsCaught(t *testing.T) {
	wantCaught(t, defects{finishFirst: true}, "is released after the training", "can be resumed after an interrupt")
}

func TestRunResumeThatChargesTwiceIsCaught(t *testing.T) {
	wantCaught(t, defects{resumeCharges: true}, "resumes at no cost", "is never released twice")
}

func TestRunResumeAfterReleaseIsCaught(t *testing.T) {
	wantCaught(t, defects{resumeReleased: true}, "is never released twice")
}

func TestFailureAfterNoiseLeftOpenIsCaught(t *testing.T) {
	wantCaught(t, defects{failureStaysOpen: true}, "is closed by a failure after the noise")
}

func TestFailureAfterCoinsLeftOpenIsCaught(t *testing.T) {
	wantCaught(t, defects{coinsUnseen: true}, "is closed by a failure after a batch was drawn")
}

// TestWithholdsIsAPromise: every algorithm of the catalogue makes it, and the run of one that
// does not is charged as one that cannot be resumed.
func TestWithholdsIsAPromise(t *testing.T) {
	for _, a := range algorithms.Catalog() {
		if !a.Info().Withholds {
			t.Errorf("%s does not withhold what it releases, so that its runs cannot be resumed", a.Info().Name)
		}
	}
}

// A run that an earlier version charged, with the hash of its record of the plan, is resumed, and keeps that record: the ledger
// has the hash of its model's record. Another plan is refused.
func TestRunsOfEarlierVersionsAreResumed(t *testing.T) {
	w := newWorld(t)
	old := must.Get(algorithms.OldRecordHash(w.plan))(t)
	charge := w.plan.Charge("x")
	charge.Run, charge.Resumable, charge.Plan = "earlier", true, old
	source := must.Get(privacy.NewSource())(t)
	must.Get(w.ledger.Begin(charge, source))(t)
	sound := w.plan
	other := *sound
	other.Schedule.Steps++
	w.plan = &other
	must.Fail(w.run(algorithms.Run, context.Background(), "earlier"))(t, ledger.ErrResume, "another plan")
	w.plan = sound
	must.Equal(t, algorithms.RecordHash(must.Get(w.run(algorithms.Run, context.Background(), "earlier"))(t).Record),
		old, "RecordHash")
}
