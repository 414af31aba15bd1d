// What the tiles of Mahalanobis losses share. X is stored by columns, x[k n + i].
#pragma once
#include "device.h"

typedef float float4v __attribute__((ext_vector_type(4)));

enum {
	SPAN = 1024,                // columns whose products are summed in float32
	THREE_QUARTERS = 0x3f400000 // the bits of 0.75f
};

// phi_slope is replaced in the PTX: r = phi'(u).
DEVICE float phi_slope(float u) {
	float r;
	asm("//@PHI %0 %1;" : "=f"(r) : "f"(u));
	return r;
}

// coefficient returns v = phi'(u) t scale clamped to [-1, 1] and rounded to a multiple of
// 2^-22, with t = yi yj, u = t (1 - D) and D = (qi + qj) + twice s. NaN becomes -1.
//
// w = v/4 + 3/4 is in [1/2, 1], where floats are multiples of 2^-24, so w - 3/4 is exact.
DEVICE float coefficient(float s, float qi, float qj, float yi, float yj, float twice, float scale) {
	float t = yi * yj;
	float v = phi_slope(t * (1.0f - fma32(twice, s, qi + qj))) * (t * scale);
	v = v > -1.0f ? v < 1.0f ? v : 1.0f : -1.0f;
	return (fma32(v, 0.25f, 0.75f) - 0.75f) * 4.0f;
}

// units is v in units of 2^-22, for a multiple of that in [-1, 1].
DEVICE int units(float v) { return (int)(bits(fma32(v, 0.25f, 0.75f)) - THREE_QUARTERS); }

// fixed is the integer nearest to v.
DEVICE i64 fixed(float v) {
	i64 r;
	asm("cvt.rni.s64.f32 %0, %1;" : "=l"(r) : "f"(v));
	return r;
}
