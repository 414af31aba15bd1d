// The tiles of Mahalanobis losses in float32 on ordinary cores: the reference for the
// tensor cores (metric_mma.cu).
#include "metric_fp32.h"

// metric_tiles_fp32 adds, with S_ij = sum_k a[k stride + i] b[k stride + j] and v_ij =
// coefficient(S_ij, ...) rounded to multiples of g = 2^-22 unit,
//
//	for i < j < n: sums[i] += v_ij/g, sums[j] += v_ij/g
//	               z[k n + i] += fixed(z_scale sum_j v_ij b[k stride + j]) for k < d
//
// where fixed is applied to the sum over each SPAN of columns, in float32 by tiles of 64
// columns: at most 64 + SPAN/64 roundings. a, b and points are padded with zeros to a
// stride that is a multiple of 64, a and b also to a multiple of 64 of rows k. Blocks of 256 threads;
// ceil(n/64) x (number of spans times ceil(d/64)) of them, where spans count from
// first: a block does the products with 64 features.
//
// S is summed in the order of k alone, so v_ij is a function of columns i and j of a and
// b, of the points i and j, and of constants.
KERNEL THREADS(256) void metric_tiles_fp32(i64 *z, i64 *sums, const float *a, const float *b, const float2v *points,
                                           u32 n, u32 d, u32 stride, u32 first, float twice, float unit, float z_scale) {
	SHARED static float as[DEPTH][SIDE] __attribute__((aligned(16))), bs[DEPTH][SIDE] __attribute__((aligned(16)));
	SHARED static float cs[SIDE][SIDE + 4] __attribute__((aligned(16))), xs[SIDE][SIDE + 4] __attribute__((aligned(16)));
	SHARED static int part[16][SIDE] __attribute__((aligned(16)));
	u32 id = thread(), tx = id & 15, ty = id >> 4;
	u32 pieces = (d + SIDE - 1) / SIDE;
	u32 k0 = block_y() % pieces * SIDE; // of the products
	u32 r0 = block_x() * SIDE, c0 = (first + block_y() / pieces) * SPAN;
	if (c0 + SPAN <= r0) return; // below the diagonal
	u32 end = n - c0 < SPAN ? n : c0 + SPAN;
	c0 = c0 < r0 ? r0 : c0;
	float2v pi[4];
	float total[4][4];
	int rows[4];
#pragma unroll
	for (int p = 0; p < 4; p++) {
		u32 i = r0 + 4 * ty + p;
		pi[p] = points[i], rows[p] = 0;
#pragma unroll
		for (int r = 0; r < 4; r++) total[p][r] = 0;
	}
	for (; c0 < end; c0 += SIDE) {
		float s[4][4];
		gram_tile(s, as, bs, a, b, d, stride, r0, c0);
		int cols[4] = {0, 0, 0, 0};
		float2v pj[4];
#pragma unroll
		for (int r = 0; r < 4; r++) pj[r] = points[c0 + 4 * tx + r];
#pragma unroll
		for (int p = 0; p < 4; p++) {
			u32 i = r0 + 4 * ty + p;
			float4v v;
#pragma unroll
			for (int r = 0; r < 4; r++) {
				u32 j = c0 + 4 * tx + r;
				float c = coefficient(s[p][r], pi[p], pj[r], twice, unit);
				v[r] = on_grid(i < j && j < n ? c : 0.0f, 3 * unit, &rows[p], &cols[r]); // 64 values of at most 2^22
			}
			*(float4v *)&cs[4 * ty + p][4 * tx] = v;
		}
#pragma unroll
		for (int r = 0; r < 4; r++) part[ty][4 * tx + r] = cols[r];
#pragma unroll
		for (int m = 0; m < 16; m++) {
			u32 k = (id >> 6) + 4 * m, at = id & 63;
			xs[k][at] = b[(u64)(k0 + k) * stride + c0 + at];
		}
		barrier();
		if (k0 == 0 && id < SIDE && c0 + id < n) {
			i64 sum = 0;
#pragma unroll
			for (int k = 0; k < 16; k++) sum += part[k][id];
			add_exact(sums + c0 + id, sum);
		}
		float product[4][4];
#pragma unroll
		for (int p = 0; p < 4; p++)
#pragma unroll
			for (int r = 0; r < 4; r++) product[p][r] = 0;
#pragma unroll 1
		for (int j = 0; j < SIDE; j += 4) {
			float4v c[4], x[4];
#pragma unroll
			for (int p = 0; p < 4; p++) {
				c[p] = *(float4v *)&cs[ty + 16 * p][j];
				x[p] = *(float4v *)&xs[tx + 16 * p][j];
			}
#pragma unroll
			for (int m = 0; m < 4; m++)
#pragma unroll
				for (int p = 0; p < 4; p++)
#pragma unroll
					for (int r = 0; r < 4; r++) product[p][r] = fma32(c[p][m], x[r][m], product[p][r]);
		}
#pragma unroll
		for (int p = 0; p < 4; p++)
#pragma unroll
			for (int r = 0; r < 4; r++) total[p][r] += product[p][r];
		barrier();
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
		for (int p = 0; p < 4; p++) part[tx][4 * ty + p] = rows[p];
	}
	barrier();
	if (k0 == 0 && id < SIDE && r0 + id < n) {
		i64 sum = 0;
#pragma unroll
		for (int k = 0; k < 16; k++) sum += part[k][id];
		add_exact(sums + r0 + id, sum);
	}
}
