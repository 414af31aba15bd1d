//go:build linux

package command

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dyad/internal/crash"
	"dyad/internal/must"
)

// shortReads has a command line for every command that reads a file and is not in longWork.
var shortReads = map[string]string{
	"transform": "transform MODEL --data /dev/null --out OUT", "report": "report MODEL --out OUT", "export": "export MODEL --onnx --out OUT", "verify": "verify MODEL",
	"data check": "data check SCHEMA", "local plan": "local plan -n 300 --schema SCHEMA", "version": "version --config BIG",
	"local client": "local client --protocol BIG --data MANY --schema SCHEMA --user u --memory OUT --max-epsilon 2",
	"local model":  "local model --server http://127.0.0.1:1 --schema SCHEMA --out OUT",
	"train config": "train --config BIG", "evaluate public": "evaluate MODEL --data BIG --public-data", "data schema answers": "data schema /dev/null --answers MANY",
}

// opening says that a process waits in open.
func opening(t *testing.T, pid int) bool {
	t.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		if os.IsPermission(err) {
			t.Skip("the system calls of a child cannot be seen here")
		}
		if strings.HasPrefix(string(text), fmt.Sprintf("%d ", unix.SYS_OPENAT)) {
			return true
		}
	}
	return false
}

// stops says that a child ends, before it is killed.
func stops(t *testing.T, child *crash.Child) ended {
	t.Helper()
	killed := time.AfterFunc(30*time.Second, func() { _ = child.Process.Kill() })
	defer killed.Stop()
	return child.End()
}

// TestFirstSignalEndsAWait: the first SIGINT, SIGTERM or SIGHUP ends every command that waits for the writer of a pipe, whichever
// of its input files that is, or for what the writer sends. A command that cannot read a pipe refuses it before it waits.
func TestFirstSignalEndsAWait(t *testing.T) {
	f := newFixture(t)
	lines := maps.Clone(longWork)
	maps.Copy(lines, shortReads)
	inputs := map[string]string{"BIG": f.in("in/patients.csv"), "MANY": f.in("in/patients.csv"), "SCHEMA": f.in("in/patients.yaml"), "PUBLIC": f.in("in/public.yaml"), "MODEL": f.in("out/model.json"), "CANDIDATES": f.in("in/candidates.yaml")}
	f.put(t, map[string]string{"in/public.yaml": strings.Replace(f.get(t, "in/patients.yaml"), "public: false", "public: true", 1), "in/candidates.yaml": "candidates:\n- {name: strong, algorithm: moments, ridge: 4}\n- {name: weak, algorithm: dpgdsc}\n"})
	i := 0
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		words := strings.Fields(lines[name])
		for at, word := range words {
			if inputs[word] == "" { // a ledger is a regular file: a pipe is refused
				continue
			}
			if i++; testing.Short() && i%12 != 0 {
				continue
			}
			what := []string{"open", "read"}[i%2]
			sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[i%3]
			if sig == syscall.SIGHUP && signal.Ignored(sig) { // by nohup, for children as well
				sig = syscall.SIGTERM
			}
			t.Run(fmt.Sprintf("%s, %s of %s, %v", name, what, strings.ToLower(word), sig), func(t *testing.T) {
				t.Parallel()
				fifo := filepath.Join(t.TempDir(), "fifo")
				if err := syscall.Mkfifo(fifo, 0o600); err != nil {
					t.Skip(err)
				}
				args := slices.Clone(words)
				for k, w := range args {
					if k == at {
						args[k] = fifo
					} else if inputs[w] != "" {
						args[k] = inputs[w]
					} else {
						args[k] = strings.NewReplacer("OUT", f.in(fmt.Sprintf("out/wait%d", i)), "LEDGER", f.in(fmt.Sprintf("out/ledger%d", i))).Replace(w)
					}
				}
				child := f.start(t, crash.Spec{Args: args, Bare: true})
				if word == "BIG" && (name == "start" || name == "data schema") { // drafts; nothing is waited for
					if e := stops(t, child); e.Code != exitInput || !strings.Contains(e.Stderr, "this file is a pipe; store its data in a file first") {
						t.Errorf("dyad %v: exit %d: %s", args, e.Code, e.Stderr)
					}
					return
				}
				for n := 0; n < 2; {
					if n++; !opening(t, child.Process.Pid) {
						n = 0
					}
					if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.Process.Pid)); strings.Contains(string(text), ") Z ") {
						e := child.End()
						t.Fatalf("dyad %v ended before it opened the pipe: exit %d: %s", args, e.Code, e.Stderr)
					}
					time.Sleep(20 * time.Millisecond)
				}
				if what == "read" {
					writer := must.Get(os.OpenFile(fifo, os.O_WRONLY, 0))(t)
					defer writer.Close()
				}
				must.Do(t, child.Process.Signal(sig))
				if e := stops(t, child); e.Code != exitCancelled || !strings.Contains(e.Stderr, "cancelled") {
					t.Errorf("dyad %v: exit %d: %s", args, e.Code, e.Stderr)
				}
			})
		}
	}
}

// terminal is a pseudo-terminal: what a person has, and what a program has.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	return person, program
}

// TestFirstInterruptEndsAPromptAndABar: the message stands on a line of its own.
func TestFirstInterruptEndsAPromptAndABar(t *testing.T) {
	f := newFixture(t)
	private := fmt.Sprintf(" --data %s --schema %s --ledger %s --out %s", f.in("in/patients.csv"), f.in("in/patients.yaml"), f.in("ledger/own.jsonl"), f.in("out/own.json"))
	for what, c := range map[string]struct{ command, shown string }{
		"confirm":  {"train --mode nonprivate" + private, "[y/N] "},
		"question": {"data schema --ask " + f.in("in/patients.csv"), "? "},
		"start":    {"start " + f.in("in/patients.csv") + " --out " + f.in("out/start.yaml"), "? "},
		"bar":      {"train --algorithm gradient-perturbation --steps 1000000 --yes" + private, "training "},
	} {
		t.Run(what, func(t *testing.T) {
			person, program := terminal(t)
			child := f.start(t, crash.Spec{Args: strings.Fields(c.command), Bare: true, Terminal: program})
			program.Close()
			var seen strings.Builder
			signalled := false
			for buffer := make([]byte, 1<<12); ; {
				n, err := person.Read(buffer)
				seen.Write(buffer[:n])
				if err != nil { // the program has closed its side
					break
				}
				if !signalled && strings.Contains(seen.String(), c.shown) {
					signalled = child.Process.Signal(os.Interrupt) == nil
				}
			}
			e := stops(t, child)
			before, _, cancelled := strings.Cut(seen.String(), "dyad: cancelled")
			if charged := strings.Index(before, "dyad: run "); charged >= 0 {
				before = before[:charged]
			}
			if e.Code != exitCancelled || !cancelled || !strings.HasSuffix(before, "\r\n") {
				t.Errorf("exit %d: %q", e.Code, seen.String())
			}
		})
	}
}
