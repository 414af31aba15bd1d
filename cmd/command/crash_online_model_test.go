//go:build unix

package command

import (
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/internal/files"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// onlineModelCell is one attack on "dyad online --out" when the model of its last
// release is written, before the line that closes the run (#2). Whatever it is, the
// same command with --resume, and without --force, leaves that model under its name.
type onlineModelCell struct {
	fault  string
	stage  string
	code   int
	says   string
	closed bool // the run is closed and its model written: nothing is left to resume
}

var onlineModelMatrix = []onlineModelCell{
	{"kill -9", "model written#1", killed, "", false},
	{"kill -9", "model renamed#1", killed, "", false},
	{"kill -9", "line durable#2", killed, "", true},
	{"kill -9", "finished#1", killed, "", true},
	{"interrupt", "model written#1", exitOK, "the model of release 9 is in", true},
	{"disk full", "model written#1", exitResource, "space and", false},
	{"kill -9", "model created#1", killed, "", false},
	{"kill -9", "model synced#1", killed, "", false},
	{"disk full", "state written#11", exitFailure, "but the state file holds it", false},
	{"model folder read-only", "state saved#9", exitFailure, "the state cannot be saved", false},
	{"name taken", "state saved#9", exitElsewhere, "saved under another name, ", true},
	{"ledger folder read-only", "model renamed#1", exitResource, "space and the permissions", false},
	{"model cut short", "model renamed#1", killed, "", false},
}

func TestOnlineModelCrashMatrix(t *testing.T) {
	sizes.NotShort(t, "the short matrix of streams covers the stages before")
	for _, c := range onlineModelMatrix {
		t.Run(c.fault+" at "+c.stage, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			e := f.attackOnline(t, onlineCell{fault: strings.Replace(c.fault, "model cut short", "kill -9", 1), stage: c.stage}, "--out", f.in(streamModelName))
			f.writable()
			e.Want(t, "attacked stream", c.code, c.says)
			f.checkOnlineModel(t, c, e)
		})
	}
}

const streamModelName = "out/stream.json"

func (f *fixture) checkOnlineModel(t testing.TB, c onlineModelCell, e ended) {
	t.Helper()
	released := releasesOf(t, e)
	if len(released) != onlineReleases {
		t.Fatalf("%d releases before the fault, want %d", len(released), onlineReleases)
	}
	predict := []string{"predict", f.in(streamModelName), "--data", f.in("in/patients.csv")}
	if c.fault == "model cut short" {
		whole := f.get(t, streamModelName)
		for _, size := range []int{0, 1, len(whole) / 3, len(whole) - 3} {
			f.put(t, map[string]string{streamModelName: whole[:size]})
			cut := f.dyad(predict...)
			cut.Want(t, "predict", exitInput, "cut short")
			must.Equal(t, cut.Stdout, "", "%d bytes of a model predict", size)
		}
	}
	_, charges, finished := f.attacked(t)
	if charges != 1 || (len(finished) == 1) != c.closed {
		t.Errorf("%d charges, finish lines %q, closed should be %v", charges, finished, c.closed)
	}
	if c.fault == "name taken" {
		if f.get(t, streamModelName) != "PRECIOUS" {
			t.Fatal("a file of another program was overwritten")
		}
		run, _, _ := f.attacked(t)
		must.Do(t, os.Rename(files.WithRun(f.in(streamModelName), run), f.in(streamModelName)))
	}
	resume := []string{"--out", f.in(streamModelName), "--resume"}
	if c.fault == "model cut short" { // the run's own model is replaced, this may be anybody's
		resume = append(resume, "--force")
	}
	next := f.dyad(f.online(resume...)...)
	if c.closed {
		next.Want(t, "resume after the end", exitInput, "was released on")
	} else {
		next.Want(t, "going on", exitOK, "the model of release 9 is in")
	}
	sameReleases(t, released, releasesOf(t, next))
	m := must.Get(readModel(f.in(streamModelName)))(t)
	run, charges, finished := f.attacked(t)
	if charges != 1 || len(finished) != 1 || m.Run != run || !slices.Equal(m.Weights, released[onlineReleases]) {
		t.Errorf("afterwards: %d charges, finish lines %q, model of run %q (charged %q) with weights %v, released %v", charges, finished, m.Run, run, m.Weights, released[onlineReleases])
	}
	f.dyad(predict...).Want(t, "predict", exitOK, "")
	f.dyad(f.train("--out", f.in("out/next.json"))...).Want(t, "next run", exitOK, "")
	f.wantClean(t)
}

// Control: the check of the matrix notices a model of an earlier release, and one of
// another run.
func TestOnlineModelCheckNotices(t *testing.T) {
	attack := func() (*fixture, ended) {
		f := newFixture(t)
		return f, f.attackOnline(t, onlineCell{fault: "kill -9", stage: "finished#1"}, "--out", f.in(streamModelName))
	}
	closed := onlineModelCell{"kill -9", "finished#1", killed, "", true}
	for what, spoil := range map[string]func(m *model){
		"release": func(m *model) { m.Weights[0] += 0x1p-20 },
		"run":     func(m *model) { m.Run = "OTHER" },
	} {
		f, e := attack()
		m := must.Get(readModel(f.in(streamModelName)))(t)
		spoil(m)
		text := must.Get(m.Text())(t)
		f.put(t, map[string]string{streamModelName: string(text)})
		r := &recorder{TB: t}
		f.checkOnlineModel(r, closed, e)
		if !strings.Contains(r.said, "afterwards") {
			t.Errorf("another %s: the check says only %q", what, r.said)
		}
	}
}
