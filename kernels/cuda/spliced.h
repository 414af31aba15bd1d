// What the kernels for score losses whose phi' is put into the PTX share.
#pragma once
#include "device.h"

// phi_slope is replaced in the PTX: r = phi'(u) with u clamped to [-reach, reach], if its
// code needs that, and r to [least, most].
DEVICE float phi_slope(float u, float reach, float least, float most) {
	float r;
	asm("//@PHI %0 %1 %2 %3 %4;" : "=f"(r) : "f"(u), "f"(reach), "f"(least), "f"(most));
	return r;
}

enum {
	ROWS = 64,  // of a block: 8 warps with 8 rows each
	COLS = 128, // of a tile, 4 of each thread
	STRIP = 8   // tiles that a block works through
};

// The scores and labels of a record are each the sum of two floats (split in score.cu): those
// of the loss, divided by and multiplied with the power of two that makes 1/4 of the largest
// term, so that the product of two differences is the same.
struct alignas(16) Split { float s, sl, y, yl; };

struct Slope { float reach, least, most; };

// slope_of is phi' of two records times a quarter of what splitting makes of D, which is d.
DEVICE float slope_of(const Split &a, const Split &b, const Slope &of, float &d) {
	d = (a.y - b.y) + (a.yl - b.yl);
	return phi_slope(d * ((a.s - b.s) + (a.sl - b.sl)), of.reach, of.least, of.most);
}
