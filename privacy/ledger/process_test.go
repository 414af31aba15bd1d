//go:build unix

package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/privacy"
)

// The tests of this file run the test binary again as a child that does one of
// the jobs below on a ledger, and say so in lines on its standard output.
const (
	childJob    = "DYAD_TEST_LEDGER_JOB"
	childLedger = "DYAD_TEST_LEDGER_PATH"
	childArg    = "DYAD_TEST_LEDGER_ARG" // prefix of run ids; stage/run id; number of bytes
)

// TestLedgerChild is not a test: it is the child's entry.
func TestLedgerChild(t *testing.T) {
	job, path, arg := os.Getenv(childJob), os.Getenv(childLedger), os.Getenv(childArg)
	if job == "" {
		t.Skip("runs only as a child of other tests")
	}
	switch job {
	case "charge": // charges until it has done 15, or for ever
		l := childOpen(path, nil)
		for i := 0; i < 15 || strings.HasPrefix(arg, "endless"); i++ {
			run := arg + strconv.Itoa(i)
			if _, err := l.Begin(testCharge(run), privacy.NewSeededSource(1)); err != nil {
				childFail(err)
			}
			fmt.Println("charged", run)
		}
	case "pause": // stops for good at a stage of opening or of charging
		stop, run, _ := strings.Cut(arg, "/")
		l := childOpen(path, func(stage string) {
			if stage == stop {
				fmt.Println("paused")
				time.Sleep(time.Hour)
			}
		})
		s, err := l.Begin(testCharge(run), privacy.NewSeededSource(1))
		if err != nil {
			childFail(err)
		}
		childRelease(s)
	case "compact": // stops for good at a stage of a compaction
		opened := false
		l := childOpen(path, func(stage string) {
			if opened && stage == arg {
				fmt.Println("paused")
				time.Sleep(time.Hour)
			}
		})
		opened = true
		if _, err := l.Compact(); err != nil {
			childFail(err)
		}
	case "resume":
		childResume(path, arg)
	case "small disk": // no file may grow beyond a number of bytes
		l := childOpen(path, nil)
		limit, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			childFail(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			childFail(err)
		}
		childAttempt(l)
	case "read-only": // the directory or the file gets read-only after a first charge
		if os.Getuid() == 0 {
			if err := syscall.Setuid(65534); err != nil {
				childFail(err)
			}
		}
		l := childOpen(path, nil)
		if _, err := l.Begin(testCharge("before"), privacy.NewSeededSource(1)); err != nil {
			childFail(err)
		}
		name, mode := filepath.Dir(path), os.FileMode(0o555)
		if arg == "file" {
			name, mode = path, 0o444
		}
		if err := os.Chmod(name, mode); err != nil {
			childFail(err)
		}
		fmt.Println("ready")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		childAttempt(l)
	}
	os.Exit(0)
}

func childOpen(path string, stage func(string)) *Ledger {
	l, err := OpenWith(path, Options{Trace: stage})
	if err != nil {
		childFail(err)
	}
	return l
}

func childFail(err error) {
	fmt.Println("failed", err)
	os.Exit(1)
}

func childRelease(s *privacy.LiveSession) {
	c, err := certified(0.1)
	if err != nil {
		childFail(err)
	}
	m := privacy.Gaussian{Sigma: 1.0 / 3}
	if err := s.Release([]float64{1}, c, m); err != nil {
		childFail(err)
	}
	fmt.Println("released")
}

