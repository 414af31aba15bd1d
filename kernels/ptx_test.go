package kernels

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// lockErrors compares the files of a directory with a lock. PTX that was edited by
// hand, and PTX older than its source, differ.
func lockErrors(lock string, read func(name string) ([]byte, error), names []string) []string {
	var bad []string
	locked := map[string]string{}
	lines := strings.Split(strings.TrimSpace(lock), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "compiler ") || !strings.HasPrefix(lines[1], "flags ") {
		return []string{"the lock does not name the compiler and its flags"}
	}
	for _, line := range lines[2:] {
		sum, name, ok := strings.Cut(line, "  ")
		if !ok {
			bad = append(bad, "cannot read the line "+line)
		}
		locked[name] = sum
	}
	for _, name := range names {
		text, err := read(name)
		if err != nil {
			bad = append(bad, err.Error())
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); locked[name] != got {
			bad = append(bad, name+" is not what kernels.lock says; run kernels/cuda/build.sh")
		}
		delete(locked, name)
	}
	for _, name := range slices.Sorted(maps.Keys(locked)) {
		bad = append(bad, name+" is in kernels.lock but not in the directory")
	}
	return bad
}

func TestLock(t *testing.T) {
	lock := must.Get(os.ReadFile("cuda/kernels.lock"))(t)
	var names []string
	for _, pattern := range []string{"*.h", "*.cu", "*.ptx"} {
		found, _ := filepath.Glob("cuda/" + pattern)
		for _, f := range found {
			names = append(names, filepath.Base(f))
		}
	}
	if len(names) < 3 {
		t.Fatalf("found only %v", names)
	}
	read := func(name string) ([]byte, error) { return os.ReadFile("cuda/" + name) }
	for _, e := range lockErrors(string(lock), read, names) {
		t.Error(e)
	}
	// An edited file, a missing one and one that was not locked are found.
	edited := func(name string) ([]byte, error) {
		b, err := read(name)
		if name == "score.ptx" {
			b = append(b, '\n')
		}
		return b, err
	}
	if e := lockErrors(string(lock), edited, names); len(e) != 1 || !strings.Contains(e[0], "score.ptx") {
		t.Errorf("edited PTX: %q", e)
	}
	if e := lockErrors(string(lock), read, names[:len(names)-1]); len(e) != 1 {
		t.Errorf("missing file: %q", e)
	}
	if e := lockErrors(string(lock), read, append(names, "build.sh")); len(e) != 1 {
		t.Errorf("unlocked file: %q", e)
	}
}

// ptxErrors says what PTX that PTX returns under a name must not be.
func ptxErrors(name, ptx string) (bad []string) {
	version, target := ".version 7.0", ".target sm_80"
	if strings.HasSuffix(name, "_sm90a") {
		version, target = ".version 8.0", ".target sm_90a"
	}
	for _, want := range []string{version, target, ".address_size 64"} {
		if !strings.Contains(ptx, "\n"+want+"\n") {
			bad = append(bad, fmt.Sprintf("%s has no line %q", name, want))
		}
	}
	if strings.Contains(ptx, ".local") {
		bad = append(bad, name+" uses local memory")
	}
	return bad
}

// TestPTXVersion: drivers reject PTX newer than they are, so the oldest version that
// has the instructions is pinned.
func TestPTXVersion(t *testing.T) {
	names := PTXNames()
	if !slices.Contains(names, "score") || PTX("none") != "" {
		t.Errorf("the names are %q, and one without a file has %d bytes", names, len(PTX("none")))
	}
	for _, name := range names {
		for _, e := range ptxErrors(name, PTX(name)) {
			t.Error(e)
		}
	}
	if !strings.Contains(PTX("spliced"), PhiMarker) {
		t.Error("spliced has no marker")
	}
	for _, edit := range [][2]string{{"7.0", "8.0"}, {"sm_80", "sm_90"}, {".address_size 64", ".local"}} {
		if len(ptxErrors("score", strings.Replace(PTX("score"), edit[0], edit[1], 1))) == 0 {
			t.Errorf("not found: %v", edit)
		}
	}
	must.Equal(t, len(ptxErrors("score_sm90a", PTX("score"))), 2, "PTX for another target was accepted")
}
