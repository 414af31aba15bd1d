package cuda

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/kernels"
)

// The tests here need a GPU and are skipped without one. bench/gpu/run.sh runs them from a
// compiled test binary, one process for each family of kernels: a kernel that fails takes the
// context of its process with it.

// rehearsed says that the interpreter of PTX takes the place of a GPU, with small sizes: the
// rehearsal of bench/gpu/run.sh. If the variable names a kernel, that one fails and takes its
// context with it; after "hang " it never ends.
func rehearsed() bool { return os.Getenv("DYAD_GPU_REHEARSAL") != "" }

// openGPU returns the backend on GPU 0 and the version of its driver.
func openGPU(t *testing.T) (Backend, int) {
	t.Helper()
	var d driver.Driver
	var err error
	if rehearsed() {
		f := newFake()
		f.major = 9
		f.fail = func(call string) error {
			kernel, hangs := strings.CutPrefix(os.Getenv("DYAD_GPU_REHEARSAL"), "hang ")
			if call == "Launch "+kernel && hangs {
				time.Sleep(time.Hour)
			} else if call == "Launch "+kernel {
				return driver.Result(700)
			}
			return nil
		}
		d = f
	} else if d, err = driver.Open(); errors.Is(err, driver.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	version := must.Get(d.Version())(t)
	device := must.Get(Open(d, 0))(t)
	t.Cleanup(func() {
		must.CheckDo(t, device.Close())
	})
	return Backend{Device: device}, version
}

// TestGPUOpen opens GPU 0 and lets its driver compile every embedded program.
func TestGPUOpen(t *testing.T) {
	b, version := openGPU(t)
	info := b.Device.Info()
	summary(t, "%s, compute capability %d.%d, %d multiprocessors, %.0f GiB, driver for CUDA %d.%d",
		info.Name, info.Major, info.Minor, info.Multiprocessors, gib(info.TotalMemory), version/1000, version%1000/10)
	for _, name := range kernels.PTXNames() {
		c, err := b.Device.compile(name)
		if err != nil {
			t.Error(err)
			summary(t, "FAIL compile %s: %v", name, err)
			continue
		}
		summary(t, "compiled %s in %.0f ms", name, 1000*c.Seconds)
	}
}

// families are the kernels that fail or pass together, and their conformance.
var families = []struct {
	name string
	test func(t *testing.T, b Backend)
}{
	{"near-linear", func(t *testing.T, b Backend) {
		b.Method = NearLinear
		scoreConformance(t, b, 2e-11, engine.Logistic{}, library(t)["sigmoid"], enginetest.SmoothHinge{})
		partsAgree(t, b, 2, engine.Logistic{}, cpu.Backend{}, 1e-11)
		if !rehearsed() {
			enginetest.Run(t, b, personOptions())
		}
	}},
	{"factored", func(t *testing.T, b Backend) {
		b.Method = Direct
		scoreConformance(t, b, 1e-4, engine.Logistic{})
		partsAgree(t, b, 2, engine.Logistic{}, cpu.Backend{}, 1e-6)
	}},
	{"spliced", func(t *testing.T, b Backend) {
		b.Method = Direct
		losses := library(t)
		scoreConformance(t, b, 1e-4, losses["sigmoid"], losses["squared-hinge"], losses["root"])
		for name, loss := range kinky(t) {
			if (testing.Short() || rehearsed()) && name != "hinge" {
				continue
			}
			o := gpuOptions([]int{2, 17, 129, 1500}, loss)
			o.KinkError = kinkError
			enginetest.Run(t, b, o)
		}
		if !rehearsed() {
			recordStaysInItsTiles(t, b)
		}
		partsAgree(t, b, 5, engine.Logistic{}, cpu.Backend{}, 1e-6)
	}},
	{"groups", func(t *testing.T, b Backend) {
		recordStaysInItsGroup(t, b)
		sizes := [][]int{groupSizes, {1, 1, 2, 64, 65}}
		if !testing.Short() && !rehearsed() {
			neighbourRoundoffIsAttained(t, b)
			sizes = append(sizes, []int{1500, 1, 7, 40, 2, 1100}, slices.Repeat([]int{10}, 150), []int{nearGroup + 100, 3, 70})
		}
		for _, loss := range []engine.ScoreLoss{engine.Logistic{}, library(t)["squared-hinge"]} {
			o := groupOptions(loss, nil)
			o.Groups, o.PerPair = sizes, 1e-4
			enginetest.Run(t, b, o)
		}
	}},
	{"pairs", func(t *testing.T, b Backend) {
		pairsAgainstCPU(t, b, testing.Short())
		clipHolds(t, b, []float64{1e-200, 0.1, 1e3, 3e98}, 60)
	}},
	{"moments", momentFamily},
	{"networks", func(t *testing.T, b Backend) {
		must.CheckDo(t, hostNetworks(t, b, !testing.Short() && !rehearsed()))
	}},
	{"fp32", metricFamily(FP32)},
	{"bf16x3", metricFamily(BF16x3)},
}

// TestGPUFamily is the suite of all backends on a GPU, by families of kernels, and sums of
// several strips, spans and launches.
func TestGPUFamily(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			b, _ := openGPU(t)
			f.test(t, b)
		})
	}
}

