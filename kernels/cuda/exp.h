#pragma once

#include "device.h"

// exp_up_to is exp(v) for |v| <= 700 with a relative error below 4 u, u = 2^-53.
//
// k is the integer nearest to v / ln 2 and r = v - k ln 2, |r| <= 0.3467, within
// 0.4 u: the first part of ln 2 has 32 bits, so k hi and v - k hi are exact. The
// series to r^13 is truncated by r^14/14! < u/8; Horner's rule in fused operations
// adds less than 2 u, and 2^k is exact.
DEVICE double exp_up_to(double v) {
	const double shift = 0x1.8p52;
	double k = fma64(v, 0x1.71547652b82fep0, shift);
	int n = (int)__builtin_bit_cast(u64, k);
	k -= shift;
	double r = fma64(k, -0x1.62e42feep-1, v);
	r = fma64(k, -0x1.a39ef35793c76p-33, r);
	double p = 1.0 / 6227020800;
	p = fma64(p, r, 1.0 / 479001600);
	p = fma64(p, r, 1.0 / 39916800);
	p = fma64(p, r, 1.0 / 3628800);
	p = fma64(p, r, 1.0 / 362880);
	p = fma64(p, r, 1.0 / 40320);
	p = fma64(p, r, 1.0 / 5040);
	p = fma64(p, r, 1.0 / 720);
	p = fma64(p, r, 1.0 / 120);
	p = fma64(p, r, 1.0 / 24);
	p = fma64(p, r, 1.0 / 6);
	p = fma64(p, r, 0.5);
	p = fma64(p, r, 1.0);
	p = fma64(p, r, 1.0);
	return p * __builtin_bit_cast(double, (u64)(i64)(n + 1023) << 52);
}
