package driver

import (
	"errors"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestOpen holds on every machine: a GPU is described, or its absence is an
// ordinary error that says why.
func TestOpen(t *testing.T) {
	d, err := Open()
	if err != nil {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v does not wrap ErrUnavailable", err)
		}
		if d != nil || !strings.HasPrefix(err.Error(), "driver: CUDA is not available: ") {
			t.Errorf("got driver %v and error %q", d, err)
		}
		t.Logf("no GPU here: %v", err)
		return
	}
	checkGPUs(t, d)
}

// checkGPUs fails unless d lists at least one plausible GPU, and closes it.
func checkGPUs(t *testing.T, d Driver) []Device {
	t.Helper()
	v, err := d.Version()
	if err != nil || v < 1000 {
		t.Errorf("version %d, %v", v, err)
	}
	devices, err := d.Devices()
	if err != nil || len(devices) == 0 {
		t.Fatalf("devices %v, %v", devices, err)
	}
	for i, dev := range devices {
		if dev.Index != i || dev.Name == "" || dev.TotalMemory < 1<<20 || dev.Major < 1 || dev.Multiprocessors < 1 {
			t.Errorf("implausible GPU %+v", dev)
		}
	}
	must.CheckDo(t, d.Close())
	return devices
}
