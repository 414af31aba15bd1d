// The tiles of Mahalanobis losses on tensor cores. Operands are packed once for each W
// (X W) or once for all (X), so that a lane reads its fragments with one load each, and
// coefficients go from one product to the next in registers: no shared memory, no barrier.
#include "metric_tensor.h"

// pack_right packs the columns of S: for 8 columns j and 16 features k the fragments of hi
// and of lo, or of both halves of k.
template <int KIND> DEVICE void pack_right(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {
	u64 at = (u64)block_x() * 8 + (thread() >> 5);
	if (at >= blocks) return;
	u32 t = lane() & 3, k0 = 16 * block_y();
	u64 j = 8 * at + (lane() >> 2);
	u32x4 both;
#pragma unroll
	for (int m = 0; m < 2; m++) {
		if (KIND == BF16X3) {
			u32 k = k0 + 2 * t + 8 * m, hi, lo;
			split(entry(x, n, d, j, k, scale), entry(x, n, d, j, k + 1, scale), &hi, &lo);
			both[m] = hi, both[m + 2] = lo;
		} else {
			u32 k = k0 + t + 8 * m;
			both[2 * m] = tf32(entry(x, n, d, j, k, scale));
			both[2 * m + 1] = tf32(entry(x, n, d, j, k + 4, scale));
		}
	}
	to[(block_y() * (u64)blocks + at) * 32 + lane()] = both;
}

// pack_products packs the second factor of the products with coefficients: for 16 records j
// and 8 features k the fragments of hi and of lo, or of both halves of j. For tf32 the
// rows t and t + 4 are the records 2t and 2t + 1, where a lane has its coefficients.
template <int KIND> DEVICE void pack_products(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {
	u64 at = (u64)block_x() * 8 + (thread() >> 5);
	if (at >= blocks) return;
	u32 k = 8 * block_y() + (lane() >> 2);
	u64 j0 = 16 * at + 2 * (lane() & 3);
	u32x4 both;
#pragma unroll
	for (int m = 0; m < 2; m++) {
		u64 j = j0 + 8 * m;
		float a = entry(x, n, d, j, k, scale), b = entry(x, n, d, j + 1, k, scale);
		if (KIND == BF16X3) {
			u32 hi, lo;
			split(a, b, &hi, &lo);
			both[m] = hi, both[m + 2] = lo;
		} else {
			both[2 * m] = tf32(a), both[2 * m + 1] = tf32(b);
		}
	}
	to[(at * grid_y() + block_y()) * 32 + lane()] = both;
}

// multiply adds a product with 16 terms to s; a and b as packed.
template <int KIND> DEVICE void multiply(float *s, u32x4 a0, u32x4 a1, u32x4 b) {
	if (KIND == BF16X3) {
		mma_bf16(s, a1, b[0], b[1]);
		mma_bf16(s, a0, b[2], b[3]);
		mma_bf16(s, a0, b[0], b[1]);
	} else {
		mma_tf32(s, a0, b[0], b[1]);
		mma_tf32(s, a1, b[2], b[3]);
	}
}

// tiles adds what metric_tiles_fp32 adds, with S and the products on tensor cores. A warp
// has ROWS blocks of 16 rows, visits BLOCKS blocks of 8 columns at a time and does the
// products with PIECE blocks of 8 features. Sums of products over these columns start from
// 0 and are added in float32.
template <int KIND, int ROWS, int BLOCKS, int PIECE>
DEVICE void tiles(i64 *z, i64 *sums, const u32x4 *left, const u32x4 *right, const u32x4 *factor, const float2v *points,
                  u32 n, u32 d, u32 first, float twice, float unit, float z_scale) {
	u32 g = lane() >> 2, t = lane() & 3;
	u32 steps = (d + 15) / 16, pieces = (d + 8 * PIECE - 1) / (8 * PIECE);
	u32 piece = block_y() % pieces;
	u64 step = (n + 255) & ~255; // records of an operand
	u32 r0 = (block_x() * 8 + (thread() >> 5)) * (16 * ROWS), c0 = (first + block_y() / pieces) * SPAN;
	if (r0 >= n || c0 + SPAN <= r0) return; // no pair above the diagonal
	u32 end = n - c0 < SPAN ? n : c0 + SPAN;
	u32 start = r0 & ~(8 * BLOCKS - 1);
	c0 = c0 < start ? start : c0;
	float total[ROWS][PIECE][4];
	int rows[ROWS][2];
#pragma unroll
	for (int m = 0; m < ROWS; m++) {
		rows[m][0] = rows[m][1] = 0;
#pragma unroll
		for (int f = 0; f < PIECE; f++)
#pragma unroll
			for (int e = 0; e < 4; e++) total[m][f][e] = 0;
	}
	for (; c0 < end; c0 += 8 * BLOCKS) {
		float s[ROWS][BLOCKS][4];
#pragma unroll
		for (int m = 0; m < ROWS; m++)
#pragma unroll
			for (int b = 0; b < BLOCKS; b++)
#pragma unroll
				for (int e = 0; e < 4; e++) s[m][b][e] = 0;
		const u32x4 *row = left + (u64)(r0 / 16) * 64 + lane();
		const u32x4 *col = right + (u64)(c0 / 8) * 32 + lane();
#pragma unroll 1
		for (u32 k = 0; k < steps; k++, row += step / 16 * 64, col += step / 8 * 32) {
			u32x4 a[ROWS][2];
#pragma unroll
			for (int m = 0; m < ROWS; m++) {
				a[m][0] = load_fragment(row + m * 64);
				a[m][1] = load_fragment(row + m * 64 + 32);
			}
#pragma unroll
			for (int b = 0; b < BLOCKS; b++) {
				u32x4 fragment = load_fragment(col + b * 32);
#pragma unroll
				for (int m = 0; m < ROWS; m++) multiply<KIND>(s[m][b], a[m][0], a[m][1], fragment);
			}
		}
		coefficients<KIND, ROWS, BLOCKS>(s, rows, sums, piece == 0, points, r0, c0, n, twice, unit);
		u32x4 a[ROWS][BLOCKS / 2][2];
#pragma unroll
		for (int m = 0; m < ROWS; m++)
#pragma unroll
			for (int b = 0; b < BLOCKS / 2; b++) coefficients_as_rows<KIND>(s[m][2 * b], s[m][2 * b + 1], &a[m][b][0], &a[m][b][1]);
		const u32x4 *by = factor + ((u64)(c0 / 16) * pieces + piece) * PIECE * 32 + lane();
#pragma unroll
		for (int f = 0; f < PIECE; f++) {
			float product[ROWS][4];
#pragma unroll
			for (int m = 0; m < ROWS; m++)
#pragma unroll
				for (int e = 0; e < 4; e++) product[m][e] = 0;
#pragma unroll
			for (int b = 0; b < BLOCKS / 2; b++) {
				u32x4 fragment = load_fragment(by + (b * pieces * PIECE + f) * 32);
#pragma unroll
				for (int m = 0; m < ROWS; m++) multiply<KIND>(product[m], a[m][b][0], a[m][b][1], fragment);
			}
#pragma unroll
			for (int m = 0; m < ROWS; m++)
#pragma unroll
				for (int e = 0; e < 4; e++) total[m][f][e] += product[m][e];
		}
	}
	add_rows<ROWS, PIECE>(z, sums, piece == 0, total, rows, r0, 8 * piece * PIECE, n, d, z_scale);
}

// The packing kernels. Blocks of 256 threads; ceil(blocks/8) x (d/16 rounded up) of them,
// for the products x (d/8 rounded up to pieces). blocks is the number of blocks of 16, 8
// and 16 records that cover n rounded up to 256.
#define PACK(name, kind)                                                                                                              \
	KERNEL THREADS(256) void metric_left_##name(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {                   \
		pack_left<kind>(to, x, n, d, blocks, scale);                                                                                      \
	}                                                                                                                                   \
	KERNEL THREADS(256) void metric_right_##name(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {                  \
		pack_right<kind>(to, x, n, d, blocks, scale);                                                                                     \
	}                                                                                                                                   \
	KERNEL THREADS(256) void metric_factor_##name(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {                 \
		pack_products<kind>(to, x, n, d, blocks, scale);                                                                                  \
	}

// The tiles. Blocks of 256 threads; ceil(n/(128 rows)) x (number of spans times the pieces of
// features) of them, where spans count from first.
#define TILES(name, kind, rows, blocks, piece)                                                                                              \
	KERNEL THREADS(256) void metric_tiles_##name(i64 *z, i64 *sums, const u32x4 *left, const u32x4 *right, const u32x4 *factor,         \
	                                             const float2v *points, u32 n, u32 d, u32 first, float twice, float unit,               \
	                                             float z_scale) {                                                                       \
		tiles<kind, rows, blocks, piece>(z, sums, left, right, factor, points, n, d, first, twice, unit, z_scale);                              \
	}

#ifndef VARIANT // bench/gpu/variants
PACK(bf16x3, BF16X3)
TILES(bf16x3_64, BF16X3, 2, 4, 8)
TILES(bf16x3_128, BF16X3, 1, 4, 16)
#endif
