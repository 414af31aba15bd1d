package driver

import "fmt"

// Pointer is an address in the memory of a GPU.
type Pointer uint64

// The handles of a Context. The zero Stream is the default stream. For the other types, zero means no handle.
type (
	Module   uintptr
	Function uintptr
	Stream   uintptr
	Event    uintptr
	Graph    uintptr
)

// Attribute is a property of a Function.
type Attribute int

// The attributes that Dyad uses, with the numbers of the CUDA driver API.
const (
	MaxThreads     Attribute = 0 // largest number of threads of a block
	SharedBytes    Attribute = 1 // static shared memory of a block
	LocalBytes     Attribute = 3 // local memory of a thread: spilled registers
	Registers      Attribute = 4 // registers of a thread
	DynamicShared  Attribute = 8 // limit of dynamic shared memory; SetAttribute can change it
	jitLogBytes              = 16 << 10
	maxLaunchWords           = 32
)

// Launch is one run of a kernel.
type Launch struct {
	Function    Function
	Grid, Block [3]int // blocks, and threads of a block; 0 counts as 1
	Shared      int    // bytes of dynamic shared memory
	Stream      Stream
	// Args are the parameters, one word each. There are at most 32. A word is a Pointer, an integer, or the
	// bits of a float. A narrower parameter is in the low bytes of its word.
	Args []uint64
}

// Context is the primary context of one GPU. All calls must come from the thread that called Attach. Any later
// call may return an error of asynchronous work. After a Result for which Lost returns true, every call fails.
type Context interface {
	// Memory returns the numbers of free and of total bytes of GPU memory.
	Memory() (free, total uint64, err error)
	// Alloc returns at least max(bytes, 1) bytes of GPU memory, aligned to 256 bytes.
	Alloc(bytes uint64) (Pointer, error)
	Free(Pointer) error
	// AllocHost returns page-locked host memory for CopyInAsync and CopyOutAsync. The GPU reads and writes this
	// memory directly. The memory is outside Go's heap, and must be freed by FreeHost with the same slice.
	AllocHost(bytes int) ([]byte, error)
	FreeHost([]byte) error

	// CopyIn copies src to the GPU, and CopyOut copies from the GPU to dst. The copy begins after all earlier
	// work of the default stream. The methods return when src or dst may be used again.
	CopyIn(dst Pointer, src []byte) error
	CopyOut(dst []byte, src Pointer) error
	// CopyInAsync copies src, which must come from AllocHost, in a stream. src must not change until the stream
	// has finished the copy.
	CopyInAsync(dst Pointer, src []byte, s Stream) error
	// CopyOutAsync copies to dst, which must come from AllocHost, in a stream. dst is complete when the stream
	// has finished the copy.
	CopyOutAsync(dst []byte, src Pointer, s Stream) error
	// Clear sets the given number of bytes at dst to zero in a stream.
	Clear(dst Pointer, bytes uint64, s Stream) error

	// Load compiles PTX. The error contains the compiler's log.
	Load(ptx []byte) (Module, error)
	Unload(Module) error
	Function(m Module, name string) (Function, error)
	Attribute(f Function, a Attribute) (int, error)
	SetAttribute(f Function, a Attribute, value int) error
	Launch(Launch) error

	// NewStream returns a stream that does not wait for the default stream.
	NewStream() (Stream, error)
	// SyncStream waits for all work of a stream.
	SyncStream(Stream) error
	CloseStream(Stream) error

	// BeginCapture begins the capture of a graph in a stream of NewStream. Until EndCapture, launches and
	// asynchronous copies in the stream do not run but become steps of the graph. EndCapture must follow, even
	// if a call fails. If the driver or the binding does not support graphs, the error wraps
	// errors.ErrUnsupported.
	BeginCapture(Stream) error
	EndCapture(Stream) (Graph, error)
	// LaunchGraph runs the steps of a graph in a stream, with the addresses and arguments of the capture.
	LaunchGraph(Graph, Stream) error
	CloseGraph(Graph) error

	NewEvent() (Event, error)
	// Record sets the event to the current end of a stream.
	Record(Event, Stream) error
	// SyncEvent waits until the stream has passed the recorded position. For an event that was never recorded,
	// it returns at once.
	SyncEvent(Event) error
	// Elapsed returns the time between two recorded events in milliseconds.
	Elapsed(from, to Event) (float64, error)
	CloseEvent(Event) error

	// Detach releases the context. Afterwards the thread has no context.
	Detach() error
}

func dim(n int) uintptr { return uintptr(max(n, 1)) }

// named adds the name of the failed function to err.
func named(function string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("driver: %s: %w", function, err)
}
