package algorithms_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// A checkpoint of another run, plan or data, or one that is damaged, is refused before
// the ledger is touched; without it the run starts at step 1.
func TestCheckpointRefusals(t *testing.T) {
	l := gradientLab(t)
	first := l.attempt("", 5, 5)
	charged := chargedBy(t, first)
	run := charged.Run
	lines := func() int {
		entries := must.Get(l.ledger.Entries())(t)
		return len(entries)
	}
	before := lines()
	refused := func(what, text, says string) {
		t.Helper()
		must.Do(t, os.WriteFile(l.file(run), []byte(text), 0o600))
		a := l.attempt(run, 0, 0)
		if !errors.Is(a.err, algorithms.ErrCheckpoint) || !strings.Contains(a.err.Error(), says) || lines() != before || len(a.releases) > 0 {
			t.Errorf("%s: %v, %d lines", what, a.err, lines()-before)
		}
	}
	for _, size := range []int{0, 1, len(first.saved) / 2, len(first.saved) - 1} {
		refused("cut short", first.saved[:size], "cut short")
	}
	refused("edited", strings.Replace(first.saved, `"steps_done":5`, `"steps_done":6`, 1), "edited")
	// The options and the records of the first attempt, which the events do not show.
	plan, data := l.plan, l.data
	l.plan = must.Get((algorithms.GradientPerturbation{Steps: 9, StepSize: plan.Schedule.Constant / 2}).Plan(plan.Spec))(t)
	refused("another step size", first.saved, "another plan")
	l.plan = plan
	l.data = attack.Neighbours(data, 1, 1)[0]
	refused("another record", first.saved, "other records")
	l.data = data
	// The checkpoint of another run under this one's name.
	other := l.attemptOther(t)
	refused("another run", other, "it is of run")
	must.Do(t, os.Remove(l.file(run)))
	must.Do(t, os.Mkdir(l.file(run), 0o700))
	if a := l.attempt(run, 0, 0); !errors.Is(a.err, algorithms.ErrCheckpoint) || !strings.Contains(a.err.Error(), "not a regular file") || lines() != before {
		t.Errorf("what is no file: %v", a.err)
	}
	must.Do(t, os.Remove(l.file(run)))
	if a := l.attempt(run, 0, 0); a.err != nil || a.from != 0 || len(a.releases) != 9 {
		t.Errorf("without a checkpoint: %v, from step %d, %d releases", a.err, a.from, len(a.releases))
	}
}

