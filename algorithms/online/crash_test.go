//go:build unix

package online_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyad/algorithms"
	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// cell is one attack on a stream and what it must leave. Whatever it is,
// the user can go on and gets every release once.
type cell struct {
	fault    string
	stage    string // with #n for its n-th occurrence
	code     int    // -1: killed
	charges  int    // after the attack
	releases int    // that were written before the end
	says     string
	short    bool // also with -short
}

// releases is the number of releases of the attacked stream.
const releases = 9

// crashMatrix is stage x fault. The stages are, in order: opening ledger, state
// written (#1, without a record), count created, the steps of the charge, charged, then for
// release k: state written#k+1, state saved#k, count written#k, count durable#k, released#k;
// at the end the steps of the line
// that closes the run (#2), finished.
var crashMatrix = []cell{
	{"kill -9", "opening ledger#1", crash.Killed, 0, 0, "", false},
	{"kill -9", "state written#1", crash.Killed, 0, 0, "", false},
	{"kill -9", "count created#1", crash.Killed, 0, 0, "", true},
	{"kill -9", "locked#1", crash.Killed, 0, 0, "", false},
	{"kill -9", "admitted#1", crash.Killed, 0, 0, "", true},
	{"kill -9", "line durable#1", crash.Killed, 1, 0, "", true},
	{"kill -9", "charged#1", crash.Killed, 1, 0, "", false},
	{"kill -9", "state written#2", crash.Killed, 1, 0, "", false},
	{"kill -9", "state saved#1", crash.Killed, 1, 0, "", true},
	{"kill -9", "count written#1", crash.Killed, 1, 0, "", false},
	{"kill -9", "count durable#1", crash.Killed, 1, 0, "", false},
	{"kill -9", "released#1", crash.Killed, 1, 1, "", false},
	{"kill -9", "state written#6", crash.Killed, 1, 4, "", false},
	{"kill -9", "state saved#5", crash.Killed, 1, 4, "", true},
	{"kill -9", "count written#5", crash.Killed, 1, 4, "", true},
	{"kill -9", "count durable#5", crash.Killed, 1, 4, "", true},
	{"kill -9", "released#5", crash.Killed, 1, 5, "", false},
	{"kill -9", "state saved#9", crash.Killed, 1, 8, "", false},
	{"kill -9", "admitted#2", crash.Killed, 1, 9, "", false},
	{"kill -9", "line durable#2", crash.Killed, 1, 9, "", false},
	{"kill -9", "finished#1", crash.Killed, 1, 9, "", false},

	{"interrupt", "charged#1", exitCancelled, 1, 0, "the state is in", false},
	{"interrupt", "state saved#5", exitCancelled, 1, 5, "the state is in", true},
	{"interrupt", "released#5", exitCancelled, 1, 5, "the state is in", false},
	{"interrupt", "finished#1", exitOK, 1, 9, "the state is in", false},

	{"disk full", "opening ledger#1", exitFailure, 0, 0, "the state cannot be saved", false},
	{"disk full", "state written#1", exitResource, 0, 0, "space and", false},
	{"disk full", "line durable#1", exitFailure, 1, 0, "nothing more was released", false},
	{"disk full", "charged#1", exitFailure, 1, 0, "nothing more was released", true},
	{"disk full", "state saved#5", exitResource, 1, 4, "no further release is made", true},
	{"disk full", "released#5", exitFailure, 1, 5, "nothing more was released", false},
	{"disk full", "state saved#9", exitResource, 1, 8, "no further release is made", false},
	{"disk full", "count durable#9", exitFailure, 1, 9, "the state cannot be saved", false},
	{"disk full", "state written#11", exitResource, 1, 9, "space and", false},
	{"disk full", "finished#1", exitOK, 1, 9, "", false},
	{"disk full within a line", "admitted#1", exitResource, 0, 0, "check the disk space", false},

	{"state folder read-only", "start", exitInput, 0, 0, "cannot be locked", false},
	{"state folder read-only", "opening ledger#1", exitFailure, 0, 0, "nothing more was released", false},
	{"state folder read-only", "charged#1", exitFailure, 1, 0, "nothing more was released", false},
	{"state folder read-only", "released#5", exitFailure, 1, 5, "nothing more was released", true},
	{"state folder read-only", "state saved#9", exitFailure, 1, 9, "nothing more was released", false},
	{"ledger folder read-only", "opening ledger#1", exitResource, 0, 0, "space and the permissions", false},
	{"ledger folder read-only", "charged#1", exitResource, 1, 9, "space and the permissions", false},
	{"ledger folder read-only", "released#9", exitResource, 1, 9, "space and the permissions", false},

	{"other run", "opening ledger#1", exitOK, 1, 9, "", false},
	{"other run", "locked#1", exitOK, 1, 9, "", false},
	{"other run", "charged#1", exitOK, 1, 9, "", false},
	{"other run", "state saved#5", exitOK, 1, 9, "", false},
	{"same state", "charged#1", exitOK, 1, 9, "", false},
	{"same state", "state saved#5", exitOK, 1, 9, "", true},
	{"same state", "finished#1", exitOK, 1, 9, "", false},
	{"clock in 1990", "charged#1", exitOK, 1, 9, "", false},
	{"clock in 2190", "state saved#5", exitOK, 1, 9, "", false},

	{"line lost", "charged#1", exitResource, 1, 9, "lost lines", false},
	{"line lost", "state saved#5", exitResource, 1, 9, "lost lines", true},
	{"line edited", "state saved#5", exitResource, 1, 9, "line 2 is not valid", false},
	{"head deleted", "state saved#9", exitResource, 1, 9, ".head) is missing", false},

	{"state cut short", "line durable#1", crash.Killed, 1, 0, "", false},
	{"state cut short", "state saved#5", crash.Killed, 1, 4, "", true},
	{"state edited", "state saved#5", crash.Killed, 1, 4, "", false},
	{"state edited", "released#9", crash.Killed, 1, 9, "", false},
	{"state lost", "released#5", crash.Killed, 1, 5, "", false},
	{"state of before", "released#5", crash.Killed, 1, 7, "", true},
	{"state put back", "released#9", crash.Killed, 1, 9, "", true},
	{"state put back", "count durable#8", crash.Killed, 1, 7, "", false},
	{"state put back", "state saved#8", crash.Killed, 1, 7, "", false},
	{"count torn", "count written#5", crash.Killed, 1, 4, "", true},
	{"count torn", "released#5", crash.Killed, 1, 5, "", false},
	{"count lost", "released#5", crash.Killed, 1, 5, "", true},
	{"count lost", "count created#1", crash.Killed, 0, 0, "", false},
	{"count cut short", "released#5", crash.Killed, 1, 5, "", false},
	{"two attempts", "state saved#5", crash.Killed, 1, 5, "", true},
}

