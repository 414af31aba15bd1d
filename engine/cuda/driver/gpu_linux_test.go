//go:build linux && !android && (amd64 || arm64) && !static

package driver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"dyad/internal/must"
)

// fake is an opened testdata/fakecuda.c and its controls.
type fake struct {
	Driver
	live, fail uintptr
}

func openFake(t *testing.T) fake {
	t.Helper()
	path := mock(t)
	d := must.Get(open([]string{path}))(t)
	handle := must.Get(purego.Dlopen(path, purego.RTLD_NOW))(t)
	return must.Get(controlled(d, handle))(t)
}

// controlled finds the controls of a loaded fake driver.
func controlled(d Driver, handle uintptr) (f fake, err error) {
	f.Driver = d
	for name, at := range map[string]*uintptr{"fake_live": &f.live, "fake_fail": &f.fail} {
		if *at, err = purego.Dlsym(handle, name); err != nil {
			return fake{}, err
		}
	}
	return f, nil
}

// leaks returns what is alive: contexts, device memory, host memory, modules,
// streams, events, captured and runnable graphs.
func (f fake) leaks() [8]int {
	var n [8]int
	for i := range n {
		r, _, _ := purego.SyscallN(f.live, uintptr(i+1))
		n[i] = int(r)
	}
	return n
}

func (f fake) failOnce(name string, code, after int) {
	text := append([]byte(name), 0)
	purego.SyscallN(f.fail, uintptr(unsafe.Pointer(&text[0])), uintptr(code), uintptr(after))
}

var fillPTX = []byte(".version 7.0\n.visible .entry fill()\n{}\n")

// fillJob fills n doubles on the GPU with v and returns them, using every call of
// Context, and gives everything back even when a call fails.
func fillJob(c Context, n int, v float64) (values []float64, err error) {
	keep := func(f error) {
		if err == nil {
			err = f
		}
	}
	if _, total, err := c.Memory(); err != nil || total == 0 {
		return nil, fmt.Errorf("memory %d: %w", total, err)
	}
	p, err := c.Alloc(uint64(8 * n))
	if err != nil {
		return nil, err
	}
	defer func() { keep(c.Free(p)) }()
	host, err := c.AllocHost(8 * n)
	if err != nil {
		return nil, err
	}
	defer func() { keep(c.FreeHost(host)) }()
	m, err := c.Load(fillPTX)
	if err != nil {
		return nil, err
	}
	defer func() { keep(c.Unload(m)) }()
	f, err := c.Function(m, "fill")
	if err != nil {
		return nil, err
	}
	s, err := c.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { keep(c.CloseStream(s)) }()
	e, err := c.NewEvent()
	if err != nil {
		return nil, err
	}
	defer func() { keep(c.CloseEvent(e)) }()
	steps := []func() error{
		func() error { return c.SetAttribute(f, DynamicShared, 60000) },
		func() error { return c.Clear(p, uint64(8*n), s) },
		func() error { return c.CopyInAsync(p, host, s) },
		func() error { return c.Record(e, s) },
		func() error { return c.SyncEvent(e) },
		func() error { return c.CopyIn(p, make([]byte, 8*n)) },
		func() error {
			return c.Launch(Launch{Function: f, Grid: [3]int{n}, Block: [3]int{1}, Stream: s, Args: []uint64{uint64(p), uint64(n), math.Float64bits(v)}})
		},
		func() error { return c.SyncStream(s) },
		func() error { return replayed(c, s, p, host, f, n, v) },
		func() error { _, err := c.Elapsed(e, e); return err },
		func() error { _, err := c.Attribute(f, Registers); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
	}
	out := make([]byte, 8*n)
	if err := c.CopyOut(out, p); err != nil {
		return nil, err
	}
	for i := range n {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(out[8*i:])))
	}
	return values, nil
}

