package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// logisticTile is the loop of kernels.LogisticTile. Four rows are held in registers
// and share one division; two vectors of columns are computed stage by stage if
// there are registers for them.
func logisticTile(v vec.ISA) {
	v.Func("logisticTile", "func(row, col, a, b *float64, m, n int)",
		"adds the row and column sums of 1/(1 + a_i b_j), see LogisticTile.")
	row, col := Load(Param("row"), GP64()), Load(Param("col"), GP64())
	a, b := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	m, n := Load(Param("m"), GP64()), Load(Param("n"), GP64())
	one := v.Broadcast(vec.Number(1))

	Label("rows4")
	CMPQ(m, Imm(4))
	JL(LabelRef("rows1"))
	{
		ai, r := v.Regs(4), v.Regs(4)
		for i := range ai {
			VBROADCASTSD(Mem{Base: a, Disp: 8 * i}, ai[i])
		}
		v.Zero(r...)
		c := columns{v: v, name: "4", in: []Register{b}, col: col, n: n}
		unroll := 1
		if v.Wide() {
			unroll = 2
		}
		c.each(unroll, func(in [][]VecVirtual, add func(k int, x VecVirtual), keep func(VecVirtual)) {
			logisticRows4(v, one, ai, r, in[0], add, keep)
		})
		for i := range r {
			s := v.HSum(r[i])
			VADDSD(Mem{Base: row, Disp: 8 * i}, s, s)
			VMOVSD(s, Mem{Base: row, Disp: 8 * i})
		}
		ADDQ(Imm(32), a)
		ADDQ(Imm(32), row)
		SUBQ(Imm(4), m)
		JMP(LabelRef("rows4"))
	}

	Label("rows1")
	TESTQ(m, m)
	JZ(LabelRef("done"))
	{
		ai, r := v.Reg(), v.Reg()
		VBROADCASTSD(Mem{Base: a}, ai)
		v.Zero(r)
		c := columns{v: v, name: "1", in: []Register{b}, col: col, n: n}
		c.each(1, func(in [][]VecVirtual, add func(k int, x VecVirtual), keep func(VecVirtual)) {
			p, q := v.Reg(), v.Reg()
			vec.Move(one, p)
			VFMADD231PD(in[0][0], ai, p)
			VDIVPD(p, one, q)
			keep(q)
			VADDPD(q, r, r)
			add(0, q)
		})
		s := v.HSum(r)
		VADDSD(Mem{Base: row}, s, s)
		VMOVSD(s, Mem{Base: row})
		ADDQ(Imm(8), a)
		ADDQ(Imm(8), row)
		DECQ(m)
		JMP(LabelRef("rows1"))
	}
	Label("done")
	vec.End()
}

// logisticRows4 adds the pairs of four rows and of one vector of columns for each of
// bj. With p_i = 1 + a_i b and q = 1/(p0 p1 p2 p3), the terms are q p2 p3 p1, ...; the
// last product and the addition are fused, and the column sums of two rows are
// (q p2 p3)(p0 + p1).
func logisticRows4(v vec.ISA, one VecVirtual, a, r, bj []VecVirtual, add func(int, VecVirtual), keep func(VecVirtual)) {
	blocks := len(bj)
	p := make([][]VecVirtual, blocks)
	p01, p23, all, q := v.Regs(blocks), v.Regs(blocks), v.Regs(blocks), v.Regs(blocks)
	each := func(stage func(k int)) {
		for k := range bj {
			stage(k)
		}
	}
	each(func(k int) { p[k] = v.Regs(4) })
	for i := range a {
		each(func(k int) {
			vec.Move(one, p[k][i])
			VFMADD231PD(bj[k], a[i], p[k][i])
		})
	}
	each(func(k int) { VMULPD(p[k][0], p[k][1], p01[k]) })
	each(func(k int) { VMULPD(p[k][2], p[k][3], p23[k]) })
	each(func(k int) { VMULPD(p01[k], p23[k], all[k]) })
	each(func(k int) { VDIVPD(all[k], one, q[k]) })
	each(func(k int) { keep(q[k]) })
	each(func(k int) { VMULPD(q[k], p23[k], p23[k]) })
	each(func(k int) { VMULPD(q[k], p01[k], p01[k]) })
	each(func(k int) { VFMADD231PD(p23[k], p[k][1], r[0]) })
	each(func(k int) { VFMADD231PD(p23[k], p[k][0], r[1]) })
	each(func(k int) { VFMADD231PD(p01[k], p[k][3], r[2]) })
	each(func(k int) { VFMADD231PD(p01[k], p[k][2], r[3]) })
	each(func(k int) { VADDPD(p[k][0], p[k][1], p[k][1]) })
	each(func(k int) { VADDPD(p[k][2], p[k][3], p[k][3]) })
	each(func(k int) { VMULPD(p[k][1], p23[k], p[k][1]) })
	each(func(k int) { VFMADD231PD(p[k][3], p01[k], p[k][1]) })
	each(func(k int) { add(k, p[k][1]) })
}

