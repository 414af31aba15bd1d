// The kernel for score losses whose phi' is put into the PTX, see score.cu: alone, so that
// nothing else is compiled for a new loss, and with bounds as arguments, so that nothing is
// for a new radius.
#include "spliced.h"

enum { THREE_QUARTERS = 0x3f400000 };

// term is 3/4 + v/4 for the term v of two records, as its bits.
DEVICE u32 term(const Split &a, const Split &b, const Slope &of) {
	float d, p = slope_of(a, b, of, d);
	return bits(fma32(p, d, 0.75f));
}

// pair_tiles adds up the fixed point values of v_ij = 4 phi'(D (s_i - s_j)) D,
// D = y_i - y_j, in units of 2^-22, over pairs of the same group:
//
//	for i < n, i < j < end[i]: sum[i] += q(v_ij), sum[j] -= q(v_ij)
//
// Groups are consecutive records, and end[i] is the number of the first record after the
// group of i. n < 2^30. Slopes are within [least, most], and 4 max(-least, most) |D| is at most
// 1 for the labels of any two records.
//
// Blocks of 256 threads. Block (x, y) has the 64 rows from r = 64 (tile + x) on and the
// 1024 columns from r + 1024 (strip + y) on, if that many are before the end of the last
// of these rows.
//
// w = v/4 + 3/4 is in [1/2, 1], so its bits less those of 3/4 are v in units of
// 2^-22, rounded to nearest; a thread sums at most 4 STRIP = 32 of at most 2^22. Sums are
// modulo 2^32, so the bits of 3/4 are subtracted all at once.
KERNEL THREADS(256) void pair_tiles(i64 *sum, const Split *of, const u32 *end, u32 n, float reach, float least, float most, u32 tile, u32 strip) {
	// Sums of columns, of two tiles in turn, then sums of rows.
	SHARED static u32 part[32 * (ROWS + 1)];
	u32 tx = thread() & 31, ty = thread() >> 5;
	u32 r0 = (tile + block_x()) * ROWS;
	u32 last = end[r0 + ROWS - 1 < n ? r0 + ROWS - 1 : n - 1];
	u32 c0 = r0 + (strip + block_y()) * (STRIP * COLS);
	if (c0 >= last) return;
	Slope slope = {reach, least, most};
	Split rows[8];
	u32 sums[8];
#pragma unroll
	for (int p = 0; p < 8; p++) {
		u32 i = r0 + 8 * ty + p, at = i < n ? i : n - 1;
		rows[p] = of[at];
		sums[p] = 0;
	}
	u32 whole = r0 + ROWS <= n ? end[r0] : 0; // all rows are in pairs with the columns from
	u32 from = r0 + ROWS;                     // from on, and before whole
	if (last - c0 > STRIP * COLS) last = c0 + STRIP * COLS;
	u32 column = 0, count = 0;
	for (; c0 < last; c0 += COLS) {
		if (c0 >= from && c0 + COLS <= whole) {
#pragma unroll 1
			for (int q = 0; q < 4; q++) {
				Split b = of[c0 + tx + 32 * q];
				u32 total = -8u * THREE_QUARTERS;
#pragma unroll
				for (int p = 0; p < 8; p++) {
					u32 t = term(rows[p], b, slope);
					total += t;
					sums[p] += t;
				}
				part[column + ty * COLS + tx + 32 * q] = total;
			}
		} else {
			u32 ends[8];
#pragma unroll
			for (int p = 0; p < 8; p++) ends[p] = r0 + 8 * ty + p < n ? end[r0 + 8 * ty + p] : 0;
#pragma unroll 1
			for (int q = 0; q < 4; q++) {
				u32 j = c0 + tx + 32 * q, total = -8u * THREE_QUARTERS;
				Split b = of[j < last ? j : last - 1];
#pragma unroll
				for (int p = 0; p < 8; p++) {
					u32 t = term(rows[p], b, slope);
					t = ((r0 + 8 * ty + p < j) & (j < ends[p])) ? t : THREE_QUARTERS; // no branch
					total += t;
					sums[p] += t;
				}
				part[column + ty * COLS + tx + 32 * q] = total;
			}
		}
		count += 4;
		barrier();
		u32 j = thread();
		if (j < COLS && c0 + j < last) {
			u32 total = 0; // 64 values of at most 2^22
#pragma unroll
			for (int k = 0; k < 8; k++) total += part[column + k * COLS + j];
			add_exact(sum + c0 + j, -(i64)(int)total);
		}
		column = 8 * COLS - column; // those of the tile before are read
	}
	barrier();
#pragma unroll
	for (int p = 0; p < 8; p++) part[tx * (ROWS + 1) + 8 * ty + p] = sums[p] - count * THREE_QUARTERS;
	barrier();
	u32 i = thread();
	if (i < ROWS && r0 + i < n) {
		i64 total = 0;
		for (int k = 0; k < 32; k++) total += (int)part[k * (ROWS + 1) + i];
		add_exact(sum + r0 + i, total);
	}
}
