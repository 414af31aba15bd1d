//go:build gorgoniacu && cgo && !static

package driver

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"gorgonia.org/cu"
)

// gorgoniaContext is a primary context through gorgonia.org/cu. This package does not support pinned memory,
// graphs or setting function attributes. So AllocHost returns ordinary memory, CopyInAsync and CopyOutAsync
// wait, and BeginCapture and SetAttribute fail.
type gorgoniaContext struct {
	device    cu.Device
	streams   map[Stream]*cu.Stream
	events    map[Event]*cu.Event
	modules   map[Module]cu.Module
	functions map[Function]cu.Function
	next      uintptr // last handle that was returned
}

// Attach implements Driver.
func (g *gorgonia) Attach(index int) (Context, error) {
	if g.closed.Load() {
		return nil, ErrClosed
	}
	device, err := cu.GetDevice(index)
	if err != nil {
		return nil, fmt.Errorf("cuDeviceGet: %w", result(err))
	}
	ctx, err := device.RetainPrimaryCtx()
	if err != nil {
		return nil, fmt.Errorf("cuDevicePrimaryCtxRetain: %w", result(err))
	}
	if err := cu.SetCurrentContext(ctx); err != nil {
		return nil, fmt.Errorf("cuCtxSetCurrent: %w", errors.Join(result(err), device.ReleasePrimaryCtx()))
	}
	return &gorgoniaContext{device: device, streams: map[Stream]*cu.Stream{0: {}}, events: map[Event]*cu.Event{},
		modules: map[Module]cu.Module{}, functions: map[Function]cu.Function{}}, nil
}

// result converts an error of package cu to a Result. The type of the errors of package cu is not exported, but
// it is an integer type with the values of CUresult.
func result(err error) error {
	if v := reflect.ValueOf(err); v.IsValid() && v.CanInt() {
		return Result(v.Int())
	}
	return err
}

func (c *gorgoniaContext) handle() uintptr { c.next++; return c.next }

// Detach implements Context.
func (c *gorgoniaContext) Detach() error {
	unset := cu.SetCurrentContext(cu.CUContext{})
	return named("cuDevicePrimaryCtxRelease", errors.Join(unset, c.device.ReleasePrimaryCtx()))
}

// Memory implements Context.
func (c *gorgoniaContext) Memory() (free, total uint64, err error) {
	f, t, err := cu.MemInfo()
	return uint64(f), uint64(t), named("cuMemGetInfo", result(err))
}

// Alloc implements Context.
func (c *gorgoniaContext) Alloc(bytes uint64) (Pointer, error) {
	p, err := cu.MemAlloc(int64(max(bytes, 1)))
	return Pointer(p), named("cuMemAlloc", result(err))
}

// Free implements Context.
func (c *gorgoniaContext) Free(p Pointer) error {
	return named("cuMemFree", result(cu.MemFree(cu.DevicePtr(p))))
}

// AllocHost implements Context.
func (c *gorgoniaContext) AllocHost(bytes int) ([]byte, error) {
	return make([]byte, max(bytes, 1)), nil
}

// FreeHost implements Context.
func (c *gorgoniaContext) FreeHost([]byte) error { return nil }

// CopyIn implements Context.
func (c *gorgoniaContext) CopyIn(dst Pointer, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return named("cuMemcpyHtoD", result(cu.MemcpyHtoD(cu.DevicePtr(dst), unsafe.Pointer(unsafe.SliceData(src)),
		int64(len(src)))))
}

// CopyOut implements Context.
func (c *gorgoniaContext) CopyOut(dst []byte, src Pointer) error {
	if len(dst) == 0 {
		return nil
	}
	return named("cuMemcpyDtoH", result(cu.MemcpyDtoH(unsafe.Pointer(unsafe.SliceData(dst)), cu.DevicePtr(src),
		int64(len(dst)))))
}

// CopyInAsync implements Context.
func (c *gorgoniaContext) CopyInAsync(dst Pointer, src []byte, s Stream) error {
	if err := c.SyncStream(s); err != nil {
		return err
	}
	if err := c.CopyIn(dst, src); err != nil {
		return err
	}
	// a copy may still be in progress when cuMemcpyHtoD returns, and other streams do not wait for the copy
	return c.SyncStream(0)
}

// CopyOutAsync implements Context.
func (c *gorgoniaContext) CopyOutAsync(dst []byte, src Pointer, s Stream) error {
	if err := c.SyncStream(s); err != nil {
		return err
	}
	return c.CopyOut(dst, src)
}

// BeginCapture implements Context.
func (c *gorgoniaContext) BeginCapture(Stream) error { return errNoGraphs }

// EndCapture implements Context.
func (c *gorgoniaContext) EndCapture(Stream) (Graph, error) { return 0, errNoGraphs }

// LaunchGraph implements Context.
func (c *gorgoniaContext) LaunchGraph(Graph, Stream) error { return errNoGraphs }

