package driver

import "fmt"

// Pointer is an address in the memory of a GPU.
type Pointer uint64

// The handles of a Context. Zero means none; for a Stream, the default stream.
type (
	Module   uintptr
	Function uintptr
	Stream   uintptr
	Event    uintptr
	Graph    uintptr
)

// Attribute is a property of a Function.
type Attribute int

// The attributes in use, with the numbers of the CUDA driver API.
const (
	MaxThreads     Attribute = 0 // threads of a block, at most
	SharedBytes    Attribute = 1 // static shared memory of a block
	LocalBytes     Attribute = 3 // local memory of a thread: spilled registers
	Registers      Attribute = 4 // of a thread
	DynamicShared  Attribute = 8 // limit of dynamic shared memory, can be set
	jitLogBytes              = 16 << 10
	maxLaunchWords           = 32
)

// Launch is one run of a kernel.
type Launch struct {
	Function    Function
	Grid, Block [3]int // blocks, and threads of a block; 0 counts as 1
	Shared      int    // bytes of dynamic shared memory
	Stream      Stream
	// Args are the parameters, one word each, at most 32: a Pointer, an integer,
	// or the bits of a float. A narrower parameter takes the low bytes.
	Args []uint64
}

// Context is the primary context of one GPU. All calls must come from the thread
// that called Attach. Errors of asynchronous work may appear in any later call.
// After a Result that is Lost every call fails.
type Context interface {
	// Memory returns the free and the total bytes.
	Memory() (free, total uint64, err error)
	// Alloc returns memory of max(bytes, 1) bytes or more, aligned to 256.
	Alloc(bytes uint64) (Pointer, error)
	Free(Pointer) error
	// AllocHost returns memory that the GPU reads and writes without a copy, for
	// CopyInAsync and CopyOutAsync. It is outside of Go's heap; FreeHost takes the same slice.
	AllocHost(bytes int) ([]byte, error)
	FreeHost([]byte) error

	// CopyIn copies src to the GPU and CopyOut back, after all earlier work of
	// the default stream. Both return when src or dst may be used again.
	CopyIn(dst Pointer, src []byte) error
	CopyOut(dst []byte, src Pointer) error
	// CopyInAsync copies src, from AllocHost, in a stream. src must stay as it
	// is until the stream has come past it.
	CopyInAsync(dst Pointer, src []byte, s Stream) error
	// CopyOutAsync copies to dst, from AllocHost, in a stream. dst is as it will be when
	// the stream has come past it.
	CopyOutAsync(dst []byte, src Pointer, s Stream) error
	// Clear sets bytes to zero in a stream.
	Clear(dst Pointer, bytes uint64, s Stream) error

	// Load compiles PTX. The error holds the compiler's log.
	Load(ptx []byte) (Module, error)
	Unload(Module) error
	Function(m Module, name string) (Function, error)
	Attribute(f Function, a Attribute) (int, error)
	SetAttribute(f Function, a Attribute, value int) error
	Launch(Launch) error

	// NewStream returns a stream that does not wait for the default one.
	NewStream() (Stream, error)
	// SyncStream waits for all work of a stream.
	SyncStream(Stream) error
	CloseStream(Stream) error

	// BeginCapture makes launches and asynchronous copies in a stream of NewStream steps of a
	// graph from now on, which are not run, until EndCapture, which must follow, whatever
	// fails. Where the driver or the binding has no graphs it wraps errors.ErrUnsupported.
	BeginCapture(Stream) error
	EndCapture(Stream) (Graph, error)
	// LaunchGraph runs the steps in a stream, with the addresses and arguments of then.
	LaunchGraph(Graph, Stream) error
	CloseGraph(Graph) error

	NewEvent() (Event, error)
	// Record marks the present end of a stream.
	Record(Event, Stream) error
	// SyncEvent waits for the mark; an event never recorded is past.
	SyncEvent(Event) error
	// Elapsed is the time between two marks in milliseconds.
	Elapsed(from, to Event) (float64, error)
	CloseEvent(Event) error

	// Detach gives the context back. The thread has none afterwards.
	Detach() error
}

func dim(n int) uintptr { return uintptr(max(n, 1)) }

// named says which function failed.
func named(function string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("driver: %s: %w", function, err)
}
