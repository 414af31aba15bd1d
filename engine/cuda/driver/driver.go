// Package driver is a thin layer between the CUDA backend and a GPU driver. It defines the interfaces Driver
// and Context and has two implementations of them.
//
// Open loads libcuda.so.1 when it is called. Building this binding needs no CUDA toolkit and no C compiler. On
// a machine without a GPU, Open returns an ordinary error. The environment variable DYAD_CUDA_BINDING chooses
// the binding: libcuda is the binding of Open, and gorgonia is the binding of OpenGorgonia.
//
// OpenGorgonia uses gorgonia.org/cu and exists only with
//
//	go build -tags gorgoniacu
//
// and cgo. It is a second, independent binding, which can be compared with the first binding. It is not in the
// default build, because gorgonia.org/cu ends the process at start if there is no GPU, links against libcuda,
// and needs NVIDIA's headers:
//
//   - cuda.h of CUDA 11 or 12, for example from the PyPI package nvidia-cuda-runtime-cu12. Its include directory is
//     set by CGO_CFLAGS=-I<directory>. With cuda.h of CUDA 13, CGO_CFLAGS must name another directory first, which
//     contains testdata/cuda13.h under the name cuda.h.
//   - libcuda.so. A link or a stub is enough to build. Its directory is set by CGO_LDFLAGS=-L<directory>.
//
// If DYAD_CUDA_BINDING does not choose gorgonia, a program with this tag uses the first binding. The script
// gorgonia.sh builds the second binding against a fake libcuda and runs the test suite of the fake driver with
// it, without a GPU. If DYAD_CUDA_H names the headers, TestGorgoniaBinding runs the same suite.
//
// The tag must not be called "cuda", because the tag cuda selects files of Gorgonia that no longer compile.
package driver

import (
	"errors"
	"fmt"
	"os"
)

// ErrUnavailable means that this program cannot use a GPU on this machine. The error that wraps ErrUnavailable
// gives the reason in one sentence. Callers use the CPU instead, or stop.
var ErrUnavailable = errors.New("CUDA is not available")

// bindingVariable is the name of the environment variable that chooses the binding for Open.
const bindingVariable = "DYAD_CUDA_BINDING"

// Open opens the installed NVIDIA driver through the binding that DYAD_CUDA_BINDING names. If the variable is
// not set, the binding is libcuda. If there is no driver or no visible GPU, the error wraps ErrUnavailable. If
// the program does not have the binding, Open returns an error that does not wrap ErrUnavailable.
func Open() (Driver, error) {
	switch name := os.Getenv(bindingVariable); name {
	case "", "libcuda":
		return openLibrary()
	case "gorgonia":
		return OpenGorgonia()
	default:
		return nil, fmt.Errorf("driver: %s is %q, but it must be libcuda or gorgonia", bindingVariable, name)
	}
}

// ErrClosed is the error of calls of a Driver or a GPU after Close.
var ErrClosed = errors.New("driver: already closed")

// Driver is a loaded CUDA driver. Its methods may be called from any goroutine. To run work on a GPU, use OpenGPU.
type Driver interface {
	// Version returns the newest CUDA version that the driver supports, as 1000 major + 10 minor. For example,
	// 13000 is CUDA 13.0.
	Version() (int, error)
	// Devices returns the visible GPUs in the driver's order. There is at least one.
	Devices() ([]Device, error)
	// Attach retains the primary context of a GPU and makes it current on the calling thread. The goroutine
	// must stay locked to this thread until Context.Detach, because the driver keeps its current context per
	// thread.
	Attach(index int) (Context, error)
	// Close ends the use of the driver. Later calls return ErrClosed. The library stays in memory, because
	// NVIDIA's library cannot be unloaded safely.
	Close() error
}

// Device describes one GPU.
type Device struct {
	// Index is the driver's number of the GPU. Numbers begin at 0.
	Index int
	// Name is the product name, such as "NVIDIA H200".
	Name string
	// TotalMemory is the size of the GPU's memory in bytes.
	TotalMemory uint64
	// Major and Minor are the two parts of the compute capability, for example 9 and 0 for Hopper.
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

// unavailable returns an error that wraps ErrUnavailable and contains the reason.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("driver: %w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}
