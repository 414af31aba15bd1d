package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// logisticTile is the loop of kernels.logisticTile or, if loss is true, of
// kernels.LogisticLossTile. Four rows are held in registers and share one division.
func logisticTile(v vec.ISA, loss bool) {
	if loss {
		v.Func("logisticLossTile", "func(row, col, a, b *float64, m, n int) (product float64, exponents, taken int)",
			"adds the row and column sums of 1/(1 + a_i b_j), see logisticLossTileBy.")
	} else {
		v.Func("logisticTile", "func(row, col, a, b *float64, m, n int)",
			"adds the row and column sums of 1/(1 + a_i b_j), see logisticTile.")
	}
	row, col := Load(Param("row"), GP64()), Load(Param("col"), GP64())
	a, b := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	m, n := Load(Param("m"), GP64()), Load(Param("n"), GP64())
	t := tile{isa: v, one: v.Broadcast(vec.Number(1))}
	if loss {
		t.product, t.exponents, t.taken = v.Reg(), v.Reg(), GP64()
		vec.Move(t.one, t.product)
		v.Zero(t.exponents)
		XORQ(t.taken, t.taken)
	}

	Label("rows4")
	CMPQ(m, Imm(4))
	JL(LabelRef("rows1"))
	{
		r := v.Regs(4)
		v.Zero(r...)
		factors := t.memory(a)
		c := columns{v: v, name: "4", in: []Register{b}, col: col, n: n}
		if v.Wide() {
			factors = t.registers(a)
			c.from = t.pipeline(factors, b, col, n, r)
		}
		c.each(1, func(in [][]VecVirtual, add func(k int, x VecVirtual), keep func(VecVirtual)) {
			k := t.rows4()
			k.begin(factors, in[0][0], k.divide)
			k.takeExponents()
			keep(k.q)
			add(0, k.end(r))
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
			vec.Move(t.one, p)
			VFMADD231PD(in[0][0], ai, p)
			VDIVPD(p, t.one, q)
			t.multiply(p)
			t.takeExponents()
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
	if loss {
		Store(v.Fold(t.product, VMULPD), ReturnIndex(0))
		Store(v.Fold(t.exponents, VPADDQ), ReturnIndex(1))
		Store(t.taken, ReturnIndex(2))
	}
	vec.End()
}

// tile holds the state that the rows of logisticTile share.
type tile struct {
	isa vec.ISA
	one VecVirtual
	// The running product of a lane is product times 2 to the exponents that were taken out.
	// product is in [1, 2) after an exponent is taken out. exponents is the sum of the biased
	// exponents, and taken is their number. Without the loss, product is nil.
	product, exponents VecVirtual
	taken              GPVirtual
}

// multiply multiplies the product by p.
func (t tile) multiply(p VecVirtual) {
	if t.product != nil {
		VMULPD(p, t.product, t.product)
	}
}

// takeExponents takes the exponents out of the product. The product must be below 2^1024.
func (t tile) takeExponents() {
	if t.product == nil {
		return
	}
	const mantissa = 1<<52 - 1
	e := t.isa.Reg()
	VPSRLQ(Imm(52), t.product, e)
	VPADDQ(e, t.exponents, t.exponents)
	t.isa.AndOr(mantissa, t.one, t.product)
	INCQ(t.taken)
}

// plusOne sets p to 1 + a_i b, for the i-th of four rows.
type plusOne func(i int, b, p VecVirtual)

func (t tile) memory(a Register) plusOne {
	return func(i int, b, p VecVirtual) {
		VBROADCASTSD(Mem{Base: a, Disp: 8 * i}, p)
		VFMADD213PD(t.one, b, p)
	}
}

func (t tile) registers(a Register) plusOne {
	ai := t.isa.Regs(4)
	for i := range ai {
		VBROADCASTSD(Mem{Base: a, Disp: 8 * i}, ai[i])
	}
	return func(i int, b, p VecVirtual) {
		vec.Move(t.one, p)
		VFMADD231PD(b, ai[i], p)
	}
}

// rows4 holds the pairs of four rows with a vector of columns. Let p_i = 1 + a_i b and q =
// 1/(p0 p1 p2 p3). The terms are q p2 p3 p1, ..., and the last product of a term is fused
// with the addition. The column sum of two rows is (q p2 p3)(p0 + p1).
type rows4 struct {
	tile
	p           []VecVirtual
	p01, p23, q VecVirtual
}

func (t tile) rows4() rows4 {
	return rows4{t, t.isa.Regs(4), t.isa.Reg(), t.isa.Reg(), t.isa.Reg()}
}

// begin computes p, p01 = p0 p1, p23 = p2 p3 and q. It calls reciprocal to compute q from the product of all four.
func (k rows4) begin(plusOne plusOne, b VecVirtual, reciprocal func(all VecVirtual)) {
	for i, p := range k.p {
		plusOne(i, b, p)
	}
	all := k.isa.Reg()
	VMULPD(k.p[0], k.p[1], k.p01)
	VMULPD(k.p[2], k.p[3], k.p23)
	VMULPD(k.p01, k.p23, all)
	reciprocal(all)
	k.multiply(all)
}

func (k rows4) divide(all VecVirtual) { VDIVPD(all, k.one, k.q) }
func (k rows4) newton(all VecVirtual) { k.isa.Reciprocal(k.one, all, k.q) }

// end adds the terms to the row sums r and returns the terms of the columns.
func (k rows4) end(r []VecVirtual) VecVirtual {
	p := k.p
	VMULPD(k.q, k.p23, k.p23)
	VMULPD(k.q, k.p01, k.p01)
	VFMADD231PD(k.p23, p[1], r[0])
	VFMADD231PD(k.p23, p[0], r[1])
	VFMADD231PD(k.p01, p[3], r[2])
	VFMADD231PD(k.p01, p[2], r[3])
	VADDPD(p[0], p[1], p[1])
	VADDPD(p[2], p[3], p[3])
	VMULPD(p[1], k.p23, p[1])
	VFMADD231PD(p[3], k.p01, p[1])
	return p[1]
}

// pipeline adds the pairs of four rows with some columns and returns the number of these
// columns. It overlaps the work on two vectors, so that few instructions wait for a
// reciprocal. A division leaves most of the other units idle, so every second reciprocal is
// computed by Newton's method. Exponents are taken out once for both vectors.
func (t tile) pipeline(plusOne plusOne, b, col, n Register, r []VecVirtual) Register {
	lanes, k := t.isa.Lanes(), []rows4{t.rows4(), t.rows4()}
	j, last, x := GP64(), GP64(), t.isa.Reg()
	begin := func(i, ahead int) {
		VMOVUPD(Mem{Base: b, Index: j, Scale: 8, Disp: (ahead + i) * t.isa.Bytes}, x)
		k[i].begin(plusOne, x, []func(VecVirtual){k[i].divide, k[i].newton}[i])
		if i == 1 {
			t.takeExponents()
		}
	}
	end := func(i int) {
		at := Mem{Base: col, Index: j, Scale: 8, Disp: i * t.isa.Bytes}
		sum := k[i].end(r)
		VADDPD(at, sum, sum)
		VMOVUPD(sum, at)
	}
	XORQ(j, j)
	LEAQ(Mem{Base: n, Disp: -2 * lanes}, last)
	TESTQ(last, last)
	JL(LabelRef("pipeline_end"))
	begin(0, 0)
	begin(1, 0)
	SUBQ(I32(2*lanes), last)
	JL(LabelRef("pipeline_last"))
	Label("pipeline")
	for i := range k {
		end(i)
		begin(i, 2)
	}
	ADDQ(I32(2*lanes), j)
	CMPQ(j, last)
	JLE(LabelRef("pipeline"))
	Label("pipeline_last")
	for i := range k {
		end(i)
	}
	ADDQ(I32(2*lanes), j)
	Label("pipeline_end")
	return j
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

// logisticPairTile is the loop of kernels.logisticPairTile. It processes one row at a time.
func logisticPairTile(v vec.ISA) {
	v.Func("logisticPairTile", "func(row, col, s, y, t, z *float64, m, n, skip int)",
		"adds the sums of pairs with any labels, see logisticPairTile.")
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

// pairTerms returns D sigma(-D (s - t)) with D = y - z and sigma(x) = 1/(1 + exp(-x)).
// The result is 0 where D = 0. pairTerms overwrites t and z.
func pairTerms(v vec.ISA, one, s, y VecVirtual, t, z []VecVirtual) []VecVirtual {
	const largest = 707 // of Exp; e^-707 is below the error of 1 + e
	e, p, q := v.Regs(len(t)), v.Regs(len(t)), v.Regs(len(t))
	least, sign := v.Broadcast(vec.Number(-largest)), v.Broadcast(vec.Word(1<<63))
	for k := range t {
		VSUBPD(z[k], y, z[k])
		VSUBPD(t[k], s, t[k])
		VMULPD(z[k], t[k], t[k])
		VORPD(sign, t[k], e[k])
		VMAXPD(e[k], least, e[k]) // if an operand is NaN, the result is the first operand
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
