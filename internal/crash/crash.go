//go:build unix

// Package crash runs a program as a child process that a fault hits at a stage: a kill, an
// interrupt, a full disk, a read-only folder, or a pause in which the test does what it likes. The
// program names its stages by a function that it is given.
package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// env makes a test binary run the program as a child with a fault. Only Main reads it.
const env = "DYAD_TEST_CRASH_CHILD"

// Spec describes a child's work: the program with Args, and a fault at a stage.
type Spec struct {
	Args   []string
	Stage  string // with #n for its n-th occurrence, the first one without; "start" means from the start, or no fault
	Fault  string // kill, kill rank 1, stop rank 1, interrupt, terminate, full, read-only, calls, pause
	Limit  uint64 // of "full": no file may grow beyond these bytes
	Folder string // of "read-only"
	Calls  string // of "calls": fsync, rename, flock, unlink or chmod, on Linux; they fail from then on
	Errno  string // with which they fail
	Also   string // another one, or none
	Memory uint64 // bytes of address space that the child may take; 0: as many as it likes
	Nobody bool   // give up root first, as root may write anywhere
	Then   string // a later stage, at which the program is killed
	Umask  *int   // nil: that of the tests
	Bare   bool   // the program by itself, without a fault
	// Terminal, if not nil, is standard input and standard error of the child.
	Terminal *os.File `json:"-"`

	// Launch is a command that starts the program in several processes, such as mpirun -n 3. Each
	// leaves its number in the file of its rank in the folder Ranks.
	Launch []string
	Ranks  string
}

// With is the spec with a fault of a table, which may be told in words, on the folders out and ledger of dir.
func (s Spec) With(fault, dir string) Spec {
	folders, readOnly := strings.CutSuffix(fault, " folder read-only")
	switch out, book := filepath.Join(dir, "out"), filepath.Join(dir, "ledger"); {
	case readOnly && folders == "model and ledger":
		s.Fault, s.Folder, s.Also, s.Nobody = "read-only", out, book, true
	case readOnly && folders == "ledger":
		s.Fault, s.Folder, s.Nobody = "read-only", book, true
	case readOnly: // of the model or of the state
		s.Fault, s.Folder, s.Nobody = "read-only", out, true
	case fault == "kill -9":
		s.Fault = "kill"
	case fault == "disk full":
		s.Fault = "full"
	default:
		s.Fault = fault
	}
	return s
}

// Killed is the exit code of a child that was killed.
const Killed = -1

// Program runs in a child process and returns its exit code. ctx ends with an interrupt.
type Program func(ctx context.Context, args []string, stage func(name string)) (code int)

// Main is the TestMain of a package whose tests start children of its own binary. bare is the
// program for Spec.Bare, or nil. Without TMPDIR, folders of tests are in memory where the system has room
// for them there: what a fault leaves is the same, and to make a file on a disk takes far more of the processor.
func Main(m *testing.M, program Program, bare func(args []string)) {
	if raw := os.Getenv(env); raw != "" {
		var spec Spec
		if err := json.Unmarshal([]byte(raw), &spec); err != nil {
			broke(err)
		}
		os.Exit(spec.run(program, bare))
	}
	if folder := memoryFolder(); folder != "" && os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", folder); err != nil {
			broke(err)
		}
	}
	os.Exit(m.Run())
}

// broke reports that the harness failed, by an exit code of no program.
func broke(err error) {
	fmt.Fprintln(os.Stderr, "crash child:", err)
	os.Exit(99)
}

