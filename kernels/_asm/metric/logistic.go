package main

import (
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// The signature and description of the element-wise step of a tile of n rows.
const (
	signature = "func(c *float64, n int, y, z, row, col *float64)"
	doc       = "turns margins into coefficients, see panelLogistic."
	shift     = 0x1.8p52
)

// roots holds 2^(j/16), correctly rounded. Vectors of 512 bits use it.
var roots = [1 << tableBits]float64{
	0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
	0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
	0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
	0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0,
}

const tableBits = 4

// exp2Coefficients returns the coefficients of the polynomial a(r) with the given number
// of terms that interpolates (2^(r/per) - 1) / r at the Chebyshev nodes of [-1/2, 1/2].
func exp2Coefficients(per float64, terms int) []float64 {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	ln2, _, err := big.ParseFloat("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687", 10, 300, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	ln2.Quo(ln2, num(per))
	return vec.Interpolate(func(x float64) *big.Float {
		sum, term := num(0), num(0).Set(ln2)
		for k := 2; k < 60; k++ {
			sum.Add(sum, term)
			term.Mul(term, num(0).Mul(ln2, num(x)))
			term.Quo(term, num(float64(k)))
		}
		return sum
	}, 0.5, terms)
}

// tile emits the loop over the rows of a tile for columns of a few vectors. The division
// of a row takes as long as all its other operations, so it runs while the exponentials
// of the next row are computed. prepare sets the numerators num and the denominator den
// of a row from its margins and emits middle somewhere in between. finish divides.
type tile struct {
	isa     vec.ISA
	size    int // of a number, in bytes
	num     []VecPhysical
	den     VecPhysical
	row     []VecPhysical // sums; nil if there are no registers for them
	scratch []VecPhysical // as many as num, free when finish runs

	c, n, y, z, rows, col GPPhysical
}

func (k *tile) load() {
	k.c, k.n, k.y, k.z, k.rows, k.col = RDI, RCX, R8, R10, R11, RDX
	for _, x := range []struct {
		name string
		to   GPPhysical
	}{{"c", k.c}, {"n", k.n}, {"y", k.y}, {"z", k.z}, {"row", k.rows}, {"col", k.col}} {
		Load(Param(x.name), x.to)
	}
}

func (k *tile) emit(prepare func(middle func()), divide, finish func()) {
	for v, r := range k.row {
		VMOVUPD(k.at(k.rows, v), r)
	}
	TESTQ(k.n, k.n)
	JZ(LabelRef("done"))
	prepare(func() {})
	JMP(LabelRef("next"))
	Label("loop")
	divide()
	prepare(finish)
	Label("next")
	ADDQ(Imm(panelBytes), k.c)
	ADDQ(Imm(uint64(k.size)), k.z)
	DECQ(k.n)
	JNZ(LabelRef("loop"))
	divide()
	finish()
	for v, r := range k.row {
		VMOVUPD(r, k.at(k.rows, v))
	}
	Label("done")
	vec.End()
}

// divide starts the division of the label of the row before c by the denominator.
func (k *tile) divide() {
	VBROADCASTSD(Mem{Base: k.z, Disp: -8}, k.scratch[0])
	VDIVPD(k.den, k.scratch[0], k.den)
}

// finish computes the coefficients of the row before c and adds them to the sums.
func (k *tile) finish() {
	v := k.scratch
	for i, w := range k.num {
		VMULPD(w, k.den, v[i])
	}
	sum := k.den
	VMOVUPD(k.at(k.col, 0), sum)
	for i := range v {
		m := k.at(k.c, i)
		m.Disp -= panelBytes
		VMOVUPD(v[i], m)
	}
	for i := range v {
		VFMADD231PD(k.at(k.y, i), v[i], sum)
	}
	for i := range v {
		if k.row != nil {
			VADDPD(v[i], k.row[i], k.row[i])
			continue
		}
		VADDPD(k.at(k.rows, i), v[i], v[i])
		VMOVUPD(v[i], k.at(k.rows, i))
	}
	VMOVUPD(sum, k.at(k.col, 0))
	ADDQ(Imm(64), k.col)
}

// at returns the address of the i-th vector from base on.
func (k *tile) at(base GPPhysical, i int) Mem { return Mem{Base: base, Disp: i * k.isa.Bytes} }

// margins sets u to the margins of a row and overwrites t.
func (k *tile) margins(u []VecPhysical, t VecPhysical) {
	VBROADCASTSD(Mem{Base: k.z}, t)
	for v := range u {
		VMULPD(k.at(k.c, v), t, u[v])
	}
}

// logistic512 handles 24 columns, with margins in units of ln2/16.
func logistic512() {
	table := GLOBL("metric512", RODATA|NOPTR)
	for j, r := range roots {
		DATA(8*j, U64(math.Float64bits(r)-uint64(j)<<(52-tableBits)))
	}
	constant := func(k int) Mem { return table.Offset(8<<tableBits + 8*k) }
	for k, v := range append([]float64{shift, 1}, exp2Coefficients(1<<tableBits, 6)...) {
		DATA(8<<tableBits+8*k, F64(v))
	}
	vec.AVX512.Func("metricLogistic", signature, doc)
	d, o, u, n, q, w, r2 := zmm[0:3], Z3, zmm[4:7], zmm[7:10], zmm[10:13], zmm[13:16], zmm[16:19]
	t0, t1, magic, one, c := Z31, Z30, Z29, Z28, zmm[22:28]
	k := tile{isa: vec.AVX512, size: 8, num: d, den: o, row: zmm[19:22], scratch: r2}
	k.load()
	VMOVUPD(table, t0)
	VMOVUPD(table.Offset(64), t1)
	for k, r := range append([]VecPhysical{magic, one}, c...) {
		VBROADCASTSD(constant(k), r)
	}
	each := func(f func(v int)) {
		for v := range 3 {
			f(v)
		}
	}
	k.emit(func(middle func()) {
		k.margins(u, q[2])
		each(func(v int) { VADDPD(magic, u[v], n[v]) })
		each(func(v int) { VSUBPD(magic, n[v], q[v]) })
		each(func(v int) { VSUBPD(q[v], u[v], u[v]) })
		each(func(v int) { VPSLLQ(Imm(52-tableBits), n[v], q[v]) })
		each(func(v int) { VPERMI2PD(t1, t0, n[v]) })
		middle()
		each(func(v int) { VMULPD(u[v], u[v], r2[v]) })
		each(func(v int) { VMOVAPD(c[5], w[v]) })
		each(func(v int) { VFMADD213PD(c[4], u[v], w[v]) })
		each(func(v int) { VPADDQ(q[v], n[v], n[v]) })
		each(func(v int) { VMOVAPD(c[3], q[v]) })
		each(func(v int) { VFMADD213PD(c[2], u[v], q[v]) })
		each(func(v int) { VFMADD213PD(q[v], r2[v], w[v]) })
		each(func(v int) { VMOVAPD(c[1], q[v]) })
		each(func(v int) { VFMADD213PD(c[0], u[v], q[v]) })
		each(func(v int) { VFMADD213PD(q[v], r2[v], w[v]) })
		each(func(v int) { VFMADD213PD(one, u[v], w[v]) })
		each(func(v int) { VFMADD213PD(one, n[v], w[v]) })
		VMULPD(w[0], w[1], d[2])
		VMULPD(w[1], w[2], d[0])
		VMULPD(w[0], w[2], d[1])
		VMULPD(w[0], d[0], o)
	}, k.divide, k.finish)
}

// logistic256 handles 8 columns, with margins in units of ln2. Constants come from memory.
func logistic256() {
	const terms = 11
	table := GLOBL("metric256", RODATA|NOPTR)
	constant := func(k int) Mem { return table.Offset(32 * k) }
	for k, v := range append([]float64{shift, 1}, exp2Coefficients(1, terms)...) {
		for lane := range 4 {
			DATA(32*k+8*lane, F64(v))
		}
	}
	vec.AVX2.Func("metricLogistic", signature, doc)
	c := func(k int) Mem { return constant(2 + k) }
	d, o := ymm[0:2], Y2
	u, n, even, odd, r2, t, magic, one := ymm[3:5], ymm[5:7], ymm[7:9], ymm[9:11], ymm[11:13], Y13, Y14, Y15
	k := tile{isa: vec.AVX2, size: 8, num: d, den: o, scratch: r2}
	k.load()
	VMOVUPD(constant(0), magic)
	VMOVUPD(constant(1), one)
	each := func(f func(v int)) {
		for v := range 2 {
			f(v)
		}
	}
	k.emit(func(middle func()) {
		k.margins(u, t)
		each(func(v int) { VADDPD(magic, u[v], n[v]) })
		each(func(v int) { VSUBPD(magic, n[v], even[v]) })
		each(func(v int) { VSUBPD(even[v], u[v], u[v]) })
		middle()
		each(func(v int) { VMULPD(u[v], u[v], r2[v]) })
		each(func(v int) { VMOVUPD(c(terms-1), even[v]) })
		each(func(v int) { VMOVUPD(c(terms-2), odd[v]) })
		for i := terms - 3; i >= 0; i-- {
			to := [][]VecPhysical{even, odd}[i%2]
			each(func(v int) { VFMADD213PD(c(i), r2[v], to[v]) })
		}
		each(func(v int) { VFMADD231PD(odd[v], u[v], even[v]) })
		each(func(v int) { VFMADD213PD(one, u[v], even[v]) })
		each(func(v int) { VPSLLQ(Imm(52), n[v], n[v]) })
		each(func(v int) { VPADDQ(one, n[v], n[v]) })
		each(func(v int) { VFMADD213PD(one, n[v], even[v]) })
		VMULPD(even[0], even[1], o)
		VMOVAPD(even[1], d[0])
		VMOVAPD(even[0], d[1])
	}, k.divide, k.finish)
}
