package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/enginetest"
	"dyad/engine/terms"
)

// The tests here need a GPU and are skipped without one. bench/gpu/run.sh runs them
// from a compiled test binary.

// openGPU returns the backend on GPU 0 and the version of its driver.
func openGPU(t *testing.T) (Backend, int) {
	t.Helper()
	d, err := driver.Open()
	if errors.Is(err, driver.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	version, err := d.Version()
	if err != nil {
		t.Fatal(err)
	}
	device, err := Open(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	})
	return Backend{Device: device}, version
}

// TestGPUConformance is TestConformance and TestNearLinearConformance on a GPU, with
// expressions and larger sizes too.
func TestGPUConformance(t *testing.T) {
	b, _ := openGPU(t)
	losses := library(t)
	for _, m := range []Method{Direct, NearLinear} {
		b.Method = m
		o := enginetest.Options{
			Losses:       []engine.ScoreLoss{engine.Logistic{}, losses["sigmoid"], losses["squared-hinge"], losses["root"]},
			MetricLosses: []engine.MetricLoss{}, Short: testing.Short(), PerPair: 1e-4,
			Unsupported: func(p engine.Problem) { t.Logf("declined: %s, radius %v", p.Loss.Name(), p.Radius) },
		}
		if m == NearLinear {
			o.Losses, o.PerPair = []engine.ScoreLoss{engine.Logistic{}, losses["sigmoid"], enginetest.SmoothHinge{}}, 2e-11
		}
		enginetest.Run(t, b, o)
	}
	b.Method = AnyMethod
	for _, precision := range []Precision{FP32, BF16x3, TF32} {
		metricConformance(t, b, precision)
	}
}

func metricConformance(t *testing.T, b Backend, p Precision) {
	b.Precision = p
	o := metricOptions(p)
	o.Sizes, o.Radii, o.Unsupported = nil, []float64{1}, nil
	enginetest.Run(t, b, o)
	o.MetricLosses, o.Sizes = metricLosses(t), []int{17, 400}
	enginetest.Run(t, b, o)
}

// TestGPUWgmma is the suite with precision wgmma, and if DYAD_GPU_WGMMA_OUT names a file, its
// times beside those of bf16x3. It has a process of its own, since tiles that fail may take
// the context with them.
func TestGPUWgmma(t *testing.T) {
	b, version := openGPU(t)
	if info := b.Device.Info(); info.Major != 9 || info.Minor != 0 {
		t.Skipf("%s has compute capability %d.%d, wgmma needs 9.0", info.Name, info.Major, info.Minor)
	}
	metricConformance(t, b, Wgmma)
	out := os.Getenv("DYAD_GPU_WGMMA_OUT")
	if out == "" || t.Failed() {
		return
	}
	r := result{PTX: embeddedPTX(), Device: b.Device.Info(), CUDA: version}
	var err error
	if r.Measurements, err = measureMetric(t, b, BF16x3, Wgmma); err != nil {
		t.Error(err)
	}
	writeResult(t, out, r)
}

// TestGPUConformancePairs is TestPairsAgainstCPU and the clip of every term on a GPU.
func TestGPUConformancePairs(t *testing.T) {
	b, _ := openGPU(t)
	pairsAgainstCPU(t, b, testing.Short())
	clipHolds(t, b, []float64{1e-200, 0.1, 1e3, 3e98}, 60)
}

// result is a file in bench/results/gpu.
type result struct {
	PTX          map[string]string `json:"ptx_sha256"` // by name
	Device       driver.Device     `json:"device"`
	CUDA         int               `json:"driver_cuda_version"`
	Measurements []measurement     `json:"measurements"`
}

