package cuda

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/engine/cuda/driver"
	"dyad/internal/must"
	"dyad/kernels"
)

// The tests here run the embedded PTX in somebody else's program, behind the libcuda of
// bench/gpu/sim (.ci/sim), and are skipped without it.

// tampered is a driver with a defect, which counts what it is asked for.
type tampered struct {
	driver.Driver
	edit  func(ptx string) string // nil for none
	deaf  string                  // calls of this name return at once
	calls map[string]int
}

type tamperedContext struct {
	driver.Context
	*tampered
}

func (d *tampered) Attach(index int) (driver.Context, error) {
	c, err := d.Driver.Attach(index)
	return tamperedContext{c, d}, err
}

func (c tamperedContext) Load(ptx []byte) (driver.Module, error) {
	if c.edit != nil {
		ptx = []byte(c.edit(string(ptx)))
	}
	return c.Context.Load(ptx)
}

func (c tamperedContext) SyncStream(s driver.Stream) error {
	if c.deaf == "SyncStream" {
		return nil
	}
	return c.Context.SyncStream(s)
}

func (c tamperedContext) FreeHost(b []byte) error {
	if c.deaf == "FreeHost" {
		return nil
	}
	return c.Context.FreeHost(b)
}

func (c tamperedContext) SyncEvent(e driver.Event) error {
	if c.deaf == "SyncEvent" {
		return nil
	}
	return c.Context.SyncEvent(e)
}

func (c tamperedContext) LaunchGraph(g driver.Graph, s driver.Stream) error {
	c.calls["LaunchGraph"]++
	return c.Context.LaunchGraph(g, s)
}

// simFamily computes what a family of kernels computes and compares it with loops that are
// written out here, or with the engine of the CPU: a line for each comparison, with the
// distance in units of what it may be.
type simFamily struct {
	name     string
	programs []string
	run      func(t *testing.T, b Backend, calls map[string]int) ([]simLine, error)
}

type simLine struct {
	what  string
	error float64 // above 1, or not a number, is wrong
}

var simFamilies = []simFamily{
	{"near-linear", []string{"rows", "nearlinear"}, simScore(NearLinear, 700, 5, 2, false)},
	{"near-linear, panels", []string{"rows", "nearlinear"}, simScore(NearLinear, 1300, 3, 2, true)},
	{"near-linear, 5 labels", []string{"rows", "nearlinear"}, simScore(NearLinear, 300, 4, 5, false)},
	{"near-linear, wide", []string{"rows", "nearlinear"}, simScore(NearLinear, 300, 70, 2, false)},
	{"near-linear, persons", []string{"rows", "nearlinear"}, simScore(NearLinear, 400, 4, 5, false, 1, 3, 1, 7, 50)},
	{"direct, factored", []string{"rows", "score"}, simScore(Direct, 600, 5, 2, false)},
	{"direct, spliced", []string{"rows", "spliced"}, simScore(Direct, 300, 3, 5, false)},
	{"moments, small", []string{"rows", "clipped"}, simMoments(700, 7, false)},
	{"moments of persons", []string{"rows", "clipped"}, simMoments(400, 9, false, 1, 3, 1, 7, 50)},
	{"moments, wide", []string{"rows", "clipped"}, simMoments(300, 40, false)},
	{"moments in float32, small", []string{"rows", "clipped"}, simMoments(500, 6, true)},
	{"moments in float32, wide, persons", []string{"rows", "clipped"}, simMoments(260, 35, true, 2, 1, 9)},
	{"pairs", []string{"pairs"}, simPairs},
	{"metrics, fp32", []string{"metric", "metric_fp32"}, simMetric()},
	{"direct, persons", []string{"rows", "score", "spliced_persons"}, simScore(Direct, 250, 3, 5, false, 1, 3, 1, 7, 50)},
	{"metrics of persons", []string{"metric", "metric_persons"}, simMetric(1, 3, 1, 7, 50)},
	{"networks", []string{"network"}, simNetworks},
	{"tuples of networks", []string{"network", "tuples"}, simTuples},
}

// openSim opens the library that DYAD_LIBCUDA names, with defects.
func openSim(t *testing.T, d *tampered, computes bool) (b Backend, name string) {
	t.Helper()
	if libcuda := os.Getenv("DYAD_LIBCUDA"); libcuda == "" || os.Getenv("DYAD_SIM_SEED") == "" || computes != (os.Getenv("DYAD_SIM") != "") {
		t.Skip(".ci/sim runs this")
	}
	var err error
	if d.Driver, err = driver.Open(); err != nil {
		t.Fatal(err)
	}
	d.calls = map[string]int{}
	device, err := Open(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		must.CheckDo(t, device.Close())
	})
	return Backend{Device: device}, device.Info().Name
}

