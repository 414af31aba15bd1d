//go:build unix

package command

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

// onlineCell is one attack on "dyad online" and what it must leave. Whatever it is,
// the user can go on and gets every release once.
type onlineCell struct {
	fault    string
	stage    string // with #n for its n-th occurrence
	code     int    // -1: killed
	charges  int    // after the attack
	releases int    // that were written before the end
	says     string
	short    bool // not only at full power
}

// onlineReleases is the number of releases of the attacked stream.
const onlineReleases = 9

// onlineMatrix are the attacks that see the program itself: its output, its exit codes, and what
// it tells the user to do. All stages are attacked in algorithms/online.
var onlineMatrix = []onlineCell{
	{"kill -9", "state saved#5", crash.Killed, 1, 4, "", true},
	{"interrupt", "released#5", exitCancelled, 1, 5, "the state is in", true},
	{"disk full", "charged#1", exitFailure, 1, 0, "nothing more was released", false},
	{"disk full", "state saved#5", exitResource, 1, 4, "no further release is made", true},
	{"state folder read-only", "start", exitInput, 0, 0, "cannot be locked", false},
	{"ledger folder read-only", "charged#1", exitResource, 1, 9, "space and the permissions", false},
	{"same state", "state saved#5", exitOK, 1, 9, "", true},
	{"state lost", "released#5", crash.Killed, 1, 5, "", false},
	{"head deleted", "state saved#9", exitResource, 1, 9, ".head) is missing", false},
}

func TestOnlineCrashMatrix(t *testing.T) {
	for _, c := range onlineMatrix {
		if !sizes.Full() && !c.short {
			continue
		}
		t.Run(c.fault+" at "+c.stage, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			e := f.attackOnline(t, c)
			f.writable()
			e.Want(t, "attacked stream", c.code, c.says)
			f.checkOnline(t, c, e)
		})
	}
}

// online is the command line of the stream that is attacked.
func (f *fixture) online(more ...string) []string {
	return append([]string{"online", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "--records",
		"100", "--every", "10",
		"--buffer", "20", "--delta", "1e-5", "--state", f.in(stateName), "--ledger", f.in("ledger/ledger.jsonl")}, more...)
}

const stateName = "out/stream.state"

func (f *fixture) attackOnline(t *testing.T, c onlineCell, more ...string) ended {
	t.Helper()
	spec := crash.Spec{Args: f.online(more...), Stage: c.stage}
	var pause func()
	switch c.fault {
	case "name taken":
		pause = func() { f.put(t, map[string]string{streamModelName: "PRECIOUS"}) }
	case "same state":
		pause = func() {
			for _, args := range [][]string{f.online(), f.online("--resume")} {
				e := f.start(t, crash.Spec{Args: args}).End()
				e.Want(t, "the second process", exitInput, "in use by another process")
				f.wantReleases(t, e, nil)
			}
		}
	case "head deleted":
		return f.damaged(t, spec, cell{fault: c.fault, stage: c.stage, want: pending, says: c.says})
	case "state lost":
		return f.loseState(t, f.start(t, spec.With("kill", "")).End())
	}
	if pause == nil {
		return f.start(t, spec.With(c.fault, f.dir)).End()
	}
	return f.start(t, spec.With("pause", "")).While(t, pause)
}

// loseState takes away the state that a killed stream left, checks that this is refused, and restores it.
func (f *fixture) loseState(t *testing.T, e ended) ended {
	t.Helper()
	must.Do(t, os.Rename(f.in(stateName), f.in("tmp/away")))
	f.dyad(f.online("--resume")...).Want(t, "state lost", exitInput, "cannot read the state")
	f.dyad("ledger", "show", "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "show", exitOK,
		"To continue it at no further cost, repeat its dyad online command with --resume and the same state file")
	must.Do(t, os.Rename(f.in("tmp/away"), f.in(stateName)))
	return e
}

