// Command places writes the kernels that move numbers to groups and back. The kernels use
// scalar instructions. They are in assembly because Go has no prefetch instruction.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

const line = 64 // bytes of a cache line

func main() {
	vec.File()
	scatter()
	collect()
	Generate()
}

// arguments holds the slices of a kernel and the number of its records.
type arguments struct{ dst, x, group, next, dstLen, xLen, groups, n Register }

func load(name, doc, n string) arguments {
	TEXT(name, NOSPLIT, "func(dst, x []float64, group, next []int32) int")
	Doc(doc)
	Pragma("noescape")
	base := func(s string) Register { return Load(Param(s).Base(), GP64()) }
	length := func(s string) Register { return Load(Param(s).Len(), GP64()) }
	a := arguments{dst: base("dst"), x: base("x"), group: base("group"), next: base("next"),
		groups: length("next"), n: length(n)}
	if n == "x" {
		a.dstLen = length("dst")
	} else {
		a.xLen = length("x")
	}
	return a
}

// groupOf loads the group of record i, and jumps to fail if the number of the group is out of range.
func (a arguments) groupOf(i Register, fail string) Register {
	g := GP64()
	MOVL(Mem{Base: a.group, Index: i, Scale: 4}, g.As32())
	CMPQ(g, a.groups)
	JAE(LabelRef(fail))
	return g
}

func scatter() {
	a := load("scatterAhead",
		"scatterAhead is scatter up to the first number that is out of range, and returns how many it has moved.", "x")
	i := GP64()
	XORQ(i, i)
	Label("loop")
	CMPQ(i, a.n)
	JGE(LabelRef("end"))
	g := a.groupOf(i, "end")
	j, after, v := GP64(), GP64(), GP64()
	next := Mem{Base: a.next, Index: g, Scale: 4}
	MOVL(next, j.As32())
	CMPQ(j, a.dstLen)
	JAE(LabelRef("end"))
	MOVQ(Mem{Base: a.x, Index: i, Scale: 8}, v)
	LEAL(Mem{Base: j, Disp: 1}, after.As32())
	MOVL(after.As32(), next)
	MOVQ(v, Mem{Base: a.dst, Index: j, Scale: 8})
	PREFETCHT0(Mem{Base: a.dst, Index: j, Scale: 8, Disp: line})
	INCQ(i)
	JMP(LabelRef("loop"))
	Label("end")
	Store(i, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func collect() {
	a := load("collectAhead",
		"collectAhead is collect from the last record to the first number that is out of range, and returns how many "+
			"records are left.", "dst")
	i := a.n
	Label("loop")
	TESTQ(i, i)
	JLE(LabelRef("end"))
	DECQ(i)
	g := a.groupOf(i, "fail")
	j, v := GP64(), GP64()
	next := Mem{Base: a.next, Index: g, Scale: 4}
	MOVL(next, j.As32())
	DECL(j.As32())
	CMPQ(j, a.xLen)
	JAE(LabelRef("fail"))
	MOVL(j.As32(), next)
	MOVQ(Mem{Base: a.x, Index: j, Scale: 8}, v)
	PREFETCHT0(Mem{Base: a.x, Index: j, Scale: 8, Disp: -line})
	MOVQ(v, Mem{Base: a.dst, Index: i, Scale: 8})
	JMP(LabelRef("loop"))
	Label("fail")
	INCQ(i)
	Label("end")
	Store(i, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
