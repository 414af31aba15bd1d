package cuda

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

// TestAssemble assembles the embedded and the spliced PTX with NVIDIA's ptxas, where
// there is one (in PATH, or named by PTXAS; the PyPI package nvidia-cuda-nvcc has it):
// no registers are spilled, no local memory is used, and few enough registers are for two blocks on a multiprocessor, or one for the
// tiles of metric losses. With DYAD_PTXAS_OUT the report is written there.
func TestAssemble(t *testing.T) {
	ptxas := tool(t, "ptxas")
	version := must.Get(exec.Command(ptxas, "--version").Output())(t)
	programs := assembledPrograms(t)
	var report strings.Builder
	fmt.Fprintf(&report, "%s", version)
	file := filepath.Join(t.TempDir(), "k.ptx")
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		must.Do(t, os.WriteFile(file, []byte(programs[name]), 0o600))
		for _, arch := range targets(name) {
			out, err := exec.Command(ptxas, "-v", "-arch="+arch, "-o", os.DevNull, file).CombinedOutput()
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", name, arch, err, out)
				continue
			}
			fmt.Fprintf(&report, "\n%s, %s, sha256 %x\n", name, arch, sha256.Sum256([]byte(programs[name])))
			for _, bad := range assembled(string(out), strings.Count(programs[name], ".entry "), &report) {
				t.Errorf("%s, %s: %s", name, arch, bad)
			}
		}
	}
	t.Log(report.String())
	if out := os.Getenv("DYAD_PTXAS_OUT"); out != "" {
		must.Do(t, os.WriteFile(out, []byte(report.String()), 0o644))
	}
}

// tool is a program of CUDA's, in PATH or named by a variable such as PTXAS.
func tool(t *testing.T, name string) string {
	t.Helper()
	if file := os.Getenv(strings.ToUpper(name)); file != "" {
		return file
	}
	file, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return file
}

// assembledPrograms are the embedded PTX and examples of spliced PTX, by name.
func assembledPrograms(t *testing.T) map[string]string {
	t.Helper()
	programs := map[string]string{}
	for _, name := range kernels.PTXNames() {
		programs[name+".ptx as embedded"] = kernels.PTX(name)
	}
	losses := library(t)
	losses["logistic, by hand"] = engine.Logistic{}
	for name, loss := range losses {
		p := engine.Problem{N: 100, D: 4, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1, LabelValues: engine.AnyLabels}
		if _, s, err := engine.NewScoreRange(p, p.D); err == nil {
			if code, err := slopeOf(loss, s.Margin, s.SlopeErr); err == nil {
				for _, program := range []string{"", "_persons"} {
					programs["spliced"+program+": "+name] = must.Get(splice(kernels.PTX("spliced"+program), code, s.Margin, s.SlopeMin, s.SlopeMax))(t)
				}
			}
		}
	}
	for name, loss := range map[string]engine.MetricLoss{"logistic": engine.MahalanobisLogistic{}, "root": metricLosses(t)[0]} {
		p := engine.Problem{N: 100, D: 4, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1}
		for i, precision := range []Precision{FP32, BF16x3, FP32} {
			if p.PersonRows = 0; i == 2 {
				p.PersonRows = 3
			}
			k := must.Get(openMetric(t, newFake(), precision).Plan(p))(t)
			programs["spliced: "+k.(*metricKernel).file+", "+name] = k.(*metricKernel).tiles
		}
	}
	return programs
}

// targets are the architectures that a program is assembled for, by its name in the
// report.
func targets(name string) []string {
	if !strings.HasSuffix(name, "as embedded") {
		return []string{"sm_90"} // code for phi' is simple
	}
	return []string{"sm_80", "sm_90", "sm_100"}
}

var (
	compiled  = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	spills    = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	registers = regexp.MustCompile(`Used (\d+) registers.*`)
)

// assembled reads what ptxas -v says of a program with that many kernels, adds a line a
// kernel to the report and returns what must not be.
func assembled(text string, kernels int, report *strings.Builder) (bad []string) {
	var kernel string
	found := 0
	for line := range strings.Lines(text) {
		if m := compiled.FindStringSubmatch(line); m != nil {
			kernel = m[1]
		}
		if m := spills.FindStringSubmatch(line); m != nil && (m[1] != "0" || m[2] != "0" || m[3] != "0") {
			bad = append(bad, kernel+": "+m[0])
		}
		if m := registers.FindStringSubmatch(line); m != nil {
			found++
			fmt.Fprintf(report, "  %-16s %s\n", kernel, strings.TrimPrefix(m[0], "Used "))
			var n int
			if _, err := fmt.Sscan(m[1], &n); err != nil || n > 128 && !strings.HasPrefix(kernel, "metric_tiles") {
				bad = append(bad, kernel+": "+m[0])
			}
		}
	}
	if found != kernels {
		bad = append(bad, fmt.Sprintf("ptxas reports %d kernels, want %d", found, kernels))
	}
	return bad
}

// TestAssembledFindsSpills is the control of TestAssemble.
func TestAssembledFindsSpills(t *testing.T) {
	good := "Compiling entry function 'k' for 'sm_90'\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nUsed 40 registers, used 1 barriers\n"
	text := strings.Repeat(good, 7)
	var report strings.Builder
	if bad := assembled(text, 7, &report); len(bad) != 0 {
		t.Errorf("good output: %v", bad)
	}
	for _, edit := range [][2]string{{"0 bytes spill stores", "8 bytes spill stores"}, {"0 bytes stack", "16 bytes stack"}, {"Used 40", "Used 200"}} {
		if bad := assembled(strings.Replace(text, edit[0], edit[1], 1), 7, &report); len(bad) != 1 {
			t.Errorf("%v: %v", edit, bad)
		}
	}
	if bad := assembled(good, 7, &report); len(bad) != 1 {
		t.Errorf("missing kernels: %v", bad)
	}
}
