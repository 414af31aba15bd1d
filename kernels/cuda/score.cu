// Kernels for score losses that visit every pair: c_i = sum over j of
// phi'(u_ij) (y_i - y_j), with u_ij = (y_i - y_j)(s_i - s_j), j within the group of i.
// Those of pairs with any phi' are in spliced.cu.
//
// All sizes are public. Every term of a pair is a function of its two records (and in
// logistic_tiles of a third one) and public constants, clamped, in fixed point; all sums of
// terms are sums of integers. So they are exact, and the order does not matter.
#include "exp.h"

enum : u32 { NONE = 0xffffffff }; // no record

// exponentials sets e[i] = factor exp(scale s[at[i]]), with scale s clamped to
// [-limit, limit], and e[i] = padding where at[i] is NONE, for i < n.
KERNEL THREADS(256) void exponentials(float *e, const double *s, const u32 *at, u64 n, double scale, double limit, double factor, float padding) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	u32 from = at[i];
	if (from == NONE) {
		e[i] = padding;
		return;
	}
	double v = s[from] * scale;
	v = v > -limit ? v < limit ? v : limit : -limit;
	e[i] = (float)(factor * exp_up_to(v));
}

enum {
	TILE = 128,  // rows and columns of a tile; 16 x 16 threads with 8 x 8 pairs each
	STRIP = 16,  // tiles of columns that a block works through
	HALF = 0x3f000000 // the bits of 0.5f
};

// logistic_tiles adds to row[i] and col[j] the fixed point values of
// sigma_ij = 1 / (1 + a_i b_j) in units of 2^-23,
//
//	for i < rows, j < cols: row[i] += q(sigma_ij), col[j] += q(sigma_ij)
//
// from a2 = 2 a and b in [e^-24, e^24], both padded to a multiple of 128 with 2^62. Blocks
// of 256 threads; ceil(rows/128) x ceil(cols/2048) of them.
//
// One special-function operation is for two pairs, of the rows i = 2k and 2k + 1 with a
// column: with x = 2 + 2 a_i b_j and y that of the other row, sigma_ij / 2 = y / (x y).
// So a term is a function of its two records and of the other row of i, its partner, whose
// own roundings cancel but for those of the product and the reciprocal.
//
// t = sigma/2 + 1/2 is in [1/2, 1], where floats are multiples of 2^-24; so its bits
// less those of 1/2 are sigma in units of 2^-23, rounded to nearest. A sum of bits
// modulo 2^32 is exact while the sum of the integers is below 2^32: a thread sums at
// most 8 STRIP = 128 of at most 2^23.
//
// If x y > 2^126 (1 - 2^-20), where the reciprocal may be flushed to 0, x and y are above
// 2^28, as neither is above 2^97.7 with a padded row or column and above 2^70.3 without, or
// both are padded. Then both terms are 0, as they should be: 1/x < 2^-26 is rounded away.
// Likewise a padded row or column adds nothing, as its x is above 2^27.
KERNEL THREADS(256) void logistic_tiles(i64 *row, i64 *col, const float *a2, const float *b, u32 rows, u32 cols) {
	SHARED static u32 part[16][TILE];
	u32 tx = thread() & 15, ty = thread() >> 4;
	u32 r0 = block_x() * TILE;
	float a[8];
	u32 sums[8];
#pragma unroll
	for (int p = 0; p < 8; p++) {
		a[p] = a2[r0 + 8 * ty + p];
		sums[p] = 0;
	}
	u32 c0 = block_y() * (STRIP * TILE);
	u32 end = cols - c0 < STRIP * TILE ? cols : c0 + STRIP * TILE;
	for (; c0 < end; c0 += TILE) {
#pragma unroll
		for (int p = 0; p < 8; p++) sums[p] -= 8u * HALF;
#pragma unroll
		for (int q = 0; q < 8; q++) {
			float bq = b[c0 + tx + 16 * q];
			u32 sum = -8u * HALF;
#pragma unroll
			for (int p = 0; p < 8; p += 2) {
				float x = fma32(a[p], bq, 2.0f), y = fma32(a[p + 1], bq, 2.0f);
				float r = reciprocal(x * y);
				u32 t = bits(fma_saturated(r, y, 0.5f)), v = bits(fma_saturated(r, x, 0.5f));
				sum += t + v;
				sums[p] += t;
				sums[p + 1] += v;
			}
			part[ty][tx + 16 * q] = sum;
		}
		barrier();
		u32 j = thread();
		if (j < TILE && c0 + j < cols) {
			u32 total = 0; // 128 values of at most 2^23
#pragma unroll
			for (int k = 0; k < 16; k++) total += part[k][j];
			add_exact(col + c0 + j, total);
		}
		barrier();
	}
#pragma unroll
	for (int p = 0; p < 8; p++) part[tx][8 * ty + p] = sums[p];
	barrier();
	u32 i = thread();
	if (i < TILE && r0 + i < rows) {
		u64 total = 0;
#pragma unroll
		for (int k = 0; k < 16; k++) total += part[k][i];
		add_exact(row + r0 + i, total);
	}
}

// split sets v[4 i] to the float nearest to scale s[i], s[i] clamped to [-limit, limit], and
// v[4 i + 1] to the rest, for i < n: v + rest is within 2^-48 of it, relatively. scale is a
// power of two.
KERNEL THREADS(256) void split(float *v, const double *s, u64 n, double limit, double scale) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	double x = s[i];
	x = scale * (x > -limit ? x < limit ? x : limit : -limit);
	float hi = (float)x;
	v[4 * i] = hi;
	v[4 * i + 1] = (float)(x - (double)hi);
}

// coefficients sets c[at[i]] = unit a[i] for i < n where at[i] is not NONE; at 0 is at[i] = i.
KERNEL THREADS(256) void coefficients(double *c, const i64 *a, const u32 *at, u64 n, double unit) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	u32 to = at ? at[i] : (u32)i;
	if (to != NONE) c[to] = unit * (double)a[i];
}