type measurement struct {
	N       int     `json:"n"`
	D       int     `json:"d"`
	Labels  int     `json:"labels,omitempty"` // over all pairs
	Group   int     `json:"group,omitempty"`  // records of a query group, or 0
	Loss    string  `json:"loss,omitempty"`   // if not logistic
	Rows    int     `json:"rows,omitempty"`   // of W, for lists of pairs
	Method  string  `json:"method"`
	Device  string  `json:"device"`
	Panels  bool    `json:"panels,omitempty"` // X is copied to the GPU in every call
	Pairs   int64   `json:"pairs"`
	Bind    float64 `json:"bind_seconds"`
	Seconds float64 `json:"seconds"` // the fastest call, all copies included
	// Bandwidth is that of reading X twice, in bytes a second.
	Bandwidth float64 `json:"x_twice_bytes_per_second"`
	// For Mahalanobis losses: the part of the time that the floor of the arithmetic is, and
	// the distance to the gradient of the CPU, relatively.
	OfFloor float64 `json:"of_floor,omitempty"`
	Error   float64 `json:"relative_error,omitempty"`
}

// A measured case runs on the GPU by a method, and by the best one on the CPU.
type measuredCase struct {
	n, d, labels int
	method       Method
	panels       bool // with memory for half of X
	cpu          bool
}

// grid are the sizes that are measured, those of the large stage last.
var (
	gridN, largeN = []int{1e3, 1e4, 1e5, 1e6}, []int{1e7}
	gridD         = []int{8, 32, 128}
)

// measuredCases holds the bars of the issue: near-linear at n = 10^8, d = 20, in the large
// stage, and direct at n = 10^6.
func measuredCases(large bool) (all []measuredCase) {
	sizes := gridN
	if large {
		all = []measuredCase{{1e8, 20, 2, AnyMethod, false, false}, {1e7, 32, 2, AnyMethod, true, false}}
		sizes = largeN
	}
	for _, n := range sizes {
		for _, d := range gridD {
			all = append(all, measuredCase{n, d, 2, AnyMethod, false, true})
			if n <= 1e6 {
				all = append(all, measuredCase{n, d, 2, Direct, false, false})
			}
			if n <= 1e5 {
				all = append(all, measuredCase{n, d, 5, Direct, false, n <= 1e4}) // minutes on a CPU
			}
		}
	}
	return all
}

// TestGPUMeasure times gradient sums on the GPU and, by its best method on all cores, on
// the CPU, and writes them to the file named by DYAD_GPU_OUT. With DYAD_GPU_LARGE set it
// measures the largest sizes alone.
func TestGPUMeasure(t *testing.T) {
	out := os.Getenv("DYAD_GPU_OUT")
	if out == "" {
		t.Skip("DYAD_GPU_OUT names no file")
	}
	b, version := openGPU(t)
	r := result{PTX: embeddedPTX(), Device: b.Device.Info(), CUDA: version}
	for _, c := range measuredCases(os.Getenv("DYAD_GPU_LARGE") != "") {
		p, records, w := measured(t, c.n, c.d, c.labels)
		gpu := b
		gpu.Method = c.method
		if c.panels {
			gpu.Memory = driverBytes + 64<<20 + uint64(16*c.n+4*c.n*c.d)
		}
		backends := []engine.Backend{gpu}
		if c.cpu {
			backends = append(backends, cpu.Backend{Workers: runtime.NumCPU()})
		}
		for _, backend := range backends {
			m, err := measure(backend, p, records, w)
			if err != nil {
				t.Error(err)
				continue
			}
			m.Labels, m.Panels = c.labels, c.panels
			t.Logf("%+v", m)
			r.Measurements = append(r.Measurements, m)
		}
		writeResult(t, out, r) // after each case: the time may be limited
	}
}

