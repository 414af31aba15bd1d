//go:build gorgoniacu && cgo && linux && !static

package driver

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/ebitengine/purego"

	"dyad/internal/must"
)

// gorgoniaFake is the fake driver through gorgonia.org/cu. The loader must have found it
// under the usual name: gorgonia.sh sees to that.
func gorgoniaFake(t *testing.T) fake {
	t.Helper()
	d := must.Get(OpenGorgonia())(t)
	handle := must.Get(purego.Dlopen("libcuda.so.1", purego.RTLD_NOW))(t) // the one that is linked
	f, err := controlled(d, handle)
	if err != nil {
		t.Skip("libcuda.so.1 is not the fake driver: run gorgonia.sh")
	}
	return f
}

// TestBindingsAgree: both bindings describe the same GPUs. This test binary
// starts only where the driver finds a GPU.
func TestBindingsAgree(t *testing.T) {
	a := must.Get(Open())(t)
	b := must.Get(OpenGorgonia())(t)
	va, errA := a.Version()
	vb, errB := b.Version()
	if va != vb || errA != nil || errB != nil {
		t.Errorf("versions %d (%v) and %d (%v)", va, errA, vb, errB)
	}
	if da, db := checkGPUs(t, a), checkGPUs(t, b); !reflect.DeepEqual(da, db) {
		t.Errorf("Open: %+v\nOpenGorgonia: %+v", da, db)
	}
	if _, err := b.Devices(); err != ErrClosed {
		t.Errorf("Devices after Close: %v", err)
	}
}

// TestGorgoniaIsSelected: the variable chooses the binding of Open.
func TestGorgoniaIsSelected(t *testing.T) {
	t.Setenv(bindingVariable, "gorgonia")
	d, err := Open()
	if _, ok := d.(*gorgonia); !ok || err != nil {
		t.Errorf("Open gives %T, %v", d, err)
	}
	t.Setenv(bindingVariable, "libcuda")
	d = must.Get(Open())(t)
	if _, ok := d.(*library); !ok {
		t.Errorf("Open gives %T", d)
	}
}

// TestGorgoniaJobs is TestJobsFromManyGoroutines through the other binding.
func TestGorgoniaJobs(t *testing.T) { manyJobs(t, gorgoniaFake(t)) }

// TestGorgoniaCallsFail is TestEveryCallCanFail for the calls that it makes: it has no
// pinned memory, no asynchronous copies of it, no graphs and no attributes to set, and
// compiles without options.
func TestGorgoniaCallsFail(t *testing.T) {
	others := []string{"cuMemAllocHost", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuFuncSetAttribute", "cuModuleLoadDataEx",
		"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"}
	everyCallFails(t, gorgoniaFake(t), slices.DeleteFunc(slices.Clone(calls), func(name string) bool { return slices.Contains(others, name) }))
}

// TestBindingsComputeTheSame: the same job has the same bits.
func TestBindingsComputeTheSame(t *testing.T) {
	var results [][]float64
	for _, d := range []Driver{openFake(t), gorgoniaFake(t)} {
		g := must.Get(OpenGPU(d, 1))(t)
		err := g.Do(context.Background(), func(c Context) error {
			values, err := fillJob(c, 37, 0.1)
			results = append(results, values)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		must.CheckDo(t, g.Close())
	}
	if len(results) != 2 || len(results[0]) != 37 || !slices.Equal(results[0], results[1]) {
		t.Errorf("results %v", results)
	}
}
