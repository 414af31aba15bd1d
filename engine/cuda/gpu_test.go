package cuda

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/enginetest"
	"dyad/kernels"
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

// TestGPUConformance is TestConformance on a GPU, with expressions too.
func TestGPUConformance(t *testing.T) {
	b, _ := openGPU(t)
	losses := library(t)
	o := enginetest.Options{
		Losses:       []engine.ScoreLoss{engine.Logistic{}, losses["sigmoid"], losses["squared-hinge"], losses["root"]},
		MetricLosses: []engine.MetricLoss{}, Short: testing.Short(), PerPair: 1e-4,
		Unsupported: func(p engine.Problem) { t.Logf("declined: %s, radius %v", p.Loss.Name(), p.Radius) },
	}
	enginetest.Run(t, b, o)
	for _, precision := range []Precision{FP32, BF16x3, TF32} {
		b.Precision = precision
		o := metricOptions(precision)
		o.Sizes, o.Radii, o.Unsupported = nil, []float64{1}, nil
		enginetest.Run(t, b, o)
		o.MetricLosses, o.Sizes = metricLosses(t), []int{17, 400}
		enginetest.Run(t, b, o)
	}
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
	Labels  int     `json:"labels"`
	Method  string  `json:"method"`
	Device  string  `json:"device"`
	Pairs   int64   `json:"ordered_pairs"`
	Seconds float64 `json:"seconds"` // the fastest call, all copies included
	// For Mahalanobis losses: the part of the time that the floor of the arithmetic is, and
	// the distance to the gradient of the CPU, relatively.
	OfFloor float64 `json:"of_floor,omitempty"`
	Error   float64 `json:"relative_error,omitempty"`
}

// TestGPUMeasure times gradient sums on the GPU and, by its best method, on the CPU, and
// writes them to the file named by DYAD_GPU_OUT.
func TestGPUMeasure(t *testing.T) {
	out := os.Getenv("DYAD_GPU_OUT")
	if out == "" {
		t.Skip("DYAD_GPU_OUT names no file")
	}
	b, version := openGPU(t)
	r := result{PTX: embeddedPTX(), Device: b.Device.Info(), CUDA: version}
	for _, n := range []int{1e3, 1e4, 1e5, 1e6} {
		for _, d := range []int{8, 32, 128} {
			for _, labels := range []int{2, 5} {
				if labels > 2 && n > 1e5 {
					continue
				}
				p, records, w := measured(t, n, d, labels)
				for _, backend := range []engine.Backend{b, cpu.Backend{}} {
					if labels > 2 && n > 1e4 && backend != engine.Backend(b) {
						continue // minutes on a CPU
					}
					m, err := measure(backend, p, records, w)
					if err != nil {
						t.Error(err)
						continue
					}
					m.Labels = labels
					t.Logf("%+v", m)
					r.Measurements = append(r.Measurements, m)
				}
			}
		}
	}
	metric, err := measureMetric(t, b)
	if err != nil {
		t.Error(err)
	}
	r.Measurements = append(r.Measurements, metric...)
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// embeddedPTX are the hashes of the embedded programs.
func embeddedPTX() map[string]string {
	hashes := map[string]string{}
	for _, name := range kernels.PTXNames() {
		hashes[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(kernels.PTX(name))))
	}
	return hashes
}

func measured(t *testing.T, n, d, labels int) (engine.Problem, *engine.Records, []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, w := make([]float64, n*d), make([]float64, n), make([]float64, d)
	for i := range x {
		x[i] = 2*rng.Float64() - 1
	}
	for i := range y {
		y[i] = 2*float64(rng.IntN(labels))/float64(labels-1) - 1
	}
	w[0] = 1
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: labels}
	r, err := engine.AdoptRecords(x, y, d, p.Bounds)
	if err != nil {
		t.Fatal(err)
	}
	return p, r, w
}

func measure(b engine.Backend, p engine.Problem, r *engine.Records, w []float64) (measurement, error) {
	k, err := b.Plan(p)
	if err != nil {
		return measurement{}, err
	}
	e, err := k.Bind(r)
	if err != nil {
		return measurement{}, err
	}
	pairs := engine.AllPairs{N: p.N}
	m := measurement{N: p.N, D: p.D, Method: k.Method(), Device: b.Name(), Pairs: pairs.Len()}
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
	return m, errors.Join(err, e.Close())
}
