package cuda

import (
	"math"
	"os"
	"runtime"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
)

// TestGPUConformanceGroups is TestGroupConformance and TestKinkConformance on a GPU, with
// larger groups too, and what the tests of single records say of the interpreter.
func TestGPUConformanceGroups(t *testing.T) {
	b, _ := openGPU(t)
	recordStaysInItsGroup(t, b)
	recordStaysInItsTiles(t, b)
	neighbourRoundoffIsAttained(t, b)
	sizes := [][]int{groupSizes, {1, 1, 2, 64, 65}}
	if !testing.Short() {
		sizes = append(sizes, []int{1500, 1, 7, 40, 2, 1100}, slices.Repeat([]int{10}, 150), []int{nearGroup + 100, 3, 70})
	}
	for _, loss := range []engine.ScoreLoss{engine.Logistic{}, library(t)["squared-hinge"]} {
		o := groupOptions(loss, nil)
		o.Groups, o.PerPair = sizes, 1e-4
		enginetest.Run(t, b, o)
	}
	for _, loss := range kinky(t) {
		o := groupOptions(loss, nil)
		o.Groups, o.PerPair = sizes[:2], 1e-4
		if o.Sizes = []int{2, 17, 129}; !testing.Short() {
			o.Sizes = append(o.Sizes, 1500)
		}
		enginetest.Run(t, b, o)
	}
}

// A groupCase is n records of 32 features and five labels in groups of one size, of all
// records if it is 0.
type groupCase struct {
	n, group int
	loss     engine.ScoreLoss
}

// groupCases have many small groups and few large ones, and losses with kinks over all
// pairs.
func groupCases(t *testing.T) []groupCase {
	return []groupCase{
		{1e6, 10, engine.Logistic{}}, {1e6, 100, engine.Logistic{}}, {1e6, 4000, engine.Logistic{}}, {1e6, 100000, engine.Logistic{}},
		{1e6, 100, library(t)["hinge"]}, {1e5, 0, library(t)["hinge"]}, {1e5, 0, library(t)["ramp"]},
	}
}

// TestGPUMeasureGroups times gradient sums within query groups and of losses with kinks, on
// the GPU and on all cores of the CPU, and writes them to the file named by
// DYAD_GPU_GROUPS_OUT.
func TestGPUMeasureGroups(t *testing.T) {
	out := os.Getenv("DYAD_GPU_GROUPS_OUT")
	if out == "" {
		t.Skip("DYAD_GPU_GROUPS_OUT names no file")
	}
	b, version := openGPU(t)
	r := result{PTX: embeddedPTX(), Device: b.Device.Info(), CUDA: version}
	for _, c := range groupCases(t) {
		p, records, w := measured(t, c.n, 32, 5)
		p.Loss = c.loss
		if c.group > 0 {
			p.Groups = slices.Repeat([]int{c.group}, c.n/c.group)
		}
		var sums [2][]float64
		for i, backend := range []engine.Backend{b, cpu.Backend{Workers: runtime.NumCPU()}} {
			m, err := measure(backend, p, records, w)
			if err == nil {
				sums[i], err = sumOf(backend, p, records, w)
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.Group = c.group; c.loss != engine.ScoreLoss(engine.Logistic{}) {
				m.Loss = c.loss.Name()
			}
			t.Logf("%+v", m)
			r.Measurements = append(r.Measurements, m)
		}
		var diff, size float64
		for k := range sums[0] {
			diff, size = math.Hypot(diff, sums[0][k]-sums[1][k]), math.Hypot(size, sums[1][k])
		}
		at := len(r.Measurements) - 2
		if r.Measurements[at].Error = diff / size; !(diff <= 1e-4*size) {
			t.Errorf("%+v: the CPU's sum differs by %.2g", r.Measurements[at], diff/size)
		}
		writeResult(t, out, r)
	}
}
