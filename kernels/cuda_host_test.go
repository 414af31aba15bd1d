//go:build linux && amd64 && !purego

package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCUDAOnTheHost compiles the kernels of scores as C++ (cuda/host) with the address and
// undefined behaviour sanitizers and runs them with many strips, spans and chunks. A read or
// write beyond a vector, a barrier that is missing or that some threads do not come to, and a
// strip too few are found.
func TestCUDAOnTheHost(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	var compiler string
	for _, name := range []string{"clang++-19", "clang++", "g++"} {
		if found, err := exec.LookPath(name); err == nil {
			compiler = found
			break
		}
	}
	if compiler == "" {
		t.Skip("no compiler of C++ is installed")
	}
	for _, c := range []struct{ name, file, old, new, want string }{
		{"as they are", "", "", "", "PASS"},
		{"a write beyond the columns", "score.cu", "c0 + j < cols) {", "c0 + j <= cols) {", "heap-buffer-overflow"},
		{"a barrier is missing", "score.cu", "			part[ty][tx + 16 * q] = sum;\n		}\n		barrier();", "			part[ty][tx + 16 * q] = sum;\n		}", "FAIL"},
		{"the last row of a group is left out", "spliced.cu", "(j < ends[p])", "(j + 1 < ends[p])", "FAIL pair_tiles"},
		{"tiles at the diagonal without a mask", "spliced.cu", "u32 from = r0 + ROWS;", "u32 from = r0;", "FAIL pair_tiles"},
		{"sums of columns that overlap", "spliced.cu", "column = 8 * COLS - column;", "", "FAIL pair_tiles"},
		{"a barrier for some threads", "rows.cu", "		barrier();\n		add_span", "		if (thread() > 31) barrier();\n		add_span", "FAIL some threads"},
		{"the second strip is the first", "score.cu", "u32 c0 = block_y() * (STRIP * TILE);", "u32 c0 = 0;", "FAIL logistic_tiles"},
		{"w is read before it is there", "nearlinear.cu", "	fetch<BATCH>(v, row, 0, d);\n	barrier();", "	fetch<BATCH>(v, row, 0, d);", "FAIL"},
		{"rows of the next class", "nearlinear.cu", "u32 own = from <= i && i < to;", "u32 own = from <= i;", "heap-buffer-overflow"},
		{"a second record that is not there", "nearlinear.cu", "u32 two = r + width < to;", "u32 two = 1;", "heap-buffer-overflow"},
		{"all parts are of a class", "nearlinear.cu", "part, first[a], first[a + 1]", "part, 0, first[a + 1]", "FAIL expand"},
		{"both orders of labels have a sign", "nearlinear.cu", "back && j % 2 == 0", "j % 2 == 0", "FAIL expand"},
		{"the series of the first class", "nearlinear.cu", "own, coefficient, parts[3 * block_x() + 2], terms", "own, coefficient, 0, terms", "FAIL series"},
		{"series of a class for the rows of all", "nearlinear.cu", "(i >= n || (start[a] <= first + i && first + i < start[a + 1]))", "(i >= n || first + i < start[a + 1])", "FAIL weighted_series"},
		{"coefficients change while they are used", "nearlinear.cu", "				barrier();\n				hold", "				hold", "FAIL weighted_series"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := runOnHost(t, compiler, c.file, c.old, c.new)
			if !strings.Contains(out, c.want) {
				t.Errorf("want %q:\n%.2000s", c.want, out)
			}
		})
	}
}

// runOnHost returns what the program prints with an edit of a source.
func runOnHost(t *testing.T, compiler, file, before, after string) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := filepath.Glob("cuda/*.cu")
	if err != nil {
		t.Fatal(err)
	}
	slopes := strings.NewReplacer(`asm("//@PHI %0 %1;" : "=f"(r) : "f"(u));`, "r = phi_of(u);",
		`asm("//@PHI %0 %1 %2 %3 %4;" : "=f"(r) : "f"(u), "f"(reach), "f"(least), "f"(most));`, "r = phi_of(u, reach, least, most);")
	replaced := 0
	for _, name := range append(sources, "cuda/exp.h", "cuda/rows.h", "cuda/host/device.h", "cuda/host/fibre.h", "cuda/host/lanes.h", "cuda/host/main.cc") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		edited := slopes.Replace(string(text))
		if filepath.Base(name) == file {
			replaced = strings.Count(edited, before)
			edited = strings.Replace(edited, before, after, 1)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if file != "" && replaced == 0 {
		t.Fatalf("%s does not have %q", file, before)
	}
	program := filepath.Join(dir, "kernels")
	build := exec.Command(compiler, "-std=c++17", "-O1", "-g", "-mfma", "-ffp-contract=off", "-fno-builtin-malloc", "-Wno-unknown-pragmas",
		"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", program, filepath.Join(dir, "main.cc"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	out, _ := exec.Command(program).CombinedOutput()
	return string(out)
}
