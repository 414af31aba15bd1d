// The passes over the rows of X: scores X w and sums X^T c, in float64.
//
// X is stored in tiles of 256 rows, a tile by columns: x[(i/256) 256 d + k 256 + i%256],
// the last tile filled up with zeros. So neighbouring threads read neighbouring numbers,
// a tile is one run of memory, and so are the rows of a panel of tiles. The order of
// every sum follows from the sizes alone, which are public, and a record is in the sums
// of its own tile only until they are combined.
#include "device.h"

enum { ROWS = 256 };

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

enum { SPAN = 8, JOBS = 64 };

// weighted_sums sets, for blocks (g, h) of 256 threads and columns k < d of the h-th
// 64/parts, parts = 2^log_parts, at most 8,
//
//	part[g d + k] = sum over g spans 2048 <= i < min(n, (g+1) spans 2048) of x_ik c[i].
//
// A job of a warp is one column and 1/parts of the tiles of a span of 8 tiles.
// Depth 64/parts + spans + 32 parts.
KERNEL THREADS(256) void weighted_sums(double *part, const double *x, const double *c, u64 n, u32 d, u32 spans, u32 log_parts) {
	SHARED static double weights[SPAN * ROWS];
	SHARED static double sums[JOBS][32];
	u32 id = thread(), lane = id & 31, warp = id >> 5;
	u32 most = JOBS >> log_parts, first = block_y() * most, columns = d - first;
	columns = columns < most ? columns : most;
	u32 jobs = columns << log_parts, tiles = SPAN >> log_parts;
	for (u32 j = warp; j < jobs; j += 8) sums[j][lane] = 0;
	u64 from = (u64)block_x() * spans * (SPAN * ROWS);
	for (u32 t = 0; t < spans && from < n; t++, from += SPAN * ROWS) {
#pragma unroll
		for (int m = 0; m < SPAN; m++) {
			u64 i = from + m * ROWS + id;
			double v = load(c + (i < n ? i : n - 1));
			weights[m * ROWS + id] = i < n ? v : 0.0;
		}
		barrier();
		for (u32 j = warp; j < jobs; j += 8) {
			u32 k = first + (j >> log_parts), tile = (j & ((1 << log_parts) - 1)) * tiles, end = tile + tiles;
			double sum = 0;
			for (; tile < end && from + tile * ROWS < n; tile++) {
				const double *column = x + ((from / ROWS + tile) * d + k) * ROWS + lane;
				const double *weight = weights + tile * ROWS + lane;
				double v[8];
#pragma unroll
				for (int m = 0; m < 8; m++) v[m] = load(column + 32 * m);
#pragma unroll
				for (int m = 0; m < 8; m++) sum = fma64(v[m], weight[32 * m], sum);
			}
			sums[j][lane] += sum;
		}
		barrier();
	}
	if (id < columns) {
		double sum = 0;
		for (u32 j = id << log_parts; j < (id + 1) << log_parts; j++) {
#pragma unroll
			for (int l = 0; l < 32; l++) sum += sums[j][(l + id) & 31];
		}
		part[(u64)block_x() * d + first + id] = sum;
	}
}

// combine sets sum[k] = sum over g < count of part[g d + k] for k < d.
// Depth ceil(count/32) + 6. Blocks of 256 threads, ceil(d/8) of them.
KERNEL THREADS(256) void combine(double *sum, const double *part, u32 count, u32 d) {
	SHARED static double tree[32][8];
	u32 column = thread() & 7, row = thread() >> 3, k = block_x() * 8 + column;
	double total = 0;
	if (k < d)
		for (u32 g = row; g < count; g += 32) total += part[(u64)g * d + k];
	tree[row][column] = total;
	barrier();
#pragma unroll 1
	for (u32 half = 16; half > 0; half /= 2) {
		if (row < half) tree[row][column] += tree[row + half][column];
		barrier();
	}
	if (row == 0 && k < d) sum[k] = tree[0][column];
}
