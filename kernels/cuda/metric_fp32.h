// What the tiles of Mahalanobis losses in float32 share.
#pragma once
#include "metric.h"

enum { SIDE = 64, DEPTH = 16 };

// gram_tile sets s[p][r] = sum over k < d of a[k stride + r0 + 4 ty + p] b[k stride + c0 + 4 tx + r], in the order of k.
// It begins and ends with the threads of a block together, as far as as and bs go.
DEVICE void gram_tile(float (&s)[4][4], float (*as)[SIDE], float (*bs)[SIDE], const float *a, const float *b, u32 d, u32 stride, u32 r0, u32 c0) {
	u32 id = thread(), tx = id & 15, ty = id >> 4;
#pragma unroll
	for (int p = 0; p < 4; p++)
#pragma unroll
		for (int r = 0; r < 4; r++) s[p][r] = 0;
	for (u32 k = 0; k < d; k += DEPTH) {
		u32 at = id & 63;
#pragma unroll
		for (int m = 0; m < 4; m++) {
			u32 l = (id >> 6) + 4 * m;
			u64 row = (u64)(k + l) * stride;
			as[l][at] = a[row + r0 + at];
			bs[l][at] = b[row + c0 + at];
		}
		barrier();
#pragma unroll
		for (int l = 0; l < DEPTH; l++) {
			float4v ai = *(float4v *)&as[l][4 * ty], bj = *(float4v *)&bs[l][4 * tx];
#pragma unroll
			for (int p = 0; p < 4; p++)
#pragma unroll
				for (int r = 0; r < 4; r++) s[p][r] = fma32(ai[p], bj[r], s[p][r]);
		}
		barrier();
	}
}
