//go:build linux && !android && (amd64 || arm64) && !static

package driver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// openLibrary loads the installed NVIDIA driver and initialises it. If the environment variable DYAD_LIBCUDA is
// set, openLibrary tries only the library that the variable names.
func openLibrary() (Driver, error) {
	if path := os.Getenv("DYAD_LIBCUDA"); path != "" {
		return open([]string{path})
	}
	return open([]string{
		"libcuda.so.1",                         // the loader's search path
		"/usr/lib/wsl/lib/libcuda.so.1",        // Windows Subsystem for Linux
		"/usr/local/nvidia/lib64/libcuda.so.1", // NVIDIA's containers
	})
}

// library is libcuda, loaded by the dynamic loader. Its fields are the addresses of the C functions. Symbol
// names with a suffix such as _v2 are explicit versions. Without the suffix, the loader finds the 32-bit
// functions of CUDA 3.
type library struct {
	closed atomic.Bool

	cuInit, cuDriverGetVersion, cuDeviceGetCount, cuDeviceGet, cuDeviceGetName, cuDeviceTotalMem,
	cuDeviceGetAttribute uintptr

	cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease, cuCtxSetCurrent uintptr

	cuMemGetInfo, cuMemAlloc, cuMemFree, cuMemAllocHost, cuMemFreeHost uintptr

	cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemsetD8Async uintptr

	cuModuleLoadDataEx, cuModuleUnload, cuModuleGetFunction, cuFuncGetAttribute, cuFuncSetAttribute, cuLaunchKernel uintptr

	cuStreamCreate, cuStreamDestroy, cuStreamSynchronize uintptr

	// These functions exist since CUDA 11.4. If the driver lacks one of them, all are 0.
	cuStreamBeginCapture, cuStreamEndCapture, cuGraphInstantiateWithFlags, cuGraphLaunch, cuGraphDestroy,
	cuGraphExecDestroy uintptr

	cuEventCreate, cuEventDestroy, cuEventRecord, cuEventSynchronize, cuEventElapsedTime uintptr
}

// open loads the first library of paths that can be loaded.
func open(paths []string) (Driver, error) {
	runtime.LockOSThread() // dlerror returns the last error of the calling thread
	defer runtime.UnlockOSThread()
	var handle uintptr
	var failed error
	for _, path := range paths {
		h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			handle = h
			break
		}
		if failed == nil { // keeps the loader's error for the usual name
			failed = err
		}
	}
	if handle == 0 {
		if failed == nil {
			failed = errors.New("no library was named")
		}
		if name, _, missing := strings.Cut(failed.Error(), ": cannot open shared object file: No such file"); missing {
			return nil, unavailable("no NVIDIA driver (%s not found)", name)
		}
		return nil, unavailable("the NVIDIA driver library cannot be loaded: %w", failed)
	}
	l := &library{}
	for _, s := range []struct {
		name string
		at   *uintptr
	}{
		{"cuInit", &l.cuInit},
		{"cuDriverGetVersion", &l.cuDriverGetVersion},
		{"cuDeviceGetCount", &l.cuDeviceGetCount},
		{"cuDeviceGet", &l.cuDeviceGet},
		{"cuDeviceGetName", &l.cuDeviceGetName},
		{"cuDeviceTotalMem_v2", &l.cuDeviceTotalMem},
		{"cuDeviceGetAttribute", &l.cuDeviceGetAttribute},
		{"cuDevicePrimaryCtxRetain", &l.cuDevicePrimaryCtxRetain},
		{"cuDevicePrimaryCtxRelease_v2", &l.cuDevicePrimaryCtxRelease},
		{"cuCtxSetCurrent", &l.cuCtxSetCurrent},
		{"cuMemGetInfo_v2", &l.cuMemGetInfo},
		{"cuMemAlloc_v2", &l.cuMemAlloc},
		{"cuMemFree_v2", &l.cuMemFree},
		{"cuMemAllocHost_v2", &l.cuMemAllocHost},
		{"cuMemFreeHost", &l.cuMemFreeHost},
		{"cuMemcpyHtoD_v2", &l.cuMemcpyHtoD},
		{"cuMemcpyDtoH_v2", &l.cuMemcpyDtoH},
		{"cuMemcpyHtoDAsync_v2", &l.cuMemcpyHtoDAsync},
		{"cuMemcpyDtoHAsync_v2", &l.cuMemcpyDtoHAsync},
		{"cuMemsetD8Async", &l.cuMemsetD8Async},
		{"cuModuleLoadDataEx", &l.cuModuleLoadDataEx},
		{"cuModuleUnload", &l.cuModuleUnload},
		{"cuModuleGetFunction", &l.cuModuleGetFunction},
		{"cuFuncGetAttribute", &l.cuFuncGetAttribute},
		{"cuFuncSetAttribute", &l.cuFuncSetAttribute},
		{"cuLaunchKernel", &l.cuLaunchKernel},
		{"cuStreamCreate", &l.cuStreamCreate},
		{"cuStreamDestroy_v2", &l.cuStreamDestroy},
		{"cuStreamSynchronize", &l.cuStreamSynchronize},
		{"cuEventCreate", &l.cuEventCreate},
		{"cuEventDestroy_v2", &l.cuEventDestroy},
		{"cuEventRecord", &l.cuEventRecord},
		{"cuEventSynchronize", &l.cuEventSynchronize},
		{"cuEventElapsedTime", &l.cuEventElapsedTime},
	} {
		p, err := purego.Dlsym(handle, s.name)
		if err != nil {
			return nil, unavailable("the NVIDIA driver library has no function %s; update the driver", s.name)
		}
		*s.at = p
	}
	l.findGraphs(handle)
	if err := call(l.cuInit, 0); err != nil {
		return nil, unavailable("cuInit failed: %w", err)
	}
	n, err := l.count()
	switch {
	case err != nil:
		return nil, unavailable("cuDeviceGetCount failed: %w", err)
	case n < 1:
		return nil, unavailable("the driver sees no GPU; check CUDA_VISIBLE_DEVICES")
	}
	return l, nil
}

