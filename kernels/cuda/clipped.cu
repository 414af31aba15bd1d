// Sums of moments of clipped records, in float64: of a x~ and of x~ x~^T, with
// x~ = s (x - c), s at most 1 so that the norm of x~ is bounded, and a a number of the
// record. X is stored as for rows.cu. The order of every sum follows from the sizes alone.
//
// pass holds, one after the other, SCALARS numbers, the centre c and the model, d each.
// y are labels over their bound, from -1 to 1; t = (1 + y)/2 is the share of a positive.
//
// A kernel whose name ends in _narrow has features in float32, which are float64 once they are
// read: the bits of all sums are those of the same numbers in float64.
#include "exp.h"

enum { ROWS = 256, SCALARS = 8 };
enum { SHORT, CLASS, OFFSET, SPAN, INTERCEPT }; // places of the scalars
enum { ONES, SIGNED, MODEL };                   // what a is

// factor is s of a record with this square of the norm of x - c.
DEVICE double factor_of(double square, const double *pass) {
	double s = pass[SHORT] / root(square);
	return s < 1.0 ? s : 1.0;
}

// belongs says that a record with this label is summed.
DEVICE u32 belongs(double y, const double *pass) { return pass[CLASS] == 0.0 || pass[CLASS] == y; }

// weight_of is a, in [-1, 1] as computed, of a record with this label and score.
DEVICE double weight_of(double y, double score, const double *pass, u32 kind) {
	if (kind == ONES) return 1.0;
	if (kind == SIGNED) return (y - pass[OFFSET]) / pass[SPAN];
	double v = score + pass[INTERCEPT], size = v < 0.0 ? -v : v;
	double e = exp_up_to(size < 700.0 ? -size : -700.0);
	return (v < 0.0 ? e : 1.0) / (1.0 + e) - (1.0 + y) / 2.0;
}

enum { STAGE = 128, WIDE = 33, HALF = 16 };

// fetch reads v[m] = x_ik for the columns k = first + 2 m, m < 16, of row i, 0 from column d on:
// all are under way at once.
template <typename T> DEVICE void fetch(double *v, const T *x, u64 i, u32 first, u32 d) {
	const T *column = x + (i / ROWS * d + first) * ROWS + i % ROWS;
#pragma unroll
	for (u32 m = 0; m < HALF; m++) v[m] = first + 2 * m < d ? load(column + 2 * m * ROWS) : 0.0;
}

// clipped_small sets, for blocks g of chunk records and jobs j of blocks of 4 x 4 entries,
//
//	part[(g jobs + j) 16 + 4 p + q] = sum of z_(4 bi + p) z_(4 bj + q),
//
// z = (x~, a) with zeros behind it, d < 32, bi <= bj the j-th such pair, row by row. Blocks
// of 256 threads: lanes threads for a job, at most 256/jobs. X is read once, chunk is a multiple
// of 256, and the next rows are under way while these are summed.
// Depth ceil(chunk/128) ceil(128/lanes) + lanes.
template <typename T> DEVICE void sum_small(double *part, const T *x, const double *y, const double *pass, u64 n, u32 d, u64 chunk, u32 kind, u32 jobs, u32 lanes, double *z, double *centre, double *model) {
	u32 id = thread(), lane = id / jobs, left = id - lane * jobs, bi = 0, blocks = (d + 4) / 4;
	for (; left >= blocks - bi; bi++) left -= blocks - bi;
	u32 bj = bi + left;
	double sum[4][4];
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int q = 0; q < 4; q++) sum[p][q] = 0;
	if (id < WIDE - 1) {
		centre[id] = id < d ? pass[SCALARS + id] : 0.0;
		model[id] = id < d ? pass[SCALARS + d + id] : 0.0;
	}
	u64 from = block_x() * chunk, to = from + chunk < n ? from + chunk : n;
	u32 row = id & (STAGE - 1), first = id / STAGE;
	double v[HALF], next = 0.0; // columns and the label of the next row
	fetch(v, x, from + row, first, d);
	if (id < STAGE && from + row < to) next = load(y + from + row);
	barrier();
