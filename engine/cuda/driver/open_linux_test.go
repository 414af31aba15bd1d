//go:build linux && !android && (amd64 || arm64) && !static

package driver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

var mockDevices = []Device{
	{Index: 0, Name: "Mock H200", TotalMemory: 150754820096, Major: 9, Minor: 0, Multiprocessors: 132},
	{Index: 1, Name: "Mock A100", TotalMemory: 42949672961, Major: 8, Minor: 6, Multiprocessors: 108},
}

// mock compiles testdata/fakecuda.c with the given -D definitions over the defaults
// of a machine with two working GPUs, and returns its path.
func mock(t *testing.T, defines ...string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	library := filepath.Join(t.TempDir(), "libcuda.so.1")
	args := []string{"-shared", "-fPIC", "-pthread", "-w", "-o", library}
	for _, name := range []string{"INIT=0", "COUNT=2", "BROKEN=-1"} {
		if !strings.HasPrefix(strings.Join(defines, " "), strings.Split(name, "=")[0]+"=") {
			args = append(args, "-D"+name)
		}
	}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command(gcc, append(args, "testdata/fakecuda.c")...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return library
}

func TestMockDriver(t *testing.T) {
	d := must.Get(open([]string{"/nonexistent/libcuda.so.1", mock(t)}))(t)
	if v, err := d.Version(); v != 13020 || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
	devices, err := d.Devices()
	if err != nil || !reflect.DeepEqual(devices, mockDevices) {
		t.Errorf("got %+v, %v\nwant %+v", devices, err, mockDevices)
	}
	checkGPUs(t, d)
	must.Fail(d.Version())(t, ErrClosed, "Version after Close")
	must.Fail(d.Devices())(t, ErrClosed, "Devices after Close")
	must.FailDo(t, d.Close(), ErrClosed, "second Close")
}

func TestUnavailable(t *testing.T) {
	sizes.NotShort(t, "slow")
	notALibrary := filepath.Join(t.TempDir(), "libcuda.so.1")
	must.Do(t, os.WriteFile(notALibrary, []byte("text"), 0o600))
	for _, c := range []struct {
		name  string
		paths []string
		code  Result // expected cause, or 0
		text  string
	}{
		{"no path", nil, 0, "cannot be loaded"},
		{"no library", []string{"/nonexistent/libcuda.so.1", "/nonexistent/other"}, 0, "/nonexistent/libcuda.so.1"},
		{"not a library", []string{notALibrary}, 0, "cannot be loaded"},
		{"old library", []string{mock(t, "OLD")}, 0, "cuDeviceTotalMem_v2"},
		{"cuInit: no device", []string{mock(t, "INIT=100")}, 100, "cuInit failed"},
		{"cuInit: old library", []string{mock(t, "INIT=35")}, 35, "older than the kernel module"},
		{"cuInit: mismatch", []string{mock(t, "INIT=803")}, 803, "reboot"},
		{"no GPU", []string{mock(t, "COUNT=0")}, 0, "sees no GPU"},
	} {
		d, err := open(c.paths)
		var code Result
		errors.As(err, &code)
		if d != nil || !errors.Is(err, ErrUnavailable) || code != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, %v; want code %d and %q", c.name, d, err, c.code, c.text)
		}
	}
}

// TestDeviceError: a GPU that fails after initialisation is an error, and not
// the absence of CUDA.
func TestDeviceError(t *testing.T) {
	d := must.Get(open([]string{mock(t, "BROKEN=1")}))(t)
	devices, err := d.Devices()
	if devices != nil || !errors.Is(err, Result(101)) || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "GPU 1") {
		t.Errorf("got %v, %v", devices, err)
	}
}

// TestStacksThatGrow calls from fresh goroutines at every depth of the stack, so
// that it grows and moves inside some of the calls. A result that was written to
// the old stack would be lost.
func TestStacksThatGrow(t *testing.T) {
	d := must.Get(open([]string{mock(t)}))(t)
	var wg sync.WaitGroup
	for depth := range 2000 {
		wg.Go(func() {
			if v, err := versionAt(d, depth%400); v != 13020 || err != nil {
				t.Errorf("depth %d: version %d, %v", depth%400, v, err)
			}
		})
		if depth%100 == 99 {
			runtime.GC()
		}
	}
	wg.Wait()
}

//go:noinline
func versionAt(d Driver, depth int) (int, error) {
	if depth > 0 {
		return versionAt(d, depth-1)
	}
	return d.Version()
}