// replayed captures a copy in, a fill and a copy out of n numbers, and runs them twice with
// other numbers on the GPU before; the one after what is filled comes from the host.
func replayed(c Context, s Stream, p Pointer, host []byte, f Function, n int, v float64) (err error) {
	if err := c.BeginCapture(s); err != nil {
		return err
	}
	err = errors.Join(c.CopyInAsync(p, host, s),
		c.Launch(Launch{Function: f, Grid: [3]int{n - 1}, Block: [3]int{1}, Stream: s, Args: []uint64{uint64(p), uint64(n - 1), math.Float64bits(v)}}),
		c.CopyOutAsync(host, p, s))
	g, failed := c.EndCapture(s)
	if failed == nil {
		defer func() { err = errors.Join(err, c.CloseGraph(g)) }()
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	last := host[8*(n-1):]
	for i := range byte(2) {
		clear(host)
		last[0] = i + 1
		if err := errors.Join(c.CopyIn(p, make([]byte, 8*n)), c.LaunchGraph(g, s), c.SyncStream(s)); err != nil {
			return err
		}
		if got := math.Float64frombits(binary.LittleEndian.Uint64(host)); got != v || last[0] != i+1 {
			return fmt.Errorf("a graph gives %v and %d", got, last[0])
		}
	}
	return c.CopyIn(p, bytes.Repeat(host[:8], n))
}

// TestJobsFromManyGoroutines: concurrent jobs on two GPUs always find their
// context, and nothing is left behind.
func TestJobsFromManyGoroutines(t *testing.T) { manyJobs(t, openFake(t)) }

func manyJobs(t *testing.T, f fake) {
	t.Helper()
	var gpus []*GPU
	for i := range 2 {
		g := must.Get(OpenGPU(f, i))(t)
		gpus = append(gpus, g)
	}
	if g := gpus[1].Device(); g.Name != "Mock A100" {
		t.Errorf("GPU 1 is %+v", g)
	}
	var wg sync.WaitGroup
	for k := range 64 {
		wg.Go(func() {
			for range 10 {
				var values []float64
				err := gpus[k%2].Do(context.Background(), func(c Context) (err error) {
					values, err = fillJob(c, 5+k, float64(k)+0.25)
					return err
				})
				if err != nil || len(values) != 5+k || values[0] != float64(k)+0.25 || values[4+k] != values[0] {
					t.Errorf("job %d: %v, %v", k, values, err)
				}
			}
		})
	}
	wg.Wait()
	must.Equal(t, f.leaks(), [8]int{2}, "alive before Close")
	for _, g := range gpus {
		must.CheckDo(t, g.Close())
		must.FailDo(t, g.Do(context.Background(), func(Context) error { return nil }), ErrClosed, "Do after Close")
		must.FailDo(t, g.Close(), ErrClosed, "second Close")
	}
	must.Equal(t, f.leaks(), [8]int{}, "alive after Close")
}

// TestContextOfAnotherThread is the control of the test above: without a thread of
// its own a context is not found, and the check for leaks sees what is kept.
func TestContextOfAnotherThread(t *testing.T) {
	f := openFake(t)
	g := must.Get(OpenGPU(f, 0))(t)
	var stolen Context
	must.Do(t, g.Do(context.Background(), func(c Context) error { stolen = c; _, err := c.Alloc(8); return err }))
	if _, err := stolen.Alloc(8); !errors.Is(err, Result(201)) {
		t.Errorf("a call from another thread: %v, want code 201", err)
	}
	if n := f.leaks(); n[1] != 1 {
		t.Errorf("alive: %v, want the block that was kept", n)
	}
	must.CheckDo(t, g.Close())
}

// calls are those that a job makes and that can fail.
var calls = []string{
	"cuMemGetInfo", "cuMemAlloc", "cuMemAllocHost", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemsetD8Async",
	"cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuLaunchKernel",
	"cuStreamCreate", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
	"cuStreamSynchronize", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime",
}

// TestEveryCallCanFail: a failure of any call is reported with its code, name and
// remedy, and nothing leaks.
func TestEveryCallCanFail(t *testing.T) { everyCallFails(t, openFake(t), calls) }

func everyCallFails(t *testing.T, f fake, calls []string) {
	t.Helper()
	g := must.Get(OpenGPU(f, 0))(t)
	defer g.Close()
	for _, name := range calls {
		for _, code := range []Result{2, 201, 218, 221, 222} {
			f.failOnce(name, int(code), 0)
			err := g.Do(context.Background(), func(c Context) error { _, err := fillJob(c, 3, 1); return err })
			if !errors.Is(err, code) || !strings.Contains(err.Error(), strings.TrimPrefix(name, "cu")) && name != "cuMemGetInfo" {
				t.Errorf("%s failing with %d: %v", name, code, err)
			}
		}
	}
	must.Equal(t, f.leaks(), [8]int{1}, "alive")
}

// TestLostContext: a failure that loses the context is one line, that of the call which failed
// first. Nothing runs afterwards, what others give back is given back in silence, and Close succeeds.
func TestLostContext(t *testing.T) {
	f := openFake(t)
	for _, name := range calls {
		f.failOnce("", 0, 0) // another process
		g := must.Get(OpenGPU(f, 0))(t)
		var kept Pointer
		hold := func(c Context) (err error) { kept, err = c.Alloc(8); return err }
		must.Do(t, g.Do(context.Background(), hold))
		f.failOnce(name, 700, 0)
		free := func(c Context) error { return c.Free(kept) }
		first := g.Do(context.Background(), func(c Context) error {
			_, err := fillJob(c, 3, 1)
			return errors.Join(err, free(c), free(c))
		})
		if !errors.Is(first, Result(700)) || strings.Contains(first.Error(), "\n") || name != "cuMemGetInfo" && !strings.Contains(first.Error(), strings.TrimPrefix(name, "cu")) {
			t.Errorf("%s: %v", name, first)
		}
		ran := false
		if err := g.Do(context.Background(), func(Context) error { ran = true; return nil }); ran || err == nil || err.Error() != first.Error() {
			t.Errorf("%s: the job after it: %v, ran: %v", name, err, ran)
		}
		must.CheckDo(t, errors.Join(g.Release(free), g.Close()), name)
	}
	f.failOnce("", 0, 0)
	g := must.Get(OpenGPU(f, 0))(t)
	defer g.Close()
	f.failOnce("cuMemFree", 700, 0) // the first that hears of it reports it
	must.FailDo(t, g.Release(func(c Context) error { return c.Free(0) }), "700", "a release that loses the context")
}

func TestOpenGPUErrors(t *testing.T) {
	f := openFake(t)
	for _, index := range []int{-1, 2} {
		if _, err := OpenGPU(f, index); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "sees 2") {
			t.Errorf("GPU %d: %v", index, err)
		}
	}
	for name, code := range map[string]Result{"cuDevicePrimaryCtxRetain": 2, "cuCtxSetCurrent": 999} {
		f.failOnce(name, int(code), 0)
		if _, err := OpenGPU(f, 0); !errors.Is(err, ErrUnavailable) || !errors.Is(err, code) {
			t.Errorf("%s failing: %v", name, err)
		}
	}
	must.Equal(t, f.leaks(), [8]int{}, "alive after failures")
}

