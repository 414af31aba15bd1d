// The near-linear method for score losses: Chebyshev moments of the positions of the
// scores of the classes, and Chebyshev series at positions, in float64. A position is a
// score times scale, clamped to [-1, 1]. The rows of a class follow each other; parts has
// for each block of moments three numbers: its rows parts[3 g] <= i < parts[3 g + 1], all of
// one class, and the class. The order of every sum follows from the sizes of the classes.
#include "rows.h"

DEVICE double position(double s, double scale) {
	double x = s * scale;
	return x > -1.0 ? x < 1.0 ? x : 1.0 : -1.0;
}

enum { TERMS = 32, MOST = 256, CLASSES = 16 };

// add_threads sets to[j] for j < 32 to the sum of sum[j] over the width threads of this one,
// of which it is number lane. Depth log2 width.
DEVICE void add_threads(double *to, const double *sum, u32 width, u32 lane, double (*tree)[256]) {
	u32 id = thread();
#pragma unroll
	for (int j = 0; j < TERMS; j += 8) {
#pragma unroll
		for (int m = 0; m < 8; m++) tree[m][id] = sum[j + m];
		barrier();
#pragma unroll 1
		for (u32 half = width / 2; half > 0; half /= 2) {
			if (lane < half) {
#pragma unroll
				for (int m = 0; m < 8; m++) tree[m][id] += tree[m][id + half];
			}
			barrier();
		}
		if (lane < 8) to[j + lane] = tree[lane][id - lane];
		barrier();
	}
}

enum { BATCH = 16, HALF = 8, WIDEST = 8 * 256 };

// fetch reads v[m] = x_ik for N columns k + m of a row, 0 from column d on.
template <u32 N> DEVICE void fetch(double *v, const double *row, u32 k, u32 d) {
#pragma unroll
	for (u32 m = 0; m < N; m++) v[m] = k + m < d ? load(row + (u64)(k + m) * ROWS) : 0.0;
}

template <u32 N> DEVICE double add_products(double sum, const double *v, const double *w) {
#pragma unroll
	for (u32 m = 0; m < N; m++) sum = fma64(v[m], w[m], sum);
	return sum;
}

// score_moments sets, for the rows from <= i < to of each block g,
//
//	s[i] = sum_k x_ik w[k], part[32 g + j] = sum over i of T_j(x_i) for j < 32,
//
// x_i the position of s[i], d <= 2048; x has the tiles from number tile on. The scores are those
// of the kernel scores, bit for bit but for the sign of a zero. Blocks of 256 threads; the next
// row is read while the powers of this one are computed.
// Depth ceil((to-from)/256) + 1 + 8; see moments for the error of a term.
KERNEL TWO_BLOCKS(256) void score_moments(double *part, double *s, const double *x, const double *w, const u32 *parts, u32 d, u32 tile, double scale) {
	SHARED static double tree[8][256]; // first w, with zeros up to a whole batch
	u32 id = thread(), from = parts[3 * block_x()], to = parts[3 * block_x() + 1];
	double *weights = tree[0];
#pragma unroll 1
	for (u32 k = id; k < WIDEST; k += 256) weights[k] = k < d ? load(w + k) : 0.0;
	double sum[TERMS], v[BATCH];
#pragma unroll
	for (int j = 0; j < TERMS; j++) sum[j] = 0;
	const double *row = x + (u64)(from / ROWS - tile) * ROWS * d + id;
	u32 i = from / ROWS * ROWS + id, end = (to + ROWS - 1) / ROWS * ROWS;
	fetch<BATCH>(v, row, 0, d);
	barrier();
#pragma unroll 1
	for (; i < end; i += ROWS) {
		asm volatile("" ::: "memory"); // w stays in shared memory, there are no registers for it
		double score = add_products<BATCH>(0, v, weights);
#pragma unroll 1
		for (u32 k = BATCH; k < d; k += HALF) {
			fetch<HALF>(v, row, k, d);
			score = add_products<HALF>(score, v, weights + k);
		}
		row += ROWS * d;
		if (i + ROWS < end) fetch<BATCH>(v, row, 0, d);
		u32 own = from <= i && i < to; // or it counts 0
		if (own) s[i] = score;
		double y = position(score, scale), p0 = own ? 1.0 : 0.0, p1 = p0 * y;
		y *= 2;
		sum[0] += p0, sum[1] += p1;
#pragma unroll
		for (int j = 2; j < TERMS; j++) {
			double p = fma64(y, p1, -p0);
			sum[j] += p;
			p0 = p1, p1 = p;
		}
	}
	barrier();
	add_threads(part + (u64)block_x() * TERMS, sum, 256, id, tree);
}