// gpuOptions take sizes up to 129 and two radii in short runs, and one size in a rehearsal.
func gpuOptions(sizes []int, losses ...engine.ScoreLoss) enginetest.Options {
	o := enginetest.Options{Losses: losses, MetricLosses: []engine.MetricLoss{}, Sizes: sizes, Groups: [][]int{}, PerPair: 1e-4, Short: testing.Short()}
	if rehearsed() {
		o.Sizes, o.Radii = []int{17}, []float64{1}
	}
	return o
}

func scoreConformance(t *testing.T, b Backend, perPair float64, losses ...engine.ScoreLoss) {
	t.Helper()
	if rehearsed() {
		losses = losses[:1]
	}
	o := gpuOptions(nil, losses...)
	o.PerPair = perPair
	o.Unsupported = func(p engine.Problem) { t.Logf("declined: %s, radius %v", p.Loss.Name(), p.Radius) }
	enginetest.Run(t, b, o)
}

func metricFamily(p Precision) func(*testing.T, Backend) {
	return func(t *testing.T, b Backend) {
		b.Precision = p
		o := metricOptions(p)
		if !rehearsed() {
			o.Sizes, o.Short = nil, testing.Short()
		} else {
			o.Sizes = []int{3}
		}
		enginetest.Run(t, b, o)
		if o.MetricLosses = metricLosses(t); !testing.Short() {
			if !rehearsed() {
				o.Sizes = []int{17, 400}
			}
			enginetest.Run(t, b, o)
		}
		partsAgree(t, b, 2, engine.MahalanobisLogistic{}, cpu.Backend{}, metricError[p])
	}
}

// metricError is how far sums of metric losses may be from those of float64, relatively.
var metricError = map[Precision]float64{FP32: 1e-6, BF16x3: 3e-6}

// partSizes are numbers of records with several strips and spans of columns: one strip of
// logistic_tiles has 2048 columns, one of pair_tiles and a span of metrics have 1024.
func partSizes(metric bool) []int {
	switch {
	case rehearsed() && metric:
		return []int{130}
	case rehearsed():
		return []int{200}
	case testing.Short():
		return []int{6007}
	case metric:
		return []int{3001, 9001}
	}
	return []int{3001, 100_003}
}

