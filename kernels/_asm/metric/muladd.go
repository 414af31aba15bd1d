package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// physical returns the vector registers of an instruction set. The generators name the
// registers of accumulators themselves, so a block of sums can use every register that a
// step does not need.
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

// panelBytes is the length of a row of a packed panel: three vectors of 512 bits, which
// are 24 float64 or 48 float32.
const panelBytes = 3 * 64

// element describes a type of numbers and the instructions that depend on the type.
type element struct {
	suffix, name        string // of functions and in Go
	shift               uint64 // log2 of the size in bytes
	multiply, add       func(...Op)
	fma213, fma231, set func(...Op)
}

var (
	float64s = element{"", "float64", 3, VMULPD, VADDPD, VFMADD213PD, VFMADD231PD, VBROADCASTSD}
	float32s = element{"32", "float32", 2, VMULPS, VADDPS, VFMADD213PS, VFMADD231PS, VBROADCASTSS}
)

func (e element) size() int { return 1 << e.shift }

// mulAdd generates
//
//	for i := range m {
//		for j := range width {
//			sum := 0.0
//			for l := range k {
//				sum += a[i*rs+l*ls] * b[l*columns+j]
//			}
//			if add { dst[i*ldd+j] += sum } else { dst[i*ldd+j] = sum }
//		}
//	}
//
// with fused multiply-adds in the order of l, for a width of 3 vectors of the columns of a
// panel, in blocks of 8 (AVX-512) or 4 rows. k >= 1.
func mulAdd(v vec.ISA, e element) {
	v.Func("mulAdd"+e.suffix, fmt.Sprintf("func(dst *%s, ldd int, a *%[1]s, rs, ls int, b *%[1]s, m, k, add int)", e.name),
		fmt.Sprintf("multiplies by a packed panel, see panelMulAdd%s.", e.suffix))
	p := newProducts(v, e)
	rows := R11
	for _, x := range []struct {
		name string
		to   GPPhysical
	}{{"dst", p.dst}, {"ldd", p.ldd}, {"a", p.a}, {"rs", p.rs}, {"ls", p.ls}, {"b", p.b}, {"m", rows}, {"k", p.k}} {
		Load(Param(x.name), x.to)
	}
	for _, r := range []GPPhysical{p.ldd, p.rs, p.ls} {
		SHLQ(Imm(e.shift), r)
	}
	p.blocks(rows, func(b block) {
		p.start(b)
		MOVQ(p.k, p.left)
		p.step(b, e.multiply)
		p.steps(b)
		CMPQ(NewParamAddr("add", 64), Imm(0))
		JEQ(LabelRef(b.name("store")))
		MOVQ(p.dst, p.pa)
		for r := range b.rows {
			for c := range 3 {
				e.add(Mem{Base: p.pa, Disp: c * v.Bytes}, b.sum(r, c), b.sum(r, c))
			}
			if r < b.rows-1 {
				ADDQ(p.ldd, p.pa)
			}
		}
		Label(b.name("store"))
		p.store(b)
	})
	vec.End()
}

// metricProducts generates
//
//	for i := range m {
//		for j := range width {
//			sum := b[j] + t[i]*b[columns+j]
//			for l := range k {
//				sum += x[i*d+l] * b[(2+l)*columns+j]
//			}
//			dst[i*columns+j] = sum
//		}
//	}
//
// like mulAdd.
func metricProducts(v vec.ISA, e element) {
	v.Func("metricProducts"+e.suffix, fmt.Sprintf("func(dst, t, x *%s, d int, b *%[1]s, m, k int)", e.name),
		fmt.Sprintf("sets margins without the label of their column, see panelBlock%s.margins.", e.suffix))
	p := newProducts(v, e)
	rows, t := R11, R14
	for _, x := range []struct {
		name string
		to   GPPhysical
	}{{"dst", p.dst}, {"t", t}, {"x", p.a}, {"d", p.rs}, {"b", p.b}, {"m", rows}, {"k", p.k}} {
		Load(Param(x.name), x.to)
	}
	MOVQ(U32(panelBytes), p.ldd)
	MOVQ(U32(uint32(e.size())), p.ls)
	SHLQ(Imm(e.shift), p.rs)
	p.blocks(rows, func(b block) {
		p.start(b)
		MOVQ(p.k, p.left)
		at := func(row, c int) Mem { return Mem{Base: p.pb, Disp: row*panelBytes + c*v.Bytes} }
		for c := range 3 {
			VMOVUPD(at(1, c), b.right(c))
		}
		for r := range b.rows {
			for c := range 3 {
				e.set(Mem{Base: t, Disp: e.size() * r}, b.sum(r, c))
			}
		}
		for c := range 3 {
			var constant Op = at(0, c)
			if v.Wide() {
				constant = p.z[29+c]
				VMOVUPD(at(0, c), constant)
			}
			for r := range b.rows {
				e.fma213(constant, b.right(c), b.sum(r, c))
			}
		}
		ADDQ(U32(2*panelBytes), p.pb)
		ADDQ(Imm(uint64(e.size()*b.rows)), t)
		INCQ(p.left)
		p.steps(b)
		p.store(b)
	})
	vec.End()
}