// factor is T_(32 i)(x): five doublings T_2a = 2 T_a^2 - 1, then the recurrence of
// T_i at T_32(x). For |x| <= 1 the result of a doubling is in [-1, 1] exactly, and its
// error is at most 4 times that of T_a plus u, u = 2^-53: 341 u for T_32. T_i at it
// changes by at most i^2 341 u (Markov's inequality) and its own steps add i (i-1) u/2.
DEVICE double factor(double x, u32 i) {
	double y = x;
#pragma unroll
	for (int m = 0; m < 5; m++) y = fma64(2 * y, y, -1.0);
	double before = 1, t = y;
	for (; i > 1; i--) {
		double next = fma64(2 * y, t, -before);
		before = t, t = next;
	}
	return t;
}

// moments sets, for the rows from <= r < to of each block g, i < groups and j < 32,
//
//	part[(g groups + i) 32 + j] = sum over r of T_32i(x_r) T_j(x_r),
//
// x_r the position of s[r], with groups = 2^log_groups, at most 8. Blocks of 256 threads;
// 256/groups of them share the records of a group, two at a time.
//
// p_j = t T_j(x) by p_(j+1) = 2 x p_j - p_(j-1): each step rounds a number of at most
// 1 (|t| <= 1), so the error is at most j (j+1) u/2 and that of t.
// Depth ceil((to-from)/(512/groups)) + 1 + 8.
template <bool WEIGHTED> DEVICE void add_moments(double *part, const double *s, const u32 *parts, double scale, u32 log_groups, const double *weight, double (*tree)[256]) {
	u32 id = thread(), width = 256 >> log_groups, i = id >> (8 - log_groups), lane = id & (width - 1);
	u32 from = parts[3 * block_x()], to = parts[3 * block_x() + 1];
	double sum[TERMS];
#pragma unroll
	for (int j = 0; j < TERMS; j++) sum[j] = 0;
	for (u32 r = from + lane; r < to; r += 2 * width) {
		u32 two = r + width < to; // or the second is left out, with the factor 0
		u32 other = two ? r + width : r;
		double x = position(s[r], scale), z = position(s[other], scale);
		double p0 = 1, q0 = 1;
		if (i > 0) p0 = factor(x, i), q0 = factor(z, i);
		if (WEIGHTED) p0 *= weight[r], q0 *= weight[other];
		q0 = two ? q0 : 0.0;
		double p1 = p0 * x, q1 = q0 * z;
		x *= 2, z *= 2;
		sum[0] += p0 + q0;
		sum[1] += p1 + q1;
#pragma unroll
		for (int j = 2; j < TERMS; j++) {
			double p = fma64(x, p1, -p0), q = fma64(z, q1, -q0);
			sum[j] += p + q;
			p0 = p1, p1 = p, q0 = q1, q1 = q;
		}
	}
	add_threads(part + (((u64)block_x() << log_groups) + i) * TERMS, sum, width, lane, tree);
}

KERNEL THREADS(256) void moments(double *part, const double *s, const u32 *parts, double scale, u32 log_groups) {
	SHARED static double tree[8][256];
	add_moments<false>(part, s, parts, scale, log_groups, 0, tree);
}

// weighted_moments is moments with every term times weight[r], at most 1: another rounding.
KERNEL THREADS(256) void weighted_moments(double *part, const double *s, const u32 *parts, double scale, u32 log_groups, const double *weight) {
	SHARED static double tree[8][256];
	add_moments<true>(part, s, parts, scale, log_groups, weight, tree);
}

// class_moments sets sum[a length + k] = sum over first[a] <= g < first[a+1] of
// part[g length + k] for k < length and blocks (h, a) of 256 threads, ceil(length/8) for each
// class a. Depth ceil((first[a+1]-first[a])/32) + 6.
KERNEL THREADS(256) void class_moments(double *sum, const double *part, const u32 *first, u32 length) {
	SHARED static double tree[32][8];
	u32 a = block_y();
	add_parts(sum + (u64)a * length, part, first[a], first[a + 1], length, tree);
}

