package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// Which part a job makes, from the flag and the environment; an array of a few tasks, or one from 0, is
// not taken for the whole.
func TestPartOfAJobArray(t *testing.T) {
	slurm := func(task, low, high, count string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_MIN": low, "SLURM_ARRAY_TASK_MAX": high, "SLURM_ARRAY_TASK_COUNT": count}
	}
	kubernetes := map[string]string{"JOB_COMPLETION_INDEX": "2"}
	for _, c := range []struct {
		flag        string
		env         map[string]string
		part, parts int // 0: refused
	}{
		{"2/8", nil, 2, 8}, {"1/1", nil, 1, 1}, {"0/8", nil, 0, 0}, {"9/8", nil, 0, 0}, {"x/8", nil, 0, 0}, {"2", nil, 0, 0}, {"2/", nil, 0, 0},
		{"auto", nil, 0, 0}, {"auto/8", nil, 0, 0},
		{"auto", slurm("3", "1", "8", "8"), 3, 8}, {"auto/8", slurm("3", "3", "3", "1"), 3, 8},
		{"auto", slurm("3", "3", "3", "1"), 0, 0}, {"auto", slurm("3", "0", "7", "8"), 0, 0}, {"auto/8", slurm("0", "0", "7", "8"), 0, 0},
		{"auto/8", kubernetes, 3, 8}, {"auto", kubernetes, 0, 0}, {"auto/2", kubernetes, 0, 0}, {"5/8", kubernetes, 5, 8},
	} {
		for _, name := range []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT", "JOB_COMPLETION_INDEX"} {
			t.Setenv(name, c.env[name])
		}
		part, parts, err := partFlag{Part: c.flag}.given()
		if c.parts == 0 && err == nil || c.parts > 0 && (err != nil || part != c.part || parts != c.parts) {
			t.Errorf("--part %s with %v: %d of %d, %v; want %d of %d", c.flag, c.env, part, parts, err, c.part, c.parts)
		}
	}
}

// Parts of an audit and of a curve, merged in any order, print what one run prints, but for times.
func TestMergedPartsPrintWhatOneRunPrints(t *testing.T) {
	dir := t.TempDir()
	output := func(args ...string) string {
		t.Helper()
		return mustRun(t, dir, args...)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		ends(t, dir, exitInput, want, args...)
	}
	for _, attack := range [][]string{
		{"lab", "audit", "dpgdsc", "-n", "16", "--runs", "60"},
		{"lab", "audit", "onpairc", "-n", "8", "--runs", "40"},
		{"lab", "audit", "pairs", "--kappa", "2", "--runs", "40"},
	} {
		want := unchanging(output(append(attack, "--json")...))
		for _, part := range []string{"2/3", "3/3", "1/3"} {
			output(append(attack, "--part", part, "--force")...)
		}
		if got := unchanging(output(append(attack, "--json", "--merge", "audit-3-of-3.part,audit-*1-of-3.part,audit-2-of-3.part")...)); got != want {
			t.Errorf("%v: merged %s\nwant %s", attack, got, want)
		}
		refused("is missing", append(attack, "--merge", "audit-[12]-of-3.part")...)
		refused("belongs to another audit", append(attack, "--seed", "9", "--merge", "audit-?-of-3.part")...)
		refused("exists", append(attack, "--part", "1/3")...)
	}
	refused("one run", "lab", "audit", "dpgdsc", "--method", "canaries", "--part", "1/2")
	refused("--part and --merge exclude each other", "lab", "audit", "dpgdsc", "--part", "1/2", "--merge", "x")

	curve := []string{"lab", "curve", "--records", "200", "--splits", "4", "--epsilon", "0.5,2", "--format", "svg"}
	output(append(curve, "--out", "whole")...)
	for _, part := range []string{"3/3", "1/3", "2/3"} {
		output(append(curve, "--out", "cut", "--part", part)...)
	}
	output(append(curve, "--out", "joined", "--merge", "cut-*-of-3.csv")...)
	values := func(name string) string {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		var out []string
		for line := range strings.Lines(string(text)) {
			if f := strings.Split(line, ","); len(f) == 13 { // rows; the 11th column is a time
				line = strings.Join(append(f[:10:10], f[11:]...), ",")
			}
			out = append(out, line)
		}
		return strings.Join(out, "")
	}
	if got, want := values("joined.csv"), values("whole.csv"); got != want || len(want) < 500 {
		t.Errorf("merged:\n%s\nwant\n%s", got, want)
	}
	refused("runs are missing", append(curve, "--out", "joined", "--force", "--merge", "cut-[12]-of-3.csv")...)
	refused("write to another file", "lab", "curve", "--records", "200", "--splits", "4", "--epsilon", "0.5,3", "--out", "cut", "--part", "1/3")
	write(t, dir, "copy-1-of-3.csv", func() string { b, _ := os.ReadFile(filepath.Join(dir, "cut-1-of-3.csv")); return string(b) }())
	refused("both have part 1/3", append(curve, "--out", "joined", "--force", "--merge", "cut-*-of-3.csv,copy-1-of-3.csv")...)
	must.Do(t, os.Rename(filepath.Join(dir, "cut-1-of-3.csv"), filepath.Join(dir, "cut-2-of-3.csv")))
	refused("write to another file", append(curve, "--out", "cut", "--part", "2/3")...)
}
