// The tiles of Mahalanobis losses on tensor cores. Operands are packed once for each W
// (X W) or once for all (X), so that a lane reads its fragments with one load each, and
// coefficients go from one product to the next in registers: no shared memory, no barrier.
//
// bf16x3: a number is the sum of two of 8 significant bits, hi + lo, within 2^-16, and
// a product is lo hi + hi lo + hi hi. tf32: a number has 11 significant bits.
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

// tiles adds what metric_tiles_fp32 adds, with S and the products on tensor cores. A warp
// has ROWS blocks of 16 rows, visits BLOCKS blocks of 8 columns at a time and does the
// products with PIECE blocks of 8 features. Sums of products over these columns start from
// 0 and are added in float32.
//
// Coefficients are multiples of g = 2^-17 unit with bf16x3, which hi + lo holds exactly
// (hi leaves at most 2^8 g), and of g = 2^-22 unit, rounded to 11 significant bits, with
// tf32.
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
		int cols[2 * BLOCKS];
		float2v pi[ROWS][2];
#pragma unroll
		for (int m = 0; m < ROWS; m++) pi[m][0] = points[r0 + 16 * m + g], pi[m][1] = points[r0 + 16 * m + g + 8];
		bool whole = c0 >= r0 + 16 * ROWS && c0 + 8 * BLOCKS <= n;
#pragma unroll
		for (int b = 0; b < BLOCKS; b++)
#pragma unroll
			for (int c = 0; c < 2; c++) {
				u32 j = c0 + 8 * b + 2 * t + c;
				u32 above = whole ? 0xffffffff : j < n ? j : 0; // rows i < above have a pair
				float2v pj = points[j];
				int sum = 0;
#pragma unroll
				for (int m = 0; m < ROWS; m++)
#pragma unroll
					for (int h = 0; h < 2; h++) {
						float *v = &s[m][b][2 * h + c];
						u32 i = r0 + 16 * m + 8 * h + g;
						float x = coefficient(*v, pi[m][h], pj, twice, unit);
						x = i < above ? x : 0.0f;
						if (KIND == BF16X3) {
							*v = on_grid(x, 96 * unit, &rows[m][h], &sum);
						} else {
							x = __builtin_bit_cast(float, tf32((x + 3 * unit) - 3 * unit));
							*v = on_grid(x, 3 * unit, &rows[m][h], &sum);
						}
					}
				cols[2 * b + c] = sum;
			}
		if (piece == 0) {
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
#pragma unroll
	for (int m = 0; m < ROWS; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			u32 i = r0 + 16 * m + 8 * h + g;
			if (i >= n) continue;
			if (piece == 0) add_exact(sums + i, rows[m][h]);
			u32 k = 8 * piece * PIECE + 2 * t;
			i64 *to = z + (u64)k * n + i;
#pragma unroll
			for (int f = 0; f < PIECE; f++, k += 8, to += 8 * (u64)n) {
				if (k < d) add_exact(to, fixed(total[m][f][2 * h] * z_scale));
				if (k + 1 < d) add_exact(to + n, fixed(total[m][f][2 * h + 1] * z_scale));
			}
		}
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

PACK(bf16x3, BF16X3)
PACK(tf32, TF32)
TILES(bf16x3_64, BF16X3, 2, 4, 8)
TILES(bf16x3_128, BF16X3, 1, 4, 16)
TILES(tf32_64, TF32, 2, 4, 8)
TILES(tf32_128, TF32, 1, 4, 16)
