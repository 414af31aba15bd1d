package command

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestReadingRate: the rate of reading is the one of the committed measurement.
func TestReadingRate(t *testing.T) {
	text := must.Get(os.ReadFile("../../bench/results/reading-epyc-idle.csv"))(t)
	row := fmt.Sprintf("\ndyad,r.parquet,%d,", readingProcessors)
	_, rest, found := strings.Cut(string(text), row)
	var cpu, wall, rate float64
	if _, err := fmt.Sscanf(strings.ReplaceAll(rest, ",", " "), "%g %g %g", &cpu, &wall, &rate); !found || err != nil || rate*1e6*21 != readingNumbers || !strings.Contains(string(text), "1000000 rows, 21 columns") {
		t.Errorf("the file has %g million rows of 21 columns a second, the program counts with %g numbers", rate, float64(readingNumbers))
	}
}

// TestGain: a plan for a GPU has reading, copies and passes apart and says whether a GPU pays: not for
// a few passes over records that must be read, a thousand times for metrics. What has no time on the
// GPU has no such line, and a long run on the CPU is told of the GPU.
func TestGain(t *testing.T) {
	dir := t.TempDir()
	type numbers struct {
		Reading float64 `json:"estimated_reading_seconds"`
		Copying float64 `json:"estimated_copying_seconds"`
		Passes  float64 `json:"estimated_passes_seconds"`
		OnCPU   float64 `json:"estimated_passes_cpu_seconds"`
		Gain    float64 `json:"gpu_gain"`
	}
	for _, c := range []struct {
		args, want, not string
		least, most     float64
	}{
		{"-n 100000000 -d 20 --device cuda:h200", "gains little from a GPU, ", "times as fast", 0.9, leastGain},
		{"-n 100000 -d 64 --task metric --algorithm gradient-perturbation --device cuda:h200", " times as fast, reading included", "gains little", 1000, 10000},
		{"-n 100000 -d 64 --task metric --algorithm gradient-perturbation --device cpu", " times as fast, reading included; estimated for an NVIDIA H200", "parts", 1000, 10000},
		{"-n 1000000 -d 20 --algorithm gradient-perturbation --loss hinge --device cuda:h200", "gpu memory", "gain  ", 0, 0},
		{"-n 1000 -d 4 --device cpu", "time  ", "gain  ", 0, 0},
	} {
		args := append([]string{"plan"}, strings.Fields(c.args)...)
		ran(t, dir, args...).exits(exitOK).prints(c.want).lacks(c.not)
		n := decoded[numbers](t, dir, append(args, "--json")...)
		must.Within(t, n.Gain, c.least, c.most, "%s: gain", c.args)
		if parts := n.Reading > 0; parts && (n.Copying <= 0 || n.Passes <= 0 || n.Gain != (n.Reading+n.OnCPU)/(n.Reading+n.Copying+n.Passes)) {
			t.Errorf("%s: %+v", c.args, n)
		}
	}
	// Records in float32 are copied as they are for moments; a gradient's are not.
	columns := "data_id: a\ncolumns:\n  - {name: a, range: [0, 1]}\n  - {name: b, range: [0, 1]}\n  - {name: y, role: label, positive: 1}\n"
	write(t, dir, "wide.yaml", columns)
	write(t, dir, "narrow.yaml", "store: float32\n"+columns)
	for algorithm, want := range map[string]float64{"moments": 0.5, "gradient-perturbation": 1} {
		var n [2]numbers
		for i, schema := range []string{"wide.yaml", "narrow.yaml"} {
			ran(t, dir, "plan", "-n", "10000000", "--schema", schema, "--algorithm", algorithm, "--device", "cuda:h200", "--json").exits(exitOK).decode(&n[i])
		}
		if n[0].Copying <= 0 || n[1].Copying != want*n[0].Copying {
			t.Errorf("%s: %g s of copies in float64, %g s in float32", algorithm, n[0].Copying, n[1].Copying)
		}
	}
	for want, g := range map[string]gain{
		"reading takes 95 % of its time":  {reading: 95, copying: 1, passes: 1, onCPU: 5},
		"copies and passes on a GPU take": {reading: 1, copying: 8, passes: 1, onCPU: 10},
		"about 3.0 times as fast":         {reading: 1, copying: 1, passes: 2, onCPU: 11},
		"about 2000 times as fast":        {copying: 0.5, passes: 0.5, onCPU: 2000},
	} {
		must.Contain(t, g.words(), want)
	}
}