// TestSimCalls: without a simulator, with kernels that compute nothing, what the host calls is what
// the manual allows. DYAD_SIM_DEAF names a call that is left out, which must be found.
func TestSimCalls(t *testing.T) {
	d := &tampered{deaf: os.Getenv("DYAD_SIM_DEAF")}
	b, _ := openSim(t, d, false)
	for _, f := range simFamilies {
		must.Check(f.run(t, b, d.calls))(t, f.name)
	}
}

// TestSim: every family of kernels without tensor instructions, in the simulator. With DYAD_SIM_OUT
// it writes bench/results/gpu/sim.txt.
func TestSim(t *testing.T) {
	d := &tampered{}
	b, name := openSim(t, d, true)
	log := fmt.Sprintf("# DYAD_SIM=LIBRARY .ci/sim FILE: the embedded PTX, run by %s, a simulator in software; no GPU\n", name)
	log += "# what was computed; its distance from the definition (of pairs and metrics: from the sum of the CPU), in units of the distance that is allowed\n"
	ran := map[string]bool{}
	for _, f := range simFamilies {
		lines, err := f.run(t, b, d.calls)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		for _, l := range lines {
			row := fmt.Sprintf("%s, %s: %.2g", f.name, l.what, l.error)
			if t.Log(row); !(l.error <= 1) {
				t.Error(row)
			}
			log += row + "\n"
		}
		for _, p := range f.programs {
			ran[p] = true
		}
	}
	if d.calls["LaunchGraph"] < 4 && os.Getenv("DYAD_CUDA_BINDING") == "" { // gorgonia.org/cu has no graphs
		t.Errorf("sums were replayed as a graph %d times", d.calls["LaunchGraph"])
	}
	for _, name := range kernels.PTXNames() {
		if ran[name] == simLacks(name) {
			t.Errorf("%s.ptx ran: %v", name, ran[name])
		}
		log += simHash(name, embeddedPTX()[name], ran[name])
	}
	if out := os.Getenv("DYAD_SIM_OUT"); out != "" && !t.Failed() {
		must.Do(t, os.WriteFile(out, []byte(log), 0o644))
	}
}

// simLacks reports whether a program has instructions of tensor cores, which the simulator has not.
func simLacks(name string) bool {
	return name == "metric_mma"
}

func simHash(name, hash string, ran bool) string {
	return fmt.Sprintf("%s %s.ptx, sha256 %s\n", map[bool]string{true: "ran", false: "not run"}[ran], name, hash)
}

// staleSim returns the reason why a log of TestSim is not about the embedded PTX, or "".
func staleSim(text string, embedded map[string]string) string {
	for name, hash := range embedded {
		if !strings.Contains(text, "\n"+simHash(name, hash, true)) && !strings.Contains(text, "\n"+simHash(name, hash, false)) {
			return "neither says that " + name + ".ptx ran, as embedded, nor that it did not"
		}
	}
	return ""
}

// TestSimFindsDefects is the control of TestSim: PTX that is edited, and a host that does not wait.
func TestSimFindsDefects(t *testing.T) {
	for _, c := range []struct {
		name, family string
		edit         [2]string
		deaf         string
	}{
		{name: "threads do not wait for each other", family: "near-linear", edit: [2]string{"bar.sync", "//"}},
		{name: "a bound that is passed by one", family: "direct, factored", edit: [2]string{"setp.lt.u32", "setp.le.u32"}},
		{name: "the square in place of the length", family: "moments, small", edit: [2]string{"sqrt.rn.f64", "mov.f64"}},
		{name: "a sum that is not atomic", family: "metrics, fp32", edit: [2]string{"red.global.add.u64", "st.global.u64"}},
		{name: "the larger of scale and one", family: "pairs", edit: [2]string{"min.f64", "max.f64"}},
		{name: "a chunk in place of the sum", family: "networks", edit: [2]string{"red.global.add.u64", "st.global.u64"}},
		{name: "tuples that are not clipped", family: "tuples of networks", edit: [2]string{"setp.gt.f64", "setp.lt.f64"}},
		{name: "the host does not wait for the sum", family: "near-linear", deaf: "SyncStream"},
		{name: "the host does not wait for panels", family: "near-linear, panels", deaf: "SyncEvent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			edited := c.deaf != ""
			d := &tampered{deaf: c.deaf, edit: func(ptx string) string {
				out := ptx
				if c.deaf == "" {
					out = strings.ReplaceAll(ptx, c.edit[0], c.edit[1])
				}
				edited = edited || out != ptx
				return out
			}}
			b, _ := openSim(t, d, true)
			i := slices.IndexFunc(simFamilies, func(f simFamily) bool { return f.name == c.family })
			lines, err := simFamilies[i].run(t, b, d.calls)
			worst := 0.0
			for _, l := range lines {
				if worst = max(worst, l.error); math.IsNaN(l.error) {
					worst = math.Inf(1)
				}
			}
			if t.Logf("%d comparisons, the worst %.2g of what is allowed; %v", len(lines), worst, err); !edited || err == nil && !(worst > 1) {
				t.Errorf("not found: edited %v", edited)
			}
		})
	}
}
