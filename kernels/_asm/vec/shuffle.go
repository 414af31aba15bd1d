package vec

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Transpose returns the columns of the square matrix with rows r, in new registers.
func (v ISA) Transpose(r []VecVirtual) []VecVirtual {
	w := v.Lanes()
	t, c := v.Regs(w), v.Regs(w)
	for i := 0; i < w; i += 2 { // even columns of two rows, then odd ones
		VUNPCKLPD(r[i+1], r[i], t[i])
		VUNPCKHPD(r[i+1], r[i], t[i+1])
	}
	if !v.Wide() {
		for odd := range 2 {
			VPERM2F128(Imm(0x20), t[2+odd], t[odd], c[odd])
			VPERM2F128(Imm(0x31), t[2+odd], t[odd], c[2+odd])
		}
		return c
	}
	// The 128-bit lanes 0, 2 and 1, 3 of two operands.
	const even, uneven = 0x88, 0xdd
	for odd := range 2 {
		a0, a1, b0, b1 := v.Reg(), v.Reg(), v.Reg(), v.Reg()
		VSHUFF64X2(Imm(even), t[2+odd], t[odd], a0)
		VSHUFF64X2(Imm(uneven), t[2+odd], t[odd], a1)
		VSHUFF64X2(Imm(even), t[6+odd], t[4+odd], b0)
		VSHUFF64X2(Imm(uneven), t[6+odd], t[4+odd], b1)
		VSHUFF64X2(Imm(even), b0, a0, c[odd])
		VSHUFF64X2(Imm(uneven), b0, a0, c[4+odd])
		VSHUFF64X2(Imm(even), b1, a1, c[2+odd])
		VSHUFF64X2(Imm(uneven), b1, a1, c[6+odd])
	}
	return c
}

// Reverser returns an instruction sequence that sets dst to first, x_(W-1), ..., x_1 for
// the lanes x_0 to x_(W-1) of src and a number first in memory.
func (v ISA) Reverser() func(src VecVirtual, first Mem, dst VecVirtual) {
	if !v.Wide() {
		return func(src VecVirtual, first Mem, dst VecVirtual) {
			t := v.Broadcast(first)
			VPERMPD(Imm(1<<6|2<<4|3<<2), src, dst)
			VBLENDPD(Imm(1), t, dst, dst)
		}
	}
	order, lowest, one := v.Reg(), K(), GP32()
	VMOVDQU64(table("reverse", 0, 7, 6, 5, 4, 3, 2, 1), order)
	MOVL(U32(1), one)
	KMOVW(one, lowest)
	return func(src VecVirtual, first Mem, dst VecVirtual) {
		VPERMPD(src, order, dst)
		VBROADCASTSD(first, lowest, dst)
	}
}
