// What the tiles of Mahalanobis losses share. X is stored by columns, x[k n + i].
#pragma once
#include "device.h"

typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));

enum { SPAN = 1024 }; // columns whose products are summed in float32

// phi_slope is replaced in the PTX: r = phi'(u).
DEVICE float phi_slope(float u) {
	float r;
	asm("//@PHI %0 %1;" : "=f"(r) : "f"(u));
	return r;
}

// coefficient returns v = phi'(u) t clamped to [-unit, unit], with t = yi yj, u = t - t D
// and D = (qi + qj) + twice s. NaN becomes -unit. Points are (q, y).
DEVICE float coefficient(float s, float2v i, float2v j, float twice, float unit) {
	float t = i[1] * j[1];
	float v = phi_slope(fma32(-t, fma32(twice, s, i[0] + j[0]), t)) * t;
	return __builtin_fminf(__builtin_fmaxf(v, -unit), unit);
}

// on_grid returns v rounded to a multiple of g, and adds it to sums in units of g, where
// zero = 3 2^22 g, g is a power of two and |v| <= 2^22 g: floats around zero are
// multiples of g.
DEVICE float on_grid(float v, float zero, int *row, int *col) {
	float t = v + zero;
	int k = (int)(bits(t) - bits(zero));
	*row += k;
	*col += k;
	return t - zero;
}
