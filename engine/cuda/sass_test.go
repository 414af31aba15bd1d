package cuda

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/kernels"
)

// sassPrograms are those whose machine code is counted.
var sassPrograms = []string{"rows", "nearlinear"}

var (
	sassFunction    = regexp.MustCompile(`^\s*\.section\s+\.text\.(\w+)`)
	sassInstruction = regexp.MustCompile(`^\s*/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)`)
)

// opcodes counts the instructions of each function in the output of nvdisasm.
func opcodes(text string) map[string]map[string]int {
	all := map[string]map[string]int{}
	var of map[string]int
	for line := range strings.Lines(text) {
		if m := sassFunction.FindStringSubmatch(line); m != nil {
			of = map[string]int{}
			all[m[1]] = of
		}
		if m := sassInstruction.FindStringSubmatch(line); m != nil && of != nil && m[1] != "NOP" {
			of[m[1]]++
		}
	}
	return all
}

// TestMachineCode counts the instructions of the kernels that read X, where NVIDIA's ptxas and
// nvdisasm are (PTXAS and NVDISASM, or in PATH): their predicted rates rest on these. Moments
// and series have an operation of float64 for each of their steps and no local memory, and
// as many loads as TestNearLinearCounts counts on are there to be under way. With DYAD_SASS_OUT
// the report is written there.
func TestMachineCode(t *testing.T) {
	var tools [2]string
	for i, name := range []string{"ptxas", "nvdisasm"} {
		tools[i] = os.Getenv(strings.ToUpper(name))
		if tools[i] == "" {
			var err error
			if tools[i], err = exec.LookPath(name); err != nil {
				t.Skip(name + " is not installed")
			}
		}
	}
	version, err := exec.Command(tools[0], "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	report := &strings.Builder{}
	fmt.Fprintf(report, "%s", version)
	dir := t.TempDir()
	for _, name := range sassPrograms {
		ptx, cubin := filepath.Join(dir, name+".ptx"), filepath.Join(dir, name+".cubin")
		if err := os.WriteFile(ptx, []byte(kernels.PTX(name)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arch := range targets(name + ".ptx as embedded") {
			if out, err := exec.Command(tools[0], "-arch="+arch, "-o", cubin, ptx).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.Command(tools[1], "-c", cubin).Output()
			if err != nil {
				t.Fatal(err)
			}
			all := opcodes(string(out))
			fmt.Fprintf(report, "\n%s.ptx as embedded, %s, sha256 %s\n", name, arch, embeddedPTX()[name])
			for _, kernel := range slices.Sorted(maps.Keys(all)) {
				of, sum := all[kernel], 0
				for _, n := range of {
					sum += n
				}
				fmt.Fprintf(report, "  %-16s %d instructions:", kernel, sum)
				for _, op := range []string{"DFMA", "DADD", "DMUL", "LDG", "STG", "LDS", "STS", "BAR"} {
					fmt.Fprintf(report, " %d %s", of[op], op)
				}
				fmt.Fprintln(report)
				if of["LDL"]+of["STL"] > 0 {
					t.Errorf("%s, %s: local memory", kernel, arch)
				}
			}
			if c := all["score_moments"]; name == "nearlinear" && (c["DFMA"] < 16+8+30 || c["DADD"] < 32 || c["LDG"] < 16+8 || c["STG"] < 1) {
				t.Errorf("score_moments, %s: %v", arch, c)
			}
		}
	}
	t.Log(report.String())
	if out := os.Getenv("DYAD_SASS_OUT"); out != "" {
		if err := os.WriteFile(out, []byte(report.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpcodes is its control: predicates, braces and padding in a listing.
func TestOpcodes(t *testing.T) {
	got := opcodes(`	.section	.text.k,"ax",@progbits
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.64.CONSTANT R2, desc[UR4][R2.64] ;
        /*0020*/              @UP1 LDG.E R2, desc[UR4][R2.64] ;
        /*0030*/                   NOP;
	.section	.text.other,"ax",@progbits
        /*0000*/              @P6  DFMA R4, R4, R6, R8 ;
`)
	if !maps.Equal(got["k"], map[string]int{"LDC": 1, "LDG": 2}) || !maps.Equal(got["other"], map[string]int{"DFMA": 1}) {
		t.Errorf("%v", got)
	}
}
