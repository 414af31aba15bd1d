// device.h for a compiler of C++: the kernels run on the CPU, under its sanitizers. A thread of
// a block is a fibre, a barrier switches to the next one, and blocks run one after the other.
#pragma once

#define KERNEL
#define DEVICE static inline
#define SHARED
#define THREADS(n)
#define TWO_BLOCKS(n)

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#ifndef PER_THREAD
#define PER_THREAD // thread_local where threads are not fibres
#endif

struct Place { u32 thread, x, y, grid_y; };
extern PER_THREAD Place here;
void barrier();

DEVICE u32 thread() { return here.thread; }
DEVICE u32 block_x() { return here.x; }
DEVICE u32 block_y() { return here.y; }
DEVICE u32 grid_y() { return here.grid_y; }
DEVICE u32 bits(float v) { return __builtin_bit_cast(u32, v); }
template <u32 N> DEVICE void keep(double *) {}
DEVICE double load(const double *p) { return *p; }
DEVICE double load(const float *p) { return *p; }
DEVICE float reciprocal(float v) { return v > 0x1p126f ? 0.0f : 1.0f / v; }
DEVICE float fma_saturated(float a, float b, float c) {
	float v = __builtin_fmaf(a, b, c);
	return v > 0 ? v < 1 ? v : 1.0f : 0.0f;
}
DEVICE void add_exact(i64 *sum, i64 v) { __atomic_fetch_add(sum, v, __ATOMIC_RELAXED); }
DEVICE i64 fixed(double v) {
	double r = __builtin_rint(v);
	return r != r ? 0 : r >= 0x1p63 ? 0x7fffffffffffffff : r < -0x1p63 ? -0x7fffffffffffffff - 1 : (i64)r;
}
DEVICE i64 fixed(float v) { return fixed((double)v); }
DEVICE double fma64(double a, double b, double c) { return __builtin_fma(a, b, c); }
DEVICE double root(double v) { return __builtin_sqrt(v); }
DEVICE float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
