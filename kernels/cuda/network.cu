// Kernels for networks of dense layers: what they compute for records, and sums of Jacobians times vectors
// (docs/theory.md, "Networks on a GPU").
//
// Matrices of n records are stored by columns, a[k stride + i], stride a multiple of 256; records from n on
// have zeros as features. All operations are correctly rounded, and what is computed for record i is a
// function of column i of the inputs and of the weights alone: sums run in the order of their terms.
#include "device.h"

typedef float float4v __attribute__((ext_vector_type(4)));

enum { SIDE = 64, DEPTH = 16, BATCH = 8, COLUMNS = SIDE / 16 };

// expm1_below is exp(v) - 1 for v <= 0, within 2^-22 of it, relatively: with k the integer nearest to
// v / ln 2, r = v - k ln 2 and q = exp(r) - 1, it is 2^k q + (2^k - 1). Below -30 it is -1.
DEVICE float expm1_below(float v) {
	const float shift = 0x1.8p23f;
	v = __builtin_fmaxf(v, -30.0f);
	float t = fma32(v, 0x1.715476p0f, shift);
	int k = (int)(bits(t) - bits(shift));
	t -= shift;
	float r = fma32(t, -0x1.62ep-1f, v); // t times 13 bits of ln 2 is exact
	r = fma32(t, -0x1.0bfbe8p-15f, r);
	float p = 1.0f / 5040;
	p = fma32(p, r, 1.0f / 720);
	p = fma32(p, r, 1.0f / 120);
	p = fma32(p, r, 1.0f / 24);
	p = fma32(p, r, 1.0f / 6);
	p = fma32(p, r, 0.5f);
	float q = fma32(p * r, r, r);
	float two = __builtin_bit_cast(float, (u32)(k + 127) << 23);
	return fma32(two, q, two - 1);
}

enum { TANH = 0, SOFTPLUS = 1, BACK = 2, RELU = 3, SILU = 4, NONE = 5 };

// activate returns the activation of z, and sets *slope to its derivative, a number in [-0.1, 1.1].
DEVICE float activate(float z, float *slope, u32 kind) {
	float a = z < 0 ? -z : z;
	if (kind == NONE || kind == RELU) {
		bool on = kind == NONE || z > 0;
		*slope = on ? 1.0f : 0.0f;
		return on ? z : 0.0f;
	}
	if (kind == TANH) {
		float e = expm1_below(-2 * a), t = -e / (2 + e);
		*slope = (1 - t) * (1 + t);
		return z < 0 ? -t : t;
	}
	float e = 1 + expm1_below(-a), by = 1 / (1 + e), s = e / (2 + e), u = s * s, sigma = z < 0 ? e * by : by;
	*slope = sigma;
	if (kind == SILU) {
		*slope = fma32(z * sigma, z < 0 ? by : e * by, sigma); // 1 - sigma is the other one
		return z * sigma;
	}
	float p = 1.0f / 15; // log(1 + e) = 2 atanh s, s <= 1/3
	p = fma32(p, u, 1.0f / 13);
	p = fma32(p, u, 1.0f / 11);
	p = fma32(p, u, 1.0f / 9);
	p = fma32(p, u, 1.0f / 7);
	p = fma32(p, u, 1.0f / 5);
	p = fma32(p, u, 1.0f / 3);
	p = fma32(p, u, 1.0f);
	return fma32(2 * s, p, z < 0 ? 0.0f : z);
}

// network_layer sets, with z_ik = sum_j in[j stride + i] w[j width + k] over j < depth, in float32,
//
//	out[k stride + i] = z_ik slope[k stride + i]                                    BACK
//	out[k stride + i] = activation of z_ik, slope[k stride + i] = its derivative    else
//
// for all i < stride and k < units. w has zeros up to a width that is a multiple of 64 and a depth that is
// one of 16. Blocks of 256 threads, stride/64 x width/64 of them.
KERNEL TWO_BLOCKS(256) void network_layer(float *out, float *slope, const float *in, const float *w, u32 depth, u32 units, u32 width, u32 stride, u32 kind) {
	SHARED static float as[DEPTH][SIDE] __attribute__((aligned(16))), bs[DEPTH][SIDE] __attribute__((aligned(16)));
	u32 id = thread(), tx = id & 15, ty = id >> 4;
	u32 i0 = block_x() * SIDE, k0 = block_y() * SIDE;
	float z[4][4]; // unit, record
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int r = 0; r < 4; r++) z[p][r] = 0;
	for (u32 j = 0; j < depth; j += DEPTH) {
		u32 l = j + ty, column = l < depth ? l : depth - 1;
		float4v a = *(const float4v *)(in + (u64)column * stride + i0 + 4 * tx), b = *(const float4v *)(w + (u64)l * width + k0 + 4 * tx);
		*(float4v *)&as[ty][4 * tx] = a;
		*(float4v *)&bs[ty][4 * tx] = b;
		barrier();
#pragma unroll
		for (int m = 0; m < DEPTH; m++) {
			float4v x = *(float4v *)&as[m][4 * tx], v = *(float4v *)&bs[m][4 * ty];
#pragma unroll
			for (int p = 0; p < 4; p++)
#pragma unroll
				for (int r = 0; r < 4; r++) z[p][r] = fma32(v[p], x[r], z[p][r]);
		}
		barrier();
	}
