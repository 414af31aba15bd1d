// A libcuda.so.1 whose prototypes the compiler compares with NVIDIA's cuda.h, for programs that
// nobody has run on a GPU. It is as hostile as the manual allows: a thread of its own runs the
// streams, late and in any order that they do not exclude; copies read host memory when they run;
// fresh and freed memory holds NaN. What the manual forbids is a violation: it is printed, and
// every later call fails with 999.
//
// Kernels run in the shared library that DYAD_SIM names (executor.h). Without it they do nothing,
// and the calls alone are checked. DYAD_SIM_SEED chooses the order.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include "executor.h"

typedef unsigned long long u64;
namespace {

// state guards all that follows, device what the executor does. Who needs both locks state first,
// except for the worker, which lets state go while an operation runs.
std::recursive_mutex state;
std::mutex device;
std::condition_variable_any changed;
typedef std::lock_guard<std::recursive_mutex> Hold;

struct {
	decltype(&executor_alloc) alloc;
	decltype(&executor_write) write;
	decltype(&executor_read) read;
	decltype(&executor_fill) fill;
	decltype(&executor_load) load;
	decltype(&executor_function) function;
	decltype(&executor_launch) launch;
} run; // all 0 without an executor, whose memory is the host's
char name[128] = "no executor";

struct Operation { std::function<void()> run; u64 id; };
struct Graph { std::vector<std::function<void()>> steps; };
struct Stream {
	std::deque<Operation> queue;
	bool blocking = false, running = false;
	std::unique_ptr<Graph> capture;
	std::thread::id by;
} null_stream;
struct Event { u64 recorded = 0, done = 0; std::chrono::steady_clock::time_point at; };
struct Module { void *loaded; std::string text; };
struct Function { void *found; Module *of; std::vector<unsigned> sizes; };

std::set<Stream *> streams;
std::set<Event *> events;
std::set<Module *> modules;
std::set<std::unique_ptr<Function>> functions;
std::set<Graph *> graphs, executables;
std::map<u64, size_t> memory[2]; // of the device, and pinned
enum { ON_DEVICE, PINNED };
int retained;
bool started, violated;
CUctx_st *const primary = (CUctx_st *)&retained;
thread_local CUcontext current;
u64 last_operation;
std::mt19937_64 dice(getenv("DYAD_SIM_SEED") ? strtoull(getenv("DYAD_SIM_SEED"), 0, 10) : 1);

CUresult violation(const char *format, ...) {
	va_list args;
	va_start(args, format);
	char text[256];
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fprintf(stderr, "libcuda of bench/gpu/sim: %s\n", text);
	Hold hold(state);
	violated = true;
	return CUDA_ERROR_UNKNOWN;
}

bool inside(int where, u64 at, size_t bytes) {
	Hold hold(state);
	auto next = memory[where].upper_bound(at);
	if (next == memory[where].begin()) return false;
	--next;
	return at + bytes <= next->first + next->second;
}

// ready reports whether the next operation of a stream may run. A blocking stream and the null stream
// keep the order of their calls; others keep their own only.
bool ready(Stream *s) {
	if (s->queue.empty()) return false;
	u64 id = s->queue.front().id;
	auto earlier = [id](Stream *t) { return !t->queue.empty() && t->queue.front().id < id; };
	if (s != &null_stream) return !s->blocking || !earlier(&null_stream);
	for (auto t : streams)
		if (t->blocking && earlier(t)) return false;
	return true;
}

void work() {
	std::unique_lock<std::recursive_mutex> lock(state);
	for (;;) {
		std::vector<Stream *> able;
		if (ready(&null_stream)) able.push_back(&null_stream);
		for (auto s : streams)
			if (ready(s)) able.push_back(s);
		if (able.empty()) {
			changed.wait(lock);
			continue;
		}
		if (dice() % 4 == 0) { // late, and with what the host does meanwhile
			auto pause = std::chrono::microseconds(dice() % 400);
			lock.unlock();
			std::this_thread::sleep_for(pause);
			lock.lock();
			continue;
		}
		Stream *s = able[dice() % able.size()];
		auto operation = s->queue.front().run;
		lock.unlock();
		{
			std::lock_guard<std::mutex> hold(device);
			operation();
		}
		lock.lock();
		s->queue.pop_front();
		changed.notify_all();
	}
}

void drain(Stream *s) {
	std::unique_lock<std::recursive_mutex> lock(state);
	u64 last = s->queue.empty() ? 0 : s->queue.back().id;
	while (!s->queue.empty() && s->queue.front().id <= last) changed.wait(lock);
}

void drain_all() {
	std::vector<Stream *> all{&null_stream};
	{
		Hold hold(state);
		all.insert(all.end(), streams.begin(), streams.end());
	}
	for (auto s : all) drain(s);
}

bool captures() {
	Hold hold(state);
	for (auto s : streams)
		if (s->capture && s->by == std::this_thread::get_id()) return true;
	return false;
}

// stream resolves a handle; 0 is none.
Stream *stream(CUstream s) {
	Hold hold(state);
	if (!s) return &null_stream;
	return streams.count((Stream *)s) ? (Stream *)s : 0;
}

CUresult push(CUstream handle, std::function<void()> f) {
	Hold hold(state);
	Stream *s = stream(handle);
	if (!s) return violation("a dead stream is used");
	if (s->capture) {
		s->capture->steps.push_back(f);
		return CUDA_SUCCESS;
	}
	for (auto t : streams)
		if (t->capture && t->blocking && s == &null_stream) return violation("the default stream is used while a blocking stream captures");
	s->queue.push_back({f, ++last_operation});
	changed.notify_all();
	return CUDA_SUCCESS;
}

void write(u64 to, const void *from, size_t n) { run.write ? run.write(to, from, n) : (void)memcpy((void *)to, from, n); }
void read(void *to, u64 from, size_t n) { run.read ? run.read(to, from, n) : (void)memcpy(to, (void *)from, n); }
void fill(u64 at, int byte, size_t n) { run.fill ? run.fill(at, byte, n) : (void)memset((void *)at, byte, n); }

template <class T> bool drop(std::set<T *> &all, T *one) {
	Hold hold(state);
	if (!all.erase(one)) return false;
	delete one;
	return true;
}

// parameters are the sizes of the parameters of an entry.
bool parameters(const std::string &ptx, const std::string &entry, std::vector<unsigned> *sizes) {
	size_t at = ptx.find(".entry " + entry + "(");
	if (at == std::string::npos) return false;
	size_t end = ptx.find(")", at);
	while ((at = ptx.find(".param ", at)) < end) {
		at = ptx.find_first_of("0123456789", at);
		sizes->push_back(atoi(ptx.c_str() + at) / 8);
	}
	return true;
}

bool open_executor() {
	const char *path = getenv("DYAD_SIM");
	if (!path || !*path) return true;
	void *at = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!at) return fprintf(stderr, "libcuda of bench/gpu/sim: %s\n", dlerror()), false;
	auto title = (decltype(&executor_name))dlsym(at, "executor_name");
	if (!title) return false;
	strncpy(name, title(), sizeof name - 1);
	return (run.alloc = (decltype(run.alloc))dlsym(at, "executor_alloc")) && (run.write = (decltype(run.write))dlsym(at, "executor_write")) &&
	       (run.read = (decltype(run.read))dlsym(at, "executor_read")) && (run.fill = (decltype(run.fill))dlsym(at, "executor_fill")) &&
	       (run.load = (decltype(run.load))dlsym(at, "executor_load")) && (run.function = (decltype(run.function))dlsym(at, "executor_function")) &&
	       (run.launch = (decltype(run.launch))dlsym(at, "executor_launch"));
}
} // namespace

