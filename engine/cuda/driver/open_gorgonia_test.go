//go:build gorgoniacu && cgo

package driver

import (
	"reflect"
	"testing"
)

// TestBindingsAgree: both bindings describe the same GPUs. This test binary
// starts only where the driver finds a GPU.
func TestBindingsAgree(t *testing.T) {
	a, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenGorgonia()
	if err != nil {
		t.Fatal(err)
	}
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
