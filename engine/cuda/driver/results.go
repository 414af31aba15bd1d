package driver

import (
	"errors"
	"fmt"
	"slices"
)

// Result is a CUresult (an error code of the CUDA driver API) other than success.
type Result int

// Error returns the code and an explanation. For codes that users meet, it also suggests a remedy.
func (r Result) Error() string {
	if known, ok := results[r]; ok {
		return fmt.Sprintf("CUDA error %d: %s", int(r), known.text)
	}
	return fmt.Sprintf("CUDA error %d", int(r))
}

// Lost reports whether every call of the context fails after this Result. Only a new process can then use the GPU.
func (r Result) Lost() bool { return slices.Contains(lost, r) }

// lost holds the errors after which, according to cuda.h, the process must be restarted.
var lost = []Result{4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911}

// pinned is the error of a failed allocation of page-locked host memory. It replaces the text of its Result,
// which is about GPU memory.
type pinned struct{ Result }

func (p pinned) Unwrap() error { return p.Result }

func (p pinned) Error() string {
	return fmt.Sprintf("CUDA error %d: the host has too little memory to lock for the GPU; free memory, or raise "+
		"the memory limit of the container", int(p.Result))
}

// outOfPinned converts an error of an allocation of host memory: out of memory becomes pinned.
func outOfPinned(err error) error {
	if code := Result(0); errors.As(err, &code) && code == 2 {
		return pinned{code}
	}
	return err
}

