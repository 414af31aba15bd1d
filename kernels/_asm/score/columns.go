package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// columns is a loop over the columns of one or more rows of a tile, beginning with the column from.
type columns struct {
	v    vec.ISA
	name string     // of labels
	in   []Register // vectors that are read
	col  Register   // sums that are added to
	from Register   // nil for 0
	n    Register
}

// each emits body three times: for unroll vectors of columns, for one vector, and for the
// last lanes. in[i][k] is the k-th vector of the i-th input. add adds x to the k-th vector
// of col, and keep clears the lanes of x beyond the last column.
func (c columns) each(unroll int,
	body func(in [][]VecVirtual, add func(k int, x VecVirtual), keep func(x VecVirtual))) {
	v, lanes := c.v, c.v.Lanes()
	j, left := GP64(), GP64()
	MOVQ(c.n, left)
	if c.from == nil {
		XORQ(j, j)
	} else {
		MOVQ(c.from, j)
		SUBQ(c.from, left)
	}
	at := func(base Register, k int) Mem { return Mem{Base: base, Index: j, Scale: 8, Disp: k * v.Bytes} }
	label := func(s string) string { return fmt.Sprintf("%s_%s", s, c.name) }
	for blocks := unroll; blocks > 0; blocks-- {
		loop, end := label(fmt.Sprintf("by%d", blocks)), label(fmt.Sprintf("by%dend", blocks))
		Label(loop)
		CMPQ(left, I32(blocks*lanes))
		JL(LabelRef(end))
		in := make([][]VecVirtual, len(c.in))
		for i := range in {
			in[i] = v.Regs(blocks)
			for k := range in[i] {
				VMOVUPD(at(c.in[i], k), in[i][k])
			}
		}
		body(in, func(k int, x VecVirtual) {
			VADDPD(at(c.col, k), x, x)
			VMOVUPD(x, at(c.col, k))
		}, func(VecVirtual) {})
		ADDQ(I32(blocks*lanes), j)
		SUBQ(I32(blocks*lanes), left)
		JMP(LabelRef(loop))
		Label(end)
	}
	TESTQ(left, left)
	JZ(LabelRef(label("end")))
	tail := v.Tail(left)
	in := make([][]VecVirtual, len(c.in))
	for i := range in {
		in[i] = v.Regs(1)
		tail.Load(at(c.in[i], 0), in[i][0])
	}
	body(in, func(_ int, x VecVirtual) {
		y := v.Reg()
		tail.Load(at(c.col, 0), y)
		VADDPD(y, x, x)
		tail.Store(x, at(c.col, 0))
	}, tail.Keep)
	Label(label("end"))
}
