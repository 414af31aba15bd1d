//go:build linux

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/crash"
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

func init() {
	traced = func(t *testing.T, dir string, words []string) (exampleRun, bool) {
		t.Helper()
		strace, err := exec.LookPath("strace")
		if err != nil {
			return exampleRun{}, false
		}
		t.Chdir(dir)
		t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		traces := filepath.Join(t.TempDir(), "traces")
		end := crash.Start(t, t.TempDir(), crash.Spec{Args: words, Bare: true,
			Launch: []string{strace, "-f", "-qq", "-e", "trace=?open,openat,?openat2,?creat", "-o", traces}}).End()
		text, err := os.ReadFile(traces)
		if err != nil || strings.Contains(end.Stderr, "ptrace") && end.Code != exitOK {
			return exampleRun{}, false
		}
		return exampleRun{words, end.Code, end.Stderr, string(text)}, true
	}
}

// TestCreatingOpens: what the commands do when they make files, seen by the kernel. Every example of every command's
// help runs under strace: each open that makes a file has O_EXCL and O_NOFOLLOW, and that of a lock O_NOFOLLOW. So has
// a long training with a checkpoint, and a stream that goes on.
func TestCreatingOpens(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
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
	runs := slices.Clone(examplesRun(t))
	dir := examplesFolder(t)
	private := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "more.jsonl", "--force"}
	for _, words := range [][]string{
		{"train", "--algorithm", "dpgdsc", "--checkpoint-every", "1ms", "--report", "page.html"},
		{"online", "--state", "stream.state", "--records", "300", "--out", "stream.json"},
	} {
		r, ok := traced(t, dir, append(words, private...))
		if !ok {
			t.Skip("strace is missing, or may not trace here")
		}
		if r.code != exitOK {
			t.Errorf("dyad %s: exit %d: %s", strings.Join(words, " "), r.code, r.errs)
		}
		runs = append(runs, r)
	}
	making, total := map[string]bool{}, 0
	for _, r := range runs {
		words := r.words
		bad, made := followed(r.trace)
		if total += made; made > 0 {
			making[words[0]] = true
		}
		slices.Sort(bad)
		for _, line := range slices.Compact(bad) {
			t.Errorf("dyad %s: %s", strings.Join(words, " "), line)
		}
	}
	if len(making) < 15 || total < 200 {
		t.Errorf("%d commands made %d files: the test no longer sees them", len(making), total)
	}
}
