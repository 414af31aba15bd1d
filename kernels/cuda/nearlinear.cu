// The near-linear method for score losses: Chebyshev moments of the positions of the
// scores of one class, and Chebyshev series at positions, in float64. A position is a
// score times scale, clamped to [-1, 1]. The order of every sum follows from the sizes.
#include "device.h"

DEVICE double position(double s, double scale) {
	double x = s * scale;
	return x > -1.0 ? x < 1.0 ? x : 1.0 : -1.0;
}

enum { TERMS = 32 };

// factor is T_(32 i)(x): five doublings T_2a = 2 T_a^2 - 1, then the recurrence of
// T_i at T_32(x). For |x| <= 1 the result of a doubling is in [-1, 1] exactly, and its
// error is at most 4 times that of T_a plus u, u = 2^-53: 341 u for T_32. T_i at it
// changes by at most i^2 341 u (Markov's inequality) and its own steps add i (i-1) u/2.
DEVICE double factor(double x, u32 i) {
	double y = x;
#pragma unroll
	for (int m = 0; m < 5; m++) y = fma64(2 * y, y, -1.0);
	double before = 1, t = y;
	for (; i > 1; i--) {
		double next = fma64(2 * y, t, -before);
		before = t, t = next;
	}
	return t;
}

// moments sets, for g < blocks, i < groups and j < 32,
//
//	part[(g groups + i) 32 + j] = sum over r of T_32i(x_r) T_j(x_r)
//
// over g chunk <= r < min(n, (g+1) chunk), x_r the position of s[r], with groups =
// 2^log_groups, at most 8. Blocks of 256 threads, ceil(n/chunk) of them; 256/groups threads share the
// records of a group, two at a time.
//
// p_j = t T_j(x) by p_(j+1) = 2 x p_j - p_(j-1): each step rounds a number of at most
// 1 (|t| <= 1), so the error is at most j (j+1) u/2 and that of t.
// Depth ceil(chunk/(512/groups)) + 1 + 8.
KERNEL THREADS(256) void moments(double *part, const double *s, u64 n, double scale, u32 log_groups, u64 chunk) {
	SHARED static double tree[8][256];
	u32 id = thread(), width = 256 >> log_groups, i = id >> (8 - log_groups), lane = id & (width - 1);
	u64 from = block_x() * chunk, to = from + chunk < n ? from + chunk : n;
	double sum[TERMS];
#pragma unroll
	for (int j = 0; j < TERMS; j++) sum[j] = 0;
	for (u64 r = from + lane; r < to; r += 2 * width) {
		u32 two = r + width < to; // or the second is left out, with the factor 0
		double x = position(s[r], scale), z = position(s[two ? r + width : r], scale);
		double p0 = 1, q0 = 1;
		if (i > 0) p0 = factor(x, i), q0 = factor(z, i);
		q0 = two ? q0 : 0.0;
		double p1 = p0 * x, q1 = q0 * z;
		x *= 2, z *= 2;
		sum[0] += p0 + q0;
		sum[1] += p1 + q1;
#pragma unroll
		for (int j = 2; j < TERMS; j++) {
			double p = fma64(x, p1, -p0), q = fma64(z, q1, -q0);
			sum[j] += p + q;
			p0 = p1, p1 = p, q0 = q1, q1 = q;
		}
	}
#pragma unroll
	for (int j = 0; j < TERMS; j += 8) {
#pragma unroll
		for (int m = 0; m < 8; m++) tree[m][id] = sum[j + m];
		barrier();
#pragma unroll 1
		for (u32 half = width / 2; half > 0; half /= 2) {
			if (lane < half) {
#pragma unroll
				for (int m = 0; m < 8; m++) tree[m][id] += tree[m][id + half];
			}
			barrier();
		}
		if (lane < 8) part[(((u64)block_x() << log_groups) + i) * TERMS + j + lane] = tree[lane][i * width];
		barrier();
	}
}

enum { MOST = 256 };

// series sets c[r] = sum over a < terms of coefficient[a] T_a(x_r) for r < n by
// Clenshaw's recurrence b_a = 2 x b_(a+1) + (coefficient[a] - b_(a+2)), x_r the position
// of s[r], 2 <= terms <= 256. Blocks of 256 threads with two records each,
// ceil(n/512) of them.
//
// The result is the exact series of coefficients that differ by at most
// u (|c_a| + |b_(a+2)| + |b_a|).
KERNEL THREADS(256) void series(double *c, const double *s, const double *coefficient, u64 n, u32 terms, double scale) {
	SHARED static double own[MOST];
	u32 id = thread();
	own[id] = id < terms ? coefficient[id] : 0.0; // zeros leave the recurrence at 0
	barrier();
	u64 r = (u64)block_x() * 512 + id;
	if (r >= n) return;
	u32 two = r + 256 < n;
	double x = 2 * position(s[r], scale), z = 2 * position(s[two ? r + 256 : r], scale);
	double b1 = 0, b2 = 0, d1 = 0, d2 = 0;
	for (u32 last = (terms - 1) & ~7u; last > 0; last -= 8) {
#pragma unroll
		for (int m = 7; m >= 0; m--) {
			double v = own[last + m], b = fma64(x, b1, v - b2), d = fma64(z, d1, v - d2);
			b2 = b1, b1 = b, d2 = d1, d1 = d;
		}
	}
#pragma unroll
	for (int m = 7; m > 0; m--) {
		double v = own[m], b = fma64(x, b1, v - b2), d = fma64(z, d1, v - d2);
		b2 = b1, b1 = b, d2 = d1, d1 = d;
	}
	double v = own[0];
	c[r] = fma64(0.5 * x, b1, v - b2);
	if (two) c[r + 256] = fma64(0.5 * z, d1, v - d2);
}
