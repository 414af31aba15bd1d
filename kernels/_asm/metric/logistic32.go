package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// The signature and description of the element-wise step of a tile of n rows of float32.
const (
	signature32 = "func(c *float32, n int, y, z, row, col *float32)"
	doc32       = "turns margins into coefficients, see panelLogistic32."
	shift32     = 0x1.8p23
	table32Bits = 5
)

// tile32 is a tile whose rows have a denominator 1 + e^v in each lane. Each pair
// has its own reciprocal, because a coefficient must not depend on other pairs. (In a tile,
// pairs share a division.)
type tile32 struct {
	tile
	den, reciprocal []VecPhysical
	label, sum, one VecPhysical
	y               []VecPhysical // nil if there are no registers for them
}

// divide computes the reciprocals for the row before c.
func (k *tile32) divide() {
	for v, r := range k.reciprocal {
		if k.isa.Wide() {
			VRCP14PS(k.den[v], r)
		} else {
			VRCPPS(k.den[v], r)
		}
	}
	for v, r := range k.reciprocal {
		VFNMADD213PS(k.one, r, k.den[v])
	}
}

// finish computes the coefficients of the row before c and adds them to the sums.
func (k *tile32) finish() {
	VBROADCASTSS(Mem{Base: k.z, Disp: -k.size}, k.label)
	for _, r := range k.reciprocal {
		VMULPS(k.label, r, r)
	}
	VMOVUPS(k.at(k.col, 0), k.sum)
	for v, r := range k.reciprocal {
		VFMADD213PS(r, r, k.den[v])
	}
	for v, w := range k.den {
		m := k.at(k.c, v)
		m.Disp -= panelBytes
		VMOVUPS(w, m)
		if k.y != nil {
			VFMADD231PS(k.y[v], w, k.sum)
		} else {
			VFMADD231PS(k.at(k.tile.y, v), w, k.sum)
		}
	}
	for v, w := range k.den {
		if k.row != nil {
			VADDPS(w, k.row[v], k.row[v])
			continue
		}
		VADDPS(k.at(k.rows, v), w, w)
		VMOVUPS(w, k.at(k.rows, v))
	}
	VMOVUPS(k.sum, k.at(k.col, 0))
	ADDQ(Imm(64), k.col)
}

// margins sets u to the margins of a row.
func (k *tile32) margins(u []VecPhysical) {
	VBROADCASTSS(Mem{Base: k.z}, k.label)
	for v := range u {
		VMULPS(k.at(k.c, v), k.label, u[v])
	}
}

// logistic512Single handles 48 columns, with margins in units of ln2/32.
func logistic512Single() {
	const terms = 3
	table := GLOBL("metric512Single", RODATA|NOPTR)
	for j := range 1 << table32Bits {
		root := float32(math.Exp2(float64(j) / (1 << table32Bits)))
		DATA(4*j, U32(math.Float32bits(root)-uint32(j)<<(23-table32Bits)))
	}
	constant := func(k int) Mem { return table.Offset(4<<table32Bits + 4*k) }
	for k, v := range append([]float64{shift32, 1}, exp2Coefficients(1<<table32Bits, terms)...) {
		DATA(4<<table32Bits+4*k, F32(v))
	}
	vec.AVX512.Func("metricLogistic32", signature32, doc32)
	u, n, q, w := zmm[0:3], zmm[3:6], zmm[6:9], zmm[9:12]
	t0, t1, magic, one, c := Z20, Z21, Z22, Z23, zmm[24:27]
	k := tile32{tile: tile{isa: vec.AVX512, size: 4, row: zmm[12:15]}, y: zmm[15:18],
		den: w, reciprocal: zmm[27:30], label: Z18, sum: Z19, one: one}
	k.load()
	for v, r := range k.y {
		VMOVUPS(k.at(k.tile.y, v), r)
	}
	VMOVUPS(table, t0)
	VMOVUPS(table.Offset(64), t1)
	for k, r := range append([]VecPhysical{magic, one}, c...) {
		VBROADCASTSS(constant(k), r)
	}
	each := func(f func(v int)) {
		for v := range 3 {
			f(v)
		}
	}
	k.emit(func(middle func()) {
		k.margins(u)
		each(func(v int) { VADDPS(magic, u[v], n[v]) })
		each(func(v int) { VSUBPS(magic, n[v], q[v]) })
		each(func(v int) { VSUBPS(q[v], u[v], u[v]) })
		each(func(v int) { VPSLLD(Imm(23-table32Bits), n[v], q[v]) })
		each(func(v int) { VPERMI2PS(t1, t0, n[v]) })
		middle()
		each(func(v int) { VMOVAPS(c[2], w[v]) })
		each(func(v int) { VFMADD213PS(c[1], u[v], w[v]) })
		each(func(v int) { VPADDD(q[v], n[v], n[v]) })
		each(func(v int) { VFMADD213PS(c[0], u[v], w[v]) })
		each(func(v int) { VFMADD213PS(one, u[v], w[v]) })
		each(func(v int) { VFMADD213PS(one, n[v], w[v]) })
	}, k.divide, k.finish)
}

