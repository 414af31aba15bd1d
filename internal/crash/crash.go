//go:build unix

// Package crash runs a program as a child process with a fault at a stage. The fault is a kill, an interrupt, a
// full disk, a read-only folder, or a pause in which the test can act. The program reports its stages by
// calling a function.
package crash

import (
	"bytes"
	"cmp"
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

// env is the variable that makes a test binary run the program as a child with a fault. Only Main reads it.
const env = "DYAD_TEST_CRASH_CHILD"

// Spec describes the run of a child process. The child runs the program with Args, and a fault happens at a stage.
type Spec struct {
	Args   []string
	Stage  string // with #n for its n-th occurrence, the first one without; "start" means at the start, or no fault
	Fault  string // kill, kill rank 1, stop rank 1, interrupt, terminate, full, read-only, calls, pause
	Limit  uint64 // for "full": no file may grow beyond this number of bytes
	Folder string // for "read-only"
	Calls  string // for "calls": fsync, rename, flock, unlink or chmod, on Linux; they fail from then on
	Errno  string // the error with which the calls fail
	Also   string // another folder for "read-only", or ""
	Memory uint64 // bytes of address space that the child may take; 0 means no limit
	Nobody bool   // gives up root first, because root may write anywhere
	Then   string // a later stage at which the program is killed
	Umask  *int   // nil means the umask of the tests
	Bare   bool   // runs the program directly, without a fault
	// Terminal, if not nil, is used as the standard input and the standard error of the child.
	Terminal *os.File `json:"-"`

	// Launch is a command that starts the program in several processes, such as mpirun -n 3. Each process
	// writes its number to the file of its rank in the folder Ranks.
	Launch []string
	Ranks  string
}

// With returns the spec with a fault. The argument fault is a value of Spec.Fault or a phrase from the
// tables of tests, such as "kill -9", "disk full" or "ledger folder read-only". The folders that a fault
// makes read-only are dir/out, dir/ledger or both.
func (s Spec) With(fault, dir string) Spec {
	folders, readOnly := strings.CutSuffix(fault, " folder read-only")
	s.Fault = cmp.Or(map[string]string{"kill -9": "kill", "disk full": "full"}[fault], fault)
	if readOnly {
		s.Fault, s.Folder, s.Nobody = "read-only", filepath.Join(dir, "out"), true // of the model or of the state
		switch book := filepath.Join(dir, "ledger"); folders {
		case "model and ledger":
			s.Also = book
		case "ledger":
			s.Folder = book
		}
	}
	return s
}

// Killed is the exit code of a child that was killed.
const Killed = -1

// Program runs in a child process and returns its exit code. An interrupt ends ctx.
type Program func(ctx context.Context, args []string, stage func(name string)) (code int)

// Main is the TestMain of a package whose tests start children of its own binary. The argument bare is the
// program for Spec.Bare, or nil. If TMPDIR is not set and the system has enough memory, Main puts the temporary
// folders of tests into memory. Faults have the same effects in memory as on a disk, and creating a file on a
// disk takes far more processor time.
func Main(m *testing.M, program Program, bare func(args []string)) {
	if raw := os.Getenv(env); raw != "" {
		var spec Spec
		check(json.Unmarshal([]byte(raw), &spec))
		os.Exit(spec.run(program, bare))
	}
	if folder := memoryFolder(); folder != "" && os.Getenv("TMPDIR") == "" {
		check(os.Setenv("TMPDIR", folder))
	}
	os.Exit(m.Run())
}

// check ends the process if the test harness itself fails. The exit code is one that no program uses.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash child:", err)
		os.Exit(99)
	}
}

func (s Spec) run(program Program, bare func([]string)) int {
	if s.Nobody && os.Getuid() == 0 {
		check(syscall.Setuid(65534))
	}
	if s.Umask != nil {
		syscall.Umask(*s.Umask)
	}
	if s.Memory > 0 {
		check(syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: s.Memory, Max: s.Memory}))
	}
	if s.Bare {
		bare(s.Args)
		return 0
	}
	if s.Ranks != "" {
		rank := s.rankFile(os.Getenv("OMPI_COMM_WORLD_RANK"))
		check(os.WriteFile(rank, []byte(strconv.Itoa(os.Getpid())), 0o600))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.Stage == "start" && s.Fault != "" {
		check(s.fault(ctx))
	}
	seen := map[string]int{}
	return program(ctx, s.Args, func(name string) {
		seen[name]++
		reached := func(stage string) bool {
			return stage == fmt.Sprint(name, "#", seen[name]) || stage == name && seen[name] == 1
		}
		if reached(s.Stage) {
			check(s.fault(ctx))
		}
		if reached(s.Then) {
			check(Spec{Fault: "kill"}.fault(ctx))
		}
	})
}

func (s Spec) rankFile(rank string) string { return filepath.Join(s.Ranks, "rank-"+rank) }

// fault causes the fault. If the fault concerns another rank, it waits until the launcher has told this rank to stop.
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
		err := syscall.Kill(os.Getpid(), map[string]syscall.Signal{"interrupt": syscall.SIGINT,
			"terminate": syscall.SIGTERM}[s.Fault])
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
	case "pause": // file 3 signals the pause to the parent, and file 4 waits for the parent
		if _, err := os.NewFile(3, "told").Write([]byte{'\n'}); err != nil {
			return err
		}
		_, _ = os.NewFile(4, "go on").Read(make([]byte, 1)) // ends when the parent closes it
		return nil
	}
	return fmt.Errorf("unknown fault %q", s.Fault)
}

// Ended describes how a child ended.
type Ended struct {
	Code           int // Killed if the child was killed
	Stdout, Stderr string
}

// Want checks the exit code and the message.
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

// Start starts a child, which must end within a minute. The argument tmp is the child's folder for temporary files.
func Start(t testing.TB, tmp string, s Spec) *Child {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	must(err)
	raw, err := json.Marshal(s)
	must(err)
	told, childTells, err := os.Pipe()
	must(err)
	childWaits, on, err := os.Pipe()
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	command := append(slices.Clone(s.Launch), exe)
	c := &Child{Cmd: exec.CommandContext(ctx, command[0], command[1:]...), told: told, on: on}
	// A program built with the race detector sleeps for a second before it ends.
	c.Env = append(os.Environ(), env+"="+string(raw), "TMPDIR="+tmp, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
	c.Cmd.Stdout, c.Cmd.Stderr = &c.out, &c.errs
	if s.Terminal != nil {
		c.Cmd.Stdin, c.Cmd.Stderr = s.Terminal, s.Terminal
	}
	c.ExtraFiles = []*os.File{childTells, childWaits}
	must(c.Cmd.Start())
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

// While waits until the child has reached its stage, calls the function do, and then lets the child run to its end.
func (c *Child) While(t testing.TB, do func()) Ended {
	t.Helper()
	c.Paused(t)
	do()
	return c.End()
}

// End continues a paused child and waits for its end.
func (c *Child) End() Ended {
	c.on.Close()
	_ = c.Wait() // the exit code reports the failure
	c.told.Close()
	return Ended{c.ProcessState.ExitCode(), c.out.String(), c.errs.String()}
}
