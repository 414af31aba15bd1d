// The parts of Mahalanobis losses that cost O(n d^2): in float64, each sum in a fixed
// order. x, y and w are by columns, x[k n + i]; W is symmetric, d x d.
#include "metric.h"

// metric_project sets xw[k n + i] = sum_a (x[a n + i] - o[a]) w[a d + k]. Depth d + 1.
// Blocks of 256 threads, ceil(n/256) x ceil(d/8) of them.
KERNEL THREADS(256) void metric_project(double *xw, const double *x, const double *o, const double *w, u64 n, u32 d) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	u32 k0 = 8 * block_y();
	const double *column[8];
	double sum[8];
#pragma unroll
	for (int m = 0; m < 8; m++) {
		column[m] = w + (k0 + m < d ? k0 + m : d - 1);
		sum[m] = 0;
	}
	for (u64 a = 0; a < d; a++) {
		double v = x[a * n + i] - o[a];
#pragma unroll
		for (int m = 0; m < 8; m++) sum[m] = fma64(v, column[m][a * d], sum[m]);
	}
	for (int m = 0; m < 8; m++)
		if (k0 + m < d) xw[(k0 + m) * n + i] = sum[m];
}

// metric_own sets q[i] = sum_k (x[k n + i] - o[k]) xw[k n + i] for i < n. Depth d + 1.
// Blocks of 256 threads, ceil(n/256) of them.
KERNEL THREADS(256) void metric_own(double *q, const double *x, const double *o, const double *xw, u64 n, u32 d) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	double sum = 0;
	for (u64 k = 0; k < d; k++) sum = fma64(x[k * n + i] - o[k], xw[k * n + i], sum);
	q[i] = sum;
}

// metric_points sets points[i] to q[i] and y[i] for i < n, and to 0 for i < stride.
// Blocks of 256 threads, ceil(stride/256) of them.
KERNEL THREADS(256) void metric_points(float2v *points, const double *q, const double *y, u64 n, u64 stride) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= stride) return;
	float2v p = {0, 0};
	if (i < n) p[0] = (float)q[i], p[1] = (float)y[i];
	points[i] = p;
}

// metric_floats sets to[k stride + i] to the float nearest to scale from[k n + i] for
// i < n and k < d, and to 0 for the others i < stride and k < the number of blocks in y.
// Blocks of 256 threads, ceil(stride/256) of them in x.
KERNEL THREADS(256) void metric_floats(float *to, const double *from, u64 n, u32 d, u64 stride, double scale) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= stride) return;
	u64 k = block_y();
	to[k * stride + i] = i < n && k < d ? (float)(from[k * n + i] * scale) : 0;
}

// metric_weigh replaces the integers z by the doubles
//
//	y[k n + i] = c_unit c[i] x[k n + i] - z_unit z[k n + i]
//
// in the same place. Depth 3. Blocks of 256 threads, ceil(n/256) x d of them.
KERNEL THREADS(256) void metric_weigh(i64 *z, const i64 *c, const double *x, u64 n, double c_unit, double z_unit) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	u64 at = block_y() * n + i;
	double own = c_unit * (double)c[i] * x[at];
	z[at] = __builtin_bit_cast(i64, fma64(-z_unit, (double)z[at], own));
}

// metric_scale sets y[k n + i] = c[i] (x[k n + i] - o[k]). Depth 2.
// Blocks of 256 threads, ceil(n/256) x d of them.
KERNEL THREADS(256) void metric_scale(double *y, const double *c, const double *x, const double *o, u64 n) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	u64 at = block_y() * n + i;
	y[at] = c[i] * (x[at] - o[block_y()]);
}

enum { FEATURES = 64, DEPTH = 16 };

// metric_gram sets, for blocks (g, h) of 256 threads and the h-th of the ceil(d/64)^2
// tiles of 64 x 64 features, row by row,
//
//	part[(g d + a) d + b] = sum over g chunk <= i < min(n, (g+1) chunk) of
//	                        (x[a n + i] - o[a]) y[b n + i]
//
// Depth chunk + 1.
KERNEL THREADS(256) void metric_gram(double *part, const double *x, const double *o, const double *y, u64 n, u32 d, u64 chunk) {
	SHARED static double left[DEPTH][FEATURES + 1], right[DEPTH][FEATURES + 1];
	u32 tx = thread() & 15, ty = thread() >> 4;
	u32 tiles = (d + FEATURES - 1) / FEATURES;
	u32 a0 = block_y() / tiles * FEATURES, b0 = block_y() % tiles * FEATURES;
	double sum[4][4];
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int q = 0; q < 4; q++) sum[p][q] = 0;
	u64 from = block_x() * chunk, to = from + chunk < n ? from + chunk : n;
	for (u64 i0 = from; i0 < to; i0 += DEPTH) {
#pragma unroll
		for (int p = 0; p < 4; p++) {
			u32 k = ty + 16 * p;
			u64 i = i0 + tx;
			left[tx][k] = a0 + k < d && i < to ? x[(a0 + k) * n + i] - o[a0 + k] : 0;
			right[tx][k] = b0 + k < d && i < to ? y[(b0 + k) * n + i] : 0;
		}
		barrier();
#pragma unroll
		for (int i = 0; i < DEPTH; i++) {
			double l[4], r[4];
#pragma unroll
			for (int p = 0; p < 4; p++) l[p] = left[i][ty + 16 * p], r[p] = right[i][tx + 16 * p];
#pragma unroll
			for (int p = 0; p < 4; p++)
#pragma unroll
				for (int q = 0; q < 4; q++) sum[p][q] = fma64(l[p], r[q], sum[p][q]);
		}
		barrier();
	}
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int q = 0; q < 4; q++) {
			u32 a = a0 + ty + 16 * p, b = b0 + tx + 16 * q;
			if (a < d && b < d) part[((u64)block_x() * d + a) * d + b] = sum[p][q];
		}
}

// metric_reduce sets part[e] to the sum over g < chunks of part[g size + e], e < size.
// Depth chunks. Blocks of 256 threads, ceil(size/256) of them.
KERNEL THREADS(256) void metric_reduce(double *part, u64 size, u32 chunks) {
	u64 e = (u64)block_x() * 256 + thread();
	if (e >= size) return;
	double sum = part[e];
	for (u64 g = 1; g < chunks; g++) sum += part[g * size + e];
	part[e] = sum;
}