// partsAgree compares sums over several strips, spans, panels and launches with another
// backend, and those of one launch with those of many, and of resident records with those of
// panels, bit for bit.
func partsAgree(t *testing.T, b Backend, labels int, loss engine.Loss, other engine.Backend, limit float64) {
	t.Helper()
	_, metric := loss.(engine.MetricLoss)
	for _, n := range partSizes(metric) {
		d := 20
		if metric && !rehearsed() {
			d = 130 // more than the features of one block
		}
		p, r, w := measured(t, n, d, labels)
		if metric {
			p, w = metricMeasured(p)
		}
		got, err := sumOf(b, p, r, w)
		if err != nil {
			t.Error(err)
			return
		}
		want, err := sumOf(other, p, r, w)
		if err != nil {
			t.Error(err)
			return
		}
		away := relative(got, want)
		if t.Logf("n = %d: %.2g from the sum of %s, limit %.2g", n, away, other.Name(), limit); !(away <= limit) {
			t.Errorf("n = %d: the sum is %.2g from that of %s, more than %.2g", n, away, other.Name(), limit)
		}
		many, err := sumInLaunches(b, p, r, w, int(p.Pairs().Len()/40)+1)
		if err != nil || !slices.Equal(many, got) {
			t.Errorf("n = %d: many launches have other bits than one: %v", n, err)
		}
		if metric || n < 4*maxSpan*tileRows {
			continue
		}
		b.Memory = panelMemory(n, d)
		must.Same(t, must.Get(sumOf(b, p, r, w))(t), got, "n = %d: panels have other bits than resident records", n)
		b.Memory = 0
	}
}

// panelMemory is enough for half of the features of n records, 20 or more features.
func panelMemory(n, d int) uint64 {
	return driverBytes + 64<<20 + uint64(48*n+8*d*(n/tileRows+3)+4*n*d)
}

// sumInLaunches is sumOf with at most pairs pairs a launch, in the methods that visit them.
func sumInLaunches(b Backend, p engine.Problem, r *engine.Records, w []float64, pairs int) ([]float64, error) {
	k, err := b.Plan(p)
	if err != nil {
		return nil, err
	}
	if m, ok := k.(*metricKernel); ok {
		m.pairsPerLaunch = pairs
	}
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	if e, ok := e.(*evaluator); ok {
		switch m := e.pairs.(type) {
		case *factored:
			m.limit = pairs
		case *spliced:
			m.limit = pairs
		}
	}
	sum := make([]float64, len(w))
	err = e.Sum(context.Background(), sum, engine.Gradient(w, p.Pairs()))
	return sum, errors.Join(err, e.Close())
}

// relative is the distance of got from want in units of the norm of want.
func relative(got, want []float64) float64 { return apartBy(got, want) / norm2(want) }

// TestPartsAgree: with two strips of columns and two tiles of rows, many launches have the bits
// of one, and tiles that overwrite each other's sums are found.
func TestPartsAgree(t *testing.T) {
	const negatives, positives = factoredCols + 30, factoredRows + 2
	p, r, w := measured(t, negatives+positives, 1, 2)
	x, y := make([]float64, p.N), make([]float64, p.N)
	for i := range y {
		r.Row(i, x[i:i+1])
		if y[i] = -1; i < positives {
			y[i] = 1
		}
	}
	r = must.Get(engine.NewRecords(x, y, 1, p.Bounds))(t)
	want := must.Get(sumOf(cpu.Backend{}, p, r, w))(t)
	f := newFake()
	b := openFake(t, f)
	b.Method = Direct
	one, err := sumInLaunches(b, p, r, w, 1<<30)
	if err != nil || !(relative(one, want) < 1e-6) {
		t.Fatalf("%.2g from the CPU's sum, %v", relative(one, want), err)
	}
	f.calls = nil
	many, err := sumInLaunches(b, p, r, w, 1)
	if launches := f.called("Launch logistic_tiles"); err != nil || launches != 4 || !slices.Equal(many, one) {
		t.Errorf("%d launches: %v, one: %v, %v", launches, many, one, err)
	}
	// With one tile a store in place of the addition would do.
	b.Device = openFake(t, defective(replacing("red.global.add.u64", "st.global.u64"))).Device
	if sum, err := sumInLaunches(b, p, r, w, 1<<30); err != nil || relative(sum, want) < 1e-3 {
		t.Errorf("sums of tiles that overwrite each other: %.2g from the CPU's, %v", relative(sum, want), err)
	}
}
