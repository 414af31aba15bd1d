package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// The element-wise step of a tile of n rows.
const (
	signature = "func(c *float64, n int, s, y, t, z, row, col *float64)"
	doc       = "turns products into coefficients, see panelLogistic."
)

// ln2Rest is ln 2 - float64(ln 2). A fused multiple of float64(ln 2) is subtracted with
// one rounding.
const (
	ln2Rest = 0x1.abc9e3b39803fp-56
	shift   = 0x1.8p52
)

// Coefficients of r^2, r^3, ... of exp(r), minimax with 1 + r for |r| <= ln2/32 and
// ln2/2: absolute errors 0.105 u and 0.088 u.
var (
	narrow = []float64{0x1.0000000000005p-1, 0x1.555555548f72ap-3, 0x1.555555545e696p-5, 0x1.11123abef935cp-7, 0x1.6c185e2474a04p-10}
	wide   = []float64{0x1.000000000000bp-1, 0x1.5555555555561p-3, 0x1.5555555550030p-5, 0x1.111111110d63ap-7, 0x1.6c16c185a7575p-10,
		0x1.a01a01bae2335p-13, 0x1.a0199693bcdb2p-16, 0x1.71dddfcc292d3p-19, 0x1.28b049138f694p-22, 0x1.af8587053996dp-26}
	roots = [16]float64{0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
		0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
		0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
		0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0}
)

// tile emits the loop over the rows of a tile for columns of a few vectors. The division
// of a row takes as long as all else, so it runs beside the exponentials of the next
// row: prepare sets the numerators num and the denominator den of a row from its
// products, with middle emitted somewhere within, and finish divides.
type tile struct {
	isa      vec.ISA
	num      []VecPhysical
	den, one VecPhysical
	row      []VecPhysical // sums; nil if there are no registers for them
	scratch  []VecPhysical // as many as num, free when finish runs

	c, n, s, y, t, z, rows, col GPPhysical
}

func (k *tile) load() {
	k.c, k.n, k.s, k.y, k.t, k.z, k.rows, k.col = RDI, RCX, RSI, R8, R9, R10, R11, RDX
	for _, x := range []struct {
		name string
		to   GPPhysical
	}{{"c", k.c}, {"n", k.n}, {"s", k.s}, {"y", k.y}, {"t", k.t}, {"z", k.z}, {"row", k.rows}, {"col", k.col}} {
		Load(Param(x.name), x.to)
	}
}

func (k *tile) emit(prepare func(middle func())) {
	for v, r := range k.row {
		VMOVUPD(k.at(k.rows, v), r)
	}
	TESTQ(k.n, k.n)
	JZ(LabelRef("done"))
	prepare(func() {})
	JMP(LabelRef("next"))
	Label("loop")
	VDIVPD(k.den, k.one, k.den)
	prepare(k.finish)
	Label("next")
	ADDQ(Imm(panelBytes), k.c)
	ADDQ(Imm(8), k.t)
	ADDQ(Imm(8), k.z)
	DECQ(k.n)
	JNZ(LabelRef("loop"))
	VDIVPD(k.den, k.one, k.den)
	k.finish()
	for v, r := range k.row {
		VMOVUPD(r, k.at(k.rows, v))
	}
	Label("done")
	vec.End()
}

// finish sets the coefficients of the row before c and adds them.
func (k *tile) finish() {
	v := k.scratch
	for i, w := range k.num {
		VMULPD(w, k.den, v[i])
	}
	for i := range v {
		m := k.at(k.c, i)
		m.Disp -= panelBytes
		VMOVUPD(v[i], m)
	}
	for i := range v {
		if k.row != nil {
			VADDPD(v[i], k.row[i], k.row[i])
			continue
		}
		VADDPD(k.at(k.rows, i), v[i], k.num[i])
		VMOVUPD(k.num[i], k.at(k.rows, i))
	}
	VADDPD(k.at(k.col, 0), v[0], v[0])
	for i := range v[1:] {
		VADDPD(v[i+1], v[0], v[0])
	}
	VMOVUPD(v[0], k.at(k.col, 0))
	ADDQ(Imm(64), k.col)
}

// at is the i-th vector from base on.
func (k *tile) at(base GPPhysical, i int) Mem { return Mem{Base: base, Disp: i * k.isa.Bytes} }

// margins sets u to the margins of a row, leaves y z in its place and overwrites p and t.
func (k *tile) margins(u, p []VecPhysical, t VecPhysical) {
	VBROADCASTSD(Mem{Base: k.z}, t)
	for v := range u {
		VMULPD(k.at(k.y, v), t, p[v])
	}
	VBROADCASTSD(Mem{Base: k.t}, t)
	for v := range u {
		VADDPD(k.at(k.s, v), t, u[v])
	}
	for v := range u {
		VSUBPD(k.at(k.c, v), u[v], u[v])
	}
	for v := range u {
		VMOVUPD(p[v], k.at(k.c, v))
	}
	for v := range u {
		VFNMADD213PD(p[v], p[v], u[v])
	}
}