// add_columns adds, for 32 rows i from first on, warp w the columns j = w, w+8, ... of a product
// with a matrix that has its columns one after the other, terms x terms: row i of it, or with
// back the row terms-1-i with the signs -(-1)^j.
DEVICE double add_columns(double sum, const double *matrix, const double *v, u32 first, u32 terms, u32 back) {
	u32 i = first + (thread() & 31), row = back ? terms - 1 - i : i;
	if (i < terms)
#pragma unroll 1
		for (u32 j = thread() >> 5; j < terms; j += 8 * 8) { // eight loads under way
			double m[8];
#pragma unroll
			for (u32 t = 0; t < 8; t++) m[t] = load(matrix + (u64)(j + 8 * t < terms ? j + 8 * t : j) * terms + row);
			keep<8>(m);
#pragma unroll
			for (u32 t = 0; t < 8; t++)
				if (j + 8 * t < terms) sum = fma64(back && j % 2 == 0 ? -m[t] : m[t], v[j + 8 * t], sum);
		}
	return sum;
}

// add_warps is the sum over the warps of what they have for this lane. Depth 8.
DEVICE double add_warps(double sum, double (*tree)[32]) {
	u32 lane = thread() & 31;
	tree[thread() >> 5][lane] = sum;
	barrier();
	double total = 0;
#pragma unroll
	for (int w = 0; w < 8; w++) total += tree[w][lane];
	barrier();
	return total;
}

// expand sets, for a block of 256 threads for each class a, from the moments M_b of the classes,
//
//	value[k] = sum over b != a and j < terms of G_ab[k][j] M_b[j] at the nodes k,
//	coefficient[256 a + i] = sum over k of C[i][k] value[k] for i < terms.
//
// The sums of T_32i T_j of the kernel moments are turned into moments, those of
// T_(32i+j) = 2 T_32i T_j - T_(32i-j), 32i - j = 32 (i-1) + (32-j). C is the first of matrices,
// terms x terms with its columns one after the other; for a > b matrix 1 + a (a-1)/2 + b is G_ab,
// and G_ba[k][j] = -(-1)^j G_ab[terms-1-k][j]: labels and scores exchanged.
// Depths (classes-1) ceil(terms/8) + 8 and ceil(terms/8) + 8.
KERNEL THREADS(256) void expand(double *coefficient, const double *sums, const double *matrices, u32 terms, u32 classes, u32 log_groups) {
	SHARED static double own[CLASSES * MOST];
	SHARED static double value[MOST];
	SHARED static double tree[8][32];
	u32 id = thread(), length = TERMS << log_groups, a = block_y();
	for (u32 t = id; t < classes * length; t += 256) own[t] = sums[t];
	barrier();
#pragma unroll 1
	for (u32 g = TERMS; g < length; g += TERMS) {
		for (u32 t = id; t < classes * TERMS; t += 256) {
			double *at = own + (t >> 5) * length + g;
			u32 j = t & 31;
			if (j > 0) at[j] = 2 * at[j] - *(at - j);
		}
		barrier();
	}
#pragma unroll 1
	for (u32 first = 0; first < terms; first += 32) {
		double sum = 0;
		for (u32 b = 0; b < classes; b++) {
			u32 high = a > b ? a : b, low = a > b ? b : a;
			const double *matrix = matrices + (u64)(1 + high * (high - 1) / 2 + low) * terms * terms;
			if (b != a) sum = add_columns(sum, matrix, own + b * length, first, terms, a < b);
		}
		sum = add_warps(sum, tree);
		if (id < 32) value[first + id] = sum;
	}
	barrier();
#pragma unroll 1
	for (u32 first = 0; first < terms; first += 32) {
		double sum = add_warps(add_columns(0, matrices, value, first, terms, 0), tree);
		if (id < 32 && first + id < terms) coefficient[a * MOST + first + id] = sum;
	}
}

enum { AT_ONCE = 4 };

// clenshaw replaces the positions x[m] by sum over a < terms of coefficient[a] T_a(x[m]), with
// Clenshaw's recurrence b_a = 2 x b_(a+1) + (coefficient[a] - b_(a+2)), coefficients in shared
// memory with zeros up to a multiple of 8, which leave the recurrence at 0.
//
// The result is the exact series of coefficients that differ by at most
// u (|c_a| + |b_(a+2)| + |b_a|).
DEVICE void clenshaw(double *x, const double *coefficient, u32 terms) {
	double b1[AT_ONCE], b2[AT_ONCE];
#pragma unroll
	for (int m = 0; m < AT_ONCE; m++) x[m] *= 2, b1[m] = b2[m] = 0;
	for (u32 last = (terms - 1) & ~7u; last > 0; last -= 8) {
#pragma unroll
		for (int a = 7; a >= 0; a--) {
			double v = coefficient[last + a];
#pragma unroll
			for (int m = 0; m < AT_ONCE; m++) {
				double b = fma64(x[m], b1[m], v - b2[m]);
				b2[m] = b1[m], b1[m] = b;
			}
		}
	}
#pragma unroll
	for (int a = 7; a > 0; a--) {
		double v = coefficient[a];
#pragma unroll
		for (int m = 0; m < AT_ONCE; m++) {
			double b = fma64(x[m], b1[m], v - b2[m]);
			b2[m] = b1[m], b1[m] = b;
		}
	}
#pragma unroll
	for (int m = 0; m < AT_ONCE; m++) x[m] = fma64(0.5 * x[m], b1[m], coefficient[0] - b2[m]);
}

