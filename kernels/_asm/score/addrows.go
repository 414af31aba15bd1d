package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// panel is the number of vectors of columns that addRows can hold in registers.
const panel = 8

// addRows is the loop of kernels.AddRows, GatherAddRows, NarrowAddRows or GatherNarrowAddRows. The
// sums of up to panel vectors of columns are held in registers. Longer rows are added four at a
// time, from the first column to the last, because memory is read fastest in this order.
func addRows(v vec.ISA, kd kind) {
	params := "func(acc, c, x *float64, rows, d, stride int)"
	switch {
	case kd.gather && kd.narrow:
		params = "func(acc, c *float64, x *float32, index *int32, rows, d, stride int)"
	case kd.gather:
		params = "func(acc, c, x *float64, index *int32, rows, d, stride int)"
	case kd.narrow:
		params = "func(acc, c *float64, x *float32, rows, d, stride int)"
	}
	v.Func(kd.name("addRows"), params, "adds the rows times c, see "+kd.see("AddRows")+".")
	acc, c := Load(Param("acc"), GP64()), Load(Param("c"), GP64())
	rows, d := Load(Param("rows"), GP64()), Load(Param("d"), GP64())
	r := loadRows(v, kd)

	for vectors := 1; vectors <= panel; vectors++ {
		CMPQ(d, I32(vectors*v.Lanes()))
		JLE(LabelRef(fmt.Sprintf("short%d", vectors)))
	}
	addLongRows(v, acc, c, rows, d, r)
	for vectors := 1; vectors <= panel; vectors++ {
		Label(fmt.Sprintf("short%d", vectors))
		addShortRows(v, vectors, acc, c, rows, d, r)
	}
}

// addShortRows adds rows of the given number of vectors, where the last vector may be
// incomplete. It adds up to four rows at a time, each to its own sums, because consecutive
// additions to the same sums would have to wait for each other.
func addShortRows(v vec.ISA, vectors int, acc, c, rows, d Register, r rowsOf) {
	label := func(s string, at int) string { return fmt.Sprintf("%s%d_short%d", s, at, vectors) }
	rest := GP64()
	MOVQ(d, rest)
	SUBQ(I32((vectors-1)*v.Lanes()), rest)
	tail, last, x := r.tail(rest), vectors-1, v.Reg()
	most := min(4, panel/vectors)
	s := make([][]VecVirtual, most)
	for j := range s {
		s[j] = v.Regs(vectors)
		v.Zero(s[j]...)
	}
	for i := range vectors {
		m := Mem{Base: acc, Disp: i * v.Bytes}
		if i < last {
			VMOVUPD(m, s[0][i])
		} else {
			tail.Load(m, s[0][i])
		}
	}
	counts := []int{most, 1}
	if most == 1 {
		counts = counts[:1]
	}
	for _, count := range counts {
		Label(label("rows", count))
		CMPQ(rows, I32(count))
		JL(LabelRef(label("end", count)))
		p := make([]GPVirtual, count)
		for j := range p {
			p[j] = GP64()
		}
		r.ask(rows, count, label("asked", count))
		r.next(p)
		for j := range p {
			ci := v.Broadcast(Mem{Base: c, Disp: 8 * j})
			for i := range vectors {
				m := r.disp(p[j], i)
				if i < last {
					r.mulAdd(m, ci, s[j][i])
				} else {
					r.load(tail, m, x)
					VFMADD231PD(x, ci, s[j][i])
				}
			}
		}
		ADDQ(I32(8*count), c)
		SUBQ(I32(count), rows)
		JMP(LabelRef(label("rows", count)))
		Label(label("end", count))
	}
	for i := range vectors {
		for j := 1; j < most; j++ {
			VADDPD(s[j][i], s[0][i], s[0][i])
		}
		m := Mem{Base: acc, Disp: i * v.Bytes}
		if i < last {
			VMOVUPD(s[0][i], m)
		} else {
			tail.Store(s[0][i], m)
		}
	}
	vec.End()
}

// addLongRows adds rows of any length.
func addLongRows(v vec.ISA, acc, c, rows, d Register, r rowsOf) {
	rest := GP64()
	MOVQ(d, rest)
	ANDQ(I32(v.Lanes()-1), rest)
	SUBQ(rest, d)
	tail, k := r.tail(rest), GP64()
	for _, count := range []int{4, 1} {
		label := func(s string) string { return fmt.Sprintf("%s_long%d", s, count) }
		Label(label("rows"))
		CMPQ(rows, I32(count))
		JL(LabelRef(label("end")))
		ci, p := v.Regs(count), make([]GPVirtual, count)
		for i := range p {
			p[i] = GP64()
			VBROADCASTSD(Mem{Base: c, Disp: 8 * i}, ci[i])
		}
		r.ask(rows, count, label("asked"))
		r.next(p)
		XORQ(k, k)
		at := func(base Register) Mem { return Mem{Base: base, Index: k, Scale: 8} }
		Label(label("columns"))
		CMPQ(k, d)
		JGE(LabelRef(label("tail")))
		s := v.Reg()
		VMOVUPD(at(acc), s)
		for i := range p {
			r.mulAdd(r.at(p[i], k), ci[i], s)
		}
		VMOVUPD(s, at(acc))
		ADDQ(I32(v.Lanes()), k)
		JMP(LabelRef(label("columns")))
		Label(label("tail"))
		TESTQ(rest, rest)
		JZ(LabelRef(label("next")))
		s = v.Reg()
		tail.Load(at(acc), s)
		for i := range p {
			x := v.Reg()
			r.load(tail, r.at(p[i], k), x)
			VFMADD231PD(x, ci[i], s)
		}
		tail.Store(s, at(acc))
		Label(label("next"))
		ADDQ(I32(8*count), c)
		SUBQ(I32(count), rows)
		JMP(LabelRef(label("rows")))
		Label(label("end"))
	}
	vec.End()
}