#pragma unroll 1
	for (u64 i0 = from; i0 < to; i0 += STAGE) {
		u64 i = i0 + row;
		u32 in = i < to;
		double label = next;
#pragma unroll
		for (u32 m = 0; m < HALF; m++) z[row * WIDE + first + 2 * m] = in ? v[m] - centre[first + 2 * m] : 0.0;
		barrier();
		if (i0 + STAGE < to) { // its tile has zeros after the last row
			fetch(v, x, i + STAGE, first, d);
			if (id < STAGE && i + STAGE < to) next = load(y + i + STAGE);
		}
		if (id < STAGE) {
			double *own = z + id * WIDE, square = 0.0, score = 0.0, s = 0.0, a = 0.0;
			for (u32 k = 0; k < d; k++) square = fma64(own[k], own[k], square);
			in = in && belongs(label, pass);
			if (in) s = factor_of(square, pass);
			for (u32 k = 0; k < d; k++) {
				double clipped = own[k] * s;
				own[k] = clipped;
				score = fma64(clipped, model[k], score);
			}
			if (in) a = weight_of(label, score, pass, kind);
			own[d] = a;
		}
		barrier();
		if (lane < lanes) {
			for (u32 r = lane; r < STAGE; r += lanes) {
				const double *left_of = z + r * WIDE + 4 * bi, *right_of = z + r * WIDE + 4 * bj;
				double l[4], r4[4];
#pragma unroll
				for (int p = 0; p < 4; p++) l[p] = left_of[p], r4[p] = right_of[p];
#pragma unroll
				for (int p = 0; p < 4; p++)
#pragma unroll
					for (int q = 0; q < 4; q++) sum[p][q] = fma64(l[p], r4[q], sum[p][q]);
			}
		}
		barrier();
	}
	if (lane < lanes) {
#pragma unroll
		for (int p = 0; p < 4; p++)
#pragma unroll
			for (int q = 0; q < 4; q++) z[id * 16 + 4 * p + q] = sum[p][q];
	}
	barrier();
	for (u32 e = id; e < 16 * jobs; e += 256) {
		double total = 0.0;
		for (u32 l = 0; l < lanes; l++) total += z[l * 16 * jobs + e];
		part[(u64)block_x() * 16 * jobs + e] = total;
	}
}

#define SMALL(NAME, T) \
	KERNEL TWO_BLOCKS(256) void NAME(double *part, const T *x, const double *y, const double *pass, u64 n, u32 d, u64 chunk, u32 kind, u32 jobs, u32 lanes) { \
		SHARED static double z[STAGE * WIDE], centre[WIDE - 1], model[WIDE - 1]; \
		sum_small(part, x, y, pass, n, d, chunk, kind, jobs, lanes, z, centre, model); \
	}
SMALL(clipped_small, double)
SMALL(clipped_small_narrow, float)

enum { BATCH = 8 }; // loads under way

// centred sets v[m] = x_ik - c_k for the columns k + m of a row, and 0 from column d on.
template <typename T> DEVICE void centred(double *v, const T *row, const double *pass, u32 k, u32 d) {
	double c[BATCH];
#pragma unroll
	for (u32 m = 0; m < BATCH; m++) {
		u64 column = k + m < d ? k + m : d - 1;
		v[m] = load(row + column * ROWS), c[m] = pass[SCALARS + column];
	}
	keep<BATCH>(v);
#pragma unroll
	for (u32 m = 0; m < BATCH; m++) v[m] = k + m < d ? v[m] - c[m] : 0.0;
}