// hold brings the coefficients of class a into shared memory, all threads together.
DEVICE void hold(double *own, const double *coefficient, u32 a, u32 terms) {
	own[thread()] = thread() < terms ? load(coefficient + a * MOST + thread()) : 0.0;
}

// series sets c[r] = sum over a < terms of coefficient[256 class + a] T_a(x_r) for the rows
// from <= r < to of each block, x_r the position of s[r], 2 <= terms <= 256.
// Blocks of 256 threads with four records each.
KERNEL THREADS(256) void series(double *c, const double *s, const double *coefficient, const u32 *parts, u32 terms, double scale) {
	SHARED static double own[MOST];
	u32 from = parts[3 * block_x()], to = parts[3 * block_x() + 1];
	hold(own, coefficient, parts[3 * block_x() + 2], terms);
	barrier();
	for (u32 r = from + thread(); r < to; r += AT_ONCE * 256) {
		double x[AT_ONCE];
#pragma unroll
		for (u32 m = 0; m < AT_ONCE; m++) x[m] = position(load(s + (r + 256 * m < to ? r + 256 * m : r)), scale);
		clenshaw(x, own, terms);
#pragma unroll
		for (u32 m = 0; m < AT_ONCE; m++)
			if (r + 256 * m < to) c[r + 256 * m] = x[m];
	}
}

// weigh sets c[i] = weight[i] (c[i] - own[i]) for i < n. Blocks of 256 threads.
KERNEL THREADS(256) void weigh(double *c, const double *own, const double *weight, u64 n) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i < n) c[i] = weight[i] * (c[i] - own[i]);
}

// weighted_series is series and weighted_sums (rows.cu) in one, with c[i] in shared memory only,
// and the same bits. It takes the n rows from first on, with x and s from there on; class a has
// the rows start[a] <= i < start[a+1], all in a class.
KERNEL THREADS(256) void weighted_series(double *part, const double *x, const double *s, const double *coefficient, const u32 *start, u64 n, u32 first, u32 d, u32 spans, u32 tiles, u32 log_parts, u32 classes, u32 terms, double scale) {
	SHARED static double weights[SPAN * ROWS];
	SHARED static double sums[JOBS][32];
	SHARED static double own[MOST];
	Span p = span_of(d, tiles, log_parts);
	clear_sums(sums, p);
	u64 from = (u64)block_x() * spans * tiles * ROWS;
	u32 held = classes;
	for (u32 t = 0; t < spans && from < n; t++, from += tiles * ROWS) {
		u32 to = from + tiles * ROWS < n ? from + tiles * ROWS : n;
		for (u32 a = 0; a < classes; a++) {
			if (start[a] >= first + to || start[a + 1] <= first + from || start[a] == start[a + 1]) continue;
			if (held != a) {
				barrier();
				hold(own, coefficient, a, terms);
				barrier();
				held = a;
			}
#pragma unroll 1
			for (u32 row = thread(); row < tiles * ROWS; row += AT_ONCE * ROWS) {
				double v[AT_ONCE];
#pragma unroll
				for (u32 m = 0; m < AT_ONCE; m++) {
					u64 i = from + row + m * ROWS;
					v[m] = position(load(s + (i < n ? i : n - 1)), scale);
				}
				clenshaw(v, own, terms);
#pragma unroll
				for (u32 m = 0; m < AT_ONCE; m++) {
					u64 i = from + row + m * ROWS;
					u32 at = row + m * ROWS;
					if (at < tiles * ROWS && (i >= n || (start[a] <= first + i && first + i < start[a + 1]))) weights[at] = i < n ? v[m] : 0.0;
				}
			}
		}
		barrier();
		add_span(sums, weights, x, from, n, p);
		barrier();
	}
	write_sums(part, sums, p);
}