#pragma unroll
	for (int p = 0; p < 4; p++) {
		u32 k = k0 + 4 * ty + p;
		if (k >= units) continue;
		u64 at = (u64)k * stride + i0 + 4 * tx;
		float4v o, s;
		if (kind == BACK) {
			s = *(float4v *)(slope + at);
#pragma unroll
			for (int r = 0; r < 4; r++) o[r] = z[p][r] * s[r];
		} else {
#pragma unroll
			for (int r = 0; r < 4; r++) {
				float derivative;
				o[r] = activate(z[p][r], &derivative, kind);
				s[r] = derivative;
			}
			*(float4v *)(slope + at) = s;
		}
		*(float4v *)(out + at) = o;
	}
}

// squares is the sum of a[k stride]^2 by[k] over k < count, 1 for by = 0, in float64.
DEVICE double squares(const float *a, const double *by, u32 count, u32 stride) {
	double sum = 0;
#pragma unroll 1
	for (u32 k = 0; k < count; k += BATCH) {
		double v[BATCH];
#pragma unroll
		for (u32 m = 0; m < BATCH; m++) v[m] = load(a + (u64)(k + m < count ? k + m : count - 1) * stride);
		keep<BATCH>(v);
#pragma unroll
		for (u32 m = 0; m < BATCH; m++)
			if (k + m < count) sum = by ? fma64(v[m] * v[m], by[k + m], sum) : fma64(v[m], v[m], sum);
	}
	return sum;
}

// network_output sets g[r stride + i] = sum_k w[r units + k] h[k stride + i] for r < m, in float64, and square[i]
// to, with D slope and c columns,
//
//	m ||h||^2                                       no slope
//	m ||h||^2 + sum_k c_k D_k^2 own[i]              no before
//	m ||h||^2 + sum_k c_k D_k^2 (1 + ||before||^2)  else
//
// before has before_units columns. Blocks of 256 threads, stride/256 of them.
KERNEL THREADS(256) void network_output(double *g, double *square, const float *h, const float *slope, const float *before, const double *own, const float *w,
                                        const double *columns, u32 m, u32 units, u32 before_units, u32 stride) {
	u32 i = block_x() * 256 + thread();
	if (i >= stride) return;
#pragma unroll 1
	for (u32 r = 0; r < m; r++) {
		double sum = 0;
#pragma unroll 1
		for (u32 k = 0; k < units; k += BATCH) {
			double v[BATCH];
#pragma unroll
			for (u32 b = 0; b < BATCH; b++) v[b] = load(h + (u64)(k + b < units ? k + b : units - 1) * stride + i);
			keep<BATCH>(v);
#pragma unroll
			for (u32 b = 0; b < BATCH; b++)
				if (k + b < units) sum = fma64(v[b], (double)w[r * units + k + b], sum);
		}
		g[(u64)r * stride + i] = sum;
	}
	double total = m * squares(h + i, 0, units, stride);
	if (slope) total = fma64(squares(slope + i, columns, units, stride), before ? 1 + squares(before + i, 0, before_units, stride) : own[i], total);
	square[i] = total;
}

// network_norm adds ||back||^2 own[i], or ||back||^2 (1 + ||before||^2), to square[i]. back and before have units and before_units
// columns. Blocks of 256 threads, stride/256 of them.
KERNEL THREADS(256) void network_norm(double *square, const float *back, const float *before, const double *own, u32 units, u32 before_units, u32 stride) {
	u32 i = block_x() * 256 + thread();
	if (i >= stride) return;
	square[i] = fma64(squares(back + i, 0, units, stride), before ? 1 + squares(before + i, 0, before_units, stride) : own[i], square[i]);
}