// call calls a driver function and converts its CUresult to an error.
//
// The directive is needed because callers pass uintptr(unsafe.Pointer(&x)). It moves x to the heap and keeps x
// alive during the call. Without the directive, a growing stack could move x while C writes to the old address.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(fn, args...)
	if code := int32(r); code != 0 { // CUresult is a C int; the upper half is undefined
		return Result(code)
	}
	return nil
}

// locked runs f on one operating-system thread, because the driver keeps its current context per thread.
func locked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}

func (l *library) count() (int, error) {
	var n int32
	err := call(l.cuDeviceGetCount, uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

func (l *library) Version() (int, error) {
	if l.closed.Load() {
		return 0, ErrClosed
	}
	var v int32
	if err := call(l.cuDriverGetVersion, uintptr(unsafe.Pointer(&v))); err != nil {
		return 0, fmt.Errorf("driver: cuDriverGetVersion: %w", err)
	}
	return int(v), nil
}

func (l *library) Devices() ([]Device, error) {
	if l.closed.Load() {
		return nil, ErrClosed
	}
	var devices []Device
	err := locked(func() error {
		n, err := l.count()
		if err != nil {
			return fmt.Errorf("driver: cuDeviceGetCount: %w", err)
		}
		for i := range n {
			d, err := l.device(i)
			if err != nil {
				return fmt.Errorf("driver: GPU %d: %w", i, err)
			}
			devices = append(devices, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return devices, nil
}

func (l *library) device(index int) (Device, error) {
	var handle int32
	if err := call(l.cuDeviceGet, uintptr(unsafe.Pointer(&handle)), uintptr(index)); err != nil {
		return Device{}, fmt.Errorf("cuDeviceGet: %w", err)
	}
	d := Device{Index: index}

	name := make([]byte, 256)
	if err := call(l.cuDeviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(handle)); err != nil {
		return Device{}, fmt.Errorf("cuDeviceGetName: %w", err)
	}
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	d.Name = strings.TrimSpace(string(name))

	if err := call(l.cuDeviceTotalMem, uintptr(unsafe.Pointer(&d.TotalMemory)), uintptr(handle)); err != nil {
		return Device{}, fmt.Errorf("cuDeviceTotalMem: %w", err)
	}
	for _, a := range []struct {
		number uintptr
		value  *int
	}{{attrMajor, &d.Major}, {attrMinor, &d.Minor}, {attrMultiprocessors, &d.Multiprocessors}} {
		var v int32
		if err := call(l.cuDeviceGetAttribute, uintptr(unsafe.Pointer(&v)), a.number, uintptr(handle)); err != nil {
			return Device{}, fmt.Errorf("cuDeviceGetAttribute %d: %w", a.number, err)
		}
		*a.value = int(v)
	}
	return d, nil
}

func (l *library) Close() error {
	if l.closed.Swap(true) {
		return ErrClosed
	}
	return nil
}
