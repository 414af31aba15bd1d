//go:build linux && amd64

// Package gpu holds scripts that measure on a GPU; its test goes through them without one.
package gpu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDryRun goes through every stage of run.sh with the fake driver: each command line
// names a program and a test that are there. Without a driver, with a test that is not
// there, and for a real run with a driver that computes nothing, it fails.
func TestDryRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds three programs")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	for _, command := range [][]string{
		{"./build.sh", filepath.Join(dir, "bin")},
		{"cp", "run.sh", "peer.py", dir},
		{gcc, "-shared", "-fPIC", "-pthread", "-w", "-DINIT=0", "-DCOUNT=1", "-DBROKEN=-1", "-o", filepath.Join(dir, "libcuda.so.1"), "../../engine/cuda/driver/testdata/fakecuda.c"},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	run := func(driver string, args ...string) (int, string) {
		c := exec.Command(filepath.Join(dir, "run.sh"), args...)
		c.Env = append(os.Environ(), "DYAD_LIBCUDA="+filepath.Join(dir, driver), "OUT="+filepath.Join(dir, "out"))
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), string(out)
	}
	code, out := run("libcuda.so.1", "--dry-run")
	for _, stage := range []string{"doctor", "driver", "conformance", "sanitizer", "measure", "measure-large", "measure-groups", "measure-pairs", "measure-metric", "peers"} {
		if !strings.Contains(out, "== "+stage+"\n") {
			t.Errorf("stage %s did not run", stage)
		}
	}
	if code != 0 || strings.Count(out, "\nTestGPUMeasure\n") != 2 || !strings.Contains(out, "\nTestGPUMeasurePairs\n") {
		t.Errorf("dry run: exit %d\n%s", code, out)
	}
	if code, out = run("absent.so", "--dry-run"); code != 3 || !strings.Contains(out, "no GPU") {
		t.Errorf("without a driver: exit %d\n%s", code, out)
	}
	if code, out = run("libcuda.so.1", "doctor"); code != 1 || !strings.Contains(out, "doctor: exit 1") {
		t.Errorf("a real run with a driver that computes nothing: exit %d\n%s", code, out)
	}
	if code, out = run("libcuda.so.1", "--dry-run", "nothing"); code != 2 {
		t.Errorf("an unknown stage: exit %d\n%s", code, out)
	}
	script := filepath.Join(dir, "run.sh")
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(strings.Replace(string(text), "-test.run 'GPUMeasure$'", "-test.run 'GPUMesure$'", 1)), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, out = run("libcuda.so.1", "--dry-run", "measure"); code != 1 || !strings.Contains(out, "measure: exit 1") {
		t.Errorf("a test that is not there: exit %d\n%s", code, out)
	}
}
