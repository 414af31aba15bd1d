// Models of the instructions of mma.h, wgmma.h, metric.h and spliced.h, for a compiler of C++. Where
// numbers are in the registers of lanes is after the PTX manual ("Matrix Fragments for mma" and
// "for wgmma"), g = lane / 4 and t = lane % 4. Arithmetic is that of package ptxtest: a sum of
// products starts from the sum so far, in the order of the terms, in float64, and is rounded once.
#pragma once
#include <cmath>

#include "lanes.h"

#define ext_vector_type(n) vector_size(4 * (n)) // what g++ calls it; numbers have 4 bytes

typedef u32 u32x4 __attribute__((ext_vector_type(4)));

// phi_slope is phi' of the logistic loss, with the instructions that package ptxtest puts in.
DEVICE float phi_slope(float u) {
	float v = u * 0x1.715476p0f;
	v = (float)exp2((double)v);
	return -reciprocal((v < 0x1p-126f ? 0.0f : v) + 1.0f);
}

DEVICE float phi_slope(float u, float, float least, float most) {
	float r = phi_slope(u);
	r = r > least ? r : least;
	return r < most ? r : most;
}

DEVICE u32x4 load_fragment(const u32x4 *from) { return *from; }

DEVICE int exchange(int v, u32 bit) { return meet("exchange", v)[(here.thread & 31) ^ bit]; }

DEVICE u32 bf16(float v) {
	u32 u = bits(v);
	return v != v ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

DEVICE u32 bf16_pair(float a, float b) { return bf16(b) << 16 | bf16(a); }

DEVICE u32 tf32(float v) {
	u32 u = bits(v);
	return (u & 0x7f800000) == 0x7f800000 ? u : (u + 0x1000) & ~0x1fffu;
}

DEVICE double as_float(u32 u) { return __builtin_bit_cast(float, u); }
DEVICE double half(u32 pair, u32 k) { return as_float(pair >> 16 * (k & 1) << 16); }

struct Factors { u32 a[4], b[2]; };

DEVICE void mma_bf16(float *s, u32x4 a, u32 b0, u32 b1) {
	Warp<Factors> of = meet("mma_bf16", Factors{{a[0], a[1], a[2], a[3]}, {b0, b1}});
	u32 g = (here.thread & 31) / 4, t = here.thread % 4;
	for (u32 e = 0; e < 4; e++) {
		double sum = s[e];
		for (u32 k = 0; k < 16; k++)
			sum += half(of[4 * g + k % 8 / 2].a[e / 2 + k / 8 * 2], k) * half(of[4 * (2 * t + e % 2) + k % 8 / 2].b[k / 8], k);
		s[e] = (float)sum;
	}
}

DEVICE void mma_tf32(float *s, u32x4 a, u32 b0, u32 b1) {
	Warp<Factors> of = meet("mma_tf32", Factors{{a[0], a[1], a[2], a[3]}, {b0, b1}});
	u32 g = (here.thread & 31) / 4, t = here.thread % 4;
	for (u32 e = 0; e < 4; e++) {
		double sum = s[e];
		for (u32 k = 0; k < 8; k++)
			sum += as_float(of[4 * g + k % 4].a[e / 2 + k / 4 * 2] & ~0x1fffu) * as_float(of[4 * (2 * t + e % 2) + k % 4].b[k / 4] & ~0x1fffu);
		s[e] = (float)sum;
	}
}

// Shared memory begins at an array whose address is asked for first.
static thread_local char *window;

DEVICE u32 address(const void *shared) {
	if (!window) window = (char *)shared;
	return (u32)((char *)shared - window);
}

DEVICE void pin(u32x4 *) {}
DEVICE void wgmma_begin() {}
DEVICE void wgmma_columns_end(float *) {}
DEVICE void wgmma_rows_end(float *) {}

// product adds A B to s, or with first sets s to it: B is 16 x columns by its descriptor, with
// swizzles of 64 bytes, and by_rows says that its rows are contiguous, not its columns.
DEVICE void product(float *s, u32x4 a, u64 b, u32 columns, bool by_rows, bool first) {
	Warp<Factors> of = meet("wgmma", Factors{{a[0], a[1], a[2], a[3]}, {}});
	if (b >> 62 != 2) fail("a descriptor without a swizzle of 64 bytes");
	u32 start = (b & 0x3fff) << 4, stride = (b >> 32 & 0x3fff) << 4;
	u32 g = (here.thread & 31) / 4, t = here.thread % 4;
	for (u32 e = 0; e < columns / 2; e++) {
		u32 c = e / 4 * 8 + 2 * t + e % 2;
		double sum = first ? 0 : s[e];
		for (u32 k = 0; k < 16; k++) {
			u32 row = by_rows ? k : c, at = start + row / 8 * stride + row % 8 * 64 + 2 * (by_rows ? c : k);
			unsigned short v;
			memcpy(&v, window + (at ^ (at >> 7 & 3) << 4), 2);
			sum += half(of[4 * g + k % 8 / 2].a[e / 2 % 2 + k / 8 * 2], k) * as_float((u32)v << 16);
		}
		s[e] = (float)sum;
	}
}

DEVICE void wgmma_columns(float *s, u32x4 a, u64 b) { product(s, a, b, 64, false, false); }
DEVICE void wgmma_columns_first(float *s, u32x4 a, u64 b) { product(s, a, b, 64, false, true); }
DEVICE void wgmma_rows(float *s, u32x4 a, u64 b) { product(s, a, b, 32, true, false); }
DEVICE void wgmma_rows_first(float *s, u32x4 a, u64 b) { product(s, a, b, 32, true, true); }

// A copy changes nothing before it is waited for.
DEVICE void copy_async(u32 to, const u32x4 *from) { lanes()[here.thread].copies.push_back({to, from}); }

DEVICE void copies_end() {
	for (const Copy &c : lanes()[here.thread].copies) *(u32x4 *)(window + c.to) = *(const u32x4 *)c.from;
	lanes()[here.thread].copies.clear();
}
