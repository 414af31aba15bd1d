// A libcuda.so.1 without a GPU, for tests. It keeps what programs get wrong: the
// current context is per thread, memory must have been allocated by a live context,
// and handles must be alive. Every result has its upper 32 bits set, which the ABI
// leaves undefined for an int.
//
// cuInit returns INIT, there are COUNT GPUs, and cuDeviceGetName fails for GPU BROKEN.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
#define RESULT(code) return 0x7fffffff00000000L | (unsigned)(code)
enum { CONTEXT = 1, MEMORY, HOST, MODULE, STREAM, EVENT, GRAPH, EXECUTABLE, KINDS };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int current; // device + 1, or 0
static int retained[COUNT + 1];

// The table of live objects.
static struct object { int kind; u64 key, size; } *table;
static int entries, room;

static void add(int kind, void *key, u64 size) {
	pthread_mutex_lock(&mutex);
	if (entries == room) table = realloc(table, (room = 2 * room + 16) * sizeof *table);
	table[entries++] = (struct object){kind, (u64)key, size};
	pthread_mutex_unlock(&mutex);
}

// find says whether [key, key + size) lies in a live object of that kind, and
// forgets the object if gone is set.
static int find(int kind, u64 key, u64 size, int gone) {
	int found = 0;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < entries && !found; i++) {
		struct object o = table[i];
		if (o.kind != kind || key < o.key || key - o.key > o.size || o.size - (key - o.key) < size || (gone && key != o.key)) continue;
		found = 1;
		if (gone) table[i] = table[--entries];
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

// fake_live counts live objects of a kind.
long fake_live(int kind) {
	long n = 0;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < entries; i++) n += table[i].kind == kind;
	for (int i = 0; i < COUNT && kind == CONTEXT; i++) n += retained[i];
	pthread_mutex_unlock(&mutex);
	return n;
}

// fake_fail lets the call of that name fail once with that code, after skipping
// some calls.
static char victim[64];
static int code, skip, lost;
void fake_fail(const char *name, int result, int after) {
	pthread_mutex_lock(&mutex);
	strncpy(victim, name, sizeof victim - 1);
	code = result, skip = after, lost = 0;
	pthread_mutex_unlock(&mutex);
}

// After 700 every call fails with it until fake_fail is called again, as in a lost context.
static int injected(const char *name) {
	int r = 0;
	pthread_mutex_lock(&mutex);
	if (code && !strcmp(victim, name) && skip-- == 0) r = code, code = 0, lost = r == 700;
	else if (lost) r = 700;
	pthread_mutex_unlock(&mutex);
	return r;
}

#define CALL(name) do { int r = injected(name); if (r) RESULT(r); } while (0)
#define IN_CONTEXT(name) CALL(name); if (!current) RESULT(201)

long cuInit(unsigned flags) { RESULT(flags == 0 ? INIT : 1); }
long cuDriverGetVersion(int *v) { *v = 13020; RESULT(0); }
long cuDeviceGetCount(int *n) { *n = COUNT; RESULT(0); }
long cuDeviceGet(int *dev, int i) { *dev = 40 + i; RESULT(i < COUNT ? 0 : 101); }
long cuDeviceGetName(char *s, int len, int dev) {
	strncpy(s, dev == 40 ? "Mock H200" : "Mock A100 ", len);
	RESULT(dev == 40 + BROKEN ? 101 : 0);
}
#ifndef OLD
long cuDeviceTotalMem_v2(unsigned long *bytes, int dev) {
	*bytes = dev == 40 ? 150754820096UL : 42949672961UL;
	RESULT(0);
}
#endif
long cuDeviceGetAttribute(int *v, int attr, int dev) {
	int first = dev == 40;
	switch (attr) {
	case 16: *v = first ? 132 : 108; RESULT(0);
	case 75: *v = first ? 9 : 8; RESULT(0);
	case 76: *v = first ? 0 : 6; RESULT(0);
	}
	RESULT(1);
}

long cuDevicePrimaryCtxRetain(u64 *ctx, int dev) {
	CALL("cuDevicePrimaryCtxRetain");
	if (dev < 40 || dev >= 40 + COUNT) RESULT(101);
	pthread_mutex_lock(&mutex), retained[dev - 40]++, pthread_mutex_unlock(&mutex);
	*ctx = 1000 + dev - 40;
	RESULT(0);
}
long cuDevicePrimaryCtxRelease_v2(int dev) {
	CALL("cuDevicePrimaryCtxRelease");
	int bad;
	pthread_mutex_lock(&mutex), bad = retained[dev - 40]-- < 1, pthread_mutex_unlock(&mutex);
	RESULT(bad ? 201 : 0);
}
long cuCtxSetCurrent(u64 ctx) {
	CALL("cuCtxSetCurrent");
	current = ctx ? (int)(ctx - 1000) + 1 : 0;
	RESULT(0);
}