// logistic256Single handles 16 columns, with margins in units of ln2. Constants come from
// memory.
func logistic256Single() {
	const terms = 6
	table := GLOBL("metric256Single", RODATA|NOPTR)
	constant := func(k int) Mem { return table.Offset(32 * k) }
	for k, v := range append([]float64{shift32, 1}, exp2Coefficients(1, terms)...) {
		for lane := range 8 {
			DATA(32*k+4*lane, F32(v))
		}
	}
	vec.AVX2.Func("metricLogistic32", signature32, doc32)
	c := func(k int) Mem { return constant(2 + k) }
	u, n, even, odd, r2 := ymm[0:2], ymm[2:4], ymm[4:6], ymm[6:8], ymm[8:10]
	magic, one := Y12, Y13
	k := tile32{tile: tile{isa: vec.AVX2, size: 4}, den: even, reciprocal: ymm[14:16], label: Y10, sum: Y11, one: one}
	k.load()
	VMOVUPS(constant(0), magic)
	VMOVUPS(constant(1), one)
	each := func(f func(v int)) {
		for v := range 2 {
			f(v)
		}
	}
	k.emit(func(middle func()) {
		k.margins(u)
		each(func(v int) { VADDPS(magic, u[v], n[v]) })
		each(func(v int) { VSUBPS(magic, n[v], odd[v]) })
		each(func(v int) { VSUBPS(odd[v], u[v], u[v]) })
		each(func(v int) { VPSLLD(Imm(23), n[v], n[v]) })
		middle()
		each(func(v int) { VMULPS(u[v], u[v], r2[v]) })
		each(func(v int) { VMOVUPS(c(terms-1), odd[v]) })
		each(func(v int) { VMOVUPS(c(terms-2), even[v]) })
		each(func(v int) { VPADDD(one, n[v], n[v]) })
		for i := terms - 3; i >= 0; i-- {
			to := [][]VecPhysical{even, odd}[i%2]
			each(func(v int) { VFMADD213PS(c(i), r2[v], to[v]) })
		}
		each(func(v int) { VFMADD231PS(odd[v], u[v], even[v]) })
		each(func(v int) { VFMADD213PS(one, u[v], even[v]) })
		each(func(v int) { VFMADD213PS(one, n[v], even[v]) })
	}, k.divide, k.finish)
}

// widenAdd generates
//
//	for i := range n {
//		dst[i] += float64(src[i])
//		src[i] = 0
//	}
//
// for a multiple n of 16.
func widenAdd(v vec.ISA) {
	v.Func("widenAdd", "func(dst *float64, src *float32, n int)", "adds numbers and clears them, see panelBlock32.flush.")
	dst, src, n := Load(Param("dst"), RDI), Load(Param("src"), RSI), Load(Param("n"), RCX)
	z := physical(v)
	zero, vectors := z[4], 16/v.Lanes()
	if v.Wide() {
		VPXORQ(zero, zero, zero)
	} else {
		VXORPS(zero, zero, zero)
	}
	Label("loop")
	for i := range vectors {
		VCVTPS2PD(Mem{Base: src, Disp: i * v.Bytes / 2}, z[i])
	}
	for i := range vectors {
		VADDPD(Mem{Base: dst, Disp: i * v.Bytes}, z[i], z[i])
		VMOVUPD(z[i], Mem{Base: dst, Disp: i * v.Bytes})
	}
	for i := range vectors / 2 {
		VMOVUPS(zero, Mem{Base: src, Disp: i * v.Bytes})
	}
	ADDQ(U32(128), dst)
	ADDQ(Imm(64), src)
	SUBQ(Imm(16), n)
	JG(LabelRef("loop"))
	vec.End()
}

// foldLanes generates
//
//	for j := range n {
//		for l := range 4 {
//			c[16*j+l] = (c[16*j+l] + c[16*j+l+8]) + (c[16*j+l+4] + c[16*j+l+12])
//		}
//	}
//
// for n >= 1.
func foldLanes() {
	vec.AVX2.Func("foldLanes", "func(c *float32, n int)", "adds lanes of column sums, see panelBlock32.Add.")
	c, n := Load(Param("c"), RDI), Load(Param("n"), RCX)
	Label("loop")
	VMOVUPS(Mem{Base: c}, Y0)
	VADDPS(Mem{Base: c, Disp: 32}, Y0, Y0)
	VEXTRACTF128(Imm(1), Y0, X1)
	VADDPS(X1, X0, X0)
	VMOVUPS(X0, Mem{Base: c})
	ADDQ(Imm(64), c)
	DECQ(n)
	JG(LabelRef("loop"))
	vec.End()
}
