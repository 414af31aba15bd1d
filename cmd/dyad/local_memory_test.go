package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyad/cmd/dyad/localserve"
)

// printedMessage answers protocol p.json with a memory and returns what it printed.
func printedMessage(t *testing.T, dir, memory string) (code int, out, errs string) {
	t.Helper()
	return dyad(t, dir, "local", "client", "--protocol", "p.json", "--data", "patients.csv", "--schema", "patients.yaml", "--user", "u", "--memory", memory, "--max-epsilon", "2")
}

// memories is a folder with protocol p.json.
func memories(t *testing.T) string {
	t.Helper()
	dir := clinic(t, 60)
	if code, _, errs := dyad(t, dir, "local", "plan", "-n", "60", "--schema", "patients.yaml", "--epochs", "2", "--epsilon", "1", "--out", "p.json"); code != exitOK {
		t.Fatal(errs)
	}
	for _, f := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, f), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t *testing.T, dir, to, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("no symbolic links for this account")
		}
		t.Fatal(err)
	}
}

// One file is one memory, by whatever name it is reached: no epoch is answered twice.
func TestLocalMemoryThroughLinks(t *testing.T) {
	dir := memories(t)
	link(t, dir, "real.json", "link.json")
	link(t, dir, "link.json", "chain.json")
	link(t, dir, filepath.Join("..", filepath.Base(dir), "a"), "up")
	link(t, dir, "up/../real.json", "above.json") // up is a link: this is real.json, not up's neighbour
	link(t, filepath.Join(dir, "a"), filepath.Join("..", "b"), "aside")
	link(t, dir, "a/aside/../real.json", "round.json")
	link(t, dir, ".", "here")
	link(t, dir, filepath.Join(dir, "here", "real.json"), "far.json")
	code, first, errs := printedMessage(t, dir, "link.json") // the file is not there yet: the link dangles
	if code != exitOK || !strings.Contains(first, `"seed"`) {
		t.Fatalf("exit %d: %s", code, first+errs)
	}
	for _, name := range []string{"real.json", "link.json", "chain.json", "here/real.json", "here/link.json", "far.json", "above.json", "round.json", "up/../real.json", "a/aside/../real.json", filepath.Join(dir, "real.json")} {
		if code, again, errs := printedMessage(t, dir, name); code != exitOK || again != first {
			t.Errorf("--memory %s: exit %d, another message of the same epoch was drawn:\n%s%s%s", name, code, first, again, errs)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced by a file (%v, %v)", info.Mode(), err)
	}
	// The lock is that of the file.
	m, err := openClientMemory(filepath.Join(dir, "here", "chain.json"))
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := printedMessage(t, dir, "real.json"); code != exitResource || !strings.Contains(errs, "another client") {
		t.Errorf("a second client at the same file: exit %d: %s", code, errs)
	}
	m.close()
}

// Two epochs of a server, the second through another name.
func TestLocalMemoryTwoEpochsTwoNames(t *testing.T) {
	dir := clinic(t, 60)
	address, stop := localServer(t, dir, "--dir", "study", "-n", "1", "--schema", "patients.yaml", "--epochs", "3", "--epsilon", "0.2")
	defer stop()
	link(t, dir, "real.json", "link.json")
	for i, memory := range []string{"real.json", "link.json", "real.json"} {
		args := []string{"--json", "local", "client", "--server", address, "--data", "patients.csv", "--schema", "patients.yaml", "--user", "u", "--memory", memory, "--max-epsilon", "2"}
		code, out, errs := dyad(t, dir, args...)
		if want := fmt.Sprintf(`"epsilon_spent": 0.%d`, 2*(i+1)); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("epoch %d with --memory %s: exit %d, want %s: %s", i+1, memory, code, want, out+errs)
		}
	}
}

// A file with two names is refused under both: writing it by a rename would leave the
// other name with an older memory.
func TestLocalMemoryHardLink(t *testing.T) {
	dir := memories(t)
	code, first, errs := printedMessage(t, dir, "real.json")
	if code != exitOK {
		t.Fatal(errs)
	}
	if err := os.Link(filepath.Join(dir, "real.json"), filepath.Join(dir, "hard.json")); err != nil {
		t.Fatal(err)
	}
	link(t, dir, "hard.json", "soft.json")
	for _, name := range []string{"hard.json", "real.json", "soft.json"} {
		if code, out, errs := printedMessage(t, dir, name); code != exitInput || out != "" || !strings.Contains(errs, "2 names") {
			t.Errorf("--memory %s: exit %d: %s", name, code, out+errs)
		}
	}
	if err := os.Remove(filepath.Join(dir, "real.json")); err != nil {
		t.Fatal(err)
	}
	if code, again, errs := printedMessage(t, dir, "soft.json"); code != exitOK || again != first {
		t.Errorf("with one name again: exit %d: %s", code, again+errs)
	}
	// A name that appears while a client works is seen before the next message is drawn.
	m, err := openClientMemory(filepath.Join(dir, "hard.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := os.Link(filepath.Join(dir, "hard.json"), filepath.Join(dir, "late.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.add(clientAnswer{Protocol: "x", Epoch: 1, Epsilon: 1, Message: localserve.Submission{User: "u", Epoch: 1}}); err == nil {
		t.Error("a memory with a second name was written")
	}
}

// A link that points elsewhere at the next run is the memory of elsewhere; what it pointed
// to keeps what it has, and the link stays a link. Links to nowhere are refused.
func TestLocalMemoryLinkMoves(t *testing.T) {
	dir := memories(t)
	link(t, dir, filepath.Join("a", "m.json"), "link.json")
	_, first, _ := printedMessage(t, dir, "link.json")
	if _, again, _ := printedMessage(t, dir, "a/m.json"); first == "" || again != first {
		t.Fatalf("a/m.json has not the message of its link:\n%s%s", first, again)
	}
	// During a run the memory is the file that the link named at its start.
	m, err := openClientMemory(filepath.Join(dir, "link.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	link(t, dir, filepath.Join("b", "m.json"), "link.json")
	if _, err := m.add(clientAnswer{Protocol: "x", Epoch: 1, Epsilon: 0.5}); err != nil {
		t.Fatal(err)
	}
	m.close()
	if _, err := os.Stat(filepath.Join(dir, "b", "m.json")); err == nil {
		t.Error("a running client wrote to where the link points now")
	}
	if m, err = openClientMemory(filepath.Join(dir, "a", "m.json")); err != nil || len(m.file.Answers) != 2 {
		t.Fatalf("a/m.json: %v, want 2 answers", err)
	}
	m.close()
	if _, other, errs := printedMessage(t, dir, "link.json"); other == first || !strings.Contains(other, `"seed"`) {
		t.Errorf("the link to b/m.json gave %s%s", other, errs)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced (%v)", err)
	}
	link(t, dir, "loop.json", "loop.json")
	link(t, dir, filepath.Join("nowhere", "m.json"), "lost.json")
	for _, name := range []string{"loop.json", "lost.json", "nowhere/m.json", "a", "a/", "a/.."} {
		if code, out, errs := printedMessage(t, dir, name); code != exitInput || out != "" {
			t.Errorf("--memory %s: exit %d, want %d: %s", name, code, exitInput, out+errs)
		}
	}
}