#define STARTED if (!started) return CUDA_ERROR_NOT_INITIALIZED
#define IN(what) STARTED; if (!current) return violation(what " without a context on this thread"); if (violated) return CUDA_ERROR_UNKNOWN
#define NOT_CAPTURED(what) if (captures()) return violation(what " during a capture by this thread")

extern "C" {
CUresult CUDAAPI cuInit(unsigned flags) {
	if (flags) return CUDA_ERROR_INVALID_VALUE;
	Hold hold(state);
	if (started) return CUDA_SUCCESS;
	if (!open_executor()) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	std::thread(work).detach();
	started = true;
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDriverGetVersion(int *v) { return *v = CUDA_VERSION, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetCount(int *n) { STARTED; return *n = 1, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGet(CUdevice *d, int i) { STARTED; return *d = 0, i ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetName(char *to, int room, CUdevice) { STARTED; return strncpy(to, name, room), CUDA_SUCCESS; }
#undef cuDeviceTotalMem
CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *n, CUdevice) { STARTED; return *n = 64ull << 30, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice) {
	STARTED;
	switch (a) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return *v = 4, CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return *v = 8, CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return *v = 0, CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
	STARTED;
	if (d) return CUDA_ERROR_INVALID_DEVICE;
	Hold hold(state);
	return retained++, *c = primary, CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice) {
	STARTED;
	drain_all();
	Hold hold(state);
	if (retained < 1) return violation("a context is released that was not retained");
	size_t left = memory[ON_DEVICE].size() + memory[PINNED].size() + streams.size() + events.size() + graphs.size() + executables.size();
	if (!--retained && left) return violation("%zu allocations, streams, events and graphs are left with the context", left);
	return violated ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxSetCurrent(CUcontext c) { STARTED; return current = c, c && c != primary ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS; }

CUresult CUDAAPI cuMemGetInfo_v2(size_t *vacant, size_t *total) { IN("cuMemGetInfo"); return *vacant = 60ull << 30, *total = 64ull << 30, CUDA_SUCCESS; }
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	IN("cuMemAlloc");
	NOT_CAPTURED("cuMemAlloc");
	if (!n) return CUDA_ERROR_INVALID_VALUE;
	if (n > 4ull << 30) return CUDA_ERROR_OUT_OF_MEMORY;
	std::lock(state, device);
	Hold hold(state, std::adopt_lock);
	std::lock_guard<std::mutex> also(device, std::adopt_lock);
	*p = run.alloc ? run.alloc(n + 256) : (CUdeviceptr)aligned_alloc(256, (n + 511) & ~255ull);
	memory[ON_DEVICE][*p] = n;
	if (n <= 1 << 22) fill(*p, 0xff, n);
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr p) {
	IN("cuMemFree");
	NOT_CAPTURED("cuMemFree");
	drain_all();
	std::lock(state, device);
	Hold hold(state, std::adopt_lock);
	std::lock_guard<std::mutex> also(device, std::adopt_lock);
	if (!memory[ON_DEVICE].count(p)) return violation("cuMemFree of what was not allocated");
	fill(p, 0xff, std::min<size_t>(memory[ON_DEVICE][p], 1 << 22)); // and never given out again
	memory[ON_DEVICE].erase(p);
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemAllocHost_v2(void **p, size_t n) {
	IN("cuMemAllocHost");
	if (!n) return CUDA_ERROR_INVALID_VALUE;
	*p = aligned_alloc(4096, (n + 4095) & ~4095ull);
	memset(*p, 0xff, n);
	Hold hold(state);
	memory[PINNED][(u64)*p] = n;
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFreeHost(void *p) {
	IN("cuMemFreeHost");
	Hold hold(state);
	auto found = memory[PINNED].find((u64)p);
	if (found == memory[PINNED].end()) return violation("cuMemFreeHost of what was not allocated");
	memset(p, 0xff, found->second); // kept, so that a copy that is still to run is seen
	memory[PINNED].erase(found);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr d, const void *h, size_t n) {
	IN("cuMemcpyHtoD");
	NOT_CAPTURED("cuMemcpyHtoD");
	if (!inside(ON_DEVICE, d, n)) return violation("cuMemcpyHtoD outside of every allocation");
	auto staged = std::make_shared<std::vector<char>>((const char *)h, (const char *)h + n); // the copy may come later
	return push(0, [=] { write(d, staged->data(), n); });
}
CUresult CUDAAPI cuMemcpyDtoH_v2(void *h, CUdeviceptr d, size_t n) {
	IN("cuMemcpyDtoH");
	NOT_CAPTURED("cuMemcpyDtoH");
	if (!inside(ON_DEVICE, d, n)) return violation("cuMemcpyDtoH outside of every allocation");
	CUresult r = push(0, [=] { read(h, d, n); });
	drain(&null_stream);
	return r;
}
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, CUstream s) {
	IN("cuMemcpyHtoDAsync");
	if (!inside(ON_DEVICE, d, n)) return violation("cuMemcpyHtoDAsync outside of every allocation");
	if (!inside(PINNED, (u64)h, n)) return violation("cuMemcpyHtoDAsync from memory that is not pinned");
	return push(s, [=] { inside(PINNED, (u64)h, n) ? write(d, h, n) : (void)violation("an asynchronous copy to the device runs after its host memory was freed"); });
}
CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, CUstream s) {
	IN("cuMemcpyDtoHAsync");
	if (!inside(ON_DEVICE, d, n)) return violation("cuMemcpyDtoHAsync outside of every allocation");
	if (!inside(PINNED, (u64)h, n)) return violation("cuMemcpyDtoHAsync to memory that is not pinned");
	return push(s, [=] { inside(PINNED, (u64)h, n) ? read(h, d, n) : (void)violation("an asynchronous copy to the host runs after its memory was freed"); });
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr d, unsigned char c, size_t n, CUstream s) {
	IN("cuMemsetD8Async");
	if (!inside(ON_DEVICE, d, n)) return violation("cuMemsetD8Async outside of every allocation");
	return push(s, [=] { fill(d, c, n); });
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, CUjit_option *options, void **values) {
	IN("cuModuleLoadDataEx");
	NOT_CAPTURED("cuModuleLoadDataEx");
	char none[1], *log = none;
	size_t room = 1;
	for (unsigned i = 0; i < n; i++) {
		switch (options[i]) {
		case CU_JIT_ERROR_LOG_BUFFER: log = (char *)values[i]; break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: room = (size_t)values[i]; break;
		default: return violation("an option of cuModuleLoadDataEx that is none, %d", options[i]);
		}
	}
	std::lock(state, device);
	Hold hold(state, std::adopt_lock);
	std::lock_guard<std::mutex> also(device, std::adopt_lock);
	void *loaded = run.load ? run.load((const char *)image, log, room) : 0;
	if (run.load && !loaded) return CUDA_ERROR_INVALID_PTX;
	Module *made = new Module{loaded, (const char *)image};
	modules.insert(made);
	return *m = (CUmodule)made, CUDA_SUCCESS;
}
// The binding over gorgonia.org/cu has no options.
CUresult CUDAAPI cuModuleLoadData(CUmodule *m, const void *image) { return cuModuleLoadDataEx(m, image, 0, nullptr, nullptr); }
CUresult CUDAAPI cuModuleUnload(CUmodule m) {
	IN("cuModuleUnload");
	drain_all();
	return drop(modules, (Module *)m) ? CUDA_SUCCESS : violation("cuModuleUnload of no module");
}
CUresult CUDAAPI cuModuleGetFunction(CUfunction *f, CUmodule handle, const char *entry) {
	IN("cuModuleGetFunction");
	std::lock(state, device);
	Hold hold(state, std::adopt_lock);
	std::lock_guard<std::mutex> also(device, std::adopt_lock);
	Module *m = (Module *)handle;
	if (!modules.count(m)) return violation("cuModuleGetFunction of no module");
	auto made = std::make_unique<Function>(Function{run.function ? run.function(m->loaded, entry) : 0, m, {}});
	if ((run.function && !made->found) || !parameters(m->text, entry, &made->sizes)) return CUDA_ERROR_NOT_FOUND;
	*f = (CUfunction)made.get();
	functions.insert(std::move(made));
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction) { IN("cuFuncGetAttribute"); return *v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0, CUDA_SUCCESS; }
CUresult CUDAAPI cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { IN("cuFuncSetAttribute"); return CUDA_SUCCESS; }
CUresult CUDAAPI cuLaunchKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **given, void **extra) {
	IN("cuLaunchKernel");
	Function *f = (Function *)handle;
	{
		Hold hold(state);
		if (!modules.count(f->of)) return violation("a launch of a function whose module is gone");
	}
	if (!gx || !gy || !gz || gx > 0x7fffffff || gy > 65535 || gz > 65535 || bx * by * bz == 0 || bx * by * bz > 1024 || shared > 49152 || extra)
		return violation("a launch of %u x %u x %u blocks of %u x %u x %u threads", gx, gy, gz, bx, by, bz);
	auto kept = std::make_shared<std::vector<u64>>(); // the driver copies parameters during the call
	for (size_t i = 0; i < f->sizes.size(); i++) {
		kept->push_back(0);
		memcpy(&kept->back(), given[i], f->sizes[i]);
	}
	return push(s, [=] {
		if (!run.launch) return;
		std::vector<void *> at;
		for (auto &v : *kept) at.push_back(&v);
		const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
		run.launch(f->found, grid, block, at.data());
	});
}

CUresult CUDAAPI cuStreamCreate(CUstream *s, unsigned flags) {
	IN("cuStreamCreate");
	Stream *made = new Stream;
	made->blocking = !(flags & CU_STREAM_NON_BLOCKING);
	Hold hold(state);
	streams.insert(made);
	return *s = (CUstream)made, CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamDestroy_v2(CUstream s) {
	IN("cuStreamDestroy");
	Stream *t = stream(s);
	if (!s || !t || t->capture) return violation("cuStreamDestroy of a stream that is dead or captures");
	drain(t);
	drop(streams, t);
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamSynchronize(CUstream s) {
	IN("cuStreamSynchronize");
	Stream *t = stream(s);
	if (!t || t->capture || (!s && captures())) return violation("cuStreamSynchronize of a stream that is dead or captures");
	drain(t);
	return violated ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventCreate(CUevent *e, unsigned) {
	IN("cuEventCreate");
	Hold hold(state);
	Event *made = new Event;
	events.insert(made);
	return *e = (CUevent)made, CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventDestroy_v2(CUevent e) {
	IN("cuEventDestroy");
	Hold hold(state);
	if (!events.erase((Event *)e)) return violation("cuEventDestroy of no event"); // not freed: its mark may be to come
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventRecord(CUevent handle, CUstream s) {
	IN("cuEventRecord");
	Hold hold(state);
	Event *e = (Event *)handle;
	if (!events.count(e)) return violation("cuEventRecord of no event");
	u64 mark = ++e->recorded;
	return push(s, [=] { Hold hold(state); e->done = mark, e->at = std::chrono::steady_clock::now(); });
}
CUresult CUDAAPI cuEventSynchronize(CUevent handle) {
	IN("cuEventSynchronize");
	std::unique_lock<std::recursive_mutex> lock(state);
	Event *e = (Event *)handle;
	if (!events.count(e)) return violation("cuEventSynchronize of no event");
	while (e->done < e->recorded) changed.wait(lock);
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
	IN("cuEventElapsedTime");
	Hold hold(state);
	Event *a = (Event *)from, *b = (Event *)to;
	if (!a->recorded || !b->recorded) return CUDA_ERROR_INVALID_HANDLE;
	if (a->done < a->recorded || b->done < b->recorded) return CUDA_ERROR_NOT_READY;
	return *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count(), CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode) {
	IN("cuStreamBeginCapture");
	Hold hold(state);
	Stream *t = stream(s);
	if (!s || !t || t->capture || mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) return violation("cuStreamBeginCapture of the default stream, twice or in mode %d", mode);
	t->capture.reset(new Graph);
	t->by = std::this_thread::get_id();
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamEndCapture(CUstream s, CUgraph *g) {
	IN("cuStreamEndCapture");
	Hold hold(state);
	Stream *t = stream(s);
	if (!t || !t->capture || t->by != std::this_thread::get_id()) return violation("cuStreamEndCapture of no capture by this thread");
	Graph *made = t->capture.release();
	graphs.insert(made);
	return *g = (CUgraph)made, CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, u64 flags) {
	IN("cuGraphInstantiateWithFlags");
	Hold hold(state);
	if (!graphs.count((Graph *)g) || flags) return violation("cuGraphInstantiateWithFlags of no graph");
	Graph *made = new Graph(*(Graph *)g);
	executables.insert(made);
	return *e = (CUgraphExec)made, CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphLaunch(CUgraphExec e, CUstream s) {
	IN("cuGraphLaunch");
	Hold hold(state);
	if (!executables.count((Graph *)e)) return violation("cuGraphLaunch of no graph");
	for (auto &step : ((Graph *)e)->steps)
		if (CUresult r = push(s, step)) return r;
	return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphDestroy(CUgraph g) { IN("cuGraphDestroy"); return drop(graphs, (Graph *)g) ? CUDA_SUCCESS : violation("cuGraphDestroy of no graph"); }
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec e) {
	IN("cuGraphExecDestroy");
	drain_all();
	return drop(executables, (Graph *)e) ? CUDA_SUCCESS : violation("cuGraphExecDestroy of no graph");
}
} // extern "C"