// releasesOf are the releases in the output of a process; the last line may be cut.
func releasesOf(t testing.TB, e ended) map[int][]float64 {
	t.Helper()
	all := map[int][]float64{}
	for i, line := range strings.Split(strings.TrimSpace(e.Stdout), "\n") {
		var r onlineRelease
		if i == 0 || line == "" {
			continue
		}
		must.Do(t, json.Unmarshal([]byte(line), &r), line)
		if r.Records != 10+10*r.Release {
			t.Errorf("release %d after %d records", r.Release, r.Records)
		}
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

func (f *fixture) wantReleases(t testing.TB, e ended, want []int) {
	t.Helper()
	var got []int
	for k := range releasesOf(t, e) {
		got = append(got, k)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("releases %v, want %v", got, want)
	}
}

// onlineTruth is what a stream that nothing disturbs leaves after the fixture's run:
// the records in its state, and the epsilon of both.
var onlineTruth = sync.OnceValue(func() *onlineReference { return &onlineReference{} })

type onlineReference struct {
	once    sync.Once
	records algorithms.StreamState
	epsilon float64
}

func (r *onlineReference) make(t testing.TB) {
	r.once.Do(func() {
		f := newFixture(t.(*testing.T))
		e := f.dyad(f.online()...)
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

func (f *fixture) spent(t testing.TB) ledger.Summary {
	t.Helper()
	m := must.Get(readModel(f.in("out/model.json")))(t)
	l := must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
	return must.Get(l.Summary(m.DataID, crashDelta))(t)
}

// checkOnline verifies the files after an attack, goes on until the stream ends, and
// verifies that nothing was lost, spent twice or drawn twice.
func (f *fixture) checkOnline(t testing.TB, c onlineCell, e ended) {
	t.Helper()
	if now := f.get(t, "ledger/ledger.jsonl"); !strings.HasPrefix(now, f.ledger) {
		t.Error("the ledger lost lines")
	}
	f.dyad("ledger", "verify", "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "verify", exitOK, "is intact")
	run, charges, _ := f.attacked(t)
	seen := releasesOf(t, e)
	if charges != c.charges || len(seen) != c.releases {
		t.Errorf("got %d charges and %d releases, want %d and %d", charges, len(seen), c.charges, c.releases)
	}
	if charges == 0 && len(seen) > 0 {
		t.Errorf("%d releases without a charge", len(seen))
	}
	var next ended
	if exists(f.in(stateName)) {
		if info, err := os.Stat(f.in(stateName)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the state: %v, %v", info, err)
		}
		if charges > 0 {
			f.dyad(f.online()...).Want(t, "a start over the state", exitInput, "continue its stream with --resume")
		}
		next = f.dyad(f.online("--resume")...)
	} else {
		next = f.dyad(f.online()...)
	}
	again, charges, finished := f.attacked(t)
	if charges != 1 || run != "" && again != run || !slices.Equal(finished, []string{ledger.StatusReleased}) {
		t.Errorf("afterwards: %d charges of run %q (before %q), finish lines %q; want one of each", charges,
			again, run, finished)
	}
	if len(seen) == onlineReleases && next.Code == exitInput {
		next.Want(t, "resume after the end", exitInput, "was released on")
	} else {
		next.Want(t, "going on", exitOK, "100 records taken, 9 releases")
	}
	sameReleases(t, seen, releasesOf(t, next))
	if len(seen) != onlineReleases {
		t.Errorf("%d of %d releases were ever written", len(seen), onlineReleases)
	}
	last := f.dyad(f.online("--resume")...)
	last.Want(t, "resume after the end", exitInput, "was released on")
	f.wantReleases(t, last, nil)

	truth := onlineTruth()
	truth.make(t)
	state := f.state(t)
	if state.Count != 100 || !slices.Equal(state.X, truth.records.X) || !slices.Equal(state.Y, truth.records.Y) {
		t.Errorf("the state has other records than without the fault (%d taken)", state.Count)
	}
	s := f.spent(t)
	if s.Runs != 1+len(f.known) || len(f.known) == 1 && s.Epsilon != truth.epsilon {
		t.Errorf("spent in the end: %+v; want %d runs, for two runs epsilon %v", s, 1+len(f.known), truth.epsilon)
	}
	// What a kill within the last line left is removed by the next line.
	if left, err := os.ReadDir(f.in("ledger")); err != nil || len(left) != 3 && c.stage != "line durable#2" {
		t.Errorf("the ledger's folder has %d files, want 3 (%v)", len(left), err)
	}
}

// Control: the check of the matrix notices what must never happen.
func TestOnlineCrashCheckNotices(t *testing.T) {
	sizes.NotShort(t, "slow")
	cut := onlineCell{"kill -9", "released#5", crash.Killed, 1, 5, "", true}
	noticed := func(f *fixture, e ended, text string) {
		t.Helper()
		r := &recorder{TB: t}
		f.checkOnline(r, cut, e)
		must.Contain(t, r.said, text)
	}
	attack := func() (*fixture, ended) {
		f := newFixture(t)
		return f, f.attackOnline(t, cut)
	}
	f, e := attack()
	e.Stdout += e.Stdout[strings.Index(e.Stdout, "\n")+1:]
	e.Stdout = strings.Replace(e.Stdout, `"release":5`, `"release":7`, 1)
	e.Stdout = strings.Replace(e.Stdout, `{"records":60,"release":7`, `{"records":80,"release":7`, 1)
	noticed(f, e, "release 7 left the program twice")

	f, e = attack() // records that went missing
	lines := strings.SplitAfter(f.get(t, "in/patients.csv"), "\n")
	f.put(t, map[string]string{"in/patients.csv": strings.Join(slices.Delete(lines, 95, 96), "")})
	noticed(f, e, "the state has other records than without the fault")

	f, e = attack() // a ledger from before the charge, and a state that says so
	f.put(t, map[string]string{"ledger/ledger.jsonl": f.ledger,
		"ledger/ledger.jsonl.head": mustTemplate(t).files["ledger/ledger.jsonl.head"]})
	noticed(f, e, "5 releases without a charge")
}

func mustTemplate(t testing.TB) *template {
	t.Helper()
	return must.Get(crashTemplate())(t)
}
