// Kernels for tuples of records of a network of dense layers (network.cu): their gradients, clipped as a whole, and summed as
// integers (docs/theory.md, "Networks on a GPU").
//
// The record i < size of tuple t stands in column t size + i of matrices with a stride that is a multiple of 256. Tuples have two
// records or more. What a tuple adds is a function of its own columns: sums run over its records in their order.
#include "device.h"

enum { SIDE = 64, DEPTH = 16, COLUMNS = SIDE / 16, MOST = DEPTH / 2, LANES = 8, BATCH = 8 };

// tuple_gather sets x[j stride + i] = all[j total + list[i]] for i < n, and 0 for other i < stride. Blocks of 256 threads, stride/256 x
// columns of them.
KERNEL THREADS(256) void tuple_gather(float *x, const float *all, const u32 *list, u32 n, u32 total, u32 stride) {
	u32 j = block_y(), i = block_x() * 256 + thread();
	x[(u64)j * stride + i] = i < n ? all[(u64)j * total + list[i]] : 0;
}

// entries has each block compute a tile of 64 x 64 entries of the gradients of a chunk of tuples, in float64,
//
//	G_t[k][j] = sum over i < size of left[k stride + t size + i] right[j stride + t size + i],
//
// and sets part[(8 block + lane) tuples + t], lane < 8, to sums of the squares of those of its tile, or adds trunc(scale[t] G_t) to sums,
// row by row of columns numbers; a tuple with the scale 0 adds nothing. Sums of integers are exact, so the order of blocks does not matter.
template <bool SQUARES> DEVICE void entries(i64 *sums, double *part, const double *scale, const double *left, const float *right, u32 rows, u32 columns,
                                            u32 size, u32 tuples, u32 chunk, u32 stride) {
	SHARED static double as[DEPTH][SIDE + 1], bs[DEPTH][SIDE + 1], squares[SQUARES ? MOST : 1][256];
	u32 id = thread(), tx = id & 15, ty = id >> 4, across = (columns + SIDE - 1) / SIDE;
	u32 k0 = block_x() / across * SIDE, j0 = block_x() % across * SIDE;
	u32 t = block_y() * chunk, last = tuples - t < chunk ? tuples : t + chunk, end = last * size, at = 0;
	double sum[4][4];
	i64 total[4][4];
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int r = 0; r < 4; r++) sum[p][r] = 0, total[p][r] = 0;
	for (u32 i0 = t * size; i0 < end; i0 += DEPTH) {
		double a[COLUMNS], b[COLUMNS];
		u32 column = i0 + tx < end ? i0 + tx : end - 1;
#pragma unroll
		for (u32 m = 0; m < COLUMNS; m++) {
			u32 k = k0 + ty + 16 * m, j = j0 + ty + 16 * m;
			a[m] = load(left + (u64)(k < rows ? k : rows - 1) * stride + column);
			b[m] = load(right + (u64)(j < columns ? j : columns - 1) * stride + column);
		}
		keep<COLUMNS>(a), keep<COLUMNS>(b);
#pragma unroll
		for (u32 m = 0; m < COLUMNS; m++) {
			as[tx][ty + 16 * m] = k0 + ty + 16 * m < rows ? a[m] : 0;
			bs[tx][ty + 16 * m] = j0 + ty + 16 * m < columns ? b[m] : 0;
		}
		barrier();
		u32 base = t;
#pragma unroll 1
		for (u32 l = 0; l < DEPTH && i0 + l < end; l++) {
			double u[4], v[4];
#pragma unroll
			for (int p = 0; p < 4; p++) u[p] = as[l][ty + 16 * p], v[p] = bs[l][tx + 16 * p];
#pragma unroll
			for (int p = 0; p < 4; p++)
#pragma unroll
				for (int r = 0; r < 4; r++) sum[p][r] = fma64(u[p], v[r], sum[p][r]);
			if (++at < size) continue;
			double by = SQUARES ? 0 : scale[t], square = 0;
#pragma unroll
			for (int p = 0; p < 4; p++)
#pragma unroll
				for (int r = 0; r < 4; r++) {
					if (SQUARES) square = fma64(sum[p][r], sum[p][r], square);
					if (!SQUARES && by != 0) total[p][r] += (i64)(sum[p][r] * by);
					sum[p][r] = 0;
				}
			if (SQUARES) squares[t - base][id] = square;
			at = 0, t++;
		}
		barrier();
		if (SQUARES && base + id / LANES < t) {
			double square = 0;
#pragma unroll 8
			for (u32 m = 0; m < 256; m += LANES) square += squares[id / LANES][id % LANES + m];
			part[((u64)block_x() * LANES + id % LANES) * tuples + base + id / LANES] = square;
		}
	}
	if (SQUARES) return;
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int r = 0; r < 4; r++) {
			u32 k = k0 + ty + 16 * p, j = j0 + tx + 16 * r;
			if (k < rows && j < columns) add_exact(sums + (u64)k * columns + j, total[p][r]);
		}
}

// tuple_squares and tuple_sums are the two passes of entries over a layer. Blocks of 256 threads, ceil(rows/64) ceil(columns/64) x
// ceil(tuples/chunk) of them.
KERNEL TWO_BLOCKS(256) void tuple_squares(double *part, const double *left, const float *right, u32 rows, u32 columns, u32 size, u32 tuples, u32 chunk, u32 stride) {
	entries<true>(0, part, 0, left, right, rows, columns, size, tuples, chunk, stride);
}

KERNEL TWO_BLOCKS(256) void tuple_sums(i64 *sums, const double *scale, const double *left, const float *right, u32 rows, u32 columns, u32 size, u32 tuples, u32 chunk, u32 stride) {
	entries<false>(sums, 0, scale, left, right, rows, columns, size, tuples, chunk, stride);
}

// tuple_clip sets scale[t] = by min(1, limit/N), N = (1 + 2^-20) sqrt(sum of part[p tuples + t] over p < parts), for t < tuples; 0 where N is
// above 2^800 or not a number. Blocks of 256 threads, ceil(tuples/256) of them.
KERNEL THREADS(256) void tuple_clip(double *scale, const double *part, u32 parts, u32 tuples, double limit, double by) {
	u32 t = block_x() * 256 + thread();
	if (t >= tuples) return;
	double sum = 0;
#pragma unroll 1
	for (u32 p = 0; p < parts; p += BATCH) { // parts is a multiple of LANES
		double v[BATCH];
#pragma unroll
		for (u32 m = 0; m < BATCH; m++) v[m] = load(part + (u64)(p + m) * tuples + t);
		keep<BATCH>(v);
#pragma unroll
		for (u32 m = 0; m < BATCH; m++) sum += v[m];
	}
	double norm = root(sum) * (1 + 0x1p-20);
	scale[t] = norm <= 0x1p800 ? (norm > limit ? limit / norm : 1) * by : 0;
}