func TestCrashMatrix(t *testing.T) {
	for _, c := range crashMatrix {
		if testing.Short() && !c.short {
			continue
		}
		t.Run(c.fault+" at "+c.stage, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			e := f.attack(t, c)
			f.writable()
			e.Want(t, "attacked stream", c.code, c.says)
			f.check(t, c, e)
		})
	}
}

func (f *fixture) attack(t *testing.T, c cell) crash.Ended {
	t.Helper()
	spec := crash.Spec{Args: f.stream(), Stage: c.stage}
	var pause func()
	switch c.fault {
	case "state put back", "count torn", "count lost", "count cut short", "two attempts":
		if c.charges == 0 {
			return f.uncharged(t, spec)
		}
		return f.attackCount(t, c)
	case "state cut short", "state edited", "state lost", "state of before":
		return f.damageState(t, c.fault, f.start(t, spec.With("kill", "")).End())
	case "disk full within a line":
		c.fault, spec.Limit = "disk full", uint64(len(f.ledger)+20)
	case "other run":
		pause = func() { f.otherRun(t, c.stage) }
	case "same state":
		pause = func() {
			for _, args := range [][]string{f.stream(), f.stream("resume")} {
				e := f.start(t, crash.Spec{Args: args}).End()
				e.Want(t, "the second process", exitInput, "in use by another process")
				f.wantReleases(t, e, nil)
			}
		}
	case "clock in 1990", "clock in 2190":
		pause = func() { f.charge(t, inYear(c.fault), "clock") }
	case "line lost", "line edited", "head deleted":
		return f.damaged(t, c.fault, c.says, spec)
	}
	if pause == nil {
		return f.start(t, spec.With(c.fault, f.dir)).End()
	}
	return f.start(t, spec.With("pause", "")).While(t, pause)
}

