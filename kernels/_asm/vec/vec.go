// Package vec holds code that the generators share. With it, one generator emits a kernel
// for vectors of 256 bits (AVX2, FMA, BMI2) and for vectors of 512 bits (AVX-512 F, BW,
// DQ, VL).
package vec

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// ISA is a vector extension.
type ISA struct {
	Name  string // suffix of function names
	Bytes int    // length of a vector
}

// The two extensions.
var (
	AVX2   = ISA{"AVX2", 32}
	AVX512 = ISA{"AVX512", 64}
)

// File sets the build constraint of the output. Call it once, first.
func File() { ConstraintExpr("amd64,!purego") }

// Func starts the function name+ISA. Its stub has the given signature, too.
func (v ISA) Func(name, signature, doc string) {
	TEXT(name+v.Name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + v.Name + " " + doc)
}

// End returns from a function. It clears the upper halves of vectors, because SSE
// instructions run several times slower while the upper halves are in use, and Go
// compiles floating-point code to SSE.
func End() {
	VZEROUPPER()
	RET()
}

// Lanes returns the number of float64 in a vector.
func (v ISA) Lanes() int { return v.Bytes / 8 }

// Wide reports whether vectors have 512 bits.
func (v ISA) Wide() bool { return v.Bytes == 64 }

// Reg returns a new vector register.
func (v ISA) Reg() VecVirtual {
	if v.Wide() {
		return ZMM()
	}
	return YMM()
}

// Regs returns n new vector registers.
func (v ISA) Regs(n int) []VecVirtual {
	r := make([]VecVirtual, n)
	for i := range r {
		r[i] = v.Reg()
	}
	return r
}

// Words returns the part of r that holds a 32-bit integer for each lane.
func (v ISA) Words(r VecVirtual) Register {
	if v.Wide() {
		return r.AsY()
	}
	return r.AsX()
}

// Zero clears registers.
func (v ISA) Zero(regs ...VecVirtual) {
	for _, r := range regs {
		if v.Wide() {
			VPXORQ(r, r, r)
		} else {
			VXORPD(r, r, r)
		}
	}
}

// Number returns the address of a float64 in read-only memory.
func Number(x float64) Mem { return Word(math.Float64bits(x)) }

// Word returns the address of a uint64 in read-only memory.
func Word(x uint64) Mem { return Table(fmt.Sprintf("word%016x", x), x) }

// Number32 returns the address of a float32 in read-only memory.
func Number32(x float32) Mem {
	name := fmt.Sprintf("single%08x", math.Float32bits(x))
	m, ok := tables[name]
	if !ok {
		m = GLOBL(name, RODATA|NOPTR)
		DATA(0, U32(math.Float32bits(x)))
		tables[name] = m
	}
	return m
}

// tables holds the tables of the output by name.
var tables = map[string]Mem{}

// Table returns the address of a table of words in read-only memory.
func Table(name string, words ...uint64) Mem {
	m, ok := tables[name]
	if !ok {
		m = GLOBL(name, RODATA|NOPTR)
		for i, x := range words {
			DATA(8*i, U64(x))
		}
		tables[name] = m
	}
	return m
}

// Broadcast sets all lanes of a new register to the float64 in memory.
func (v ISA) Broadcast(m Mem) VecVirtual {
	r := v.Reg()
	VBROADCASTSD(m, r)
	return r
}

// Set sets all lanes of r to c.
func (v ISA) Set(c float64, r VecVirtual) { VBROADCASTSD(Number(c), r) }

// vector returns the address of a vector in read-only memory whose lanes are all equal.
func (v ISA) vector(x uint64) Mem {
	if v.Wide() {
		panic("vec: use an embedded broadcast")
	}
	return Table(fmt.Sprintf("vector%016x", x), x, x, x, x)
}

// constant emits an instruction whose first operand is a vector with c in all lanes. The
// form plain reads the vector from memory, and the form bcst broadcasts one number.
func (v ISA) constant(plain, bcst func(...Op), c float64, ops ...Op) {
	if v.Wide() {
		bcst(append([]Op{Number(c)}, ops...)...)
	} else {
		plain(append([]Op{v.vector(math.Float64bits(c))}, ops...)...)
	}
}

// HSum returns the sum of the lanes of r in the lowest lane, with 2 or 3 roundings. It
// overwrites r.
func (v ISA) HSum(r VecVirtual) VecVirtual { return v.Fold(r, VADDPD) }

// Fold combines the lanes of r with op and returns the result in the lowest lane. It overwrites r.
func (v ISA) Fold(r VecVirtual, op func(...Op)) VecVirtual {
	t := YMM()
	if v.Wide() {
		VEXTRACTF64X4(Imm(1), r, t)
		op(t, r.AsY(), r.AsY())
		VEXTRACTF64X2(Imm(1), r.AsY(), t.AsX()) // VEXTRACTF128 cannot name registers 16 to 31
	} else {
		VEXTRACTF128(Imm(1), r, t.AsX())
	}
	op(t.AsX(), r.AsX(), r.AsX())
	VPERMILPD(Imm(1), r.AsX(), t.AsX())
	op(t.AsX(), r.AsX(), r.AsX())
	return XMMOf(r)
}