// clip_rows sets scale[i] and weight[i] to s and a for i < n, and both to 0 for a record that is
// not summed. Depth d of the squares and of the scores.
// Blocks of 256 threads, ceil(n/256) of them.
template <typename T> DEVICE void clip(double *scale, double *weight, const T *x, const double *y, const double *pass, u64 n, u32 d, u32 kind) {
	u64 i = (u64)block_x() * ROWS + thread();
	if (i >= n) return;
	const T *row = x + (u64)block_x() * ROWS * d + thread();
	double square = 0.0, score = 0.0, s = 0.0, a = 0.0, label = y[i];
#pragma unroll 1
	for (u32 k = 0; k < d; k += BATCH) {
		double v[BATCH];
		centred(v, row, pass, k, d);
#pragma unroll
		for (u32 m = 0; m < BATCH; m++) square = fma64(v[m], v[m], square);
	}
	if (belongs(label, pass)) {
		s = factor_of(square, pass);
		if (kind == MODEL)
#pragma unroll 1
			for (u32 k = 0; k < d; k += BATCH) {
				double v[BATCH];
				centred(v, row, pass, k, d);
#pragma unroll
				for (u32 m = 0; m < BATCH; m++) score = fma64(v[m] * s, pass[SCALARS + d + (k + m < d ? k + m : k)], score);
			}
		a = weight_of(label, score, pass, kind);
	}
	scale[i] = s;
	weight[i] = a;
}

KERNEL THREADS(256) void clip_rows(double *scale, double *weight, const double *x, const double *y, const double *pass, u64 n, u32 d, u32 kind) { clip(scale, weight, x, y, pass, n, d, kind); }
KERNEL THREADS(256) void clip_rows_narrow(double *scale, double *weight, const float *x, const double *y, const double *pass, u64 n, u32 d, u32 kind) { clip(scale, weight, x, y, pass, n, d, kind); }

// weigh_rows multiplies scale[i] and weight[i], i < n, by root[i], the root of the weight of a row
// of a person: every product of two entries of z = (x~, a) gets the weight.
// Blocks of 256 threads, ceil(n/256) of them.
KERNEL THREADS(256) void weigh_rows(double *scale, double *weight, const double *root, u64 n) {
	u64 i = (u64)block_x() * ROWS + thread();
	if (i >= n) return;
	scale[i] *= root[i];
	weight[i] *= root[i];
}

enum { COLUMNS = 32 };

// clipped_sums sets, for blocks (g, h) and the columns k < d of the h-th 32,
//
//	part[2 g d + k] = sum of a x~_k,   part[(2 g + 1) d + k] = sum of x~_k^2
//
// over g chunk <= i < min(n, (g+1) chunk); chunk is a multiple of 256. Blocks of 256 threads, a
// warp for a column. Depth ceil(chunk/32) + 32.
template <typename T> DEVICE void sum_columns(double *part, const T *x, const double *scale, const double *weight, const double *pass, u64 n, u32 d, u64 chunk, double *s, double *a, double (*sums)[33], double (*squares)[33]) {
	u32 id = thread(), lane = id & 31, warp = id >> 5, first = block_y() * COLUMNS;
	u32 columns = d - first < COLUMNS ? d - first : COLUMNS;
	for (u32 j = warp; j < columns; j += 8) sums[j][lane] = 0.0, squares[j][lane] = 0.0;
	u64 from = block_x() * chunk, to = from + chunk < n ? from + chunk : n;
	for (; from < to; from += ROWS) {
		u64 i = from + id;
		s[id] = i < to ? scale[i] : 0.0;
		a[id] = i < to ? weight[i] : 0.0;
		barrier();
		for (u32 j = warp; j < columns; j += 8) {
			u64 k = first + j;
			const T *column = x + (from / ROWS * d + k) * ROWS + lane;
			double centre = pass[SCALARS + k], sum = sums[j][lane], square = squares[j][lane], v[BATCH];
#pragma unroll
			for (int m = 0; m < BATCH; m++) v[m] = load(column + 32 * m);
			keep<BATCH>(v);
#pragma unroll
			for (int m = 0; m < BATCH; m++) {
				double z = (v[m] - centre) * s[lane + 32 * m];
				sum = fma64(z, a[lane + 32 * m], sum);
				square = fma64(z, z, square);
			}
			sums[j][lane] = sum, squares[j][lane] = square;
		}
		barrier();
	}
	if (id < columns) {
		double sum = 0.0, square = 0.0;
		for (u32 l = 0; l < 32; l++) sum += sums[id][l], square += squares[id][l];
		part[2 * (u64)block_x() * d + first + id] = sum;
		part[(2 * (u64)block_x() + 1) * d + first + id] = square;
	}
}

