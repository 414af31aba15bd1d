//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// crashEnv makes the test binary run the program as a child with a fault. Only
// the test binary reads it.
const crashEnv = "DYAD_TEST_CRASH_CHILD"

// childSpec is what a child does: the program with Args, and a fault at a stage.
type childSpec struct {
	Args   []string
	Stage  string // "start" means from the start, or no fault
	Nth    int    // occurrence of the stage, from 1
	Fault  string // kill, interrupt, full, read-only, pause
	Limit  uint64 // of "full": no file may grow beyond these bytes
	Folder string // of "read-only"
	Also   string // another one, or none
	Nobody bool   // give up root first, as root may write anywhere
	// Then is a later stage, with its occurrence, at which the program is killed.
	Then    string
	ThenNth int
	Umask   *int // nil: that of the tests
	Main    bool // as the program itself does it, without a fault
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(crashEnv); raw != "" {
		var spec childSpec
		if err := json.Unmarshal([]byte(raw), &spec); err != nil {
			childBroke(err)
		}
		os.Exit(spec.run())
	}
	os.Exit(m.Run())
}

// childBroke reports that the harness failed, by an exit code of no command.
func childBroke(err error) {
	fmt.Fprintln(os.Stderr, "crash child:", err)
	os.Exit(99)
}

func (s childSpec) run() int {
	if s.Nobody && os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			childBroke(err)
		}
	}
	if s.Umask != nil {
		syscall.Umask(*s.Umask)
	}
	if s.Main {
		os.Args = append([]string{"dyad"}, s.Args...)
		main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.Stage == "start" && s.Fault != "" {
		if err := s.fault(ctx); err != nil {
			childBroke(err)
		}
	}
	seen := map[string]int{}
	stage := func(name string) {
		seen[name]++
		var err error
		if name == s.Stage && seen[name] == s.Nth {
			err = s.fault(ctx)
		}
		if name == s.Then && seen[name] == s.ThenNth && err == nil {
			err = childSpec{Fault: "kill"}.fault(ctx)
		}
		if err != nil {
			childBroke(err)
		}
	}
	return runHooked(ctx, s.Args, os.Stdin, os.Stdout, os.Stderr, hooks{stage: stage, lockWait: 300 * time.Millisecond})
}

func (s childSpec) fault(ctx context.Context) error {
	switch s.Fault {
	case "kill":
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return err
		}
		select {}
	case "interrupt":
		err := syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-ctx.Done()
		return err
	case "full":
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: s.Limit, Max: s.Limit})
	case "read-only":
		if s.Also != "" {
			if err := os.Chmod(s.Also, 0o555); err != nil {
				return err
			}
		}
		return os.Chmod(s.Folder, 0o555)
	case "pause": // file 3 tells the parent, file 4 waits for it
		if _, err := os.NewFile(3, "told").Write([]byte{'\n'}); err != nil {
			return err
		}
		_, _ = os.NewFile(4, "go on").Read(make([]byte, 1)) // ends when the parent closes it
		return nil
	}
	return fmt.Errorf("unknown fault %q", s.Fault)
}

// ended is how a child ended. A killed child has code -1.
type ended struct {
	code           int
	stdout, stderr string
}

type crashChild struct {
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	told, on  *os.File
}

// start starts a child that has a minute to end.
func (f *fixture) start(t *testing.T, s childSpec) *crashChild {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	told, childTells, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	childWaits, on, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	c := &crashChild{cmd: exec.CommandContext(ctx, exe), told: told, on: on}
	// Built with the race detector, a program sleeps for a second before it ends.
	c.cmd.Env = append(os.Environ(), crashEnv+"="+string(raw), "TMPDIR="+f.in("tmp"), "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.errs
	c.cmd.ExtraFiles = []*os.File{childTells, childWaits}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	childTells.Close()
	childWaits.Close()
	return c
}

// paused waits until the child has reached its stage.
func (c *crashChild) paused(t *testing.T) {
	t.Helper()
	if _, err := c.told.Read(make([]byte, 1)); err != nil {
		e := c.end()
		t.Fatalf("the child did not reach its stage (%v): exit %d: %s", err, e.code, e.stderr)
	}
}

// end lets a paused child go on, and waits for its end.
func (c *crashChild) end() ended {
	c.on.Close()
	_ = c.cmd.Wait() // the code tells
	c.told.Close()
	return ended{c.cmd.ProcessState.ExitCode(), c.out.String(), c.errs.String()}
}
