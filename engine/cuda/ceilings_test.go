package cuda

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/internal/must"
)

// TestCeilings: every number is there, whichever call fails the error arrives and nothing is left,
// and a driver without graphs, or one that fails to capture, is told apart from one with them.
func TestCeilings(t *testing.T) {
	var m Ceilings
	eachCall(t, 60, driver.Result(2), "ceilings", func(f *fakeDriver) (err error) {
		if m, err = openFake(t, f).Device.ceilingsOf(context.Background(), 1<<10, 4); err == nil && m.NoGraph != "" {
			return driver.Result(2)
		}
		return err
	})
	if slices.Min([]float64{m.ToGPU, m.FromGPU, m.Clear, m.Launch, m.RoundTrip}) <= 0 || !strings.Contains(m.String(), "sums run as a CUDA graph") {
		t.Error(m)
	}
	for call, why := range map[string]error{"BeginCapture": errors.ErrUnsupported, "EndCapture": driver.Result(901)} {
		f := newFake()
		f.dry = true
		f.fail = f.failing(call, 0, why)
		m, err := openFake(t, f).Device.ceilingsOf(context.Background(), 1<<10, 4)
		if err != nil || !strings.Contains(m.String(), "no CUDA graph: ") || !strings.Contains(m.NoGraph, why.Error()) {
			t.Errorf("%s: %v, %v", call, m, err)
		}
	}
}

// TestGPUCeilings measures what bounds every other time.
func TestGPUCeilings(t *testing.T) {
	b, _ := openGPU(t)
	bytes, many := ceilingBytes, manyLaunches
	if rehearsed() {
		bytes, many = 1<<10, 4
	}
	m := must.Get(b.Device.ceilingsOf(context.Background(), bytes, many))(t)
	summary(t, "%v", m)
}

// TestGPUTouch sums over 64 records by each family of kernels: it tells in a second whether the
// family answers at all.
func TestGPUTouch(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			b, _ := openGPU(t)
			c := gpuCase{family: f.name, n: 64, d: 8}
			switch f.name {
			case "moments":
				p, r, _ := records(t, c.n, c.d, 2)
				must.CheckDo(t, apart(momentCase{c.n, c.d, engine.Query{Radius: 0.8, Signed: true, Second: engine.FullSecond}}, p, r, b))
				return
			case "networks":
				if what, away, err := networkApart(t, b, 0, c.d, c.n, 0, 1); err != nil || !(away <= networkError) {
					t.Errorf("%s: %.2g from the CPU, %v", what, away, err)
				}
				return
			case "spliced":
				c.labels = 5
			case "groups":
				c.labels, c.group = 5, 16
			case "pairs":
				c.rows = 4
			}
			runCase(t, b, c)
		})
	}
}
