//go:build linux && amd64

// Package gpu holds scripts that measure on a GPU; its tests go through them without one.
package gpu

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/kernels"
)

// maxBundle is what bin/ may take, in bytes.
const maxBundle = 25e6

// copied is a folder with the tracked files of this one and with bin/ from build.sh.
func copied(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the test binary")
	}
	root := t.TempDir()
	at := filepath.Join(root, "bench", "gpu")
	for _, command := range []string{
		"mkdir -p " + at,
		"git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t " + at,
		"./build.sh " + filepath.Join(at, "bin"),
	} {
		if out, err := exec.Command("bash", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	return root
}

// A rehearsal is a run of a command in a clean copy.
type rehearsal struct {
	code   int
	output string
	files  map[string]string // of the archive
}

// rehearse runs a command line with only the named variables and a path for programs.
func rehearse(t *testing.T, root, command string, env ...string) rehearsal {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	command = regexp.MustCompile(`^OUT=\S+`).ReplaceAllString(command, "OUT="+out)
	c := exec.Command("bash", "-c", command)
	c.Dir, c.Env = root, append([]string{"PATH=" + filepath.Join(root, "tools") + ":" + os.Getenv("PATH"), "HOME=" + root, "TMPDIR=" + t.TempDir()}, env...)
	text, err := c.CombinedOutput()
	if strings.Contains(string(text), "tar: ") {
		t.Errorf("an archive was not renewed:\n%s", text)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := rehearsal{code: c.ProcessState.ExitCode(), output: string(text), files: map[string]string{}}
	names, err := filepath.Glob(out + "/*")
	if err != nil || r.code < 2 && !slices.Equal(names, []string{out + "/results.tar.gz", out + "/summary.txt"}) {
		t.Errorf("%s leaves %v, %v\n%s", command, names, err, text)
	}
	f, err := os.Open(filepath.Join(out, "results.tar.gz"))
	if err != nil {
		return r
	}
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return r
		}
		if err != nil {
			t.Fatal(err)
		}
		body := must.Get(io.ReadAll(archive))(t)
		r.files[filepath.Base(h.Name)] = string(body)
	}
}

// commands are those of README.md, with their budgets in seconds.
func commands(t *testing.T) []string {
	t.Helper()
	text := must.Get(os.ReadFile("README.md"))(t)
	found := regexp.MustCompile(`(?m)^OUT=.*$`).FindAllString(string(text), -1)
	if len(found) != 3 {
		t.Fatalf("README.md has the commands %q, want three", found)
	}
	return found
}

// tools writes programs that take the place of NVIDIA's: those that run a program run it, and
// nvidia-smi prints clocks.
func tools(t *testing.T, root string) {
	t.Helper()
	at := filepath.Join(root, "tools")
	run := "#!/bin/bash\necho \"$0 $*\"\nwhile [ ! -x \"$1\" ]; do shift; done\nexec \"$@\"\n"
	for name, text := range map[string]string{
		"ncu": run, "compute-sanitizer": run,
		"nvidia-smi": "#!/bin/bash\ncase \"$*\" in *-lms*) while sleep .1; do echo '2026/01/01, 1980, 3201, 300, 40'; done ;; *) echo clocks ;; esac\n",
	} {
		must.Do(t, os.MkdirAll(at, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o755))
	}
}

var families = strings.Fields("near-linear factored spliced groups pairs moments networks fp32 bf16x3")

// words are the outcomes of the stages by name.
func words(r rehearsal) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(r.files["stages.txt"]) {
		if f := strings.Fields(line); len(f) > 1 {
			all[strings.TrimSuffix(f[1], ":")] = f[0]
		}
	}
	return all
}

