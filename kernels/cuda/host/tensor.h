// Models of the instructions of mma.h, metric.h and spliced.h, for a compiler of C++. Where
// numbers are in the registers of lanes is after the PTX manual ("Matrix Fragments for
// mma"), g = lane / 4 and t = lane % 4. Arithmetic is that of package ptxtest: a sum of
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