// damageState breaks the state that a killed stream left, checks that it is refused,
// and restores it. It returns what was written in all.
func (f *fixture) damageState(t *testing.T, fault string, e crash.Ended) crash.Ended {
	t.Helper()
	refused := func(text, says string) {
		t.Helper()
		f.put(t, map[string]string{stateName: text})
		e := f.run(t, f.stream("resume")...)
		e.Want(t, fault, exitInput, says)
		f.wantReleases(t, e, nil)
	}
	switch fault {
	case "state cut short":
		whole := f.get(t, stateName)
		for _, size := range []int{0, 1, len(whole) / 3, len(whole) - 40, len(whole) - 1} {
			refused(whole[:size], "cut short")
		}
		f.put(t, map[string]string{stateName: whole})
	case "state edited":
		whole := f.get(t, stateName)
		for _, edit := range [][2]string{{`"session":0`, `"session":1`}, {`"w":[`, `"w":[1`}, {`"releases":`, `"releases":1`}} {
			refused(strings.Replace(whole, edit[0], edit[1], 1), "cut short, edited")
		}
		f.put(t, map[string]string{stateName: whole})
	case "state lost":
		must.Do(t, os.Rename(f.in(stateName), f.in("tmp/away")))
		f.run(t, f.stream("resume")...).Want(t, fault, exitInput, "cannot read the state")
		must.Do(t, os.Rename(f.in("tmp/away"), f.in(stateName)))
	case "state of before":
		// The stream is resumed, and killed again; then a copy of the state from before
		// that is put back.
		old := f.get(t, stateName)
		second := f.start(t, crash.Spec{Args: f.stream("resume"), Stage: "released#2", Fault: "kill"}).End()
		latest := f.get(t, stateName)
		sameReleases(t, releasesOf(t, e), releasesOf(t, second))
		refused(old, "old copy")
		f.put(t, map[string]string{stateName: latest})
		e.Stdout += second.Stdout[strings.Index(second.Stdout, "\n")+1:]
	}
	return e
}

// releasesOf are the releases in the output of a process; the last line may be cut.
func releasesOf(t testing.TB, e crash.Ended) map[int][]float64 {
	t.Helper()
	all := map[int][]float64{}
	for i, line := range strings.Split(strings.TrimSpace(e.Stdout), "\n") {
		var r output
		if i == 0 || line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		must.Equal(t, r.Records, 10+10*r.Release, "release %d after records", r.Release)
		all[r.Release] = r.Weights
	}
	return all
}

// sameReleases checks that what was released is not released again with other noise,
// and adds the new ones.
func sameReleases(t testing.TB, seen, again map[int][]float64) {
	t.Helper()
	for k, w := range again {
		if before, ok := seen[k]; ok && !slices.Equal(before, w) {
			t.Errorf("release %d left the program twice, with different noise", k)
		}
		seen[k] = w
	}
}

func (f *fixture) wantReleases(t testing.TB, e crash.Ended, want []int) {
	t.Helper()
	var got []int
	for k := range releasesOf(t, e) {
		got = append(got, k)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("releases %v, want %v", got, want)
	}
}

// truth is what a stream that nothing disturbs leaves after the fixture's run:
// the records in its state, and the epsilon of both.
var truth = sync.OnceValue(func() *reference { return &reference{} })

type reference struct {
	once    sync.Once
	records algorithms.StreamState
	epsilon float64
}

func (r *reference) make(t testing.TB) {
	r.once.Do(func() {
		f := newFixture(t.(*testing.T))
		e := f.run(t, f.stream()...)
		e.Want(t, "reference", exitOK, "100 records taken, 9 releases")
		r.records = *f.state(t)
		r.epsilon = f.spent(t).Epsilon
	})
}

// state reads the state file.
func (f *fixture) state(t testing.TB) *algorithms.StreamState {
	t.Helper()
	return must.Get(algorithms.ReadStreamState(strings.NewReader(f.get(t, stateName))))(t)
}

// spent is what was spent on the records.
func (f *fixture) spent(t testing.TB) ledger.Summary {
	t.Helper()
	return must.Get(f.book(t).Summary(dataID, crashDelta))(t)
}