// AndOr replaces r by r & mask | or.
func (v ISA) AndOr(mask uint64, or, r VecVirtual) {
	if v.Wide() {
		VPTERNLOGQ_BCST(Imm(0xec), Word(mask), or, r) // of the bits of r, or and the mask
		return
	}
	VANDPD(v.vector(mask), r, r)
	VORPD(or, r, r)
}

// Integers returns the sum of the 32-bit integers in r as a float64 in the lowest lane,
// without rounding. It overwrites r.
func (v ISA) Integers(r VecVirtual) VecVirtual {
	low, high := v.Reg(), v.Reg()
	VCVTDQ2PD(v.Words(r), low)
	if v.Wide() {
		VEXTRACTI64X4(Imm(1), r, r.AsY())
	} else {
		VEXTRACTI128(Imm(1), r, r.AsX())
	}
	VCVTDQ2PD(v.Words(r), high)
	VADDPD(high, low, low)
	return v.HSum(low)
}

// Reciprocal sets q to 1/x for x from 1 to 2^1000, with 512 bits and without a division. Its
// relative error is below 1.2 u, u = 2^-53. Two steps of Newton after an approximation within
// 2^-14 leave an error of 2^-56, the rounding of the last step and smaller contributions of
// the other roundings.
func (v ISA) Reciprocal(one, x, q VecVirtual) {
	VRCP14PD(x, q)
	for range 2 {
		e := v.Reg()
		Move(one, e)
		VFNMADD231PD(q, x, e)
		VFMADD231PD(e, q, q)
	}
}

// HSum4 returns the sums of the lanes of r[0] to r[3] as 4 lanes, with 2 or 3 roundings.
// r must be in registers 0 to 15, and HSum4 overwrites it.
func (v ISA) HSum4(r []VecVirtual) VecVirtual {
	h := make([]Register, 4)
	for i := range h {
		h[i] = r[i].AsY()
		if v.Wide() {
			t := YMM()
			VEXTRACTF64X4(Imm(1), r[i], t)
			VADDPD(t, h[i], h[i])
		}
	}
	a, b, s := YMM(), YMM(), YMM()
	VHADDPD(h[1], h[0], a)
	VHADDPD(h[3], h[2], b)
	VPERM2F128(Imm(0x21), b, a, s)
	VBLENDPD(Imm(0xc), b, a, a)
	VADDPD(a, s, s)
	return s
}

// XMMOf returns the low 128 bits of r.
func XMMOf(r VecVirtual) VecVirtual { return r.AsX().(VecVirtual) }

// Tail selects the first lanes of a vector.
type Tail struct {
	isa  ISA
	k    OpmaskVirtual
	mask VecVirtual
	half VecVirtual // for float32, after Narrow
}

// Tail selects the first n lanes, 0 <= n <= Lanes. It does not change n.
func (v ISA) Tail(n Register) Tail {
	t := Tail{isa: v}
	if v.Wide() {
		ones := GP64()
		MOVQ(I32(-1), ones)
		BZHIQ(n, ones, ones)
		t.k = K()
		KMOVW(ones.As32(), t.k)
		return t
	}
	at, base := GP64(), GP64()
	LEAQ(laneMasks(), base)
	MOVQ(U32(4), at)
	SUBQ(n, at)
	t.mask = YMM()
	VMOVUPD(Mem{Base: base, Index: at, Scale: 8}, t.mask)
	return t
}

// Narrow returns t prepared for Widen. n is the register that was given to Tail.
func (t Tail) Narrow(n Register) Tail {
	if !t.isa.Wide() {
		at, base := GP64(), GP64()
		const full = math.MaxUint64
		LEAQ(Table("halfMasks", full, full, 0, 0), base)
		MOVQ(U32(4), at)
		SUBQ(n, at)
		t.half = XMM()
		VMOVUPS(Mem{Base: base, Index: at, Scale: 4}, t.half)
	}
	return t
}

// Widen is Load for float32 numbers. Narrow must have prepared t.
func (t Tail) Widen(m Mem, dst VecVirtual) {
	if t.isa.Wide() {
		VCVTPS2PD_Z(m, t.k, dst)
		return
	}
	x := XMM()
	VMASKMOVPS(m, t.half, x)
	VCVTPS2PD(x, dst)
}

// laneMasks returns the address of a table of four full lanes followed by four empty lanes.
func laneMasks() Mem {
	const full = math.MaxUint64
	return Table("laneMasks", full, full, full, full, 0, 0, 0, 0)
}

// Load reads the selected lanes and clears the other lanes. It reads no memory beyond the selected lanes.
func (t Tail) Load(m Mem, dst VecVirtual) {
	if t.isa.Wide() {
		VMOVUPD_Z(m, t.k, dst)
	} else {
		VMASKMOVPD(m, t.mask, dst)
	}
}

// Store writes the selected lanes and writes no other memory.
func (t Tail) Store(src VecVirtual, m Mem) {
	if t.isa.Wide() {
		VMOVUPD(src, t.k, m)
	} else {
		VMASKMOVPD(src, t.mask, m)
	}
}

// Keep clears the lanes of r that are not selected.
func (t Tail) Keep(r VecVirtual) {
	if t.isa.Wide() {
		VMOVAPD_Z(r, t.k, r)
	} else {
		VANDPD(t.mask, r, r)
	}
}

// Move copies src to dst, all lanes.
func Move(src, dst VecVirtual) { VMOVAPD(src, dst) }