// CloseGraph implements Context.
func (c *gorgoniaContext) CloseGraph(Graph) error { return errNoGraphs }

var errNoGraphs = fmt.Errorf("driver: gorgonia.org/cu has no graphs: %w", errors.ErrUnsupported)

// Clear implements Context.
func (c *gorgoniaContext) Clear(dst Pointer, bytes uint64, s Stream) error {
	return named("cuMemsetD8Async", result(cu.MemsetD8Async(cu.DevicePtr(dst), 0, int64(bytes), *c.stream(s))))
}

func (c *gorgoniaContext) stream(s Stream) *cu.Stream {
	if found := c.streams[s]; found != nil {
		return found
	}
	return &cu.Stream{}
}

// Load implements Context.
func (c *gorgoniaContext) Load(ptx []byte) (Module, error) {
	if strings.IndexByte(string(ptx), 0) >= 0 {
		return 0, errors.New("driver: PTX with a zero byte")
	}
	m, err := cu.LoadData(string(ptx))
	if err != nil {
		return 0, named("cuModuleLoadData", result(err))
	}
	h := Module(c.handle())
	c.modules[h] = m
	return h, nil
}

// Unload implements Context.
func (c *gorgoniaContext) Unload(m Module) error {
	loaded, ok := c.modules[m]
	if !ok {
		return named("cuModuleUnload", Result(400))
	}
	delete(c.modules, m)
	return named("cuModuleUnload", result(loaded.Unload()))
}

// Function implements Context.
func (c *gorgoniaContext) Function(m Module, name string) (Function, error) {
	f, err := c.modules[m].Function(name)
	if err != nil {
		return 0, named("cuModuleGetFunction", result(err))
	}
	h := Function(c.handle())
	c.functions[h] = f
	return h, nil
}

// Attribute implements Context.
func (c *gorgoniaContext) Attribute(f Function, a Attribute) (int, error) {
	v, err := c.functions[f].Attribute(cu.FunctionAttribute(a))
	return v, named("cuFuncGetAttribute", result(err))
}

// SetAttribute implements Context.
func (c *gorgoniaContext) SetAttribute(Function, Attribute, int) error {
	return fmt.Errorf("driver: gorgonia.org/cu cannot set function attributes: %w", errors.ErrUnsupported)
}

// Launch implements Context.
func (c *gorgoniaContext) Launch(l Launch) error {
	params := make([]unsafe.Pointer, len(l.Args))
	for i := range l.Args {
		params[i] = unsafe.Pointer(&l.Args[i])
	}
	n := func(v int) int { return int(dim(v)) }
	return named("cuLaunchKernel", result(c.functions[l.Function].Launch(n(l.Grid[0]), n(l.Grid[1]), n(l.Grid[2]),
		n(l.Block[0]), n(l.Block[1]), n(l.Block[2]), l.Shared, *c.stream(l.Stream), params)))
}

// NewStream implements Context.
func (c *gorgoniaContext) NewStream() (Stream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return 0, named("cuStreamCreate", result(err))
	}
	h := Stream(c.handle())
	c.streams[h] = &s
	return h, nil
}

// SyncStream implements Context.
func (c *gorgoniaContext) SyncStream(s Stream) error {
	return named("cuStreamSynchronize", result(c.stream(s).Synchronize()))
}

// CloseStream implements Context.
func (c *gorgoniaContext) CloseStream(s Stream) error {
	if s == 0 || c.streams[s] == nil {
		return named("cuStreamDestroy", Result(400))
	}
	defer delete(c.streams, s)
	return named("cuStreamDestroy", result(c.streams[s].Destroy()))
}

// NewEvent implements Context.
func (c *gorgoniaContext) NewEvent() (Event, error) {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	if err != nil {
		return 0, named("cuEventCreate", result(err))
	}
	h := Event(c.handle())
	c.events[h] = &e
	return h, nil
}

// event returns an event of NewEvent. If there is no such event, it returns the zero event, which the driver refuses.
func (c *gorgoniaContext) event(e Event) cu.Event {
	if found := c.events[e]; found != nil {
		return *found
	}
	return cu.Event{}
}

// Record implements Context.
func (c *gorgoniaContext) Record(e Event, s Stream) error {
	return named("cuEventRecord", result(c.event(e).Record(*c.stream(s))))
}

// SyncEvent implements Context.
func (c *gorgoniaContext) SyncEvent(e Event) error {
	return named("cuEventSynchronize", result(c.event(e).Synchronize()))
}

// Elapsed implements Context.
func (c *gorgoniaContext) Elapsed(from, to Event) (float64, error) {
	ms, err := c.event(from).Elapsed(c.event(to))
	return ms, named("cuEventElapsedTime", result(err))
}

// CloseEvent implements Context.
func (c *gorgoniaContext) CloseEvent(e Event) error {
	if c.events[e] == nil {
		return named("cuEventDestroy", Result(400))
	}
	defer delete(c.events, e)
	return named("cuEventDestroy", result(cu.DestroyEvent(c.events[e])))
}