// results holds the errors of cuda.h up to CUDA 13.5. The name is the part after CUDA_ERROR_. Code 35 is an
// error of the CUDA runtime that libraries of the driver return, too.
var results = map[Result]struct{ name, text string }{
	1:   {"INVALID_VALUE", "an argument is invalid"},
	2:   {"OUT_OF_MEMORY", "the GPU has not enough free memory"},
	3:   {"NOT_INITIALIZED", "the driver is not initialised"},
	4:   {"DEINITIALIZED", "the driver is shutting down"},
	5:   {"PROFILER_DISABLED", "the profiler is off"},
	6:   {"PROFILER_NOT_INITIALIZED", "the profiler was not set up"},
	7:   {"PROFILER_ALREADY_STARTED", "the profiler runs already"},
	8:   {"PROFILER_ALREADY_STOPPED", "the profiler was stopped before"},
	34:  {"STUB_LIBRARY", "the driver is a stub library; install an NVIDIA driver"},
	35:  {"INSUFFICIENT_DRIVER", "the driver library is older than the kernel module supports; reinstall the NVIDIA driver"},
	36:  {"CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver; update the NVIDIA driver"},
	46:  {"DEVICE_UNAVAILABLE", "the GPU is busy or in exclusive mode; end the other program or run nvidia-smi -c 0"},
	47:  {"MULTICAST_RESOURCE_FULL", "the GPU has no free multicast resources"},
	100: {"NO_DEVICE", "no GPU is visible; check CUDA_VISIBLE_DEVICES and the container's GPU options"},
	101: {"INVALID_DEVICE", "no such GPU"},
	102: {"DEVICE_NOT_LICENSED", "the virtual GPU has no licence"},
	200: {"INVALID_IMAGE", "the program is not a program for a GPU"},
	201: {"INVALID_CONTEXT", "the thread has no CUDA context"},
	202: {"CONTEXT_ALREADY_CURRENT", "the context is current already"},
	205: {"MAP_FAILED", "memory could not be mapped"},
	206: {"UNMAP_FAILED", "memory could not be unmapped"},
	207: {"ARRAY_IS_MAPPED", "the array is mapped"},
	208: {"ALREADY_MAPPED", "the resource is mapped already"},
	209: {"NO_BINARY_FOR_GPU", "the program has no code for this GPU; compute capability 8.0 or more is needed"},
	210: {"ALREADY_ACQUIRED", "the resource is taken already"},
	211: {"NOT_MAPPED", "the resource is not mapped"},
	212: {"NOT_MAPPED_AS_ARRAY", "the resource is not mapped as an array"},
	213: {"NOT_MAPPED_AS_POINTER", "the resource is not mapped as a pointer"},
	214: {"ECC_UNCORRECTABLE", "the GPU's memory has an error that cannot be corrected; reset the GPU or use another one"},
	215: {"UNSUPPORTED_LIMIT", "the GPU does not support this kind of limit"},
	216: {"CONTEXT_ALREADY_IN_USE", "another thread uses the context"},
	217: {"PEER_ACCESS_UNSUPPORTED", "the GPUs cannot read each other's memory"},
	218: {"INVALID_PTX", "the PTX does not compile"},
	219: {"INVALID_GRAPHICS_CONTEXT", "the graphics context is invalid"},
	220: {"NVLINK_UNCORRECTABLE", "NVLink has an error that cannot be corrected; reset the GPU or use another one"},
	221: {"JIT_COMPILER_NOT_FOUND",
		`the PTX compiler of the driver is missing; give the container the driver capability "compute"`},
	222: {"UNSUPPORTED_PTX_VERSION", "the driver is too old for this PTX; update the NVIDIA driver"},
	223: {"JIT_COMPILATION_DISABLED", "the driver's compiler is switched off; unset CUDA_DISABLE_PTX_JIT"},
	224: {"UNSUPPORTED_EXEC_AFFINITY", "the GPU does not support this execution affinity"},
	225: {"UNSUPPORTED_DEVSIDE_SYNC", "a kernel waits for other kernels, which the GPU does not support"},
	226: {"CONTAINED", "the GPU had an error that was contained; start the program again"},
	227: {"INSUFFICIENT_LOADER_VERSION", "the driver is too old for this program; update the NVIDIA driver"},
	300: {"INVALID_SOURCE", "the source of a kernel is invalid"},
	301: {"FILE_NOT_FOUND", "a file is missing"},
	302: {"SHARED_OBJECT_SYMBOL_NOT_FOUND", "a library of the driver lacks a function; reinstall the NVIDIA driver"},
	303: {"SHARED_OBJECT_INIT_FAILED", "a library of the driver could not start; reinstall the NVIDIA driver"},
	304: {"OPERATING_SYSTEM", "a call of the operating system failed; look at the kernel log"},
	400: {"INVALID_HANDLE", "a handle is invalid"},
	401: {"ILLEGAL_STATE", "an object is in the wrong state for the call"},
	402: {"LOSSY_QUERY", "the answer would leave information out"},
	500: {"NOT_FOUND", "the name is not known"},
	600: {"NOT_READY", "the work is not finished"},
	700: {"ILLEGAL_ADDRESS", "a kernel used memory outside its own"},
	701: {"LAUNCH_OUT_OF_RESOURCES", "a kernel needs more registers or shared memory than the GPU has"},
	702: {"LAUNCH_TIMEOUT", "a kernel ran longer than the system allows; use a GPU without a display"},
	703: {"LAUNCH_INCOMPATIBLE_TEXTURING", "a kernel's texture mode does not fit"},
	704: {"PEER_ACCESS_ALREADY_ENABLED", "access to the other GPU is enabled already"},
	705: {"PEER_ACCESS_NOT_ENABLED", "access to the other GPU is not enabled"},
	708: {"PRIMARY_CONTEXT_ACTIVE", "the GPU's primary context is in use already"},
	709: {"CONTEXT_IS_DESTROYED", "the context is destroyed"},
	710: {"ASSERT", "an assertion in a kernel failed"},
	711: {"TOO_MANY_PEERS", "too many GPUs have access to each other"},
	712: {"HOST_MEMORY_ALREADY_REGISTERED", "the host memory is registered already"},
	713: {"HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered"},
	714: {"HARDWARE_STACK_ERROR", "a kernel's stack is broken"},
	715: {"ILLEGAL_INSTRUCTION", "a kernel used an instruction that the GPU does not have"},
	716: {"MISALIGNED_ADDRESS", "a kernel used an address that is not aligned"},
	717: {"INVALID_ADDRESS_SPACE", "a kernel used an address from the wrong memory space"},
	718: {"INVALID_PC", "a kernel jumped to an address without code"},
	719: {"LAUNCH_FAILED", "a kernel failed"},
	720: {"COOPERATIVE_LAUNCH_TOO_LARGE", "a cooperative kernel has more blocks than the GPU can run together"},
	721: {"TENSOR_MEMORY_LEAK", "a kernel left tensor memory allocated"},
	800: {"NOT_PERMITTED", "the operation is not permitted"},
	801: {"NOT_SUPPORTED", "the GPU or the system does not support the operation"},
	802: {"SYSTEM_NOT_READY", "the system is not ready; check that the NVIDIA fabric manager is running"},
	803: {"SYSTEM_DRIVER_MISMATCH",
		"the driver library and the kernel module have different versions; reboot or reinstall the driver"},
	804: {"COMPAT_NOT_SUPPORTED_ON_DEVICE",
		"this GPU does not run the compatibility library of CUDA; update the NVIDIA driver or remove the library from " +
			"LD_LIBRARY_PATH"},
	805: {"MPS_CONNECTION_FAILED", "the CUDA MPS server does not answer; start it or unset CUDA_MPS_PIPE_DIRECTORY"},
	806: {"MPS_RPC_FAILURE", "a call of the CUDA MPS server failed; start the server again"},
	807: {"MPS_SERVER_NOT_READY", "the CUDA MPS server is not ready; try again"},
	808: {"MPS_MAX_CLIENTS_REACHED", "the CUDA MPS server cannot take more programs; end another program"},
	809: {"MPS_MAX_CONNECTIONS_REACHED", "the CUDA MPS server cannot take more connections; end another program"},
	810: {"MPS_CLIENT_TERMINATED", "the CUDA MPS server ended this program's work"},
	811: {"CDP_NOT_SUPPORTED", "the system does not allow a kernel to start kernels"},
	812: {"CDP_VERSION_MISMATCH", "a kernel and its child kernels use incompatible versions of CUDA dynamic " +
		"parallelism"},
	900: {"STREAM_CAPTURE_UNSUPPORTED", "the call is not permitted while a stream is being captured"},
	901: {"STREAM_CAPTURE_INVALIDATED", "an earlier error spoiled the capture of a stream"},
	902: {"STREAM_CAPTURE_MERGE", "the call would merge two captures"},
	903: {"STREAM_CAPTURE_UNMATCHED", "the capture began in another stream"},
	904: {"STREAM_CAPTURE_UNJOINED", "the capture ends before all its streams are joined"},
	905: {"STREAM_CAPTURE_ISOLATION", "captured work would depend on other work, or other work on it"},
	906: {"STREAM_CAPTURE_IMPLICIT", "the call would wait for a stream that is being captured"},
	907: {"CAPTURED_EVENT", "the event was recorded in a capture"},
	908: {"STREAM_CAPTURE_WRONG_THREAD", "another thread began the capture"},
	909: {"TIMEOUT", "the wait took too long"},
	910: {"GRAPH_EXEC_UPDATE_FAILURE", "the update does not fit the graph"},
	911: {"EXTERNAL_DEVICE", "a device besides the GPU failed"},
	912: {"INVALID_CLUSTER_SIZE", "the size of a cluster is invalid"},
	913: {"FUNCTION_NOT_LOADED", "the function is not loaded"},
	914: {"INVALID_RESOURCE_TYPE", "the kind of a resource is invalid"},
	915: {"INVALID_RESOURCE_CONFIGURATION", "the resources are invalid or not sufficient"},
	916: {"KEY_ROTATION", "the GPU is replacing its keys for confidential computing; start the program again"},
	917: {"STREAM_DETACHED", "the stream belongs to no context"},
	918: {"GRAPH_RECAPTURE_FAILURE", "the graph cannot be captured again"},
	919: {"FABRIC_NOT_READY", "the fabric of the GPU is not ready; check that the NVIDIA fabric manager is running"},
	999: {"UNKNOWN", "unknown driver error; look at the kernel log"},
}