func (s Spec) run(program Program, bare func([]string)) int {
	if s.Nobody && os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			broke(err)
		}
	}
	if s.Umask != nil {
		syscall.Umask(*s.Umask)
	}
	if s.Memory > 0 {
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: s.Memory, Max: s.Memory}); err != nil {
			broke(err)
		}
	}
	if s.Bare {
		bare(s.Args)
		return 0
	}
	if s.Ranks != "" {
		if err := os.WriteFile(s.rankFile(os.Getenv("OMPI_COMM_WORLD_RANK")), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			broke(err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.Stage == "start" && s.Fault != "" {
		if err := s.fault(ctx); err != nil {
			broke(err)
		}
	}
	seen := map[string]int{}
	return program(ctx, s.Args, func(name string) {
		seen[name]++
		reached := func(stage string) bool {
			return stage == fmt.Sprint(name, "#", seen[name]) || stage == name && seen[name] == 1
		}
		var err error
		if reached(s.Stage) {
			err = s.fault(ctx)
		}
		if reached(s.Then) && err == nil {
			err = Spec{Fault: "kill"}.fault(ctx)
		}
		if err != nil {
			broke(err)
		}
	})
}

func (s Spec) rankFile(rank string) string { return filepath.Join(s.Ranks, "rank-"+rank) }

// fault happens. That of another rank ends when the launcher has told this one to stop.
func (s Spec) fault(ctx context.Context) error {
	switch s.Fault {
	case "kill rank 1", "stop rank 1":
		text, err := os.ReadFile(s.rankFile("1"))
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		if s.Fault == "stop rank 1" {
			return syscall.Kill(pid, syscall.SIGSTOP)
		}
		err = syscall.Kill(pid, syscall.SIGKILL)
		<-ctx.Done()
		return err
	case "kill":
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return err
		}
		select {}
	case "interrupt", "terminate":
		err := syscall.Kill(os.Getpid(), map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM}[s.Fault])
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
	case "calls":
		return failCalls(s.Calls, s.Errno)
	case "pause": // file 3 tells the parent, file 4 waits for it
		if _, err := os.NewFile(3, "told").Write([]byte{'\n'}); err != nil {
			return err
		}
		_, _ = os.NewFile(4, "go on").Read(make([]byte, 1)) // ends when the parent closes it
		return nil
	}
	return fmt.Errorf("unknown fault %q", s.Fault)
}

// Ended describes the end of a child.
type Ended struct {
	Code           int // Killed if it was
	Stdout, Stderr string
}

// Want checks exit code and message.
func (e Ended) Want(t testing.TB, what string, code int, says string) {
	t.Helper()
	if e.Code != code || !strings.Contains(e.Stdout+e.Stderr, says) {
		t.Errorf("%s: exit %d, want %d with %q:\n%s%s", what, e.Code, code, says, e.Stdout, e.Stderr)
	}
	if strings.Contains(e.Stderr, "panic") || strings.Contains(e.Stderr, "goroutine ") {
		t.Errorf("%s: the program panicked:\n%s", what, e.Stderr)
	}
}

// Child is a running child.
type Child struct {
	*exec.Cmd
	out, errs bytes.Buffer
	told, on  *os.File
}

// Start starts a child that has a minute to end. Its folder for temporary files is tmp.
func Start(t testing.TB, tmp string, s Spec) *Child {
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
	command := append(slices.Clone(s.Launch), exe)
	c := &Child{Cmd: exec.CommandContext(ctx, command[0], command[1:]...), told: told, on: on}
	// Built with the race detector, a program sleeps for a second before it ends.
	c.Env = append(os.Environ(), env+"="+string(raw), "TMPDIR="+tmp, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
	c.Cmd.Stdout, c.Cmd.Stderr = &c.out, &c.errs
	if s.Terminal != nil {
		c.Cmd.Stdin, c.Cmd.Stderr = s.Terminal, s.Terminal
	}
	c.ExtraFiles = []*os.File{childTells, childWaits}
	if err := c.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	childTells.Close()
	childWaits.Close()
	return c
}

// Paused waits until the child has reached its stage.
func (c *Child) Paused(t testing.TB) {
	t.Helper()
	if _, err := c.told.Read(make([]byte, 1)); err != nil {
		e := c.End()
		t.Fatalf("the child did not reach its stage (%v): exit %d: %s", err, e.Code, e.Stderr)
	}
}

// While does something when the child has reached its stage, and lets it go on to its end.
func (c *Child) While(t testing.TB, do func()) Ended {
	t.Helper()
	c.Paused(t)
	do()
	return c.End()
}

// End lets a paused child go on, and waits for its end.
func (c *Child) End() Ended {
	c.on.Close()
	_ = c.Wait() // the code tells
	c.told.Close()
	return Ended{c.ProcessState.ExitCode(), c.out.String(), c.errs.String()}
}