// TestRehearsal runs the commands of README.md in a clean copy.
func TestRehearsal(t *testing.T) {
	root := copied(t)
	bundle := must.Get(filepath.Glob(filepath.Join(root, "bench/gpu/bin/*")))(t)
	var size int64
	for _, f := range bundle {
		info := must.Get(os.Stat(f))(t)
		size += info.Size()
	}
	if t.Logf("bin/ has %d bytes", size); size == 0 || size > maxBundle {
		t.Errorf("bin/ has %d bytes, want at most %g", size, maxBundle)
	}

	if r := rehearse(t, root, commands(t)[0], "DYAD_LIBCUDA=/nonexistent.so"); r.code != 3 || !strings.Contains(r.output, "no GPU") {
		t.Errorf("without a driver: exit %d\n%s", r.code, r.output)
	}
	tools(t, root)
	for i, command := range commands(t) {
		t.Run(strings.Fields(command)[4], func(t *testing.T) {
			begin := time.Now()
			r := rehearse(t, root, command, "DYAD_GPU_REHEARSAL=1")
			if r.code != 0 {
				t.Fatalf("exit %d\n%s", r.code, r.output)
			}
			t.Logf("%v\n%s", time.Since(begin), r.files["screen.txt"])
			if n := strings.Count(r.files["screen.txt"], "\n"); n < 8 || n > 60 || !strings.HasSuffix(r.output, r.files["screen.txt"]) || !strings.Contains(r.files["screen.txt"], "clocks: SM 1980 MHz") {
				t.Errorf("a summary of %d lines", n)
			}
			word := words(r)
			for _, f := range families {
				if i < 2 && word["family-"+f] != "PASS" {
					t.Errorf("family %s: %s", f, word["family-"+f])
				}
			}
			if i < 2 && (word["touch"] != "PASS" || !strings.Contains(r.files["screen.txt"], "64 records: answer")) {
				t.Errorf("stage 0: %q\n%s", word["touch"], r.files["screen.txt"])
			}
			if i == 0 && (word["driver-ceilings"] != "PASS" || !strings.Contains(r.files["screen.txt"], "sums run as a CUDA graph")) {
				t.Errorf("ceilings: %q\n%s", word["driver-ceilings"], r.files["screen.txt"])
			}
			want := []string{"peek-factored", "ncu-logistic_tiles", "record-near-linear"}[i]
			must.Equal(t, word[want], "PASS", "%s", want)
			for name, text := range r.files {
				if strings.HasPrefix(name, "gpu-ptx-interpreter-") {
					checkResult(t, name, text)
				}
			}
			if _, ok := r.files[[]string{"gpu-ptx-interpreter-peek-factored.json", "ncu-scores.txt", "gpu-ptx-interpreter-record-bf16x3.json"}[i]]; !ok {
				t.Error("a result is missing")
			}
		})
	}
	t.Run("a kernel fails", func(t *testing.T) { failingKernel(t, root) })
	t.Run("a kernel hangs", func(t *testing.T) { hangingKernel(t, root) })
	t.Run("a driver that compiles nothing", func(t *testing.T) { failingDriver(t, root) })
	t.Run("little time", func(t *testing.T) {
		begin := time.Now()
		r := rehearse(t, root, "OUT=x bench/gpu/run.sh --budget 16 core", "DYAD_GPU_REHEARSAL=1")
		if took := time.Since(begin); took > 30*time.Second || words(r)["ceilings"] != "SKIP" || !strings.Contains(r.files["stages.txt"], "s are left, it needs") {
			t.Errorf("%v, %s", took, r.files["stages.txt"])
		}
	})
	t.Run("arguments", func(t *testing.T) {
		for _, arguments := range []string{"", "all", "--budget x core", "core full", "--budget 9"} {
			must.Equal(t, rehearse(t, root, "OUT=x bench/gpu/run.sh "+arguments).code, 2, "%q: exit", arguments)
		}
		must.Do(t, os.WriteFile(filepath.Join(root, "bench/gpu/bin/cuda.test.gz"), []byte("changed"), 0o644))
		if r := rehearse(t, root, commands(t)[0]); r.code != 2 || !strings.Contains(r.output, "build.sh") {
			t.Errorf("a bundle that was changed: exit %d\n%s", r.code, r.output)
		}
	})
}

