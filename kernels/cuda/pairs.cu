// Kernels for lists of labelled pairs: sums of clipped gradients c dx^T of losses of
// v = W dx, dx = x_a - x_b (see package engine/pairgraph). All in float64.
//
// X is stored by rows, x[i d + k]. The numbers, ends and labels of pairs are in first,
// second and label; list names the pairs of a batch. v, and in its place c, is stored
// by rows of W, v[r count + p]. What a pair adds is an integer matrix that is a function of
// its own records, W and public numbers; sums of integers are exact, in any order.
#include "exp.h"

enum {
	PAIRS = 32, // of a tile
	ROWS = 8,   // of W, of a tile
	STEP = 32   // columns of a tile
};

// tile_of_differences sets t[q][k] = x_a[k0 + k] - x_b[k0 + k] for the pairs p0 + q of the
// list, and 0 beyond the d columns and below end. All 256 threads; no barrier.
DEVICE void tile_of_differences(double (*t)[STEP + 1], const double *x, const u32 *first, const u32 *second, const u32 *list,
                                u32 p0, u32 end, u32 k0, u32 d) {
	u32 k = k0 + (thread() & 31);
	for (u32 q = thread() >> 5; q < PAIRS; q += ROWS) {
		double v = 0;
		if (k < d && p0 + q < end) {
			u32 pair = list[p0 + q];
			v = x[(u64)first[pair] * d + k] - x[(u64)second[pair] * d + k];
		}
		t[q][thread() & 31] = v;
	}
}

// pair_products sets, for p < count and r < rows,
//
//	v[r count + p] = sum_k w[r d + k] dx_k
//	length[p] = sum_k |dx_k| if manhattan, else sqrt(sum_k dx_k^2)
//
// Blocks of 256 threads, ceil(rows/8) x ceil(count/32) of them. Depth d, and of length
// d + 1.
KERNEL THREADS(256) void pair_products(double *v, double *length, const double *x, const double *w, const u32 *first, const u32 *second,
                                       const u32 *list, u32 count, u32 d, u32 rows, u32 manhattan) {
	SHARED static double dx[PAIRS][STEP + 1], part[ROWS][STEP + 1];
	u32 lane = thread() & 31, row = thread() >> 5;
	u32 r = block_x() * ROWS + row, p0 = block_y() * PAIRS, p = p0 + lane;
	double sum = 0, size = 0;
	for (u32 k0 = 0; k0 < d; k0 += STEP) {
		tile_of_differences(dx, x, first, second, list, p0, count, k0, d);
		part[row][lane] = r < rows && k0 + lane < d ? w[(u64)r * d + k0 + lane] : 0;
		barrier();
#pragma unroll
		for (u32 k = 0; k < STEP; k++) sum = fma64(part[row][k], dx[lane][k], sum);
		if (r == 0) {
#pragma unroll
			for (u32 k = 0; k < STEP; k++) {
				double t = dx[lane][k], s = t < 0 ? -t : t;
				size = fma64(manhattan ? 1 : s, s, size);
			}
		}
		barrier();
	}
	if (p >= count) return;
	if (r < rows) v[(u64)r * count + p] = sum;
	if (r == 0) length[p] = manhattan ? size : __builtin_sqrt(size);
}

// norm is that of v[p], v[count + p], ...: of absolute values, or Euclidean.
DEVICE double norm(const double *v, u32 p, u32 count, u32 rows, u32 manhattan) {
	double sum = 0;
	for (u32 r = 0; r < rows; r++) {
		double c = v[(u64)r * count + p];
		sum = manhattan ? sum + (c < 0 ? -c : c) : fma64(c, c, sum);
	}
	return manhattan ? sum : __builtin_sqrt(sum);
}

// logistic is 1 / (1 + exp(u)), within 2^-49 of it, relatively, for |u| <= 700.
DEVICE double logistic(double u) {
	u = u > -700 ? u < 700 ? u : 700 : -700;
	return 1 / (1 + exp_up_to(u));
}

enum { CONTRASTIVE = 0, BRADLEY_TERRY = 1 };

// pair_slopes replaces v, for p < count, by scale times the clipped coefficients c:
//
//	c = v                                 contrastive, label 0
//	c = v (D - margin)/D, D = ||v||_2     contrastive, label 1; 0 if D = 0 or D >= margin
//	c = 1/(1 + exp(-v)), -1/(1 + exp(v))  Bradley-Terry, label 0 and 1
//	c = c / ||c|| (limit / length)        where ||c|| length > limit
//
// and with by_row c_r = +-limit/length where |c_r| length > limit. c is 0 where ||c|| length
// is not finite. Blocks of 256 threads, ceil(count/256) of them.
KERNEL THREADS(256) void pair_slopes(double *v, const double *length, const u32 *label, const u32 *list, u32 count, u32 rows, u32 loss, double margin,
                                     u32 manhattan, u32 by_row, double limit, double scale) {
	u32 p = block_x() * 256 + thread();
	if (p >= count) return;
	u32 flag = label[list[p]];
	if (loss == BRADLEY_TERRY) {
		v[p] = flag ? -logistic(v[p]) : logistic(-v[p]);
	} else if (flag) {
		double distance = norm(v, p, count, rows, 0);
		double f = distance > 0 && distance < margin ? (distance - margin) / distance : 0;
		for (u32 r = 0; r < rows; r++) {
			double c = v[(u64)r * count + p];
			v[(u64)r * count + p] = f == 0 ? 0 : c * f;
		}
	}
	double size = norm(v, p, count, rows, manhattan), by = length[p], most = limit / by;
	u32 finite = size * by <= 0x1.fffffffffffffp1023, long_ = size * by > limit;
	for (u32 r = 0; r < rows; r++) {
		double c = v[(u64)r * count + p];
		if (by_row) {
			if (c * by > limit) c = most;
			if (-c * by > limit) c = -most;
		} else if (long_) {
			c = c / size * most;
		}
		v[(u64)r * count + p] = finite ? c * scale : 0;
	}
}

// pair_sums adds to sum[r d + k], for r < rows and k < d, the integers
//
//	trunc(c[r count + p] dx_k)  for p < count
//
// rounded towards zero, so that none is longer than its c dx^T. Blocks of 256 threads,
// ceil(d/32) ceil(rows/8) x ceil(count/chunk) of them; chunk is a multiple of 32.
KERNEL THREADS(256) void pair_sums(i64 *sum, const double *c, const double *x, const u32 *first, const u32 *second, const u32 *list,
                                   u32 count, u32 d, u32 rows, u32 chunk) {
	SHARED static double dx[PAIRS][STEP + 1], part[ROWS][PAIRS + 1];
	u32 lane = thread() & 31, row = thread() >> 5, tiles = (d + STEP - 1) / STEP;
	u32 k0 = block_x() % tiles * STEP, r = block_x() / tiles * ROWS + row;
	u32 p0 = block_y() * chunk, end = count - p0 < chunk ? count : p0 + chunk;
	i64 total = 0;
	for (; p0 < end; p0 += PAIRS) {
		tile_of_differences(dx, x, first, second, list, p0, end, k0, d);
		part[row][lane] = r < rows && p0 + lane < end ? c[(u64)r * count + p0 + lane] : 0;
		barrier();
#pragma unroll
		for (u32 q = 0; q < PAIRS; q++) total += (i64)(part[row][q] * dx[q][lane]);
		barrier();
	}
	if (r < rows && k0 + lane < d) add_exact(sum + (u64)r * d + k0 + lane, total);
}
