// Matrix products of a warp on tensor cores, with the operands in the registers of its
// lanes ("fragments", PTX manual, "Matrix Fragments for mma"). g = lane / 4, t = lane % 4.
#pragma once
#include "device.h"

typedef u32 u32x4 __attribute__((ext_vector_type(4)));

DEVICE u32 lane() { return thread() & 31; }

// load_fragment reads 16 bytes that no kernel writes while it runs.
DEVICE u32x4 load_fragment(const u32x4 *from) {
	u32 a, b, c, d;
	asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from));
	return (u32x4){a, b, c, d};
}

// exchange is v of the lane whose number differs in that bit. All lanes take part.
DEVICE int exchange(int v, u32 bit) {
	int r;
	asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(r) : "r"(v), "r"(bit));
	return r;
}

// bf16_pair is a in the lower and b in the upper half, rounded to nearest even.
DEVICE u32 bf16_pair(float a, float b) {
	u32 r;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
	return r;
}

DEVICE float bf16_low(u32 pair) { return __builtin_bit_cast(float, pair << 16); }
DEVICE float bf16_high(u32 pair) { return __builtin_bit_cast(float, pair & 0xffff0000); }

// tf32 is v rounded to 11 significant bits, ties away from zero.
DEVICE u32 tf32(float v) {
	u32 r;
	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
	return r;
}

// mma_bf16 adds A B to s: A is 16 x 16 with rows g (a[0], a[2]) and g + 8 (a[1], a[3]) and
// columns 2t, 2t+1 (a[0], a[1]) and 8 more (a[2], a[3]); B is 16 x 8 with rows 2t, 2t+1
// (b0) and 8 more (b1) and column g; s is 16 x 8 with rows g (s[0], s[1]) and g + 8
// and columns 2t, 2t+1.
DEVICE void mma_bf16(float *s, u32x4 a, u32 b0, u32 b1) {
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// mma_tf32 adds A B to s: A is 16 x 8 with rows g (a[0], a[2]) and g + 8 and columns t
// (a[0], a[1]) and t + 4; B is 8 x 8 with rows t (b0) and t + 4 (b1) and column g; s as
// in mma_bf16.
DEVICE void mma_tf32(float *s, u32x4 a, u32 b0, u32 b1) {
	asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
