package cuda

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"dyad/engine/cuda/driver"
)

// Device is an opened GPU and the kernels compiled for it. Its methods may be called
// from any goroutine.
type Device struct {
	gpu  *driver.GPU // nil for a named GPU, which is not in this machine
	name string      // name of the device on the command line
	info driver.Device
	// modules holds the compiled PTX programs by hash. Only jobs access modules, and jobs run one at a time.
	modules map[[sha256.Size]byte]*module
}

type module struct {
	handle    driver.Module
	functions map[string]driver.Function
}

// Info holds a driver's facts about a GPU.
type Info = driver.Device

// ErrUnavailable is wrapped by errors about a missing GPU or a missing driver.
var ErrUnavailable = driver.ErrUnavailable

// OpenNumber opens the installed driver and attaches to GPU number index.
func OpenNumber(index int) (*Device, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	return Open(d, index)
}

// Devices returns the GPUs that the driver finds.
func Devices() ([]driver.Device, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Devices()
}

// Usable returns nil if the GPU has compute capability 8.0 or more, for which the kernels are compiled.
// Otherwise the error wraps driver.ErrUnavailable and names the GPU and its compute capability.
func Usable(g driver.Device) error {
	if g.Major >= 8 {
		return nil
	}
	return fmt.Errorf("cuda: %w: GPU %d (%s) has compute capability %d.%d, but the kernels need 8.0 or more",
		driver.ErrUnavailable, g.Index, g.Name, g.Major, g.Minor)
}

// Open attaches to GPU number index. If the GPU cannot be used, the error wraps driver.ErrUnavailable.
func Open(d driver.Driver, index int) (*Device, error) {
	gpu, err := driver.OpenGPU(d, index)
	if err != nil {
		return nil, err
	}
	if err := Usable(gpu.Device()); err != nil {
		return nil, errors.Join(err, gpu.Close())
	}
	return &Device{gpu: gpu, name: fmt.Sprintf("cuda:%d", index), info: gpu.Device(),
		modules: map[[sha256.Size]byte]*module{}}, nil
}

// Name returns the name of the device on the command line, such as "cuda:0".
func (d *Device) Name() string { return d.name }

// Info returns the driver's facts about the GPU.
func (d *Device) Info() driver.Device { return d.info }

// release runs a job that frees memory and other resources on the GPU.
func (d *Device) release(job func(c driver.Context) error) error { return d.gpu.Release(job) }

// Close releases the GPU. The caller must first close all evaluators on the device.
func (d *Device) Close() error {
	if d.gpu == nil {
		return nil
	}
	err := d.release(func(c driver.Context) error {
		for hash, m := range d.modules {
			if err := c.Unload(m.handle); err != nil {
				return err
			}
			delete(d.modules, hash)
		}
		return nil
	})
	if closed := d.gpu.Close(); err == nil {
		err = closed
	}
	return err
}
