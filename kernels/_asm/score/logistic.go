package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// logisticTile is the loop of kernels.LogisticTile. Four rows are held in registers
// and share one reciprocal; two vectors of columns are computed stage by stage if
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
		c := columns{v, "4", col, b, n}
		unroll := 1
		if v.Wide() {
			unroll = 2
		}
		c.each(unroll, func(bj []VecVirtual, add func(k int, x VecVirtual), keep func(VecVirtual)) {
			logisticRows4(v, one, ai, r, bj, add, keep)
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
		c := columns{v, "1", col, b, n}
		c.each(1, func(bj []VecVirtual, add func(k int, x VecVirtual), keep func(VecVirtual)) {
			p, q := v.Reg(), v.Reg()
			vec.Move(one, p)
			VFMADD231PD(bj[0], ai, p)
			v.Reciprocal([]VecVirtual{p}, []VecVirtual{q}, one)
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
	v.Reciprocal(all, q, one)
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

// columns runs over the n columns of a tile.
type columns struct {
	v         vec.ISA
	name      string // of labels
	col, b, n Register
}

// each emits body for unroll vectors of b, for one, and for the last lanes. add adds x
// to the k-th vector of col; keep clears the lanes of x beyond the last column.
func (c columns) each(unroll int, body func(bj []VecVirtual, add func(k int, x VecVirtual), keep func(x VecVirtual))) {
	v, lanes := c.v, c.v.Lanes()
	b, col, left := GP64(), GP64(), GP64()
	MOVQ(c.b, b)
	MOVQ(c.col, col)
	MOVQ(c.n, left)
	add := func(k int, x VecVirtual) {
		at := Mem{Base: col, Disp: k * v.Bytes}
		VADDPD(at, x, x)
		VMOVUPD(x, at)
	}
	label := func(s string) string { return fmt.Sprintf("%s_%s", s, c.name) }
	for _, blocks := range []int{unroll, 1} {
		loop, end := label(fmt.Sprintf("by%d", blocks)), label(fmt.Sprintf("by%dend", blocks))
		Label(loop)
		CMPQ(left, Imm(uint64(blocks*lanes)))
		JL(LabelRef(end))
		bj := v.Regs(blocks)
		for k := range bj {
			VMOVUPD(Mem{Base: b, Disp: k * v.Bytes}, bj[k])
		}
		body(bj, add, func(VecVirtual) {})
		ADDQ(Imm(uint64(blocks*v.Bytes)), b)
		ADDQ(Imm(uint64(blocks*v.Bytes)), col)
		SUBQ(Imm(uint64(blocks*lanes)), left)
		JMP(LabelRef(loop))
		Label(end)
		if unroll == 1 {
			break
		}
	}
	TESTQ(left, left)
	JZ(LabelRef(label("end")))
	tail := v.Tail(left)
	bj := v.Reg()
	tail.Load(Mem{Base: b}, bj)
	body([]VecVirtual{bj}, func(_ int, x VecVirtual) {
		y := v.Reg()
		tail.Load(Mem{Base: col}, y)
		VADDPD(y, x, x)
		tail.Store(x, Mem{Base: col})
	}, tail.Keep)
	Label(label("end"))
}
