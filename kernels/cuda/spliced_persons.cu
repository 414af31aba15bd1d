// The kernels for score losses whose phi' is put into the PTX, for rows of persons: a row of a
// person with m rows has the weight 1/m, and rows of the same person are in no pair.
#include "spliced.h"

// person_tiles adds up the fixed point values of v_ij = 4 phi'(D (s_i - s_j)) D, D = y_i - y_j,
// with the weight of the other row, in units of 2^-30, over pairs of rows of different persons:
//
//	for i < n, next[i] <= j < n: sum[i] += q(v_ij/m_j), sum[j] -= q(v_ij/m_i)
//
// The rows of a person are consecutive, and next[i] is the first row of the next person.
// weight[i] is the float nearest to 2^32/m_i. Slopes are within [least, most], and
// 4 max(-least, most) |D| is at most 1 for the labels of any two rows. n < 2^30.
//
// So each term is a function of the two rows and their weights, and is rounded by itself; the
// sum over the rows of up to 2^22 persons is below 2^53.
//
// Blocks of 256 threads, and pairs of a block, as those of pair_tiles.
KERNEL THREADS(256) void person_tiles(i64 *sum, const Split *of, const float *weight, const u32 *next, u32 n, float reach, float least, float most, u32 tile, u32 strip) {
	// Sums of columns, of two tiles in turn, then sums of rows.
	SHARED static i64 part[32 * (ROWS + 1)];
	u32 tx = thread() & 31, ty = thread() >> 5;
	u32 r0 = (tile + block_x()) * ROWS;
	u32 c0 = r0 + (strip + block_y()) * (STRIP * COLS);
	if (c0 >= n) return;
	u32 last = n - c0 > STRIP * COLS ? c0 + STRIP * COLS : n;
	Slope slope = {reach, least, most};
	Split rows[8];
	float weights[8];
	u32 from[8];
	i64 sums[8];
#pragma unroll
	for (int p = 0; p < 8; p++) {
		u32 i = r0 + 8 * ty + p, at = i < n ? i : n - 1;
		rows[p] = of[at];
		weights[p] = weight[at];
		from[p] = i < n ? next[at] : n; // no pair
		sums[p] = 0;
	}
	u32 column = 0;
	for (; c0 < last; c0 += COLS) {
#pragma unroll 1
		for (int q = 0; q < 4; q++) {
			u32 j = c0 + tx + 32 * q, at = j < last ? j : last - 1;
			Split b = of[at];
			float w = weight[at];
			i64 total = 0;
#pragma unroll
			for (int p = 0; p < 8; p++) {
				float d, v = slope_of(rows[p], b, slope, d);
				v = from[p] <= j && j < last ? v * d : 0.0f;
				sums[p] += fixed(v * w);
				total += fixed(v * weights[p]);
			}
			part[column + ty * COLS + tx + 32 * q] = total;
		}
		barrier();
		u32 j = thread();
		if (j < COLS && c0 + j < last) {
			i64 total = 0;
#pragma unroll
			for (int k = 0; k < 8; k++) total += part[column + k * COLS + j];
			add_exact(sum + c0 + j, -total);
		}
		column = 8 * COLS - column; // those of the tile before are read
	}
	barrier();
#pragma unroll
	for (int p = 0; p < 8; p++) part[tx * (ROWS + 1) + 8 * ty + p] = sums[p];
	barrier();
	u32 i = thread();
	if (i < ROWS && r0 + i < n) {
		i64 total = 0;
		for (int k = 0; k < 32; k++) total += part[k * (ROWS + 1) + i];
		add_exact(sum + r0 + i, total);
	}
}

// person_coefficients sets c[i] = unit a[i] weight[i] for i < n, with weights 1/m. Depth 2, and
// exact up to the last product for |a| <= 2^53 and a power of two.
KERNEL THREADS(256) void person_coefficients(double *c, const i64 *a, const double *weight, u64 n, double unit) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i < n) c[i] = unit * (double)a[i] * weight[i];
}
