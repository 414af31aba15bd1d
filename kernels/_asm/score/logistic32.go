package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// logisticTile32 is the loop of kernels.LogisticTile32 for multiples n of 16, with sums in
// integers. a is read times 2^-22, so the reciprocal of 2^-22 + a b is in units of the
// sums. The last product of Newton's step is fused with the addition of a constant, which
// rounds it to an integer in the low bits; the others are those of the constant, which the
// sums take away: a lane of a row begins with start, and the caller knows those of a column.
// Four rows are held in registers.
//
// With 512 bits, which round down, the term of every second row is added to that of the row
// before, and the sums of columns and of the second row take both at once: three additions for
// two pairs instead of four. Two units of the processor do all of this: a pair takes 3
// operations of them for the approximate reciprocal, 3 fused multiply-adds and 1.5 additions.
func logisticTile32(v vec.ISA) {
	v.Func("logisticTile32", "func(row *float64, col *int32, a, b *float32, m, n int, start int32)",
		"adds row and column sums in integers, see logisticTile32By.")
	row, col := Load(Param("row"), GP64()), Load(Param("col"), GP64())
	a, b := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	m, n := Load(Param("m"), GP64()), Load(Param("n"), GP64())
	two, magic, scale := v.Reg(), v.Reg(), v.Reg()
	set := func(c float32, r VecVirtual) { VBROADCASTSS(vec.Number32(c), r) }
	set(2, two)
	if v.Wide() {
		set(0x1p23, magic)
	} else {
		set(0x1.8p23, magic)
	}
	for _, rows := range []int{4, 1} {
		label := func(s string) string { return fmt.Sprintf("%s_%d", s, rows) }
		Label(label("rows"))
		CMPQ(m, Imm(uint64(rows)))
		JL(LabelRef(label("end")))
		ai, r := v.Regs(rows), v.Regs(rows)
		set(0x1p-22, scale)
		for i := range ai {
			VBROADCASTSS(Mem{Base: a, Disp: 4 * i}, ai[i])
			VMULPS(scale, ai[i], ai[i])
		}
		first := XMM()
		VMOVD(Load(Param("start"), GP32()), first)
		for i := range r {
			VPBROADCASTD(first, r[i])
		}
		j := GP64()
		XORQ(j, j)
		unroll := 1
		if v.Wide() && rows > 1 {
			unroll = 2
		}
		for blocks := unroll; blocks > 0; blocks-- {
			loop, end := fmt.Sprintf("by%d_%d", blocks, rows), fmt.Sprintf("by%dend_%d", blocks, rows)
			last := GP64()
			LEAQ(Mem{Base: n, Disp: -blocks * v.Bytes / 4}, last)
			CMPQ(j, last)
			JG(LabelRef(end))
			Label(loop)
			at := func(base Register, k int) Mem {
				return Mem{Base: base, Index: j, Scale: 4, Disp: k * v.Bytes}
			}
			bj, sum := v.Regs(blocks), v.Regs(blocks)
			for k := range bj {
				VMOVUPS(at(b, k), bj[k])
				VMOVUPS(at(col, k), sum[k])
			}
			// Two rows at a time, stage by stage.
			for from := 0; from < rows; from += 2 {
				count := min(2, rows-from)
				t, q := v.Regs(count*blocks), v.Regs(count*blocks)
				each := func(f func(x, i, k int)) {
					for x := range t {
						f(x, from+x%count, x/count)
					}
				}
				each(func(x, _, _ int) {
					if v.Wide() {
						vec.Move(scale, t[x])
					} else {
						set(0x1p-22, t[x]) // no register left
					}
				})
				each(func(x, i, k int) { VFMADD231PS(bj[k], ai[i], t[x]) })
				each(func(x, _, _ int) {
					if v.Wide() {
						VRCP14PS(t[x], q[x])
					} else {
						VRCPPS(t[x], q[x])
					}
				})
				if v.Wide() {
					each(func(x, _, _ int) { VFNMADD213PS_RZ_SAE(two, q[x], t[x]) })
					each(func(x, i, _ int) {
						before := magic
						if i > from {
							before = t[x-1]
						}
						VFMADD213PS_RZ_SAE(before, q[x], t[x])
					})
				} else {
					each(func(x, _, _ int) { VFNMADD213PS(two, q[x], t[x]) })
					each(func(x, _, _ int) { VFMADD213PS(magic, q[x], t[x]) })
				}
				each(func(x, i, _ int) { VPADDD(t[x], r[i], r[i]) })
				each(func(x, i, k int) {
					if !v.Wide() || i == from+count-1 {
						VPADDD(t[x], sum[k], sum[k])
					}
				})
			}
			for k := range sum {
				VMOVUPS(sum[k], at(col, k))
			}
			ADDQ(I32(blocks*v.Bytes/4), j)
			CMPQ(j, last)
			JLE(LabelRef(loop))
			Label(end)
		}
		if v.Wide() {
			for i := 1; i < rows; i += 2 {
				VPSUBD(r[i-1], r[i], r[i])
			}
		}
		for i := range r {
			s := v.Integers(r[i])
			VADDSD(Mem{Base: row, Disp: 8 * i}, s, s)
			VMOVSD(s, Mem{Base: row, Disp: 8 * i})
		}
		ADDQ(Imm(uint64(4*rows)), a)
		ADDQ(Imm(uint64(8*rows)), row)
		SUBQ(Imm(uint64(rows)), m)
		JMP(LabelRef(label("rows")))
		Label(label("end"))
	}
	vec.End()
}

// addIntegers adds integers, less a constant, and a number to multiples n of 16 float64.
func addIntegers(v vec.ISA) {
	v.Func("addIntegers", "func(dst *float64, x *int32, n int, constant int32, shift float64)",
		"adds float64(x[i] - constant) + shift to dst, see logisticTile32By.")
	dst, x, n := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	constant, shift := v.Reg(), v.Reg()
	number := XMM()
	VMOVD(Load(Param("constant"), GP32()), number)
	VPBROADCASTD(number, v.Words(constant))
	VBROADCASTSD(Load(Param("shift"), XMM()), shift)
	i := GP64()
	XORQ(i, i)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("end"))
	for k := range 16 / v.Lanes() {
		w := v.Reg()
		at := Mem{Base: dst, Index: i, Scale: 8, Disp: k * v.Bytes}
		VMOVDQU(Mem{Base: x, Index: i, Scale: 4, Disp: k * v.Bytes / 2}, v.Words(w))
		VPSUBD(v.Words(constant), v.Words(w), v.Words(w))
		VCVTDQ2PD(v.Words(w), w)
		VADDPD(shift, w, w)
		VADDPD(at, w, w)
		VMOVUPD(w, at)
	}
	ADDQ(Imm(16), i)
	JMP(LabelRef("loop"))
	Label("end")
	vec.End()
}
