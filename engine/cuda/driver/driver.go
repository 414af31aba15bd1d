// Package driver is the thin layer under the CUDA backend: what a GPU driver
// must offer, and two implementations of it.
//
// Open loads libcuda.so.1 when it is called. It needs no CUDA toolkit and no C
// compiler to build, and a machine without a GPU gets an ordinary error. The environment
// variable DYAD_CUDA_BINDING chooses another binding: libcuda is this one, gorgonia the next.
//
// OpenGorgonia uses gorgonia.org/cu and exists only with
//
//	go build -tags gorgoniacu
//
// and cgo. It is a second, independent binding to compare the first with, and is
// not in the default build because that package ends the process at start if
// there is no GPU, links against libcuda, and needs NVIDIA's headers:
//
//   - cuda.h of CUDA 11 or 12, for example from the PyPI package
//     nvidia-cuda-runtime-cu12, named by CGO_CFLAGS=-I<its include directory>,
//     and libcuda.so (a link or a stub is enough to build), named by
//     CGO_LDFLAGS=-L<its directory>;
//   - with cuda.h of CUDA 13 also a directory placed first in CGO_CFLAGS that holds
//     testdata/cuda13.h as cuda.h.
//
// Where the variable does not ask for it, such a program uses the first binding. gorgonia.sh
// builds it so against a fake libcuda and runs the suite of the fake driver
// on it, without a GPU; so does TestGorgoniaBinding where DYAD_CUDA_H names the headers.
//
// The tag must not be called "cuda": that one changes Gorgonia itself to a build
// that no longer compiles.
package driver

import (
	"errors"
	"fmt"
	"os"
)

// ErrUnavailable means that no GPU can be used on this machine. The error that wraps it
// says why in one sentence; callers fall back to the CPU or stop.
var ErrUnavailable = errors.New("CUDA is not available")

// bindingVariable names the environment variable that chooses what Open uses.
const bindingVariable = "DYAD_CUDA_BINDING"

// Open opens the installed NVIDIA driver through the binding that DYAD_CUDA_BINDING names,
// libcuda if it is not set. If there is no driver or no visible GPU the error wraps
// ErrUnavailable; a binding that this program does not have is another error.
func Open() (Driver, error) {
	switch name := os.Getenv(bindingVariable); name {
	case "", "libcuda":
		return openLibrary()
	case "gorgonia":
		return OpenGorgonia()
	default:
		return nil, fmt.Errorf("driver: %s is %q, want libcuda or gorgonia", bindingVariable, name)
	}
}

// ErrClosed is returned by a Driver after Close.
var ErrClosed = errors.New("driver: already closed")

// Driver is a loaded CUDA driver. Its methods may be called from any goroutine. OpenGPU
// is the road of work to a GPU.
type Driver interface {
	// Version is the newest CUDA version that the driver supports, as
	// 1000 major + 10 minor: 13000 is CUDA 13.0.
	Version() (int, error)
	// Devices lists the visible GPUs in the driver's order, at least one.
	Devices() ([]Device, error)
	// Attach retains the primary context of a GPU and makes it current on the
	// calling thread, which must stay locked until Context.Detach: the driver
	// keeps its current context per thread.
	Attach(index int) (Context, error)
	// Close ends the use of the driver; later calls return ErrClosed. The
	// library stays in memory, because NVIDIA's cannot be unloaded safely.
	Close() error
}

// Device describes one GPU.
type Device struct {
	// Index is the driver's number of the GPU, from 0.
	Index int
	// Name is the product name, such as "NVIDIA H200".
	Name string
	// TotalMemory is the size of the GPU's memory in bytes.
	TotalMemory uint64
	// Major and Minor are the compute capability: 9 and 0 for Hopper.
	Major, Minor int
	// Multiprocessors is the number of streaming multiprocessors.
	Multiprocessors int
}

// Attribute numbers of cuDeviceGetAttribute, from the CUDA driver API manual.
const (
	attrMultiprocessors = 16
	attrMajor           = 75
	attrMinor           = 76
)

// unavailable wraps ErrUnavailable with the reason.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("driver: %w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}
