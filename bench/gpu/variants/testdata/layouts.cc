// Prints where CUTLASS's CuTe has the numbers of the operands of mma.sync and wgmma, in registers
// and in a swizzled slab, and the descriptors of slabs by CuTe and by kernels/cuda/wgmma.h. Needs
// headers only: no nvcc, no GPU. See cute_test.go.
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>

#define ext_vector_type(n) vector_size(4 * (n))
namespace ours {
#include "wgmma.h"
}

using namespace cute;
using bf16 = cutlass::bfloat16_t;

// table prints the place of each value of each thread: row + rows column.
template <class Layout> void table(const char *name, Layout layout, int threads) {
	int values = int(size(layout)) / threads;
	std::printf("%s %d", name, values);
	for (int t = 0; t < threads; t++)
		for (int v = 0; v < values; v++) std::printf(" %d", int(layout(t, v)));
	std::puts("");
}

template <class Traits> void tables(const char *name, int threads) {
	char of[64];
	std::snprintf(of, sizeof of, "%s A", name), table(of, typename Traits::ALayout{}, threads);
	if (threads == 32) std::snprintf(of, sizeof of, "%s B", name), table(of, typename Traits::BLayout{}, threads);
	std::snprintf(of, sizeof of, "%s C", name), table(of, typename Traits::CLayout{}, threads);
}

alignas(1024) static bf16 slab[64 * 32];

template <class Tensor> long at(Tensor const &tensor, int i, int j) { return (char *)raw_pointer_cast(&tensor(i, j)) - (char *)slab; }

// descriptor prints one by CuTe, but for the address, which only a device has, and by wgmma.h.
void descriptor(const char *name, GmmaDescriptor d, long from) {
	std::printf("%s 6 %d %d %d %ld %llu %llu\n", name, int(d.bitfield.layout_type_), int(d.bitfield.stride_byte_offset_), int(d.bitfield.base_offset_), from,
	            ours::slab_descriptor(from) & 0xffffffff, ours::slab_descriptor(from) >> 32);
}

int main() {
	namespace g = SM90::GMMA;
	tables<MMA_Traits<SM80_16x8x16_F32BF16BF16F32_TN>>("bf16", 32);
	tables<MMA_Traits<SM80_16x8x8_F32TF32TF32F32_TN>>("tf32", 32);
	tables<MMA_Traits<g::MMA_64x64x16_F32BF16BF16_RS<g::Major::K, g::Major::K>>>("columns", 128);
	tables<MMA_Traits<g::MMA_64x32x16_F32BF16BF16_RS<g::Major::K, g::Major::MN>>>("rows", 128);
	auto k = make_tensor(make_smem_ptr(slab), tile_to_shape(g::Layout_K_SW64_Atom<bf16>{}, make_shape(Int<64>{}, Int<32>{})));
	auto mn = make_tensor(make_smem_ptr(slab), tile_to_shape(g::Layout_MN_SW64_Atom<bf16>{}, make_shape(Int<32>{}, Int<64>{})));
	std::printf("slab columns 32");
	for (int i = 0; i < 2048; i++) std::printf(" %ld", at(k, i / 32, i % 32));
	std::printf("\nslab rows 32");
	for (int i = 0; i < 2048; i++) std::printf(" %ld", at(mn, i % 32, i / 32));
	std::puts("");
	for (int m = 0; m < 2; m++)
		descriptor("descriptor columns", g::make_gmma_desc<g::Major::K>(local_tile(k, make_shape(Int<64>{}, Int<16>{}), make_coord(0, m))), at(k, 0, 16 * m));
	for (int m = 0; m < 4; m++)
		descriptor("descriptor rows", g::make_gmma_desc<g::Major::MN>(local_tile(mn, make_shape(Int<32>{}, Int<16>{}), make_coord(0, m))), at(mn, 0, 16 * m));
}