// logistic512 handles 24 columns.
func logistic512() {
	table := GLOBL("metric512", RODATA|NOPTR)
	for j, r := range roots {
		DATA(8*j, U64(math.Float64bits(r)-uint64(j)<<48))
	}
	constant := func(k int) Mem { return table.Offset(128 + 8*k) }
	for k, v := range append([]float64{16 / math.Ln2, shift, math.Ln2 / 16, ln2Rest / 16, 1}, narrow...) {
		DATA(128+8*k, F64(v))
	}
	vec.AVX512.Func("metricLogistic", signature, doc)
	d, o := zmm[0:3], Z3
	u, n, q, pow, r2, t := zmm[4:7], zmm[7:10], zmm[10:13], zmm[13:16], zmm[16:19], Z19
	t0, t1, perLn2, magic, hi, lo, one, c3, c4 := Z31, Z30, Z29, Z28, Z27, Z26, Z25, Z24, Z23
	k := tile{isa: vec.AVX512, num: d, den: o, one: one, row: zmm[20:23], scratch: r2}
	k.load()
	VMOVUPD(table, t0)
	VMOVUPD(table.Offset(64), t1)
	for k, r := range []VecPhysical{perLn2, magic, hi, lo, one} {
		VBROADCASTSD(constant(k), r)
	}
	VBROADCASTSD(constant(6), c3)
	VBROADCASTSD(constant(7), c4)
	each := func(f func(v int)) {
		for v := range 3 {
			f(v)
		}
	}
	k.emit(func(middle func()) {
		k.margins(u, q, t)
		each(func(v int) { VMOVAPD(magic, n[v]) })
		each(func(v int) { VFMADD231PD(perLn2, u[v], n[v]) })
		each(func(v int) { VSUBPD(magic, n[v], q[v]) })
		each(func(v int) { VFNMADD231PD(hi, q[v], u[v]) })
		middle()
		each(func(v int) { VMOVAPD(n[v], pow[v]) })
		each(func(v int) { VPERMI2PD(t1, t0, pow[v]) })
		each(func(v int) { VPSLLQ(Imm(48), n[v], n[v]) })
		each(func(v int) { VPADDQ(n[v], pow[v], pow[v]) })
		// The first part of r is exact enough in its powers above the second.
		each(func(v int) { VFNMADD213PD(u[v], lo, q[v]) })
		each(func(v int) { VMULPD(q[v], q[v], r2[v]) })
		each(func(v int) { VMOVAPD(c4, n[v]) })
		each(func(v int) { VFMADD231PD_BCST(constant(8), u[v], n[v]) })
		each(func(v int) { VFMADD213PD_BCST(constant(5), c3, u[v]) })
		each(func(v int) { VFMADD231PD_BCST(constant(9), r2[v], n[v]) })
		each(func(v int) { VFMADD231PD(n[v], r2[v], u[v]) })
		each(func(v int) { VFMADD231PD(u[v], r2[v], q[v]) })
		each(func(v int) { VADDPD(one, pow[v], n[v]) })
		each(func(v int) { VFMADD231PD(pow[v], q[v], n[v]) })
		VMULPD(n[0], n[1], d[2])
		VMULPD(n[1], n[2], d[0])
		VMULPD(n[0], n[2], d[1])
		VMULPD(n[0], d[0], o)
		each(func(v int) { VMULPD(k.at(k.c, v), d[v], d[v]) })
	})
}

// logistic256 handles 8 columns. Constants come from memory.
func logistic256() {
	table := GLOBL("metric256", RODATA|NOPTR)
	constant := func(k int) Mem { return table.Offset(32 * k) }
	for k, v := range append([]float64{1 / math.Ln2, shift, math.Ln2, ln2Rest, 1}, wide...) {
		for lane := range 4 {
			DATA(32*k+8*lane, F64(v))
		}
	}
	vec.AVX2.Func("metricLogistic", signature, doc)
	perLn2, hi, lo := constant(0), constant(2), constant(3)
	c := func(k int) Mem { return constant(5 + k) }
	d, o := ymm[0:2], Y2
	u, n, even, odd, r2, t, magic, one := ymm[3:5], ymm[5:7], ymm[7:9], ymm[9:11], ymm[11:13], Y13, Y14, Y15
	k := tile{isa: vec.AVX2, num: d, den: o, one: one, scratch: r2}
	k.load()
	VMOVUPD(constant(1), magic)
	VMOVUPD(constant(4), one)
	each := func(f func(v int)) {
		for v := range 2 {
			f(v)
		}
	}
	k.emit(func(middle func()) {
		k.margins(u, odd, t)
		each(func(v int) { VMOVAPD(magic, n[v]) })
		each(func(v int) { VFMADD231PD(perLn2, u[v], n[v]) })
		each(func(v int) { VSUBPD(magic, n[v], even[v]) })
		VMOVUPD(hi, t)
		each(func(v int) { VFNMADD231PD(t, even[v], u[v]) })
		VMOVUPD(lo, t)
		each(func(v int) { VFNMADD231PD(t, even[v], u[v]) }) // r
		middle()
		each(func(v int) { VMULPD(u[v], u[v], r2[v]) })
		each(func(v int) { VMOVUPD(c(8), even[v]) })
		each(func(v int) { VMOVUPD(c(9), odd[v]) })
		for i := 7; i >= 0; i-- {
			to := [][]VecPhysical{even, odd}[i%2]
			each(func(v int) { VFMADD213PD(c(i), r2[v], to[v]) })
		}
		each(func(v int) { VFMADD231PD(odd[v], u[v], even[v]) })
		each(func(v int) { VFMADD231PD(even[v], r2[v], u[v]) })
		each(func(v int) { VADDPD(one, u[v], u[v]) })
		each(func(v int) { VPSLLQ(Imm(52), n[v], n[v]) })
		each(func(v int) { VPADDQ(one, n[v], n[v]) })
		each(func(v int) { VFMADD213PD(one, u[v], n[v]) })
		VMULPD(n[0], n[1], o)
		VMULPD(k.at(k.c, 0), n[1], d[0])
		VMULPD(k.at(k.c, 1), n[0], d[1])
	})
}