// TestCompilerLog: the log of the compiler is in the error.
func TestCompilerLog(t *testing.T) {
	g := must.Get(OpenGPU(openFake(t), 0))(t)
	defer g.Close()
	err := g.Do(context.Background(), func(c Context) error { _, err := c.Load([]byte("nothing")); return err })
	if !errors.Is(err, Result(218)) || !strings.Contains(err.Error(), "ptxas fatal: no entry fill") {
		t.Errorf("got %v", err)
	}
}

// TestDoHonoursContext: a job that has not started is not run.
func TestDoHonoursContext(t *testing.T) {
	g := must.Get(OpenGPU(openFake(t), 0))(t)
	ctx, cancel := context.WithCancel(context.Background())
	running, release := make(chan struct{}), make(chan struct{})
	var late atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = g.Do(context.Background(), func(Context) error { close(running); <-release; return nil })
	})
	<-running
	wg.Go(func() {
		must.Equal(t, g.Do(ctx, func(Context) error { late.Store(true); return nil }), context.Canceled, "got")
	})
	cancel()
	must.Equal(t, g.Do(ctx, func(Context) error { late.Store(true); return nil }), context.Canceled, "got")
	close(release)
	wg.Wait()
	if late.Load() {
		t.Error("a cancelled job ran")
	}
	must.CheckDo(t, g.Close())
}

// TestNoGraphs: an older driver opens, and says that it has no graphs.
func TestNoGraphs(t *testing.T) {
	d := must.Get(open([]string{mock(t, "OLD_GRAPHS")}))(t)
	g := must.Get(OpenGPU(d, 0))(t)
	defer g.Close()
	err := g.Do(context.Background(), func(c Context) error {
		s, err := c.NewStream()
		return errors.Join(err, c.BeginCapture(s), c.CloseStream(s))
	})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
