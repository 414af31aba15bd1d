//go:build gorgoniacu && cgo && !static

package driver

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"gorgonia.org/cu"
)

// OpenGorgonia is Open through gorgonia.org/cu. If there is no GPU, a program that contains this binding ends
// with exit status 1 before main. If there is a GPU, an error of OpenGorgonia wraps ErrUnavailable. The package
// documentation describes how to build and choose this binding.
func OpenGorgonia() (Driver, error) {
	n, err := cu.NumDevices()
	switch {
	case err != nil:
		return nil, unavailable("cuDeviceGetCount failed: %w", err)
	case n < 1:
		return nil, unavailable("the driver sees no GPU; check CUDA_VISIBLE_DEVICES")
	}
	return &gorgonia{}, nil
}

type gorgonia struct{ closed atomic.Bool }

func (g *gorgonia) Version() (int, error) {
	if g.closed.Load() {
		return 0, ErrClosed
	}
	v := cu.Version()
	if v < 0 {
		return 0, errors.New("driver: cuDriverGetVersion failed")
	}
	return v, nil
}

func (g *gorgonia) Devices() ([]Device, error) {
	if g.closed.Load() {
		return nil, ErrClosed
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("driver: cuDeviceGetCount: %w", err)
	}
	devices := make([]Device, 0, n)
	for i := range n {
		d, err := gorgoniaDevice(i)
		if err != nil {
			return nil, fmt.Errorf("driver: GPU %d: %w", i, err)
		}
		devices = append(devices, d)
	}
	return devices, nil
}

func gorgoniaDevice(index int) (Device, error) {
	handle, err := cu.GetDevice(index)
	if err != nil {
		return Device{}, fmt.Errorf("cuDeviceGet: %w", err)
	}
	name, err := handle.Name()
	if err != nil {
		return Device{}, fmt.Errorf("cuDeviceGetName: %w", err)
	}
	memory, err := handle.TotalMem()
	if err != nil {
		return Device{}, fmt.Errorf("cuDeviceTotalMem: %w", err)
	}
	attrs, err := handle.Attributes(cu.ComputeCapabilityMajor, cu.ComputeCapabilityMinor, cu.MultiprocessorCount)
	if err != nil {
		return Device{}, fmt.Errorf("cuDeviceGetAttribute: %w", err)
	}
	return Device{
		Index:           index,
		Name:            strings.TrimSpace(name),
		TotalMemory:     uint64(memory),
		Major:           attrs[0],
		Minor:           attrs[1],
		Multiprocessors: attrs[2],
	}, nil
}

func (g *gorgonia) Close() error {
	if g.closed.Swap(true) {
		return ErrClosed
	}
	return nil
}