// A checkpoint of the format before, with its hash of the records, is continued; one of other
// records is not.
func TestOldCheckpointIsRead(t *testing.T) {
	l := gradientLab(t)
	first := l.attempt("", 5, 5)
	charged := chargedBy(t, first)
	for _, other := range []bool{true, false} {
		records := l.data
		if other {
			records = attack.Neighbours(l.data, 1, 1)[0]
		}
		text, err := algorithms.OldCheckpoint(first.saved, records)
		if err == nil {
			err = os.WriteFile(l.file(charged.Run), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		a := l.attempt(charged.Run, 0, 0)
		if other && !errors.Is(a.err, algorithms.ErrCheckpoint) || !other && (a.err != nil || a.from != 5) {
			t.Errorf("other records %t: %v, from step %d", other, a.err, a.from)
		}
	}
}

// A checkpoint belongs to the events, the schedule and the objective of a plan, and to nothing
// that its report says in words: the wording of a later version leaves it usable.
func TestCheckpointBelongsToWhatIsDone(t *testing.T) {
	for name, change := range map[string]struct {
		apply func(p *algorithms.Plan)
		says  string // "": it is used
	}{
		"another fact":      {func(p *algorithms.Plan) { p.Facts.Add("words", "of another version") }, ""},
		"another line":      {func(p *algorithms.Plan) { p.Facts.Line("engine", "in other words") }, ""},
		"another guarantee": {func(p *algorithms.Plan) { p.Guarantee.Derivation, p.Guarantee.Assumptions = "in other words", nil }, ""},
		"another rule":      {func(p *algorithms.Plan) { p.Schedule.Name = "in other words" }, ""},
		"another step":      {func(p *algorithms.Plan) { p.Schedule.Constant *= 1 + 0x1p-50 }, "another plan"},
		"more steps":        {func(p *algorithms.Plan) { p.Schedule.Steps++ }, "another plan"},
		"other steps":       {func(p *algorithms.Plan) { p.Schedule.Eta = []float64{1} }, "another plan"},
		"the average":       {func(p *algorithms.Plan) { p.Schedule.Average = !p.Schedule.Average }, "another plan"},
		"another mode":      {func(p *algorithms.Plan) { p.Mode = algorithms.Paper }, "another plan"},
		"another part":      {func(p *algorithms.Plan) { p.Schedule.Epochs = []algorithms.Epoch{{Records: 2}} }, "another plan"},
		"another objective": {func(p *algorithms.Plan) { p.Objective = "another loss" }, "another plan"},
		"another alpha":     {func(p *algorithms.Plan) { p.Spec.L2 += 0x1p-40 }, "another plan"},
		"another last event": {func(p *algorithms.Plan) {
			e := p.Events()[0].(account.RepeatedEvent)
			one := e.Event.(account.GaussianEvent)
			one.Sigma *= 1 + 0x1p-50
			p.Releases = algorithms.Releases{{Cost: account.Repeat(one, e.Count)}}
		}, "another plan"},
		"an event less": {func(p *algorithms.Plan) { p.Releases = nil }, "another plan"},
	} {
		l := gradientLab(t)
		charged := chargedBy(t, l.attempt("", 5, 5))
		changed := *l.plan
		changed.Facts = changed.Report().Facts
		change.apply(&changed)
		l.plan = &changed
		a := l.attempt(charged.Run, 0, 0)
		if used := a.err == nil && a.from == 5; used != (change.says == "") || !used && (!errors.Is(a.err, algorithms.ErrCheckpoint) || !strings.Contains(a.err.Error(), change.says)) {
			t.Errorf("%s: from step %d, %v", name, a.from, a.err)
		}
	}
}

// attemptOther is the checkpoint of another run of the same plan and records.
func (l *lab) attemptOther(t *testing.T) string {
	t.Helper()
	m := newLab(t, l.a, l.plan)
	m.data = l.data
	return m.attempt("", 5, 5).saved
}

// failing fails before it draws noise.
type failing struct{ algorithms.Algorithm }

func (failing) Train(_ context.Context, _ engine.Evaluator, _ *algorithms.Plan, _ privacy.Session, t algorithms.Tracker) ([]float64, error) {
	return nil, errOwn
}

// A failure after noise went into the checkpoint closes the run: it could depend on
// that noise, and starting again would choose another.
func TestFailureAfterCheckpointedNoiseClosesTheRun(t *testing.T) {
	for name, resumable := range map[string]bool{"gradient-perturbation certified 1e-05": false, "dpgdsc certified 1e-05": true} {
		l := checkpointed(t)[name]
		first := l.attempt("", 5, 5)
		charged := chargedBy(t, first)
		l.a = failing{l.a}
		second := l.attempt(charged.Run, 0, 0)
		if !errors.As(second.err, &charged) || !errors.Is(second.err, errOwn) || charged.Resumable != resumable {
			t.Errorf("%s: %v, resumable %v, want %v", name, second.err, charged.Resumable, resumable)
		}
		if _, err := os.Stat(l.file(charged.Run)); (err == nil) != resumable {
			t.Errorf("%s: the checkpoint: %v", name, err)
		}
	}
}

// A checkpoint that cannot be written stops nothing, a seeded run keeps none, and what
// a kill after the end left is removed by the next run.
func TestCheckpointHousekeeping(t *testing.T) {
	l := gradientLab(t)
	failures := 0
	o := algorithms.Options{
		Ledger: l.ledger, DataID: "x",
		Checkpoints: algorithms.Checkpoints{Prefix: filepath.Join(t.TempDir(), "none", "x."), Every: time.Nanosecond, Failed: func(error) { failures++ }},
	}
	r, err := algorithms.Run(context.Background(), l.data, l.a, l.plan, o)
	if err != nil || failures != 9 {
		t.Fatalf("%v, %d failures", err, failures)
	}
	o.Checkpoints.Prefix = l.prefix
	o.Source = privacy.NewSeededSource(1)
	o.Trace = func(stage string) {
		if strings.HasPrefix(stage, "checkpoint") {
			t.Errorf("a seeded run reached %q", stage)
		}
	}
	must.Get(algorithms.Run(context.Background(), l.data, l.a, l.plan, o))(t)
	stale := []string{l.file(r.Run), l.file(r.Run) + ".123"}
	others := []string{l.prefix + "a b.checkpoint", l.prefix + "notes"}
	for _, name := range append(slices.Clone(stale), others...) {
		must.Do(t, os.WriteFile(name, nil, 0o600))
	}
	waiting := l.attempt("", 5, 5)
	charged := chargedBy(t, waiting)
	o.Source, o.Trace = nil, nil
	must.Get(algorithms.Run(context.Background(), l.data, l.a, l.plan, o))(t)
	for _, name := range stale {
		must.Err(os.Stat(name))(t, "%s of a finished run is left", filepath.Base(name))
	}
	for _, name := range append(others, l.file(charged.Run)) {
		must.Check(os.Stat(name))(t, filepath.Base(name), " was removed")
	}
}
