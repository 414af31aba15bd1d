package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/engine/cuda"
	"dyad/internal/machine/cases"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// measured is what differs between machines and runs of dyad lab bench.
var measured = regexp.MustCompile(`(?m)^.*, \d+ cores, .*$|[0-9.e+-]+ s +\S+ (pairs|scores)/s|\d+ % \(best \d+\)|[0-9.]+ (Gflop|GB)/s`)

// Golden output of bench with all measured values masked.
func TestBench(t *testing.T) {
	sizes.NotShort(t, "slow")
	file := must.Get(filepath.Abs(filepath.Join("testdata", "bench.golden")))(t)
	args := []string{"lab", "bench", "--records", "64", "--runs", "1", "--set", "variant=generic"}
	code, out, errs := dyad(t, t.TempDir(), args...)
	got := measured.ReplaceAllStringFunc(out, func(s string) string {
		switch {
		case strings.HasSuffix(s, "pairs/s"), strings.HasSuffix(s, "scores/s"):
			return "T s R " + s[strings.LastIndexByte(s, ' ')+1:]
		case strings.Contains(s, "cores"):
			return "CPU"
		case strings.Contains(s, "best"):
			return "P % (best P)"
		}
		return "R" + s[strings.IndexByte(s, ' '):]
	})
	got = regexp.MustCompile(` +T s`).ReplaceAllString(got, " T s")
	if code != exitOK || errs != "" || got == out {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if *update {
		must.Do(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(file))(t)
	if got != string(want) {
		t.Errorf("--- want\n%s--- got\n%s", want, got)
	}

	r := decoded[benchResult](t, t.TempDir(), append(args, "--json")...)
	must.Equal(t, len(r.Lines), strings.Count(string(want), "\n")-2, "%+v", r)
	for _, bad := range [][]string{{"--runs", "-1"}, {"--workers", "0"}, {"--variant", "sse"}, {"--devices", "tpu"}, {"--devices", "cpu,cuda0"}, {"--devices", "cpu,cpu"}, {"--devices", "auto"}} {
		ran(t, t.TempDir(), append([]string{"lab", "bench"}, bad...)...).exits(exitInput)
	}
	if _, err := cuda.Devices(); err != nil {
		for _, gpu := range []string{"cuda:0", "cpu,cuda:0"} {
			ends(t, t.TempDir(), exitResource, "cuda:0", "lab", "bench", "--devices", gpu)
		}
	}
}

// TestBenchPeers: ratios appear for times of this processor, and only for those.
func TestBenchPeers(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := t.TempDir()
	const times = "peer,method,n,d,wall_s,cpu_s\nslow,exact AUC,64,,1,1000\nother,exact AUC,65,,1,1\n"
	for name, cpu := range map[string]string{"here.csv": cases.CPUModel(), "there.csv": "another"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("# cpu: "+cpu+"\n"+times), 0o644))
	}
	args := []string{"lab", "bench", "--records", "64", "--runs", "1", "--set", "variant=generic", "--peers"}
	ran(t, dir, append(args, "here.csv")...).exits(exitOK).prints("; ratio to peers").counts(0, "other").counts(1, "x slow\n")
	ends(t, dir, exitInput, `another CPU ("another"`, append(args, "there.csv")...)
	ran(t, dir, append(args, "here.csv", "--workers", "2")...).exits(exitInput)
}
