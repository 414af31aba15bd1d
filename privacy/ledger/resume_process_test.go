//go:build unix

package ledger

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/privacy"
)

// childResume resumes the runs r0..r9 and finishes each. With "stage/run" as
// argument it resumes one run and stops for good at the stage.
func childResume(path, arg string) {
	stop, run, paused := strings.Cut(arg, "/")
	l := childOpen(path, func(stage string) {
		if paused && stage == stop {
			fmt.Println("paused")
			time.Sleep(time.Hour)
		}
	})
	if paused {
		s, err := l.Resume(run, resumable(run), privacy.NewSeededSource(1))
		if err != nil {
			childFail(err)
		}
		childRelease(s)
		return
	}
	for i := range 10 {
		run := fmt.Sprintf("r%d", i)
		_, err := l.Resume(run, resumable(run), privacy.NewSeededSource(1))
		if err == nil {
			err = l.Release(run, Kept{Digest: "0f"})
		}
		if err == nil {
			fmt.Println("released", run)
		} else {
			fmt.Println("withheld", run, err)
		}
	}
}

// Two processes carry out the same ten runs: each run is released once.
func TestTwoProcessesReleaseARunOnce(t *testing.T) {
	l := newTestLedger(t)
	for i := range 10 {
		mustBegin(t, l, resumable(fmt.Sprintf("r%d", i)))
	}
	before := must.Get(l.Summary("clinic", 1e-5))(t)
	a, b := startChild(t, l.path, "resume", ""), startChild(t, l.path, "resume", "")
	released := map[string]int{}
	lines := append(a.wait(), b.wait()...)
	for _, line := range lines {
		switch fields := strings.Fields(line); {
		case fields[0] == "released":
			released[fields[1]]++
		case fields[0] != "withheld" || !strings.Contains(line, "was released on"):
			t.Errorf("child: %s", line)
		}
	}
	for i := range 10 {
		if run := fmt.Sprintf("r%d", i); released[run] != 1 {
			t.Errorf("run %s was released %d times, want 1", run, released[run])
		}
	}
	if after, err := l.Summary("clinic", 1e-5); err != nil || after != before || len(lines) != 20 {
		t.Errorf("spent %v, then %v (%v) after %d attempts", before, after, err, len(lines))
	}
}

// Killed at each stage of a resume: the run can be resumed again, nothing is
// charged, nothing is lost.
func TestKillAtEachStageOfAResume(t *testing.T) {
	for _, stage := range []string{"locked", "admitted", "head prepared", "line written", "line durable", "head renamed", "acknowledged"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			l := must.Get(OpenWith(filepath.Join(t.TempDir(), "ledger"), Options{LockWait: time.Minute}))(t)
			mustBegin(t, l, resumable("a"))
			c := startChild(t, l.path, "resume", stage+"/a")
			if line := c.line(); line != "paused" {
				t.Fatalf("child: %q", line)
			}
			for _, line := range c.kill() {
				t.Errorf("the killed run went on: %s", line)
			}
			must.Check(l.Resume("a", resumable("a"), privacy.NewSeededSource(1)))(t)
			must.CheckDo(t, l.Release("a", Kept{Digest: "0f"}))
			must.Equal(t, countRun(t, l, "a"), 1, "the run is charged ... times")
			if v, err := l.Verify(); err != nil || v.HeadBehind || v.TornBytes > 0 {
				t.Errorf("Verify = %+v, %v", v, err)
			}
		})
	}
}