#define SUMS(NAME, T) \
	KERNEL THREADS(256) void NAME(double *part, const T *x, const double *scale, const double *weight, const double *pass, u64 n, u32 d, u64 chunk) { \
		SHARED static double s[ROWS], a[ROWS], sums[COLUMNS][33], squares[COLUMNS][33]; \
		sum_columns(part, x, scale, weight, pass, n, d, chunk, s, a, sums, squares); \
	}
SUMS(clipped_sums, double)
SUMS(clipped_sums_narrow, float)

enum { FEATURES = 64, DEPTH = 16 };

// clipped_gram sets, for blocks (g, h) of 256 threads and the h-th pair of tiles of 64
// entries of z = (x~, a), the first not after the second, row by row,
//
//	part[(g (d+1) + p) (d+1) + q] = sum over g chunk <= i < min(n, (g+1) chunk) of z_ip z_iq.
//
// chunk is a multiple of 256. Depth chunk.
template <typename T> DEVICE void gram(double *part, const T *x, const double *scale, const double *weight, const double *pass, u64 n, u32 d, u64 chunk, double (*left)[FEATURES + 1], double (*right)[FEATURES + 1]) {
	u32 tx = thread() & 15, ty = thread() >> 4, wide = d + 1;
	u32 tiles = (wide + FEATURES - 1) / FEATURES, ta = 0, rest = block_y();
	for (; rest >= tiles - ta; ta++) rest -= tiles - ta;
	u32 a0 = ta * FEATURES, b0 = (ta + rest) * FEATURES;
	double sum[4][4];
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int q = 0; q < 4; q++) sum[p][q] = 0;
	u64 from = block_x() * chunk, to = from + chunk < n ? from + chunk : n;
	for (u64 i0 = from; i0 < to; i0 += DEPTH) {
		u64 i = i0 + tx;
		double s = i < to ? scale[i] : 0.0, a = i < to ? weight[i] : 0.0;
		const T *row = x + i / ROWS * ROWS * d + i % ROWS;
#pragma unroll
		for (int p = 0; p < 4; p++) {
			u32 k = ty + 16 * p;
			u64 u = a0 + k, v = b0 + k;
			left[tx][k] = u < d && i < to ? (load(row + u * ROWS) - pass[SCALARS + u]) * s : u == d ? a : 0.0;
			right[tx][k] = v < d && i < to ? (load(row + v * ROWS) - pass[SCALARS + v]) * s : v == d ? a : 0.0;
		}
		barrier();
#pragma unroll
		for (int r = 0; r < DEPTH; r++) {
			double l[4], v[4];
#pragma unroll
			for (int p = 0; p < 4; p++) l[p] = left[r][ty + 16 * p], v[p] = right[r][tx + 16 * p];
#pragma unroll
			for (int p = 0; p < 4; p++)
#pragma unroll
				for (int q = 0; q < 4; q++) sum[p][q] = fma64(l[p], v[q], sum[p][q]);
		}
		barrier();
	}
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int q = 0; q < 4; q++) {
			u32 u = a0 + ty + 16 * p, v = b0 + tx + 16 * q;
			if (u < wide && v < wide) part[((u64)block_x() * wide + u) * wide + v] = sum[p][q];
		}
}

#define GRAM(NAME, T) \
	KERNEL TWO_BLOCKS(256) void NAME(double *part, const T *x, const double *scale, const double *weight, const double *pass, u64 n, u32 d, u64 chunk) { \
		SHARED static double left[DEPTH][FEATURES + 1], right[DEPTH][FEATURES + 1]; \
		gram(part, x, scale, weight, pass, n, d, chunk, left, right); \
	}
GRAM(clipped_gram, double)
GRAM(clipped_gram_narrow, float)
