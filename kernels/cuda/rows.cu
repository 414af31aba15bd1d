// The passes over the rows of X for all losses of scores.
#include "rows.h"

// scores sets s[i] = sum_k x_ik w[k] for i < n. Depth d.
// Blocks of 256 threads, ceil(n/256) of them.
KERNEL THREADS(256) void scores(double *s, const double *x, const double *w, u64 n, u32 d) {
	u64 i = (u64)block_x() * ROWS + thread();
	if (i >= n) return;
	const double *row = x + (u64)block_x() * ROWS * d + thread();
	double sum = 0;
	u32 k = 0;
	for (; k + 8 <= d; k += 8) { // eight loads under way
		double v[8];
#pragma unroll
		for (int m = 0; m < 8; m++) v[m] = load(row + m * ROWS);
#pragma unroll
		for (int m = 0; m < 8; m++) sum = fma64(v[m], load(w + k + m), sum);
		row += 8 * ROWS;
	}
#pragma unroll 1
	for (; k < d; k++, row += ROWS) sum = fma64(load(row), load(w + k), sum);
	s[i] = sum;
}

// weighted_sums sets, for blocks (g, h) of 256 threads and columns k < d of the h-th
// 64/parts, parts = 2^log_parts, at most tiles <= 8,
//
//	part[g d + k] = sum over g spans 256 tiles <= i < min(n, (g+1) spans 256 tiles) of x_ik c[i].
//
// A job of a warp is one column and 1/parts of the tiles of a span.
// Depth 8 tiles/parts + spans + 32 parts.
KERNEL THREADS(256) void weighted_sums(double *part, const double *x, const double *c, u64 n, u32 d, u32 spans, u32 tiles, u32 log_parts) {
	SHARED static double weights[SPAN * ROWS];
	SHARED static double sums[JOBS][32];
	Span p = span_of(d, tiles, log_parts);
	clear_sums(sums, p);
	u64 from = (u64)block_x() * spans * tiles * ROWS;
	for (u32 t = 0; t < spans && from < n; t++, from += tiles * ROWS) {
#pragma unroll
		for (u32 m = 0; m < SPAN; m++) {
			u64 i = from + m * ROWS + thread();
			double v = load(c + (i < n ? i : n - 1));
			weights[m * ROWS + thread()] = i < n ? v : 0.0;
		}
		barrier();
		add_span(sums, weights, x, from, n, p);
		barrier();
	}
	write_sums(part, sums, p);
}

// combine sets sum[k] = sum over g < count of part[g d + k] for k < d.
// Depth ceil(count/32) + 6. Blocks of 256 threads, ceil(d/8) of them.
KERNEL THREADS(256) void combine(double *sum, const double *part, u32 count, u32 d) {
	SHARED static double tree[32][8];
	add_parts(sum, part, 0, count, d, tree);
}