long cuMemGetInfo_v2(u64 *vacant, u64 *total) {
	IN_CONTEXT("cuMemGetInfo");
	*vacant = 1 << 30, *total = 2UL << 30;
	RESULT(0);
}
static long allocate(int kind, void **p, u64 n) {
	if (n == 0) RESULT(1);
	if (n > 1UL << 30) RESULT(2);
	*p = aligned_alloc(256, (n + 255) & ~255UL);
	memset(*p, 0xa5, n);
	add(kind, *p, n);
	RESULT(0);
}
static long release(int kind, void *p) {
	if (!find(kind, (u64)p, 0, 1)) RESULT(1);
	free(p);
	RESULT(0);
}
long cuMemAlloc_v2(void **p, u64 n) { IN_CONTEXT("cuMemAlloc"); return allocate(MEMORY, p, n); }
long cuMemFree_v2(void *p) { IN_CONTEXT("cuMemFree"); return release(MEMORY, p); }
long cuMemAllocHost_v2(void **p, u64 n) { IN_CONTEXT("cuMemAllocHost"); return allocate(HOST, p, n); }
long cuMemFreeHost(void *p) { IN_CONTEXT("cuMemFreeHost"); return release(HOST, p); }
static int stream_ok(u64 s) { return s == 0 || find(STREAM, s, 0, 0); }

// A graph is the steps that were given to a stream of this thread while it captured. They are
// copied: a launch with its parameters, a copy with its addresses.
struct step { void *to, *from; u64 bytes, n; double v; }; // bytes, or fill of n numbers
struct steps { int count; struct step step[64]; };
static __thread u64 capturing;
static __thread struct steps *recorded;

// record says whether a call in a stream is only recorded. Waiting for it would spoil it.
static int record(u64 stream, struct step s) {
	if (!capturing || stream != capturing) return 0;
	recorded->step[recorded->count++] = s;
	return 1;
}
static long fill(double *p, unsigned n, double v) {
	if (!find(MEMORY, (u64)p, n * sizeof *p, 0)) RESULT(700);
	for (unsigned i = 0; i < n; i++) p[i] = v;
	RESULT(0);
}
#ifndef OLD_GRAPHS
long cuStreamBeginCapture_v2(u64 s, int mode) {
	IN_CONTEXT("cuStreamBeginCapture");
	if (s == 0) RESULT(900); // the default stream cannot
	if (!stream_ok(s) || mode != 1 || capturing) RESULT(1);
	capturing = s, recorded = calloc(1, sizeof *recorded);
	RESULT(0);
}
long cuStreamEndCapture(u64 s, void **graph) {
	if (!capturing || s != capturing) RESULT(401);
	capturing = 0; // also if it fails
	CALL("cuStreamEndCapture");
	add(GRAPH, *graph = recorded, sizeof *recorded);
	RESULT(0);
}
long cuGraphInstantiateWithFlags(void **executable, void *graph, u64 flags) {
	IN_CONTEXT("cuGraphInstantiateWithFlags");
	if (!find(GRAPH, (u64)graph, 0, 0) || flags) RESULT(1);
	struct steps *own = malloc(sizeof *own);
	*own = *(struct steps *)graph;
	add(EXECUTABLE, *executable = own, 0);
	RESULT(0);
}
long cuGraphLaunch(void *executable, u64 s) {
	IN_CONTEXT("cuGraphLaunch");
	if (!find(EXECUTABLE, (u64)executable, 0, 0) || !stream_ok(s)) RESULT(400);
	struct steps *all = executable;
	for (int i = 0; i < all->count; i++) {
		struct step t = all->step[i];
		if (t.bytes) memcpy(t.to, t.from, t.bytes);
		else fill(t.to, t.n, t.v);
	}
	RESULT(0);
}
long cuGraphDestroy(void *graph) { IN_CONTEXT("cuGraphDestroy"); return release(GRAPH, graph); }
long cuGraphExecDestroy(void *executable) { IN_CONTEXT("cuGraphExecDestroy"); return release(EXECUTABLE, executable); }
#endif
long cuMemcpyHtoD_v2(void *d, void *h, u64 n) {
	IN_CONTEXT("cuMemcpyHtoD");
	if (!find(MEMORY, (u64)d, n, 0)) RESULT(1);
	memcpy(d, h, n);
	RESULT(0);
}
long cuMemcpyDtoH_v2(void *h, void *d, u64 n) {
	IN_CONTEXT("cuMemcpyDtoH");
	if (!find(MEMORY, (u64)d, n, 0)) RESULT(1);
	memcpy(h, d, n);
	RESULT(0);
}
long cuMemcpyHtoDAsync_v2(void *d, void *h, u64 n, u64 s) {
	IN_CONTEXT("cuMemcpyHtoDAsync");
	if (!stream_ok(s)) RESULT(400);
	if (!find(MEMORY, (u64)d, n, 0) || !find(HOST, (u64)h, n, 0)) RESULT(1);
	if (!record(s, (struct step){d, h, n})) memcpy(d, h, n);
	RESULT(0);
}
long cuMemcpyDtoHAsync_v2(void *h, void *d, u64 n, u64 s) {
	IN_CONTEXT("cuMemcpyDtoHAsync");
	if (!stream_ok(s)) RESULT(400);
	if (!find(MEMORY, (u64)d, n, 0) || !find(HOST, (u64)h, n, 0)) RESULT(1);
	if (!record(s, (struct step){h, d, n})) memcpy(h, d, n);
	RESULT(0);
}
long cuMemsetD8Async(void *d, unsigned char v, u64 n, u64 s) {
	IN_CONTEXT("cuMemsetD8Async");
	if (!stream_ok(s)) RESULT(400);
	if (!find(MEMORY, (u64)d, n, 0)) RESULT(1);
	memset(d, v, n);
	RESULT(0);
}

