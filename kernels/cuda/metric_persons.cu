// The tiles of Mahalanobis losses for rows of persons: a row of a person with m rows has the weight
// 1/m, and rows of the same person are in no pair. The products are summed in float64, so that a
// person that is replaced, and moves the rows after it to other spans, alters no bit that counts.
#include "metric_fp32.h"

// metric_tiles_persons adds, with v_ij as in metric_tiles_fp32, x by columns, x[k n + i], and the
// weights 1/m of rows,
//
//	for i < n, next[i] <= j < n: sums[i] += fixed(2^30 v_ij/(m_j unit)), sums[j] += fixed(2^30 v_ij/(m_i unit))
//	                             z[k n + i] += fixed(z_scale sum_j v_ij weight[j] x[k n + j]) for k < d
//
// where the last sum is over the columns of a SPAN: a depth of at most SPAN + 2. The rows of a person are
// consecutive, and next[i] is the first row of the next person. Blocks, spans and a stride as of
// metric_tiles_fp32.
//
// The weight in the first two sums is a float, 2^8/m_i.
KERNEL THREADS(256) void metric_tiles_persons(i64 *z, i64 *sums, const float *a, const float *b, const double *x, const double *weight, const u32 *next,
                                              const float2v *points, u32 n, u32 d, u32 stride, u32 first, float twice, float unit, double z_scale) {
	// Of S, and of sums of columns and rows; of coefficients; of x.
	SHARED static union { struct { float a[DEPTH][SIDE], b[DEPTH][SIDE]; } s; i64 part[16][SIDE]; } of __attribute__((aligned(16)));
	SHARED static float cs[SIDE][SIDE + 4] __attribute__((aligned(16)));
	SHARED static double xs[SIDE / 2][SIDE + 1];
	u32 id = thread(), tx = id & 15, ty = id >> 4;
	u32 pieces = (d + SIDE - 1) / SIDE;
	u32 k0 = block_y() % pieces * SIDE; // of the products
	u32 r0 = block_x() * SIDE, c0 = (first + block_y() / pieces) * SPAN;
	if (c0 + SPAN <= r0) return; // below the diagonal
	u32 end = n - c0 < SPAN ? n : c0 + SPAN;
	c0 = c0 < r0 ? r0 : c0;
	float2v pi[4];
	float wi[4];
	u32 from[4];
	double total[4][4];
	i64 rows[4];
#pragma unroll
	for (int p = 0; p < 4; p++) {
		u32 i = r0 + 4 * ty + p;
		pi[p] = points[i], rows[p] = 0;
		wi[p] = i < n ? 256 * (float)weight[i] : 0;
		from[p] = i < n ? next[i] : n; // no pair
#pragma unroll
		for (int r = 0; r < 4; r++) total[p][r] = 0;
	}
	float zero = 3 * unit, grid = 0x1p22f / unit;
	for (; c0 < end; c0 += SIDE) {
		float s[4][4];
		gram_tile(s, of.s.a, of.s.b, a, b, d, stride, r0, c0);
		i64 cols[4] = {0, 0, 0, 0};
		float2v pj[4];
		float wj[4];
#pragma unroll
		for (int r = 0; r < 4; r++) {
			u32 j = c0 + 4 * tx + r;
			pj[r] = points[j];
			wj[r] = j < n ? 256 * (float)weight[j] : 0;
		}
#pragma unroll
		for (int p = 0; p < 4; p++) {
			float4v v;
#pragma unroll
			for (int r = 0; r < 4; r++) {
				u32 j = c0 + 4 * tx + r;
				float c = coefficient(s[p][r], pi[p], pj[r], twice, unit);
				v[r] = (from[p] <= j && j < n ? c : 0.0f) + zero - zero; // on the grid of metric_tiles_fp32
				float k = v[r] * grid;
				rows[p] += fixed(k * wj[r]);
				cols[r] += fixed(k * wi[p]);
			}
			*(float4v *)&cs[4 * ty + p][4 * tx] = v;
		}
#pragma unroll
		for (int r = 0; r < 4; r++) of.part[ty][4 * tx + r] = cols[r];
#pragma unroll
		for (int h = 0; h < 2; h++) {
#pragma unroll
			for (int m = 0; m < 8; m++) {
				u32 k = k0 + SIDE / 2 * h + (id >> 6) + 4 * m, j = c0 + (id & 63);
				xs[(id >> 6) + 4 * m][id & 63] = k < d && j < n ? weight[j] * x[(u64)k * n + j] : 0;
			}
			barrier();
			if (h == 0 && k0 == 0 && id < SIDE && c0 + id < n) {
				i64 sum = 0;
#pragma unroll
				for (int k = 0; k < 16; k++) sum += of.part[k][id];
				add_exact(sums + c0 + id, sum);
			}
#pragma unroll 4
			for (int j = 0; j < SIDE; j++) {
				double l[4], r[2];
#pragma unroll
				for (int p = 0; p < 4; p++) l[p] = cs[ty + 16 * p][j];
#pragma unroll
				for (int q = 0; q < 2; q++) r[q] = xs[tx + 16 * q][j];
#pragma unroll
				for (int p = 0; p < 4; p++)
#pragma unroll
					for (int q = 0; q < 2; q++) total[p][2 * h + q] = fma64(l[p], r[q], total[p][2 * h + q]);
			}
			barrier();
		}
	}
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int r = 0; r < 4; r++) {
			u32 i = r0 + ty + 16 * p, k = k0 + tx + 16 * r;
			if (i < n && k < d) add_exact(z + (u64)k * n + i, fixed(total[p][r] * z_scale));
		}
	if (k0 == 0) {
#pragma unroll
		for (int p = 0; p < 4; p++) of.part[tx][4 * ty + p] = rows[p];
	}
	barrier();
	if (k0 == 0 && id < SIDE && r0 + id < n) {
		i64 sum = 0;
#pragma unroll
		for (int k = 0; k < 16; k++) sum += of.part[k][id];
		add_exact(sums + r0 + id, sum);
	}
}

// metric_weigh_persons is metric_weigh with the weights of rows. Depth 5.
// Blocks of 256 threads, ceil(n/256) x d of them.
KERNEL THREADS(256) void metric_weigh_persons(i64 *z, const i64 *c, const double *x, const double *weight, u64 n, double c_unit, double z_unit) {
	u64 i = (u64)block_x() * 256 + thread();
	if (i >= n) return;
	u64 at = block_y() * n + i;
	double own = c_unit * (double)c[i] * x[at];
	z[at] = __builtin_bit_cast(i64, weight[i] * fma64(-z_unit, (double)z[at], own));
}
