// Asynchronous matrix products of four warps on tensor cores (PTX manual, "Asynchronous
// Warpgroup Level Matrix Instructions"), for compute capability 9.0 alone. The first factor
// is in registers, as for mma.sync, the second in shared memory, in slabs.
#pragma once
#include "mma.h"

// A slab is 64 x 32 numbers of 16 bits at a multiple of 512 bytes: number (r, c) is number
// c % 8 of the 16 bytes from
//
//	64 r + 16 ((c / 8) xor (r / 2 % 4))
//
// on, which the manual calls a swizzle of 64 bytes.
enum { SLAB_ROWS = 64, SLAB_COLUMNS = 32, SLAB_BYTES = SLAB_ROWS * SLAB_COLUMNS * 2 };

// address is that of shared memory, in bytes.
DEVICE u32 address(const void *shared) { return (u32)(u64)(__attribute__((address_space(3))) const void *)shared; }

// slab_descriptor describes the slab from an address on: the swizzle, 512 bytes from 8 rows
// to the next 8, and an offset that slabs have no use for.
DEVICE u64 slab_descriptor(u32 from) { return 2ull << 62 | (u64)(512 >> 4) << 32 | 1ull << 16 | (from & 0x3ffff) >> 4; }

// pin keeps the compiler from moving accesses to a register across it.
DEVICE void pin(u32x4 *v) {
	u32 a = (*v)[0], b = (*v)[1], c = (*v)[2], d = (*v)[3];
	asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	*v = (u32x4){a, b, c, d};
}

// wgmma_begin orders earlier accesses to registers before the products that follow.
DEVICE void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }

// SUMS_16 and SUMS_32 are sums as operands, of kind "+f" where they are added to and "=f"
// where they are set. COLUMNS and ROWS are the text of wgmma_columns and wgmma_rows, which
// add if MORE is "1" and set if it is "0".
#define SUMS_4(KIND, K) KIND(s[K]), KIND(s[K + 1]), KIND(s[K + 2]), KIND(s[K + 3])
#define SUMS_16(KIND, K) SUMS_4(KIND, K), SUMS_4(KIND, K + 4), SUMS_4(KIND, K + 8), SUMS_4(KIND, K + 12)
#define SUMS_32(KIND) SUMS_16(KIND, 0), SUMS_16(KIND, 16)
#define WAIT "wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;"
#define PRODUCT(SHAPE, SUMS, A_AND_B, MORE, TRANSPOSED) \
	"{\n\t.reg .pred more;\n\tsetp.ne.b32 more, " MORE ", 0;\n\t" \
	"wgmma.mma_async.sync.aligned." SHAPE ".f32.bf16.bf16 {" SUMS "}, " A_AND_B ", more, 1, 1, " TRANSPOSED ";\n\t}"
#define COLUMNS(MORE) PRODUCT("m64n64k16", \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31", \
	"{%32, %33, %34, %35}, %36", MORE, "0")
#define ROWS(MORE) PRODUCT("m64n32k16", \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15", \
	"{%16, %17, %18, %19}, %20", MORE, "1")
#define FACTORS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)

// wgmma_columns_end and wgmma_rows_end wait for all products that were begun; s are the sums.
DEVICE void wgmma_columns_end(float *s) { asm volatile(WAIT : SUMS_32("+f") : : "memory"); }

DEVICE void wgmma_rows_end(float *s) { asm volatile(WAIT : SUMS_16("+f", 0) : : "memory"); }

// wgmma_columns adds A B^T to s, and wgmma_columns_first sets s to it. A is 64 x 16
// with the rows of warp w of the four from 16 w on, each as in mma_bf16. B are 16 columns of
// a slab, so s is 64 x 64, of which s[4 b] to s[4 b + 3] are the columns from 8 b on, as in
// mma_bf16.
DEVICE void wgmma_columns(float *s, u32x4 a, u64 b) { asm volatile(COLUMNS("1") : SUMS_32("+f") : FACTORS); }

DEVICE void wgmma_columns_first(float *s, u32x4 a, u64 b) { asm volatile(COLUMNS("0") : SUMS_32("=f") : FACTORS); }

// wgmma_rows adds A B, 64 x 32, to s, and wgmma_rows_first sets s to it. B are
// 16 rows of a slab.
DEVICE void wgmma_rows(float *s, u32x4 a, u64 b) { asm volatile(ROWS("1") : SUMS_16("+f", 0) : FACTORS); }

DEVICE void wgmma_rows_first(float *s, u32x4 a, u64 b) { asm volatile(ROWS("0") : SUMS_16("=f", 0) : FACTORS); }

// copy_async copies 16 bytes to shared memory. copies_end waits for all that the thread
// began and shows them to wgmma; other threads see them after a barrier.
DEVICE void copy_async(u32 to, const u32x4 *from) {
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
}

DEVICE void copies_end() { asm volatile("cp.async.wait_all;\n\tfence.proxy.async.shared::cta;" : : : "memory"); }