// The only kernel: fill(double *p, unsigned n, double v).
long cuModuleLoadDataEx(void **m, const char *image, unsigned n, int *options, void **values) {
	IN_CONTEXT("cuModuleLoadDataEx");
	if (!strstr(image, ".entry fill")) {
		for (unsigned i = 0; i + 1 < n; i++)
			if (options[i] == 5) snprintf(values[i], (u64)values[i + 1], "ptxas fatal: no entry fill");
		RESULT(218);
	}
	add(MODULE, *m = malloc(8), 0);
	RESULT(0);
}
long cuModuleLoadData(void **m, const char *image) { return cuModuleLoadDataEx(m, image, 0, 0, 0); }
long cuModuleUnload(void *m) { IN_CONTEXT("cuModuleUnload"); return release(MODULE, m); }
long cuModuleGetFunction(void **f, void *m, const char *name) {
	IN_CONTEXT("cuModuleGetFunction");
	if (!find(MODULE, (u64)m, 0, 0)) RESULT(400);
	*f = m;
	RESULT(strcmp(name, "fill") ? 500 : 0);
}
static int limit = 49152;
long cuFuncGetAttribute(int *v, int a, void *f) {
	IN_CONTEXT("cuFuncGetAttribute");
	*v = a == 8 ? limit : a == 4 ? 17 : 0;
	RESULT(0);
}
long cuFuncSetAttribute(void *f, int a, int v) {
	IN_CONTEXT("cuFuncSetAttribute");
	if (a != 8) RESULT(1);
	limit = v;
	RESULT(0);
}
long cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                    unsigned shared, u64 stream, void **params, void **extra) {
	IN_CONTEXT("cuLaunchKernel");
	if (!find(MODULE, (u64)f, 0, 0) || !stream_ok(stream)) RESULT(400);
	if (extra || shared > limit || (u64)gx * gy * gz == 0 || bx * by * bz > 1024) RESULT(1);
	double *p = *(double **)params[0], v = *(double *)params[2];
	unsigned n = *(unsigned *)params[1];
	if (n > gx * bx) n = gx * bx;
	if (record(stream, (struct step){p, 0, 0, n, v})) RESULT(0);
	return fill(p, n, v);
}

long cuStreamCreate(void **s, unsigned flags) { IN_CONTEXT("cuStreamCreate"); add(STREAM, *s = malloc(8), 0); RESULT(flags == 1 ? 0 : 1); }
long cuStreamDestroy_v2(void *s) { IN_CONTEXT("cuStreamDestroy"); return release(STREAM, s); }
long cuStreamSynchronize(u64 s) { IN_CONTEXT("cuStreamSynchronize"); if (capturing && s == capturing) RESULT(900); RESULT(stream_ok(s) ? 0 : 400); }
long cuEventCreate(void **e, unsigned flags) { IN_CONTEXT("cuEventCreate"); add(EVENT, *e = malloc(8), 0); RESULT(0); }
long cuEventDestroy_v2(void *e) { IN_CONTEXT("cuEventDestroy"); return release(EVENT, e); }
long cuEventRecord(u64 e, u64 s) { IN_CONTEXT("cuEventRecord"); RESULT(find(EVENT, e, 0, 0) && stream_ok(s) ? 0 : 400); }
long cuEventSynchronize(u64 e) { IN_CONTEXT("cuEventSynchronize"); RESULT(find(EVENT, e, 0, 0) ? 0 : 400); }
long cuEventElapsedTime(float *ms, u64 a, u64 b) { IN_CONTEXT("cuEventElapsedTime"); *ms = 1.5f; RESULT(find(EVENT, a, 0, 0) && find(EVENT, b, 0, 0) ? 0 : 400); }
long cuEventElapsedTime_v2(float *ms, u64 a, u64 b) { return cuEventElapsedTime(ms, a, b); } // the name in headers of CUDA 13
