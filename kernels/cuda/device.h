// What the kernels need of CUDA, without NVIDIA's headers. Compiled by clang only.
#pragma once

#define KERNEL extern "C" __attribute__((global))
#define DEVICE static inline __attribute__((device, always_inline))
#define SHARED __attribute__((shared))
// THREADS tells the compiler the size of a block, from which it derives how many
// registers a thread may use.
#define THREADS(n) __attribute__((launch_bounds(n)))
// TWO_BLOCKS lets it use as few that two blocks fit on a multiprocessor.
#define TWO_BLOCKS(n) __attribute__((launch_bounds(n, 2)))

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

DEVICE u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE u32 grid_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
DEVICE void barrier() { __syncthreads(); }

DEVICE u32 bits(float v) { return __builtin_bit_cast(u32, v); }

// keep has the values in registers here: what was loaded before is not moved behind the conditions
// under which it is used, so that all the loads are under way at once.
template <u32 N> DEVICE void keep(double *v) {
#pragma unroll
	for (u32 m = 0; m < N; m++) asm volatile("" : "+d"(v[m]));
}

// load reads memory that no kernel writes while this one runs.
DEVICE double load(const double *p) { return __nvvm_ldg_d(p); }
DEVICE double load(const float *p) { return __nvvm_ldg_f(p); }

// reciprocal is within 2^-22 of 1/v, relatively, for 2^-126 <= v <= 2^126, and 0 for
// larger v.
DEVICE float reciprocal(float v) {
	float r;
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

// fma_saturated is a b + c, rounded once, clamped to [0, 1]; NaN becomes 0.
DEVICE float fma_saturated(float a, float b, float c) {
	float r;
	asm("fma.rn.ftz.sat.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));
	return r;
}

// add_exact adds to a sum that other blocks add to, too: integers, so that the order
// does not matter.
DEVICE void add_exact(i64 *sum, i64 v) {
	asm volatile("red.global.add.u64 [%0], %1;" : : "l"(sum), "l"(v) : "memory");
}

// fixed is the integer nearest to v.
DEVICE i64 fixed(float v) {
	i64 r;
	asm("cvt.rni.s64.f32 %0, %1;" : "=l"(r) : "f"(v));
	return r;
}
DEVICE i64 fixed(double v) {
	i64 r;
	asm("cvt.rni.s64.f64 %0, %1;" : "=l"(r) : "d"(v));
	return r;
}

DEVICE double fma64(double a, double b, double c) { return __builtin_fma(a, b, c); }
// root is the square root, correctly rounded.
DEVICE double root(double v) { return __nvvm_sqrt_rn_d(v); }
DEVICE float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
