// What the passes over the rows of X share: scores X w and sums X^T c, in float64.
//
// X is stored in tiles of 256 rows, a tile by columns: x[(i/256) 256 d + k 256 + i%256],
// the last tile filled up with zeros. So neighbouring threads read neighbouring numbers,
// a tile is one run of memory, and so are the rows of a panel of tiles. The order of
// every sum follows from the sizes alone, which are public, and a record is in the sums
// of its own tile only until they are combined.
#pragma once
#include "device.h"

enum { ROWS = 256 };

enum { SPAN = 8, JOBS = 64 };

// Span is where the sums X^T c of a block are: columns of X from first on, 1/parts of them a
// job of a warp, parts = 2^log_parts at most tiles, of tiles <= 8 tiles at a time.
struct Span {
	u32 d, first, columns, tiles, log_parts;
};

DEVICE Span span_of(u32 d, u32 tiles, u32 log_parts) {
	u32 most = JOBS >> log_parts, first = block_y() * most, columns = d - first;
	return Span{d, first, columns < most ? columns : most, tiles, log_parts};
}

DEVICE void clear_sums(double (*sums)[32], Span p) {
	for (u32 j = thread() >> 5; j < p.columns << p.log_parts; j += 8) sums[j][thread() & 31] = 0;
}

// add_span adds the rows from <= i < n of a span, with their weights in shared memory, 0 for
// rows that are not there.
DEVICE void add_span(double (*sums)[32], const double *weights, const double *x, u64 from, u64 n, Span p) {
	u32 lane = thread() & 31, part = p.tiles >> p.log_parts;
	for (u32 j = thread() >> 5; j < p.columns << p.log_parts; j += 8) {
		u32 k = p.first + (j >> p.log_parts), tile = (j & ((1 << p.log_parts) - 1)) * part, end = tile + part;
		double sum = 0;
		for (; tile < end && from + tile * ROWS < n; tile++) {
			const double *column = x + ((from / ROWS + tile) * p.d + k) * ROWS + lane;
			const double *weight = weights + tile * ROWS + lane;
			double v[8];
#pragma unroll
			for (int m = 0; m < 8; m++) v[m] = load(column + 32 * m);
#pragma unroll
			for (int m = 0; m < 8; m++) sum = fma64(v[m], weight[32 * m], sum);
		}
		sums[j][lane] += sum;
	}
}

// write_sums sets part[g d + k] to the sums of block g.
DEVICE void write_sums(double *part, const double (*sums)[32], Span p) {
	u32 id = thread();
	if (id >= p.columns) return;
	double sum = 0;
	for (u32 j = id << p.log_parts; j < (id + 1) << p.log_parts; j++) {
#pragma unroll
		for (int l = 0; l < 32; l++) sum += sums[j][(l + id) & 31];
	}
	part[(u64)block_x() * p.d + p.first + id] = sum;
}

// add_parts sets sum[k] = sum over from <= g < to of part[g d + k] for k < d.
// Depth ceil((to-from)/32) + 6. Blocks of 256 threads, ceil(d/8) of them.
DEVICE void add_parts(double *sum, const double *part, u32 from, u32 to, u32 d, double (*tree)[8]) {
	u32 column = thread() & 7, row = thread() >> 3, k = block_x() * 8 + column;
	double total = 0;
	if (k < d)
		for (u32 g = from + row; g < to; g += 8 * 32) { // eight loads under way
			double v[8];
#pragma unroll
			for (u32 m = 0; m < 8; m++) v[m] = part[(u64)(g + 32 * m < to ? g + 32 * m : g) * d + k];
#pragma unroll
			for (u32 m = 0; m < 8; m++) total += g + 32 * m < to ? v[m] : 0.0;
		}
	tree[row][column] = total;
	barrier();
#pragma unroll 1
	for (u32 half = 16; half > 0; half /= 2) {
		if (row < half) tree[row][column] += tree[row + half][column];
		barrier();
	}
	if (row == 0 && k < d) sum[k] = tree[0][column];
}
