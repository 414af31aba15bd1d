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
	STEP = 32,  // columns of a tile
	EACH = PAIRS / ROWS, // pairs of a thread
	BATCH = 8   // loads under way
};

// Ends are the records of EACH pairs of a thread.
struct Ends {
	u32 a[EACH], b[EACH];
};

// ends_of are the ends of the pairs p0 + q of the list, of the first one where that is not below
// end, p0 < end.
DEVICE Ends ends_of(const u32 *first, const u32 *second, const u32 *list, u32 p0, u32 end) {
	u32 q = thread() >> 5, pair[EACH];
	Ends e;
#pragma unroll
	for (u32 m = 0; m < EACH; m++) pair[m] = list[p0 + q + ROWS * m < end ? p0 + q + ROWS * m : p0];
#pragma unroll
	for (u32 m = 0; m < EACH; m++) e.a[m] = first[pair[m]], e.b[m] = second[pair[m]];
	return e;
}

// tile_of_differences sets t[q][k] = x_a[k0 + k] - x_b[k0 + k] for the pairs of ends, of the last
// column what is beyond the d columns. All loads are under way at once. All 256 threads; no barrier.
DEVICE void tile_of_differences(double (*t)[STEP + 1], const double *x, Ends e, u32 k0, u32 d) {
	u32 lane = thread() & 31, q = thread() >> 5, column = k0 + lane < d ? k0 + lane : d - 1;
	double u[EACH], v[EACH];
#pragma unroll
	for (u32 m = 0; m < EACH; m++) u[m] = x[(u64)e.a[m] * d + column], v[m] = x[(u64)e.b[m] * d + column];
	keep<EACH>(u), keep<EACH>(v);
#pragma unroll
	for (u32 m = 0; m < EACH; m++) t[q + ROWS * m][lane] = u[m] - v[m];
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
	Ends ends = ends_of(first, second, list, p0, count);
	for (u32 k0 = 0; k0 < d; k0 += STEP) {
		tile_of_differences(dx, x, ends, k0, d);
		part[row][lane] = r < rows && k0 + lane < d ? w[(u64)r * d + k0 + lane] : 0;
		barrier();
#pragma unroll
		for (u32 k = 0; k < STEP; k++) sum = fma64(part[row][k], dx[lane][k], sum);
		if (r == 0) {
#pragma unroll
			for (u32 k = 0; k < STEP; k++) {
				double t = dx[lane][k], s = t < 0 ? -t : t;
				if (k0 + k < d) size = fma64(manhattan ? 1 : s, s, size);
			}
		}
		barrier();
	}
	if (p >= count) return;
	if (r < rows) v[(u64)r * count + p] = sum;
	if (r == 0) length[p] = manhattan ? size : __builtin_sqrt(size);
}

// fetch reads c[m] = v[(r + m) count + p], of the last row what is beyond it.
DEVICE void fetch(double *c, const double *v, u32 p, u32 r, u32 count, u32 rows) {
#pragma unroll
	for (u32 m = 0; m < BATCH; m++) c[m] = v[(u64)(r + m < rows ? r + m : rows - 1) * count + p];
	keep<BATCH>(c);
}

// norm is that of v[p], v[count + p], ...: of absolute values, or Euclidean.
DEVICE double norm(const double *v, u32 p, u32 count, u32 rows, u32 manhattan) {
	double sum = 0;
#pragma unroll 1
	for (u32 r = 0; r < rows; r += BATCH) {
		double c[BATCH];
		fetch(c, v, p, r, count, rows);
#pragma unroll
		for (u32 m = 0; m < BATCH; m++)
			if (r + m < rows) sum = manhattan ? sum + (c[m] < 0 ? -c[m] : c[m]) : fma64(c[m], c[m], sum);
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
#pragma unroll 1
		for (u32 r = 0; r < rows; r += BATCH) {
			double c[BATCH];
			fetch(c, v, p, r, count, rows);
#pragma unroll
			for (u32 m = 0; m < BATCH; m++)
				if (r + m < rows) v[(u64)(r + m) * count + p] = f == 0 ? 0 : c[m] * f;
		}
	}
	double size = norm(v, p, count, rows, manhattan), by = length[p], most = limit / by;
	u32 finite = size * by <= 0x1.fffffffffffffp1023, long_ = size * by > limit;
#pragma unroll 1
	for (u32 r = 0; r < rows; r += BATCH) {
		double all[BATCH];
		fetch(all, v, p, r, count, rows);
#pragma unroll
		for (u32 m = 0; m < BATCH; m++) {
			double c = all[m];
			if (by_row) {
				if (c * by > limit) c = most;
				if (-c * by > limit) c = -most;
			} else if (long_) {
				c = c / size * most;
			}
			if (r + m < rows) v[(u64)(r + m) * count + p] = finite ? c * scale : 0;
		}
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
		tile_of_differences(dx, x, ends_of(first, second, list, p0, end), k0, d);
		part[row][lane] = r < rows && p0 + lane < end ? c[(u64)r * count + p0 + lane] : 0;
		barrier();
#pragma unroll
		for (u32 q = 0; q < PAIRS; q++) total += (i64)(part[row][q] * dx[q][lane]);
		barrier();
	}
	if (r < rows && k0 + lane < d) add_exact(sum + (u64)r * d + k0 + lane, total);
}
