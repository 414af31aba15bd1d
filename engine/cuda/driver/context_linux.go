//go:build linux && !android && (amd64 || arm64) && !static

package driver

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// primary is the primary context of a GPU.
type primary struct {
	*library
	device uintptr
	// words and params are the arguments of a launch. The driver reads them during the call. As fields they are
	// on the heap, so they do not move and a launch does not allocate memory.
	words  [maxLaunchWords]uint64
	params [maxLaunchWords]uintptr
	launch [11]uintptr
}

// Attach implements Driver.
func (l *library) Attach(index int) (Context, error) {
	if l.closed.Load() {
		return nil, ErrClosed
	}
	var handle int32
	if err := call(l.cuDeviceGet, uintptr(unsafe.Pointer(&handle)), uintptr(index)); err != nil {
		return nil, fmt.Errorf("cuDeviceGet: %w", err)
	}
	c := &primary{library: l, device: uintptr(handle)}
	for i := range c.params {
		c.params[i] = uintptr(unsafe.Pointer(&c.words[i]))
	}
	var ctx uintptr
	if err := call(l.cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), c.device); err != nil {
		return nil, fmt.Errorf("cuDevicePrimaryCtxRetain: %w", err)
	}
	if err := call(l.cuCtxSetCurrent, ctx); err != nil {
		_ = call(l.cuDevicePrimaryCtxRelease, c.device) // the first error is more informative
		return nil, fmt.Errorf("cuCtxSetCurrent: %w", err)
	}
	return c, nil
}

// Detach implements Context.
func (c *primary) Detach() error {
	unset := call(c.cuCtxSetCurrent, 0)
	if err := call(c.cuDevicePrimaryCtxRelease, c.device); err != nil {
		return fmt.Errorf("driver: cuDevicePrimaryCtxRelease: %w", err)
	}
	return named("cuCtxSetCurrent", unset)
}

// Memory implements Context.
func (c *primary) Memory() (free, total uint64, err error) {
	err = call(c.cuMemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, named("cuMemGetInfo", err)
}

// Alloc implements Context.
func (c *primary) Alloc(bytes uint64) (Pointer, error) {
	var p Pointer
	if err := call(c.cuMemAlloc, uintptr(unsafe.Pointer(&p)), uintptr(max(bytes, 1))); err != nil {
		return 0, fmt.Errorf("driver: cuMemAlloc of %d bytes: %w", bytes, err)
	}
	return p, nil
}

// Free implements Context.
func (c *primary) Free(p Pointer) error { return named("cuMemFree", call(c.cuMemFree, uintptr(p))) }

// AllocHost implements Context.
func (c *primary) AllocHost(bytes int) ([]byte, error) {
	var p unsafe.Pointer // memory of the driver, which the garbage collector ignores
	if err := call(c.cuMemAllocHost, uintptr(unsafe.Pointer(&p)), uintptr(max(bytes, 1))); err != nil {
		return nil, fmt.Errorf("driver: cuMemAllocHost of %d bytes: %w", bytes, outOfPinned(err))
	}
	return unsafe.Slice((*byte)(p), max(bytes, 1)), nil
}

// FreeHost implements Context.
func (c *primary) FreeHost(b []byte) error {
	return named("cuMemFreeHost", call(c.cuMemFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(b)))))
}

// CopyIn implements Context.
func (c *primary) CopyIn(dst Pointer, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return named("cuMemcpyHtoD", call(c.cuMemcpyHtoD, uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))),
		uintptr(len(src))))
}

// CopyOut implements Context.
func (c *primary) CopyOut(dst []byte, src Pointer) error {
	if len(dst) == 0 {
		return nil
	}
	return named("cuMemcpyDtoH", call(c.cuMemcpyDtoH, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src),
		uintptr(len(dst))))
}

// CopyInAsync implements Context.
func (c *primary) CopyInAsync(dst Pointer, src []byte, s Stream) error {
	if len(src) == 0 {
		return nil
	}
	return named("cuMemcpyHtoDAsync", call(c.cuMemcpyHtoDAsync, uintptr(dst),
		uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), uintptr(s)))
}

// CopyOutAsync implements Context.
func (c *primary) CopyOutAsync(dst []byte, src Pointer, s Stream) error {
	if len(dst) == 0 {
		return nil
	}
	return named("cuMemcpyDtoHAsync", call(c.cuMemcpyDtoHAsync, uintptr(unsafe.Pointer(unsafe.SliceData(dst))),
		uintptr(src), uintptr(len(dst)), uintptr(s)))
}

// Clear implements Context.
func (c *primary) Clear(dst Pointer, bytes uint64, s Stream) error {
	return named("cuMemsetD8Async", call(c.cuMemsetD8Async, uintptr(dst), 0, uintptr(bytes), uintptr(s)))
}