// logisticSlopes is the loop of kernels.LogisticSlopes.
func logisticSlopes(v vec.ISA) {
	v.Func("logisticSlopes", "func(x *float64, n int)", "replaces x by -1/(1 + exp(x)), see LogisticSlopes.")
	x, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	one, minus := v.Broadcast(vec.Number(1)), v.Broadcast(vec.Number(-1))
	slopes := func(x []VecVirtual) {
		v.Exp(x)
		for k := range x {
			VSUBPD(x[k], minus, x[k])
		}
		for k := range x {
			VDIVPD(x[k], one, x[k])
		}
	}
	for _, blocks := range []int{2, 1} {
		loop, end := fmt.Sprintf("by%d", blocks), fmt.Sprintf("by%dend", blocks)
		Label(loop)
		CMPQ(n, I32(blocks*v.Lanes()))
		JL(LabelRef(end))
		r := v.Regs(blocks)
		for k := range r {
			VMOVUPD(Mem{Base: x, Disp: k * v.Bytes}, r[k])
		}
		slopes(r)
		for k := range r {
			VMOVUPD(r[k], Mem{Base: x, Disp: k * v.Bytes})
		}
		ADDQ(I32(blocks*v.Bytes), x)
		SUBQ(I32(blocks*v.Lanes()), n)
		JMP(LabelRef(loop))
		Label(end)
	}
	TESTQ(n, n)
	JZ(LabelRef("done"))
	tail, r := v.Tail(n), v.Regs(1)
	tail.Load(Mem{Base: x}, r[0])
	slopes(r)
	tail.Store(r[0], Mem{Base: x})
	Label("done")
	vec.End()
}

// logisticPairTile is the loop of kernels.LogisticPairTile, a row at a time.
func logisticPairTile(v vec.ISA) {
	v.Func("logisticPairTile", "func(row, col, s, y, t, z *float64, m, n, skip int)",
		"adds the sums of pairs with any labels, see LogisticPairTile.")
	row, col := Load(Param("row"), GP64()), Load(Param("col"), GP64())
	s, y := Load(Param("s"), GP64()), Load(Param("y"), GP64())
	t, z := Load(Param("t"), GP64()), Load(Param("z"), GP64())
	skip, i, first := Load(Param("skip"), GP64()), GP64(), GP64()
	one, si, yi, r := v.Broadcast(vec.Number(1)), v.Reg(), v.Reg(), v.Reg()
	XORQ(i, i)

	Label("rows")
	m := Load(Param("m"), GP64())
	CMPQ(i, m)
	JGE(LabelRef("done"))
	n := Load(Param("n"), GP64())
	zero := GP64()
	XORQ(zero, zero)
	LEAQ(Mem{Base: skip, Index: i, Scale: 1}, first)
	TESTQ(first, first)
	CMOVQLT(zero, first)
	CMPQ(first, n)
	JGE(LabelRef("next")) // no column for this row, nor for a later one if skip grows with it
	VBROADCASTSD(Mem{Base: s, Index: i, Scale: 8}, si)
	VBROADCASTSD(Mem{Base: y, Index: i, Scale: 8}, yi)
	v.Zero(r)
	c := columns{v: v, name: "row", in: []Register{t, z}, col: col, from: first, n: n}
	c.each(1, func(in [][]VecVirtual, add func(k int, x VecVirtual), keep func(VecVirtual)) {
		x := pairTerms(v, one, si, yi, in[0], in[1])
		for k := range x {
			keep(x[k])
			VSUBPD(x[k], r, r)
			add(k, x[k])
		}
	})
	sum := v.HSum(r)
	VADDSD(Mem{Base: row, Index: i, Scale: 8}, sum, sum)
	VMOVSD(sum, Mem{Base: row, Index: i, Scale: 8})
	Label("next")
	INCQ(i)
	JMP(LabelRef("rows"))
	Label("done")
	vec.End()
}

// pairTerms returns D sigma(-D (s - t)), D = y - z, for sigma(x) = 1/(1 + exp(-x)), and 0
// where D = 0. t and z are overwritten.
func pairTerms(v vec.ISA, one, s, y VecVirtual, t, z []VecVirtual) []VecVirtual {
	const largest = 707 // of Exp; e^-707 is below the error of 1 + e
	e, p, q := v.Regs(len(t)), v.Regs(len(t)), v.Regs(len(t))
	least, sign := v.Broadcast(vec.Number(-largest)), v.Broadcast(vec.Word(1<<63))
	for k := range t {
		VSUBPD(z[k], y, z[k])
		VSUBPD(t[k], s, t[k])
		VMULPD(z[k], t[k], t[k])
		VORPD(sign, t[k], e[k])
		VMAXPD(e[k], least, e[k]) // of two operands with a NaN, the first
	}
	v.Exp(e)
	for k := range t {
		VADDPD(one, e[k], p[k])
	}
	for k := range t {
		VDIVPD(p[k], one, q[k])
	}
	for k := range t {
		// The numerator is e^-|u|, or 1 for u < 0.
		if v.Wide() {
			negative := K()
			VPMOVQ2M(t[k], negative)
			VMOVAPD(one, negative, e[k])
		} else {
			VBLENDVPD(t[k], one, e[k], e[k])
		}
		VMULPD(e[k], q[k], q[k])
		if v.Wide() {
			differ, zero := K(), v.Reg()
			v.Zero(zero)
			VCMPPD(Imm(4), zero, z[k], differ)
			VMULPD_Z(z[k], q[k], differ, q[k])
		} else {
			differ := v.Reg()
			v.Zero(differ)
			VCMPPD(Imm(4), differ, z[k], differ)
			VMULPD(z[k], q[k], q[k])
			VANDPD(differ, q[k], q[k])
		}
	}
	return q
}