// checkResult: every case was compared and none failed.
func checkResult(t *testing.T, name, text string) {
	t.Helper()
	var r struct {
		PTX          map[string]string `json:"ptx_sha256"`
		Measurements []struct {
			Case, Device, Failed string
			Seconds              float64
			Against              string `json:"compared_with"`
			Programs             []string
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Measurements) == 0 || len(r.PTX) == 0 {
		t.Errorf("%s: %v", name, err)
	}
	for _, m := range r.Measurements {
		if gpu := m.Device == "cuda:0"; m.Failed != "" || m.Seconds <= 0 || gpu != (m.Against != "") || gpu != (len(m.Programs) > 0) {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// failingKernel: a kernel that takes its context with it fails its family alone, which runs
// again under the sanitizer and is not timed.
func failingKernel(t *testing.T, root string) {
	r := rehearse(t, root, "OUT=x bench/gpu/run.sh --budget 240 core", "DYAD_GPU_REHEARSAL=logistic_tiles")
	word := words(r)
	for _, f := range families {
		if want := map[bool]string{true: "FAIL", false: "PASS"}[f == "factored"]; word["family-"+f] != want {
			t.Errorf("family %s: %s, want %s", f, word["family-"+f], want)
		}
	}
	if r.code != 1 || word["peek-factored"] != "SKIP" || word["peek-near-linear"] != "PASS" || word["memcheck-factored"] != "FAIL" || word["racecheck-factored"] != "FAIL" {
		t.Errorf("exit %d, %v", r.code, word)
	}
	if last := r.files["touch.txt"]; !strings.Contains(last, "wrong or fail: factored;") || strings.LastIndex(r.files["stages.txt"], "family-") != strings.Index(r.files["stages.txt"], "family-factored") {
		t.Errorf("stage 0 says %s and the order is %s", last, r.files["stages.txt"])
	}
	if !strings.Contains(r.files["screen.txt"], "CUDA error 700") {
		t.Errorf("the summary does not say why:\n%s", r.files["screen.txt"])
	}
}

// hangingKernel: a kernel that never ends takes four seconds of stage 0, its family comes last, and
// the summary names the case in which it was stopped. A family that is stopped but did answer is
// slow, and its times are taken.
func hangingKernel(t *testing.T, root string) {
	r := rehearse(t, root, "OUT=x bench/gpu/run.sh --budget 60 core", "DYAD_GPU_REHEARSAL=hang logistic_tiles")
	word := words(r)
	if r.code != 1 || word["family-factored"] != "FAIL" || word["family-spliced"] != "PASS" || word["touch"] != "PASS" {
		t.Errorf("exit %d, %v", r.code, word)
	}
	if screen := r.files["screen.txt"]; !strings.Contains(screen, "no answer in 4 s: factored") || !strings.Contains(screen, " in TestGPUFamily/factored") {
		t.Errorf("the summary does not say where:\n%s", screen)
	}
	slow := "#!/bin/bash\ncase \"$*\" in *TestGPUFamily/*moments*) echo '=== RUN   TestGPUFamily/moments'; sleep 100;; esac\nexec \"$0.real\" \"$@\"\n"
	edited := "sed -i 's|^tests=.*|&; mv $tests $tests.real; cp slow $tests; chmod +x $tests|' run.sh"
	c := exec.Command("bash", "-c", "cp -r gpu slow && cd slow && "+edited)
	c.Dir = filepath.Join(root, "bench")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must.Do(t, os.WriteFile(filepath.Join(root, "bench", "slow", "slow"), []byte(slow), 0o755))
	r = rehearse(t, root, "OUT=x bench/slow/run.sh --budget 60 core", "DYAD_GPU_REHEARSAL=1")
	if word := words(r); r.code != 1 || word["family-moments"] != "SLOW" || !strings.Contains(r.files["screen.txt"], "SLOW family-moments") || !strings.Contains(r.files["screen.txt"], "in TestGPUFamily/moments") || word["memcheck-moments"] != "" {
		t.Errorf("exit %d, %v\n%s", r.code, word, r.files["screen.txt"])
	}
}

// failingDriver: every family says that its program was not compiled.
func failingDriver(t *testing.T, root string) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	library := filepath.Join(root, "libcuda.so.1")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-pthread", "-w", "-DINIT=0", "-DCOUNT=1", "-DBROKEN=-1", "-o", library, "../../engine/cuda/driver/testdata/fakecuda.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := rehearse(t, root, "OUT=x bench/gpu/run.sh --budget 240 core", "DYAD_LIBCUDA="+library)
	word := words(r)
	for _, f := range append([]string{}, families...) {
		must.Equal(t, word["family-"+f], "FAIL", "family %s", f)
	}
	if r.code != 1 || word["open"] != "FAIL" || strings.Count(r.files["summary.txt"], "FAIL compile") != len(kernels.PTXNames()) || !strings.Contains(r.files["screen.txt"], "CUDA error 218") {
		t.Errorf("exit %d\n%s", r.code, r.files["screen.txt"])
	}
}