func childAttempt(l *Ledger) {
	s, err := l.Begin(testCharge("attempt"), privacy.NewSeededSource(1))
	if s != nil {
		childRelease(s)
	}
	if errors.Is(err, ErrUnavailable) {
		fmt.Println("refused", err)
	}
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, path, job, arg string) *child {
	t.Helper()
	exe := must.Get(os.Executable())(t)
	cmd := exec.Command(exe, "-test.run=^TestLedgerChild$")
	// Built with the race detector, a program sleeps for a second before it ends.
	cmd.Env = append(os.Environ(), childJob+"="+job, childLedger+"="+path, childArg+"="+arg, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in := must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{cmd: cmd, in: in, out: bufio.NewScanner(out)}
}

// line is the child's next line, "" when it has ended.
func (c *child) line() string {
	if !c.out.Scan() {
		return ""
	}
	return c.out.Text()
}

// kill is kill -9. It returns the lines that the child had still written.
func (c *child) kill() (rest []string) {
	_ = c.cmd.Process.Kill()
	return c.wait()
}

func (c *child) wait() (rest []string) {
	for c.out.Scan() {
		rest = append(rest, c.out.Text())
	}
	_ = c.cmd.Wait()
	return rest
}

func TestTwoProcessesLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	// Both also race to create the ledger.
	a, b := startChild(t, path, "charge", "a"), startChild(t, path, "charge", "b")
	linesA, linesB := a.wait(), b.wait()
	l := must.Get(Open(path))(t)
	for _, line := range append(linesA, linesB...) {
		run, ok := strings.CutPrefix(line, "charged ")
		if !ok {
			t.Fatalf("child: %s", line)
		}
		must.Equal(t, countRun(t, l, run), 1, "run %s is charged ... times", run)
	}
	if v, err := l.Verify(); err != nil || v != (Verification{Lines: 31}) || len(linesA)+len(linesB) != 30 {
		t.Errorf("Verify = %+v, %v after %d + %d charges", v, err, len(linesA), len(linesB))
	}
}

// Killed at each stage: the charge counts once or not at all, it counts if the
// run could have released anything, and the ledger goes on.
func TestKillAtEachStage(t *testing.T) {
	for _, stage := range []struct {
		name    string
		charged int
	}{
		{"created", 0}, // the header is written, its head not
		{"locked", 0},
		{"admitted", 0},
		{"head prepared", 0},
		{"line written", 1},
		{"line durable", 1},
		{"head renamed", 1},
		{"acknowledged", 1},
	} {
		t.Run(stage.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger")
			c := startChild(t, path, "pause", stage.name+"/paused")
			if line := c.line(); line != "paused" {
				t.Fatalf("child: %q", line)
			}
			for _, line := range c.kill() {
				t.Errorf("the killed run went on: %s", line)
			}
			l := must.Get(Open(path))(t)
			before, err := l.Verify()
			if err != nil || before.Lines != 1+stage.charged {
				t.Fatalf("Verify = %+v, %v; want %d lines", before, err, 1+stage.charged)
			}
			must.Equal(t, countRun(t, l, "paused"), stage.charged, "the killed run is charged ... times")
			// Trying again never charges it twice.
			_, err = l.Begin(testCharge("paused"), privacy.NewSeededSource(1))
			must.Equal(t, err == nil, stage.charged == 0, "the same run again: %v", err)
			mustBegin(t, l, testCharge("next"))
			must.Equal(t, must.Get(l.Verify())(t), Verification{Lines: 3}, "Verify")
			must.Equal(t, countRun(t, l, "paused"), 1, "the run is charged ... times after a second try")
		})
	}
}

// Killed again and again between a line and its head: each time the next one
// brings the head up to date first, so no two lines are ever beyond it.
func TestKillRepeatedlyBeforeTheHead(t *testing.T) {
	l := newTestLedger(t)
	for i := range 3 {
		c := startChild(t, l.path, "pause", fmt.Sprintf("line durable/run%d", i))
		if line := c.line(); line != "paused" {
			t.Fatalf("child: %q", line)
		}
		c.kill()
		if v, err := l.Verify(); err != nil || v != (Verification{Lines: 2 + i, HeadBehind: true}) {
			t.Fatalf("Verify = %+v, %v after %d kills", v, err, i+1)
		}
	}
	must.Equal(t, must.Get(l.Summary("clinic", 1e-5))(t).Runs, 3, "summary")
}

