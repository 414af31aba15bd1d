package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// physical are the vector registers of an instruction set. Accumulators are named, not
// allocated, so that a block of sums takes all registers but those of one step.
func physical(v vec.ISA) []VecPhysical {
	if v.Wide() {
		return zmm
	}
	return ymm
}

var (
	zmm = []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
		Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31}
	ymm = []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}
)

// panelBytes is the length of a row of a packed panel: 24 numbers.
const panelBytes = 24 * 8

// mulAdd generates
//
//	for i := range m {
//		for j := range width {
//			sum := 0.0
//			for l := range k {
//				sum += a[i*rs+l*ls] * b[l*24+j]
//			}
//			if add { dst[i*ldd+j] += sum } else { dst[i*ldd+j] = sum }
//		}
//	}
//
// with fused multiply-adds in the order of l, for a width of 3 vectors, in blocks of 8
// (AVX-512) or 4 rows. k >= 1.
func mulAdd(v vec.ISA) {
	v.Func("mulAdd", "func(dst *float64, ldd int, a *float64, rs, ls int, b *float64, m, k, add int)",
		"multiplies by a packed panel, see panelMulAdd.")
	z, heights := physical(v), []int{4, 2, 1}
	if v.Wide() {
		heights = []int{8, 4, 2, 1}
	}
	dst, ldd, a, rs, ls, b := RDI, R8, RSI, R9, R10, RDX
	m, k, pa, pa4, pb, left, rs3 := R11, R12, RAX, R13, RBX, RCX, R15
	for _, p := range []struct {
		name string
		to   GPPhysical
	}{{"dst", dst}, {"ldd", ldd}, {"a", a}, {"rs", rs}, {"ls", ls}, {"b", b}, {"m", m}, {"k", k}} {
		Load(Param(p.name), p.to)
	}
	for _, r := range []GPPhysical{ldd, rs, ls} {
		SHLQ(Imm(3), r)
	}
	LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, rs3)
	for _, rows := range heights {
		name := func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
		Label(name("rows"))
		CMPQ(m, Imm(uint64(rows)))
		JL(LabelRef(name("fewer")))
		sum := func(r, c int) VecPhysical { return z[3*r+c] }
		for r := range rows {
			for c := range 3 {
				if v.Wide() {
					VPXORQ(sum(r, c), sum(r, c), sum(r, c))
				} else {
					VXORPD(sum(r, c), sum(r, c), sum(r, c))
				}
			}
		}
		MOVQ(a, pa)
		if rows > 4 {
			LEAQ(Mem{Base: a, Index: rs, Scale: 4}, pa4)
		}
		MOVQ(b, pb)
		MOVQ(k, left)
		Label(name("products"))
		x, u := 3*rows, 3*rows+3
		for c := range 3 {
			VMOVUPD(Mem{Base: pb, Disp: c * v.Bytes}, z[x+c])
		}
		for r := range rows {
			base := pa
			if r >= 4 {
				base = pa4
			}
			from := []Mem{{Base: base}, {Base: base, Index: rs, Scale: 1}, {Base: base, Index: rs, Scale: 2}, {Base: base, Index: rs3, Scale: 1}}[r%4]
			to := z[u]
			if v.Wide() && r%2 == 1 {
				to = z[u+1]
			}
			VBROADCASTSD(from, to)
			for c := range 3 {
				VFMADD231PD(z[x+c], to, sum(r, c))
			}
		}
		ADDQ(ls, pa)
		if rows > 4 {
			ADDQ(ls, pa4)
		}
		ADDQ(Imm(panelBytes), pb)
		DECQ(left)
		JNZ(LabelRef(name("products")))

		add := NewParamAddr("add", 64)
		CMPQ(add, Imm(0))
		JEQ(LabelRef(name("store")))
		MOVQ(dst, pa)
		for r := range rows {
			for c := range 3 {
				VADDPD(Mem{Base: pa, Disp: c * v.Bytes}, sum(r, c), sum(r, c))
			}
			if r < rows-1 {
				ADDQ(ldd, pa)
			}
		}
		Label(name("store"))
		for r := range rows {
			for c := range 3 {
				VMOVUPD(sum(r, c), Mem{Base: dst, Disp: c * v.Bytes})
			}
			ADDQ(ldd, dst)
		}
		LEAQ(Mem{Base: a, Index: rs, Scale: uint8(min(rows, 8))}, a)
		SUBQ(Imm(uint64(rows)), m)
		if rows == heights[0] {
			JMP(LabelRef(name("rows")))
		}
		Label(name("fewer"))
	}
	vec.End()
}
