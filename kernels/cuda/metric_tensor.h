// What the tiles of Mahalanobis losses on tensor cores share, with mma.sync (metric_mma.cu)
// and with wgmma (bench/gpu/variants): numbers in two parts, and coefficients in the
// registers where one product leaves its sums and the next takes its first factor.
//
// bf16x3: a number is the sum of two of 8 significant bits, hi + lo, within 2^-16, and
// a product is lo hi + hi lo + hi hi. tf32: a number has 11 significant bits.
#pragma once
#include "metric.h"
#include "mma.h"

enum { BF16X3, TF32 };

// entry is the number (i, k) of an operand, 0 outside of it.
DEVICE float entry(const double *x, u64 n, u32 d, u64 i, u32 k, double scale) {
	return i < n && k < d ? (float)(x[k * n + i] * scale) : 0;
}

// split sets hi and lo to the pairs of the parts of a and b.
DEVICE void split(float a, float b, u32 *hi, u32 *lo) {
	*hi = bf16_pair(a, b);
	*lo = bf16_pair(a - bf16_low(*hi), b - bf16_high(*hi));
}

// pack_left packs the rows of S: for 16 rows i and 16 features k the fragments of hi and of
// lo, or of both halves of k.
template <int KIND> DEVICE void pack_left(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {
	u64 at = (u64)block_x() * 8 + (thread() >> 5);
	if (at >= blocks) return;
	u32 g = lane() >> 2, t = lane() & 3, k0 = 16 * block_y();
	u64 i0 = 16 * at + g;
	u32x4 first, second;
	if (KIND == BF16X3) {
#pragma unroll
		for (int m = 0; m < 4; m++) {
			u64 i = i0 + 8 * (m & 1);
			u32 k = k0 + 2 * t + 8 * (m >> 1), hi, lo;
			split(entry(x, n, d, i, k, scale), entry(x, n, d, i, k + 1, scale), &hi, &lo);
			first[m] = hi, second[m] = lo;
		}
	} else {
#pragma unroll
		for (int m = 0; m < 4; m++) {
			u64 i = i0 + 8 * (m & 1);
			u32 k = k0 + t + 4 * (m >> 1);
			first[m] = tf32(entry(x, n, d, i, k, scale));
			second[m] = tf32(entry(x, n, d, i, k + 8, scale));
		}
	}
	to += (block_y() * (u64)blocks + at) * 64 + lane();
	to[0] = first, to[32] = second;
}

// coefficients_as_rows replaces the coefficients of 16 rows and 16 columns, in two blocks
// of 8 columns, by the fragments of the first factor, as packed.
template <int KIND> DEVICE void coefficients_as_rows(const float *left, const float *right, u32x4 *a0, u32x4 *a1) {
	if (KIND == BF16X3) {
#pragma unroll
		for (int m = 0; m < 2; m++) {
			u32 hi, lo;
			split(left[2 * m], left[2 * m + 1], &hi, &lo);
			(*a0)[m] = hi, (*a1)[m] = lo;
			split(right[2 * m], right[2 * m + 1], &hi, &lo);
			(*a0)[m + 2] = hi, (*a1)[m + 2] = lo;
		}
	} else {
#pragma unroll
		for (int m = 0; m < 4; m++) {
			int at = 2 * (m & 1) + (m >> 1);
			(*a0)[m] = bits(left[at]), (*a1)[m] = bits(right[at]);
		}
	}
}

// coefficients replaces the sums S of ROWS blocks of 16 rows from r0 on and BLOCKS blocks of
// 8 columns from c0 on by the coefficients v_ij of i < j < n, and by 0 elsewhere. It adds
// them to rows, in units of the grid, and with to_columns to sums, too.
//
// Coefficients are multiples of g = 2^-17 unit with bf16x3, which hi + lo holds exactly
// (hi leaves at most 2^8 g), and of g = 2^-22 unit, rounded to 11 significant bits, with
// tf32.
template <int KIND, int ROWS, int BLOCKS>
DEVICE void coefficients(float s[ROWS][BLOCKS][4], int rows[ROWS][2], i64 *sums, bool to_columns, const float2v *points,
                         u32 r0, u32 c0, u32 n, float twice, float unit) {
	u32 g = lane() >> 2, t = lane() & 3;
	int cols[2 * BLOCKS];
	float2v pi[ROWS][2];
#pragma unroll
	for (int m = 0; m < ROWS; m++) pi[m][0] = points[r0 + 16 * m + g], pi[m][1] = points[r0 + 16 * m + g + 8];
#pragma unroll
	for (int b = 0; b < BLOCKS; b++)
#pragma unroll
		for (int c = 0; c < 2; c++) {
			float2v pj = points[c0 + 8 * b + 2 * t + c];
#pragma unroll
			for (int m = 0; m < ROWS; m++)
#pragma unroll
				for (int h = 0; h < 2; h++) s[m][b][2 * h + c] = coefficient(s[m][b][2 * h + c], pi[m][h], pj, twice, unit);
		}
	if (c0 < r0 + 16 * ROWS || c0 + 8 * BLOCKS > n) { // not all are pairs
#pragma unroll
		for (int b = 0; b < BLOCKS; b++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				u32 j = c0 + 8 * b + 2 * t + (e & 1);
#pragma unroll
				for (int m = 0; m < ROWS; m++) {
					u32 i = r0 + 16 * m + 8 * (e >> 1) + g;
					s[m][b][e] = i < (j < n ? j : 0) ? s[m][b][e] : 0.0f;
				}
			}
	}
#pragma unroll
	for (int b = 0; b < BLOCKS; b++)
#pragma unroll
		for (int c = 0; c < 2; c++) {
			int sum = 0;
#pragma unroll
			for (int m = 0; m < ROWS; m++)
#pragma unroll
				for (int h = 0; h < 2; h++) {
					float *v = &s[m][b][2 * h + c];
					if (KIND == BF16X3) {
						*v = on_grid(*v, 96 * unit, &rows[m][h], &sum);
					} else {
						float x = __builtin_bit_cast(float, tf32((*v + 3 * unit) - 3 * unit));
						*v = on_grid(x, 3 * unit, &rows[m][h], &sum);
					}
				}
			cols[2 * b + c] = sum;
		}
	if (to_columns) {
		// The sums over g: each step halves what a lane keeps.
		u32 at = 0;
#pragma unroll
		for (int half = BLOCKS, bit = 16; bit >= 4; half /= 2, bit /= 2) {
			bool upper = (lane() & bit) != 0;
			at += upper ? half : 0;
#pragma unroll
			for (int k = 0; k < half; k++)
				cols[k] = (upper ? cols[k + half] : cols[k]) + exchange(upper ? cols[k] : cols[k + half], bit);
		}
#pragma unroll
		for (int k = 0; k < BLOCKS / 4; k++) {
			u32 j = c0 + 8 * ((at + k) >> 1) + 2 * t + ((at + k) & 1);
			if (j < n) add_exact(sums + j, cols[k]);
		}
	}
}

// add_rows adds, after a span, the products with FEATURES blocks of 8 features from k0 on to
// z, and with to_sums the sums of rows to sums.
template <int ROWS, int FEATURES>
DEVICE void add_rows(i64 *z, i64 *sums, bool to_sums, const float total[ROWS][FEATURES][4], const int rows[ROWS][2],
                     u32 r0, u32 k0, u32 n, u32 d, float z_scale) {
	u32 g = lane() >> 2, t = lane() & 3;
#pragma unroll
	for (int m = 0; m < ROWS; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			u32 i = r0 + 16 * m + 8 * h + g;
			if (i >= n) continue;
			if (to_sums) add_exact(sums + i, rows[m][h]);
			u32 k = k0 + 2 * t;
			i64 *to = z + (u64)k * n + i;
#pragma unroll
			for (int f = 0; f < FEATURES; f++, k += 8, to += 8 * (u64)n) {
				if (k < d) add_exact(to, fixed(total[m][f][2 * h] * z_scale));
				if (k + 1 < d) add_exact(to + n, fixed(total[m][f][2 * h + 1] * z_scale));
			}
		}
}
