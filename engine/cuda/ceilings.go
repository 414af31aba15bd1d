package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Ceilings holds measured rates and times of the driver and the GPU that limit the speed of every run.
type Ceilings struct {
	// ToGPU and FromGPU are the rates of copies between page-locked host memory and the GPU, in bytes per
	// second. Clear is the rate at which the GPU writes its own memory, in bytes per second.
	ToGPU   float64 `json:"to_gpu_bytes_per_second"`
	FromGPU float64 `json:"from_gpu_bytes_per_second"`
	Clear   float64 `json:"clear_bytes_per_second"`
	// Launch is the mean time of a launch in a series of many launches, in seconds. RoundTrip is the time of
	// one launch including the wait for its end, in seconds.
	Launch    float64 `json:"launch_seconds"`
	RoundTrip float64 `json:"round_trip_seconds"`
	// NoGraph is the reason why near-linear sums are not replayed as a CUDA graph. It is "" if they are replayed.
	NoGraph string `json:"no_graph,omitempty"`
}

// String returns all numbers in one line.
func (m Ceilings) String() string {
	graph := "sums run as a CUDA graph"
	if m.NoGraph != "" {
		graph = "no CUDA graph: " + m.NoGraph
	}
	return fmt.Sprintf("copies %.3g GB/s to the GPU, %.3g back; its memory %.3g GB/s; a launch %.2g us, with a wait "+
		"%.2g us; %s", m.ToGPU/1e9, m.FromGPU/1e9, m.Clear/1e9, 1e6*m.Launch, 1e6*m.RoundTrip, graph)
}

const (
	ceilingBytes   = 64 << 20 // bytes of a copy
	ceilingRepeats = 5        // number of repetitions; only the fastest counts
	manyLaunches   = 1000
)

// Ceilings measures the Ceilings of the device in about a tenth of a second. The error comes from the driver.
func (d *Device) Ceilings(ctx context.Context) (m Ceilings, err error) {
	return d.ceilingsOf(ctx, ceilingBytes, manyLaunches)
}

func (d *Device) ceilingsOf(ctx context.Context, bytes, many int) (m Ceilings, err error) {
	err = d.do(ctx, func(c *job) {
		module := d.load(c, kernels.PTX("rows"))
		c.try(func(on driver.Context) error { return m.measure(ctx, on, module, bytes, many) })
	})
	if err == nil {
		m.NoGraph, err = d.noGraph(ctx)
	}
	return m, err
}

func (m *Ceilings) measure(ctx context.Context, c driver.Context, module *module, bytes, many int) (err error) {
	keep := func(f error) { err = errors.Join(err, f) }
	host, err := c.AllocHost(bytes)
	if err != nil {
		return err
	}
	defer func() { keep(c.FreeHost(host)) }()
	at, err := c.Alloc(uint64(bytes))
	if err != nil {
		return err
	}
	defer func() { keep(c.Free(at)) }()
	stream, err := c.NewStream()
	if err != nil {
		return err
	}
	defer func() { keep(errors.Join(c.SyncStream(stream), c.CloseStream(stream))) }() // before the buffers are freed
	launches := func(count int) func() error {
		return func() error {
			own := job{driver: inStream{c, stream}}
			for range count { // sums of no vectors
				own.launch(module, "combine", 1, 1, uint64(at), uint64(at), 0, 1)
			}
			return own.err
		}
	}
	for _, step := range []struct {
		to    *float64
		work  float64 // work done in the measured time
		rate  bool
		start func() error
	}{
		{&m.ToGPU, float64(bytes), true, func() error { return c.CopyInAsync(at, host, stream) }},
		{&m.FromGPU, float64(bytes), true, func() error { return c.CopyOutAsync(host, at, stream) }},
		{&m.Clear, float64(bytes), true, func() error { return c.Clear(at, uint64(bytes), stream) }},
		{&m.RoundTrip, 1, false, launches(1)},
		{&m.Launch, float64(many), false, launches(many)},
	} {
		var best time.Duration
		for i := range ceilingRepeats {
			if err := ctx.Err(); err != nil {
				return err
			}
			begin := time.Now()
			if err := errors.Join(step.start(), c.SyncStream(stream)); err != nil {
				return err
			}
			if took := max(time.Since(begin), time.Nanosecond); i == 0 || took < best {
				best = took
			}
		}
		if *step.to = best.Seconds() / step.work; step.rate {
			*step.to = step.work / best.Seconds()
		}
	}
	return nil
}

// noGraph computes two sums over few records; the second sum normally captures a CUDA graph. If no graph was
// captured, noGraph returns the reason.
func (d *Device) noGraph(ctx context.Context) (why string, err error) {
	const n = 64
	x, y, dst := make([]float64, n), make([]float64, n), make([]float64, 1)
	for i := range y {
		x[i], y[i] = float64(i)/n, float64(2*(i%2)-1)
	}
	p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}
	r, err := engine.NewRecords(x, y, 1, p.Bounds)
	if err != nil {
		return "", err
	}
	k, err := Backend{Device: d, Method: NearLinear}.plan(p)
	if err != nil {
		return "", err
	}
	e, err := k.Bind(r)
	if err != nil {
		return "", err
	}
	for range 2 {
		if err := e.Sum(ctx, dst, engine.Gradient([]float64{0.5}, p.Pairs())); err != nil {
			return "", errors.Join(err, e.Close())
		}
	}
	if none := e.(*evaluator).replay.none; none != nil {
		why = none.Error()
	}
	return why, e.Close()
}