// products holds the registers of a multiplication of rows of a by a panel b. Rows of a
// are rs bytes apart, the numbers of a row are ls bytes apart, and rows of dst are ldd
// bytes apart.
type products struct {
	isa vec.ISA
	element
	z []VecPhysical

	dst, ldd, a, rs, ls, b, k GPPhysical
	pa, pa4, pb, left, rs3    GPPhysical
}

func newProducts(v vec.ISA, e element) *products {
	return &products{
		isa: v, element: e, z: physical(v), dst: RDI, ldd: R8, a: RSI, rs: R9, ls: R10, b: RDX, k: R12,
		pa: RAX, pa4: R13, pb: RBX, left: RCX, rs3: R15,
	}
}

// block is a block of rows of sums in registers. Its registers are three vectors for each
// row, three vectors for the panel, and the vectors for numbers of a, in this order.
type block struct {
	*products
	rows int
}

func (b block) name(s string) string     { return fmt.Sprintf("%s%d", s, b.rows) }
func (b block) sum(r, c int) VecPhysical { return b.z[3*r+c] }
func (b block) right(c int) VecPhysical  { return b.z[3*b.rows+c] }
func (b block) broadcast(r int) VecPhysical {
	if b.isa.Wide() {
		return b.z[3*b.rows+3+r%2]
	}
	return b.z[3*b.rows+3]
}

// blocks emits body for blocks of rows, from the highest block to the lowest.
func (p *products) blocks(rows GPPhysical, body func(b block)) {
	heights := []int{4, 2, 1}
	if p.isa.Wide() {
		heights = []int{8, 4, 2, 1}
	}
	LEAQ(Mem{Base: p.rs, Index: p.rs, Scale: 2}, p.rs3)
	for _, height := range heights {
		b := block{p, height}
		Label(b.name("rows"))
		CMPQ(rows, Imm(uint64(height)))
		JL(LabelRef(b.name("fewer")))
		body(b)
		SUBQ(Imm(uint64(height)), rows)
		if height == heights[0] {
			JMP(LabelRef(b.name("rows")))
		}
		Label(b.name("fewer"))
	}
}

// start sets the pointers to the first numbers of a block.
func (p *products) start(b block) {
	MOVQ(p.a, p.pa)
	if b.rows > 4 {
		LEAQ(Mem{Base: p.a, Index: p.rs, Scale: 4}, p.pa4)
	}
	MOVQ(p.b, p.pb)
}

// steps adds the remaining products. Their number is one less than the number in the register.
func (p *products) steps(b block) {
	DECQ(p.left)
	JZ(LabelRef(b.name("sums")))
	Label(b.name("products"))
	p.step(b, p.fma231)
	DECQ(p.left)
	JNZ(LabelRef(b.name("products")))
	Label(b.name("sums"))
}

// step adds the products with one row of the panel to the sums, or sets the sums to these products.
func (p *products) step(b block, multiply func(...Op)) {
	for c := range 3 {
		VMOVUPD(Mem{Base: p.pb, Disp: c * p.isa.Bytes}, b.right(c))
	}
	for r := range b.rows {
		base := p.pa
		if r >= 4 {
			base = p.pa4
		}
		from := []Mem{{Base: base}, {Base: base, Index: p.rs, Scale: 1}, {Base: base, Index: p.rs, Scale: 2},
			{Base: base, Index: p.rs3, Scale: 1}}[r%4]
		p.set(from, b.broadcast(r))
		for c := range 3 {
			multiply(b.right(c), b.broadcast(r), b.sum(r, c))
		}
	}
	ADDQ(p.ls, p.pa)
	if b.rows > 4 {
		ADDQ(p.ls, p.pa4)
	}
	ADDQ(Imm(panelBytes), p.pb)
}

// store writes the sums and goes to the next block of rows.
func (p *products) store(b block) {
	for r := range b.rows {
		for c := range 3 {
			VMOVUPD(b.sum(r, c), Mem{Base: p.dst, Disp: c * p.isa.Bytes})
		}
		ADDQ(p.ldd, p.dst)
	}
	LEAQ(Mem{Base: p.a, Index: p.rs, Scale: uint8(b.rows)}, p.a)
}