// Options of cuModuleLoadDataEx, from the CUDA driver API manual.
const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
)

// Load implements Context.
func (c *primary) Load(ptx []byte) (Module, error) {
	image := append(ptx[:len(ptx):len(ptx)], 0)
	log := make([]byte, jitLogBytes)
	var pin runtime.Pinner // pinned because values contains its address
	pin.Pin(&log[0])
	defer pin.Unpin()
	options := []uint32{jitErrorLog, jitErrorLogBytes}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	var m Module
	err := call(c.cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	if err == nil {
		return m, nil
	}
	if end := bytes.IndexByte(log, 0); end >= 0 {
		log = log[:end]
	}
	if text := strings.TrimSpace(string(log)); text != "" {
		return 0, fmt.Errorf("driver: cuModuleLoadDataEx: %w\n%s", err, text)
	}
	return 0, fmt.Errorf("driver: cuModuleLoadDataEx: %w", err)
}

// Unload implements Context.
func (c *primary) Unload(m Module) error {
	return named("cuModuleUnload", call(c.cuModuleUnload, uintptr(m)))
}

// Function implements Context.
func (c *primary) Function(m Module, name string) (Function, error) {
	var f Function
	text := append([]byte(name), 0)
	if err := call(c.cuModuleGetFunction, uintptr(unsafe.Pointer(&f)), uintptr(m),
		uintptr(unsafe.Pointer(&text[0]))); err != nil {
		return 0, fmt.Errorf("driver: cuModuleGetFunction %q: %w", name, err)
	}
	return f, nil
}

// Attribute implements Context.
func (c *primary) Attribute(f Function, a Attribute) (int, error) {
	var v int32
	err := call(c.cuFuncGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(a), uintptr(f))
	return int(v), named("cuFuncGetAttribute", err)
}

// SetAttribute implements Context.
func (c *primary) SetAttribute(f Function, a Attribute, value int) error {
	return named("cuFuncSetAttribute", call(c.cuFuncSetAttribute, uintptr(f), uintptr(a), uintptr(value)))
}

// Launch implements Context.
func (c *primary) Launch(l Launch) error {
	if len(l.Args) > maxLaunchWords {
		return fmt.Errorf("driver: Launch: there are %d arguments, but at most %d are allowed", len(l.Args), maxLaunchWords)
	}
	copy(c.words[:], l.Args)
	c.launch = [11]uintptr{
		uintptr(l.Function), dim(l.Grid[0]), dim(l.Grid[1]), dim(l.Grid[2]),
		dim(l.Block[0]), dim(l.Block[1]), dim(l.Block[2]), uintptr(l.Shared),
		uintptr(l.Stream), uintptr(unsafe.Pointer(&c.params)), 0,
	}
	r, _, _ := purego.SyscallN(c.cuLaunchKernel, c.launch[:]...)
	if code := int32(r); code != 0 {
		return fmt.Errorf("driver: cuLaunchKernel: %w", Result(code))
	}
	return nil
}

const streamNonBlocking = 1

// NewStream implements Context.
func (c *primary) NewStream() (Stream, error) {
	var s Stream
	err := call(c.cuStreamCreate, uintptr(unsafe.Pointer(&s)), streamNonBlocking)
	return s, named("cuStreamCreate", err)
}

// SyncStream implements Context.
func (c *primary) SyncStream(s Stream) error {
	return named("cuStreamSynchronize", call(c.cuStreamSynchronize, uintptr(s)))
}

// CloseStream implements Context.
func (c *primary) CloseStream(s Stream) error {
	return named("cuStreamDestroy", call(c.cuStreamDestroy, uintptr(s)))
}

// NewEvent implements Context.
func (c *primary) NewEvent() (Event, error) {
	var e Event
	err := call(c.cuEventCreate, uintptr(unsafe.Pointer(&e)), 0)
	return e, named("cuEventCreate", err)
}

// Record implements Context.
func (c *primary) Record(e Event, s Stream) error {
	return named("cuEventRecord", call(c.cuEventRecord, uintptr(e), uintptr(s)))
}

// SyncEvent implements Context.
func (c *primary) SyncEvent(e Event) error {
	return named("cuEventSynchronize", call(c.cuEventSynchronize, uintptr(e)))
}

// Elapsed implements Context.
func (c *primary) Elapsed(from, to Event) (float64, error) {
	var bits uint32 // bits of a C float
	err := call(c.cuEventElapsedTime, uintptr(unsafe.Pointer(&bits)), uintptr(from), uintptr(to))
	return float64(math.Float32frombits(bits)), named("cuEventElapsedTime", err)
}

// CloseEvent implements Context.
func (c *primary) CloseEvent(e Event) error {
	return named("cuEventDestroy", call(c.cuEventDestroy, uintptr(e)))
}