// Killed between saving a torn line and removing it.
func TestKillDuringRepair(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, testCharge("a"))
	f := must.Get(os.OpenFile(l.path, os.O_APPEND|os.O_WRONLY, 0))(t)
	must.Get(f.WriteString(`{"seq":2,"type":"cha`))(t)
	must.Do(t, f.Close())
	c := startChild(t, l.path, "pause", "torn saved/run")
	if line := c.line(); line != "paused" {
		t.Fatalf("child: %q", line)
	}
	c.kill()
	if v, err := l.Verify(); err != nil || v.TornBytes != 20 {
		t.Fatalf("Verify = %+v, %v; want the torn line still there", v, err)
	}
	wantWarning(t, mustBegin(t, l, testCharge("b")), "unfinished line of 20 bytes", true)
	aside, err := filepath.Glob(l.path + tornSuffix + "*")
	if v, errV := l.Verify(); err != nil || len(aside) != 1 || errV != nil || v != (Verification{Lines: 3}) {
		t.Errorf("side files %v; Verify = %+v, %v", aside, v, errV)
	}
}

// Killed at random times: what was acknowledged is there, once.
func TestKillAtRandom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	acknowledged := map[string]bool{}
	for round := range rounds {
		c := startChild(t, path, "charge", fmt.Sprintf("endless%d-", round))
		lines := []string{c.line(), c.line(), c.line()}
		time.Sleep(rand.N(30 * time.Millisecond))
		for _, line := range append(lines, c.kill()...) {
			run, ok := strings.CutPrefix(line, "charged ")
			if !ok {
				t.Fatalf("child: %q", line)
			}
			acknowledged[run] = true
		}
	}
	l := must.Get(Open(path))(t)
	entries := must.Get(l.Entries())(t)
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.Run] {
			t.Errorf("run %s is charged twice", e.Run)
		}
		seen[e.Run] = true
		delete(acknowledged, e.Run)
	}
	must.AtMost(t, len(acknowledged), 0, "acknowledged and not in the ledger: %v", acknowledged)
}

// The limit lets through all, part and nothing of the line and of the head.
func TestDiskFull(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, testCharge("a"))
	size := len(readAll(t, l)[l.path])
	for _, limit := range []int{0, 20, size, size + 1, size + 100} {
		before := readAll(t, l)
		out := startChild(t, l.path, "small disk", strconv.Itoa(limit)).wait()
		if len(out) != 1 || !strings.HasPrefix(out[0], "refused") {
			t.Errorf("limit %d: child said %q, want only a refusal", limit, out)
		}
		must.Same(t, before, readAll(t, l), "limit %d: the files changed", limit)
	}
	out := startChild(t, l.path, "small disk", strconv.Itoa(1<<20)).wait()
	if len(out) != 1 || out[0] != "released" || countRun(t, l, "attempt") != 1 {
		t.Errorf("control with enough space: child said %q", out)
	}
}

func TestReadOnly(t *testing.T) {
	for _, what := range []string{"directory", "file"} {
		t.Run(what, func(t *testing.T) {
			// Not t.TempDir: the child may give up root and must get in.
			dir := must.Get(os.MkdirTemp("", "ledger"))(t)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if os.Getuid() == 0 {
				if err := os.Chown(dir, 65534, -1); err != nil {
					t.Skip(err)
				}
			}
			l := &Ledger{path: filepath.Join(dir, "ledger"), lockWait: time.Second}
			c := startChild(t, l.path, "read-only", what)
			if line := c.line(); line != "ready" {
				t.Fatalf("child: %q", line)
			}
			before := readAll(t, l)
			must.Get(io.WriteString(c.in, "go\n"))(t)
			if out := c.wait(); len(out) != 1 || !strings.HasPrefix(out[0], "refused") {
				t.Errorf("child said %q, want only a refusal", out)
			}
			if after := readAll(t, l); !reflect.DeepEqual(before, after) || len(after) != 3 {
				t.Errorf("the files changed: %d, then %d", len(before), len(after))
			}
		})
	}
}
