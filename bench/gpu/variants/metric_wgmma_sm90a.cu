// The tiles of Mahalanobis losses with wgmma, bf16x3, for compute capability 9.0 alone. X
// comes in slabs, which serve as second factor of both products: by columns for X W X^T
// and by rows for coefficients times X. They travel through shared memory while the tensor
// cores work on those before; X W and the coefficients are in registers.
#include "metric_tensor.h"
#include "wgmma.h"

// A piece of X are 64 records and 64 features: for each half of the features the slab of hi
// and the slab of lo.
enum { PIECE = 64, PIECE_BYTES = 4 * SLAB_BYTES, HALF_BYTES = 2 * SLAB_BYTES, SLOTS = 3 };

// metric_left_wgmma packs X W as metric_left_bf16x3 does. Blocks of 256 threads;
// ceil(blocks/8) x (d/16, rounded up to whole tiles) of them.
KERNEL THREADS(256) void metric_left_wgmma(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {
	pack_left<BF16X3>(to, x, n, d, blocks, scale);
}

// metric_right_wgmma packs X into pieces, those of the same records after another. Blocks of
// 256 threads; ceil(blocks/8) x (d/64, rounded up to whole tiles) of them, where blocks of
// 64 records cover n rounded up to 256.
KERNEL THREADS(256) void metric_right_wgmma(u32x4 *to, const double *x, u64 n, u32 d, u32 blocks, double scale) {
	u64 at = (u64)block_x() * 8 + (thread() >> 5);
	if (at >= blocks) return;
	to += (at * grid_y() + block_y()) * (PIECE_BYTES / 16);
	for (u32 r = lane(); r < PIECE; r += 32)
#pragma unroll 1
		for (u32 c = 0; c < PIECE / 8; c++) {
			u32x4 first, second;
#pragma unroll
			for (int m = 0; m < 4; m++) {
				u32 k = PIECE * block_y() + 8 * c + 2 * m, hi, lo;
				split(entry(x, n, d, PIECE * at + r, k, scale), entry(x, n, d, PIECE * at + r, k + 1, scale), &hi, &lo);
				first[m] = hi, second[m] = lo;
			}
			u32 in = c / 4 * (HALF_BYTES / 16) + 4 * r + ((c ^ r / 2) & 3);
			to[in] = first, to[in + SLAB_BYTES / 16] = second;
		}
}

// Pieces is the sequence of pieces of X that a block of threads reads: for each 64 records
// those of all features, and then those of its products again unless these are all.
struct Pieces {
	const u32x4 *next; // of the 64 records of the next piece
	u32 slots, slot;   // of shared memory: the address of the first, and the current one
	u32 step, steps;   // of the next piece, and for 64 records
	u32 all, own;      // pieces of 64 records, and the first one of the products
};

// fetch begins to copy the next piece to a slot.
DEVICE void fetch(Pieces *p, u32 slot) {
	u32 piece = p->step < p->all ? p->step : p->own + p->step - p->all;
	const u32x4 *from = p->next + (u64)piece * (PIECE_BYTES / 16) + thread();
	u32 to = p->slots + slot * PIECE_BYTES + 16 * thread();
#pragma unroll
	for (int m = 0; m < PIECE_BYTES / 4096; m++) copy_async(to + m * 4096, from + m * 256);
	if (++p->step == p->steps) p->step = 0, p->next += (u64)p->all * (PIECE_BYTES / 16);
}

DEVICE u32 after(u32 slot) { return slot + 1 == SLOTS ? 0 : slot + 1; }

// turn waits for the next piece, makes its slot the current one and, with more, begins to
// copy the piece after it. The slot before the current one stays as it is.
DEVICE void turn(Pieces *p, bool more) {
	copies_end();
	barrier();
	p->slot = after(p->slot);
	if (more) fetch(p, after(p->slot));
}

// times_columns adds (hi + lo) X^T to s for the 64 features of a piece, or with FIRST sets s
// to it. Products with lo come first, so that errors relative to the sum so far are small.
template <bool FIRST> DEVICE void times_columns(float *s, u32x4 *hi, u32x4 *lo, u32 piece) {
#pragma unroll
	for (int m = 0; m < 4; m++) pin(hi + m), pin(lo + m);
	wgmma_begin();
#pragma unroll
	for (int m = 0; m < 4; m++) {
		u32 from = piece + m / 2 * HALF_BYTES + m % 2 * 32;
		if (FIRST && m == 0)
			wgmma_columns_first(s, lo[m], slab_descriptor(from));
		else
			wgmma_columns(s, lo[m], slab_descriptor(from));
		wgmma_columns(s, hi[m], slab_descriptor(from + SLAB_BYTES));
	}
#pragma unroll
	for (int m = 0; m < 4; m++) wgmma_columns(s, hi[m], slab_descriptor(piece + m / 2 * HALF_BYTES + m % 2 * 32));
	wgmma_columns_end(s);
}

// times_rows sets s to (hi + lo) X for the 64 records of a piece and half of its features, in
// the same order.
DEVICE void times_rows(float *s, u32x4 *hi, u32x4 *lo, u32 half) {
#pragma unroll
	for (int m = 0; m < 4; m++) pin(hi + m), pin(lo + m);
	wgmma_begin();
#pragma unroll
	for (int m = 0; m < 4; m++) {
		u32 from = half + m * 1024;
		if (m == 0)
			wgmma_rows_first(s, lo[m], slab_descriptor(from));
		else
			wgmma_rows(s, lo[m], slab_descriptor(from));
		wgmma_rows(s, hi[m], slab_descriptor(from + SLAB_BYTES));
	}
#pragma unroll
	for (int m = 0; m < 4; m++) wgmma_rows(s, hi[m], slab_descriptor(half + m * 1024));
	wgmma_rows_end(s);
}

// load_rows loads 16 rows and 64 features of X W, of an operand with that many records.
DEVICE void load_rows(u32x4 *hi, u32x4 *lo, const u32x4 *from, u64 records) {
#pragma unroll
	for (int m = 0; m < 4; m++, from += records / 16 * 64) hi[m] = load_fragment(from), lo[m] = load_fragment(from + 32);
}

// tiles adds what metric_tiles_fp32 adds, as bf16x3. A block has 128 rows, a warp 16 of them,
// visits 64 columns at a time and does the products with OWN pieces of 64 features; with one
// there are no others. S is summed in the order of features. Sums of products over 64
// columns start from 0 and are added in float32.
template <int OWN>
DEVICE void tiles(i64 *z, i64 *sums, const u32x4 *left, const u32x4 *right, const float2v *points, u32 n, u32 d, u32 first, float twice,
                  float unit, float z_scale) {
	SHARED static u32x4 slots[SLOTS * PIECE_BYTES / 16] __attribute__((aligned(1024)));
	u32 parts = OWN == 1 ? 1 : (d + PIECE * OWN - 1) / (PIECE * OWN), all = parts * OWN; // of the features
	u32 part = block_y() % parts;
	u64 records = ((u64)n + 255) & ~255ull; // of an operand
	u32 from = block_x() * 128, r0 = from + (thread() >> 5) * 16, c0 = (first + block_y() / parts) * SPAN;
	if (c0 + SPAN <= from) return; // no pair above the diagonal
	u32 end = n - c0 < SPAN ? n : c0 + SPAN;
	c0 = c0 < from ? from : c0;
	Pieces x = {right + (u64)(c0 / PIECE) * all * (PIECE_BYTES / 16), address(slots), 0, 0, parts == 1 ? all : all + OWN, all, part * OWN};
	fetch(&x, 1);
	float total[1][OWN * 8][4];
	int rows[1][2] = {{0, 0}};
#pragma unroll
	for (int f = 0; f < OWN * 8; f++)
#pragma unroll
		for (int e = 0; e < 4; e++) total[0][f][e] = 0;
	for (; c0 < end; c0 += PIECE) {
		bool last = c0 + PIECE >= end;
		const u32x4 *row = left + (u64)(r0 / 16) * 64 + lane();
		float s[1][8][4];
		u32x4 hi[4], lo[4];
		load_rows(hi, lo, row, records);
		turn(&x, !last || all > 1);
		times_columns<true>(&s[0][0][0], hi, lo, x.slots + x.slot * PIECE_BYTES);
#pragma unroll 1
		for (u32 k = 1; k < all; k++) {
			load_rows(hi, lo, row + k * (records / 4 * 64), records);
			turn(&x, !last || parts > 1 || k + 1 < all);
			times_columns<false>(&s[0][0][0], hi, lo, x.slots + x.slot * PIECE_BYTES);
		}
		coefficients<BF16X3, 1, 8>(s, rows, sums, part == 0, points, r0, c0, n, twice, unit);
#pragma unroll
		for (int m = 0; m < 4; m++) coefficients_as_rows<BF16X3>(s[0][2 * m], s[0][2 * m + 1], hi + m, lo + m);
#pragma unroll
		for (int p = 0; p < OWN; p++) {
			if (parts > 1) turn(&x, !last || p + 1 < OWN);
			u32 slot = parts > 1 || p + 1 == OWN ? x.slot : after(after(x.slot)); // or the one before
#pragma unroll
			for (int h = 0; h < 2; h++) {
				float product[16];
				times_rows(product, hi, lo, x.slots + slot * PIECE_BYTES + h * HALF_BYTES);
#pragma unroll
				for (int e = 0; e < 16; e++) total[0][8 * p + 4 * h + e / 4][e % 4] += product[e];
			}
		}
	}
	add_rows<1, OWN * 8>(z, sums, part == 0, total, rows, r0, PIECE * OWN * part, n, d, z_scale);
}

// The tiles. Blocks of 256 threads; ceil(n/128) x (number of spans times the parts of the
// features) of them, where spans count from first. With at most 64 features two blocks share
// a multiprocessor, so that one's products hide the other's coefficients.
#define TILES(name, threads, own)                                                                                                       \
	KERNEL threads void metric_tiles_##name(i64 *z, i64 *sums, const u32x4 *left, const u32x4 *right, const float2v *points, u32 n,       \
	                                        u32 d, u32 first, float twice, float unit, float z_scale) {                                   \
		tiles<own>(z, sums, left, right, points, n, d, first, twice, unit, z_scale);                                                        \
	}

TILES(wgmma_64, TWO_BLOCKS(256), 1)
TILES(wgmma_128, THREADS(256), 2)
