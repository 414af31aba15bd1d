//go:build linux

package command

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// openCall is a system call that opened a file, as strace prints it.
var openCall = regexp.MustCompile(`\b(?:open|openat|openat2|creat)\((?:[^"]*, )?"((?:[^"\\]|\\.)*)"(.*)\) += +\d`)

// ownFolder is the folder that the writer of PDF pictures makes, with a random name and for its owner alone, and removes.
const ownFolder = "/gofpdf-makefont-"

// followed are the opens of a trace that make or cut a file through whatever has its name: without O_EXCL, or
// a lock without O_NOFOLLOW. made counts those that make one.
func followed(trace string) (bad []string, made int) {
	for line := range strings.Lines(trace) {
		m := openCall.FindStringSubmatch(line)
		if m == nil || strings.Contains(m[1], ownFolder) {
			continue
		}
		has := func(flag string) bool { return strings.Contains(m[2], flag) }
		creates := has("O_CREAT") || strings.Contains(line, "creat(")
		if creates {
			made++
		}
		lock := strings.HasSuffix(m[1], "lock") && has("O_NOFOLLOW")
		if creates && !lock && !(has("O_EXCL") && has("O_NOFOLLOW")) || has("O_TRUNC") {
			bad = append(bad, strings.TrimSpace(line))
		}
	}
	return bad, made
}

// examplesFile is the variable with the file of commands that runExamples runs. beginning is no file: to open it marks the trace
// before each of them, and at the end.
const (
	examplesFile = "DYAD_TEST_EXAMPLES"
	beginning    = "/no/such/folder/a command begins"
)

// runExamples is the process that is traced: it runs the commands of a file and writes there how they ended.
func runExamples(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var commands [][]string
	if err := json.Unmarshal(text, &commands); err != nil {
		return err
	}
	var runs []exampleRun
	for _, words := range commands {
		_, _ = os.Open(beginning)
		runs = append(runs, runExample(words))
	}
	_, _ = os.Open(beginning) // what this test does itself
	if text, err = json.Marshal(runs); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func init() {
	if file := os.Getenv(examplesFile); file != "" {
		if err := runExamples(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	traced = func(t *testing.T, dir string, commands [][]string) (runs []exampleRun) {
		t.Helper()
		strace, err := exec.LookPath("strace")
		if err != nil {
			return nil
		}
		exe := must.Get(os.Executable())(t)
		text := must.Get(json.Marshal(commands))(t)
		own := t.TempDir()
		write(t, own, "commands", string(text))
		traces := filepath.Join(own, "traces")
		child := exec.Command(strace, "-f", "-qq", "-e", "trace=?open,openat,?openat2,?creat", "-o", traces, exe)
		child.Dir = dir
		child.Env = append(os.Environ(), examplesFile+"="+filepath.Join(own, "commands"), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "GOMAXPROCS=1", "GOGC=400")
		if out, err := child.CombinedOutput(); err != nil && strings.Contains(string(out), "ptrace") {
			return nil
		} else if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if text, err = os.ReadFile(filepath.Join(own, "commands")); err == nil {
			err = json.Unmarshal(text, &runs)
		}
		if err != nil {
			t.Fatal(err)
		}
		trace := must.Get(os.ReadFile(traces))(t)
		parts := strings.Split(string(trace), `"`+beginning+`"`)
		if len(runs) != len(commands) || len(parts) != len(runs)+2 {
			t.Fatalf("%d commands ended and %d began, want %d", len(runs), len(parts)-2, len(commands))
		}
		for i := range runs {
			runs[i].trace = parts[i+1]
		}
		return runs
	}
}

// TestCreatingOpens: what the commands do when they make files, seen by the kernel. Every example of every command's
// help runs under strace: each open that makes a file has O_EXCL and O_NOFOLLOW, and that of a lock O_NOFOLLOW. So has
// a long training with a checkpoint, and a stream that goes on.
func TestCreatingOpens(t *testing.T) {
	sizes.NotShort(t, "slow")
	// The guard: what earlier versions did.
	const old = `7 openat(AT_FDCWD, "/x/led.new", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0600) = 8
7 openat(AT_FDCWD, "/x/led.lock", O_RDONLY|O_CREAT|O_CLOEXEC, 0600) = 9
7 openat(AT_FDCWD, "/x/curve.csv", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 9
7 openat(AT_FDCWD, "/x/led.lock", O_RDONLY|O_CREAT|O_NOFOLLOW|O_CLOEXEC, 0600) = 9
7 openat(AT_FDCWD, "/x/.dyad-tmp-A", O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0600) = 9
7 openat(AT_FDCWD, "/x/led", O_RDONLY|O_CLOEXEC) = 9
`
	if bad, made := followed(old); len(bad) != 3 || made != 5 {
		t.Fatalf("%d of %d: %q", len(bad), made, bad)
	}
	dir := examplesFolder(t)
	private := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "more.jsonl", "--force"}
	more := traced(t, dir, [][]string{
		append([]string{"train", "--algorithm", "dpgdsc", "--checkpoint-every", "1ms", "--report", "page.html"}, private...),
		append([]string{"online", "--state", "stream.state", "--records", "150", "--out", "stream.json"}, private...),
	})
	if more == nil {
		t.Skip("strace is missing, or may not trace here")
	}
	for _, r := range more {
		if r.Code != exitOK {
			t.Errorf("dyad %s: exit %d: %s", strings.Join(r.Words, " "), r.Code, r.Errs)
		}
	}
	making, total := map[string]bool{}, 0
	for _, r := range append(slices.Clone(examplesRun(t)), more...) {
		words := r.Words
		bad, made := followed(r.trace)
		if total += made; made > 0 {
			making[strings.Join(words[:min(len(words), 2)], " ")] = true
		}
		slices.Sort(bad)
		for _, line := range slices.Compact(bad) {
			t.Errorf("dyad %s: %s", strings.Join(words, " "), line)
		}
	}
	if len(making) < 20 || total < 200 {
		t.Errorf("%d commands made %d files: the test no longer sees them", len(making), total)
	}
}