// TestGPUMeasurePairs times sums over lists of pairs, on the GPU and on all cores of the
// CPU, and writes them to the file named by DYAD_GPU_PAIRS_OUT.
func TestGPUMeasurePairs(t *testing.T) {
	out := os.Getenv("DYAD_GPU_PAIRS_OUT")
	if out == "" {
		t.Skip("DYAD_GPU_PAIRS_OUT names no file")
	}
	b, version := openGPU(t)
	r := result{PTX: embeddedPTX(), Device: b.Device.Info(), CUDA: version}
	for _, m := range []int{1e4, 1e5, 1e6} {
		for _, d := range gridD {
			const rows = 16
			data := pairData(t, m/5, d, m, terms.L2)
			for _, engine := range []terms.Engine{b, terms.CPU{Workers: runtime.NumCPU()}} {
				s, err := measurePairs(engine, data, rows)
				if err != nil {
					t.Error(err)
					continue
				}
				r.Measurements = append(r.Measurements, measurement{N: m / 5, D: d, Rows: rows, Method: "pairs", Device: engine.Name(), Pairs: int64(m), Seconds: s})
				t.Logf("%+v", r.Measurements[len(r.Measurements)-1])
			}
		}
	}
	writeResult(t, out, r)
}

// TestGPUMeasureMetric times Mahalanobis losses on the GPU and writes them to the file
// named by DYAD_GPU_METRIC_OUT.
func TestGPUMeasureMetric(t *testing.T) {
	out := os.Getenv("DYAD_GPU_METRIC_OUT")
	if out == "" {
		t.Skip("DYAD_GPU_METRIC_OUT names no file")
	}
	b, version := openGPU(t)
	r := result{PTX: embeddedPTX(), Device: b.Device.Info(), CUDA: version}
	var err error
	if r.Measurements, err = measureMetric(t, b, FP32, BF16x3, TF32); err != nil {
		t.Error(err)
	}
	writeResult(t, out, r)
}

func measurePairs(e terms.Engine, data *terms.Data, rows int) (float64, error) {
	s, err := e.Sums(data, terms.Contrastive{Margin: 1}, rows)
	if err != nil {
		return 0, err
	}
	dst, w, best := make([]float64, s.Len()), weights(s.Len(), 0.1), 0.0
	for range 5 {
		start := time.Now()
		if err = s.Sum(context.Background(), dst, w, allOf(len(data.Graph().Pairs())), 0.5, terms.WholeMatrix); err != nil {
			break
		}
		if d := time.Since(start).Seconds(); best == 0 || d < best {
			best = d
		}
	}
	return best, errors.Join(err, s.Close())
}

func writeResult(t *testing.T, out string, r result) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func measured(t *testing.T, n, d, labels int) (engine.Problem, *engine.Records, []float64) {
	t.Helper()
	x, y, w := make([]float64, n*d), make([]float64, n), make([]float64, d)
	var group sync.WaitGroup
	const rows = 1 << 16
	for from := 0; from < n; from += rows {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(from)))
			for i := from; i < min(n, from+rows); i++ {
				for k := range d {
					x[i*d+k] = 2*rng.Float64() - 1
				}
				y[i] = 2*float64(rng.IntN(labels))/float64(labels-1) - 1
			}
		})
	}
	group.Wait()
	w[0] = 1
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: labels}
	r, err := engine.AdoptRecords(x, y, d, p.Bounds)
	if err != nil {
		t.Fatal(err)
	}
	return p, r, w
}

func measure(b engine.Backend, p engine.Problem, r *engine.Records, w []float64) (measurement, error) {
	k, err := engine.Grouped{Backend: b}.Plan(p)
	if err != nil {
		return measurement{}, err
	}
	start := time.Now()
	e, err := k.Bind(r)
	if err != nil {
		return measurement{}, err
	}
	pairs := p.Pairs()
	m := measurement{N: p.N, D: p.D, Method: k.Method(), Device: b.Name(), Pairs: pairs.Len(), Bind: time.Since(start).Seconds()}
	dst := make([]float64, len(w))
	for range 5 {
		start := time.Now()
		if err = e.GradSum(context.Background(), dst, w, pairs); err != nil {
			break
		}
		if s := time.Since(start).Seconds(); m.Seconds == 0 || s < m.Seconds {
			m.Seconds = s
		}
	}
	m.Bandwidth = 2 * 8 * float64(p.N) * float64(p.D) / m.Seconds
	return m, errors.Join(err, e.Close())
}