// network_turn sets out[k stride + i] = w[k] slope[k stride + i]: what comes back to unit k of an output with the weights
// w. Blocks of 256 threads, stride/256 x units of them.
KERNEL THREADS(256) void network_turn(float *out, const float *slope, const float *w, u32 stride) {
	u32 k = block_y();
	u64 at = (u64)k * stride + block_x() * 256 + thread();
	out[at] = w[k] * slope[at];
}

// network_weigh sets left[k stride + i] = slope[k stride + i] sum_r v[r stride + i] w[r units + k] over r < m, in float64.
// Blocks of 256 threads, stride/256 x units of them.
KERNEL THREADS(256) void network_weigh(double *left, const double *v, const float *w, const float *slope, u32 m, u32 units, u32 stride) {
	u32 k = block_y(), i = block_x() * 256 + thread();
	double sum = 0;
	for (u32 r = 0; r < m; r++) sum = fma64(v[(u64)r * stride + i], (double)w[r * units + k], sum);
	left[(u64)k * stride + i] = sum * (double)slope[(u64)k * stride + i];
}

// network_collect sets left[k stride + i] = sum_r v[r stride + i] back[(r units + k) stride + i] over r < m, in float64.
// Blocks of 256 threads, stride/256 x units of them.
KERNEL THREADS(256) void network_collect(double *left, const double *v, const float *back, u32 m, u32 units, u32 stride) {
	u32 k = block_y(), i = block_x() * 256 + thread();
	double sum = 0;
	for (u32 r = 0; r < m; r++) sum = fma64(v[(u64)r * stride + i], (double)back[((u64)r * units + k) * stride + i], sum);
	left[(u64)k * stride + i] = sum;
}

// network_gram adds to sums[k columns + j], for k < rows and j < columns, the integer
//
//	trunc(scale sum_i left[k stride + i] right[j stride + i])
//
// of every chunk of records, summed in float64 in their order; chunk and stride are multiples of 16. Sums of integers are
// exact, so the order of blocks does not matter. Blocks of 256 threads, ceil(rows/64) ceil(columns/64) x
// ceil(stride/chunk) of them.
KERNEL TWO_BLOCKS(256) void network_gram(i64 *sums, const double *left, const float *right, u32 rows, u32 columns, u32 stride, u32 chunk, double scale) {
	SHARED static double as[DEPTH][SIDE + 1], bs[DEPTH][SIDE + 1];
	u32 id = thread(), tx = id & 15, ty = id >> 4, across = (columns + SIDE - 1) / SIDE;
	u32 k0 = block_x() / across * SIDE, j0 = block_x() % across * SIDE;
	u32 i0 = block_y() * chunk, end = stride - i0 < chunk ? stride : i0 + chunk;
	double sum[4][4];
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int r = 0; r < 4; r++) sum[p][r] = 0;
	for (; i0 < end; i0 += DEPTH) {
		double a[COLUMNS], b[COLUMNS];
#pragma unroll
		for (u32 m = 0; m < COLUMNS; m++) {
			u32 k = k0 + ty + 16 * m, j = j0 + ty + 16 * m;
			a[m] = load(left + (u64)(k < rows ? k : rows - 1) * stride + i0 + tx);
			b[m] = load(right + (u64)(j < columns ? j : columns - 1) * stride + i0 + tx);
		}
		keep<COLUMNS>(a), keep<COLUMNS>(b);
#pragma unroll
		for (u32 m = 0; m < COLUMNS; m++) as[tx][ty + 16 * m] = a[m], bs[tx][ty + 16 * m] = b[m];
		barrier();
#pragma unroll
		for (int l = 0; l < DEPTH; l++) {
			double u[4], v[4];
#pragma unroll
			for (int p = 0; p < 4; p++) u[p] = as[l][ty + 16 * p], v[p] = bs[l][tx + 16 * p];
#pragma unroll
			for (int p = 0; p < 4; p++)
#pragma unroll
				for (int r = 0; r < 4; r++) sum[p][r] = fma64(u[p], v[r], sum[p][r]);
		}
		barrier();
	}
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int r = 0; r < 4; r++) {
			u32 k = k0 + ty + 16 * p, j = j0 + tx + 16 * r;
			if (k < rows && j < columns) add_exact(sums + (u64)k * columns + j, (i64)(sum[p][r] * scale));
		}
}