// check verifies the files after an attack, goes on until the stream ends, and
// verifies that nothing was lost, spent twice or drawn twice.
func (f *fixture) check(t testing.TB, c cell, e crash.Ended) {
	t.Helper()
	if now := f.get(t, "ledger/ledger.jsonl"); !strings.HasPrefix(now, f.ledger) {
		t.Error("the ledger lost lines")
	}
	run, charges, _ := f.attacked(t)
	seen := releasesOf(t, e)
	if charges != c.charges || len(seen) != c.releases {
		t.Errorf("got %d charges and %d releases, want %d and %d", charges, len(seen), c.charges, c.releases)
	}
	if charges == 0 && len(seen) > 0 {
		t.Errorf("%d releases without a charge", len(seen))
	}
	var next crash.Ended
	if info, err := os.Stat(f.in(stateName)); err == nil {
		must.Equal(t, info.Mode().Perm(), 0o600, "the state has mode %v", info.Mode())
		if charges > 0 {
			f.run(t, f.stream()...).Want(t, "a start over the state", exitInput, "resume the stream, or name another file")
		}
		next = f.run(t, f.stream("resume")...)
	} else {
		next = f.run(t, f.stream()...)
	}
	again, charges, finished := f.attacked(t)
	if charges != 1 || run != "" && again != run || !slices.Equal(finished, []string{ledger.StatusReleased}) {
		t.Errorf("afterwards: %d charges of run %q (before %q), finish lines %q; want one of each", charges, again, run, finished)
	}
	if len(seen) == releases && next.Code == exitInput {
		next.Want(t, "resume after the end", exitInput, "was released on")
	} else {
		next.Want(t, "going on", exitOK, "100 records taken, 9 releases")
	}
	sameReleases(t, seen, releasesOf(t, next))
	must.Equal(t, len(seen), releases, "releases ever written")
	last := f.run(t, f.stream("resume")...)
	last.Want(t, "resume after the end", exitInput, "was released on")
	f.wantReleases(t, last, nil)

	want := truth()
	want.make(t)
	state := f.state(t)
	if state.Count != 100 || !slices.Equal(state.X, want.records.X) || !slices.Equal(state.Y, want.records.Y) {
		t.Errorf("the state has other records than without the fault (%d taken)", state.Count)
	}
	s := f.spent(t)
	if s.Runs != 1+len(f.known) || len(f.known) == 1 && s.Epsilon != want.epsilon {
		t.Errorf("spent in the end: %+v; want %d runs, for two runs epsilon %v", s, 1+len(f.known), want.epsilon)
	}
	// What a kill within the last line left is removed by the next line.
	if left, err := os.ReadDir(f.in("ledger")); err != nil || len(left) != 3 && c.stage != "line durable#2" {
		t.Errorf("the ledger's folder has %d files, want 3 (%v)", len(left), err)
	}
}

// Control: the check of the matrix notices what must never happen.
func TestCrashCheckNotices(t *testing.T) {
	sizes.NotShort(t, "slow")
	cut := cell{"kill -9", "released#5", crash.Killed, 1, 5, "", true}
	noticed := func(f *fixture, e crash.Ended, text string) {
		t.Helper()
		r := &recorder{TB: t}
		f.check(r, cut, e)
		if !strings.Contains(r.said, text) {
			t.Errorf("the check does not say %q, only:\n%s", text, r.said)
		}
	}
	attack := func() (*fixture, crash.Ended) {
		f := newFixture(t)
		return f, f.attack(t, cut)
	}
	// A ledger's folder of before, with the count: the state of then draws a release again.
	f := newFixture(t)
	e := f.putBackAll(t)
	noticed(f, e, "release 5 left the program twice, with different noise")

	f, e = attack()
	e.Stdout += e.Stdout[strings.Index(e.Stdout, "\n")+1:]
	e.Stdout = strings.Replace(e.Stdout, `"release":5`, `"release":7`, 1)
	e.Stdout = strings.Replace(e.Stdout, `{"records":60,"release":7`, `{"records":80,"release":7`, 1)
	noticed(f, e, "release 7 left the program twice")

	f, e = attack() // records that went missing
	lines := strings.SplitAfter(f.get(t, "in/records"), "\n")
	f.put(t, map[string]string{"in/records": strings.Join(append(slices.Delete(lines, 95, 96), lines[0]), "")})
	noticed(f, e, "the state has other records than without the fault")

	f, e = attack() // a ledger from before the charge, and a state that says so
	f.put(t, map[string]string{"ledger/ledger.jsonl": f.ledger, "ledger/ledger.jsonl.head": f.head})
	noticed(f, e, "5 releases without a charge")
}
