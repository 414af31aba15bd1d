package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// locate is the loop of kernels.locate for a multiple of vec.ISA.Lanes points.
func locate(v vec.ISA) {
	v.Func("locate", "func(pos *float64, key *int32, x *float64, class *uint8, n int, half float64, bins int32)",
		"maps positions to bins, see locate. half is bins / 2.")
	pos, key := Load(Param("pos"), GP64()), Load(Param("key"), GP64())
	x, class := Load(Param("x"), GP64()), Load(Param("class"), GP64())
	n := Load(Param("n"), GP64())
	half, one, minus := v.Reg(), v.Broadcast(vec.Number(1)), v.Broadcast(vec.Number(-1))
	factor, err := Param("half").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(factor.Addr, half)
	words := v.Words
	count, limit := v.Reg(), v.Reg()
	VMOVD(Load(Param("bins"), GP32()), count.AsX())
	bins := words(count)
	VPBROADCASTD(count.AsX(), bins)
	last, zero := words(v.Reg()), words(v.Reg())
	if v.Wide() {
		VPTERNLOGD(Imm(0xff), last, last, last)
		VPXORD(zero, zero, zero)
	} else {
		VPCMPEQD(last, last, last)
		VPXOR(zero, zero, zero)
	}
	VPADDD(last, bins, last)
	VCVTDQ2PD(bins, limit)

	Label("loop")
	CMPQ(n, I32(v.Lanes()))
	JL(LabelRef("done"))
	z, p, b := v.Reg(), v.Reg(), v.Reg()
	VADDPD(Mem{Base: x}, one, z)
	VMULPD(half, z, z)
	// If an operand is NaN, these instructions return the first operand.
	VMAXPD(z, minus, z)
	VMINPD(z, limit, z)
	if v.Wide() {
		VCVTTPD2DQ(z, words(b)) // NaN becomes the least integer
	} else {
		VCVTTPD2DQY(z, words(b))
	}
	VPMAXSD(words(b), zero, words(b))
	VPMINSD(words(b), last, words(b))
	VCVTDQ2PD(words(b), p)
	VSUBPD(p, z, p)
	VADDPD(p, p, p)
	VSUBPD(one, p, p)
	VMINPD(p, one, p)
	VMAXPD(p, minus, p)
	VMOVUPD(p, Mem{Base: pos})
	c := words(v.Reg())
	VPMOVZXBD(Mem{Base: class}, c)
	VPMULLD(bins, c, c)
	VPADDD(words(b), c, c)
	if v.Wide() {
		VMOVDQU32(c, Mem{Base: key})
	} else {
		VMOVDQU(c, Mem{Base: key})
	}
	ADDQ(I32(v.Bytes), pos)
	ADDQ(I32(v.Bytes), x)
	ADDQ(I32(4*v.Lanes()), key)
	ADDQ(I32(v.Lanes()), class)
	SUBQ(I32(v.Lanes()), n)
	JMP(LabelRef("loop"))
	Label("done")
	vec.End()
}

// powerSums is the loop of kernels.PowerSums for a multiple of 8 numbers. With t = x^(4g),
// a group g of four exponents needs t x, t x^2, t x^3 and t x^4. The last of these is the
// next t, so a group takes 5 operations. Vectors with 4 lanes add to the first and the
// last four sums in turn.
func powerSums(v vec.ISA) {
	v.Func("powerSums", "func(sum, x *float64, groups, n int)", "adds powers to partial sums, see PowerSums.")
	sum, x := Load(Param("sum"), GP64()), Load(Param("x"), GP64())
	groups, n := Load(Param("groups"), GP64()), Load(Param("n"), GP64())
	one, turn := v.Broadcast(vec.Number(1)), GP64()
	XORQ(turn, turn)
	unrolls := []int{4, 1}
	if !v.Wide() {
		unrolls = []int{2}
	}
	for _, vectors := range unrolls {
		loop, end := fmt.Sprintf("by%d", vectors), fmt.Sprintf("by%dend", vectors)
		Label(loop)
		CMPQ(n, I32(vectors*v.Lanes()))
		JL(LabelRef(end))
		t, power := v.Regs(vectors), make([][]VecVirtual, 4)
		for i := range power {
			power[i] = v.Regs(vectors)
		}
		for k := range t {
			VMOVUPD(Mem{Base: x, Disp: k * v.Bytes}, power[0][k])
			vec.Move(one, t[k])
		}
		for i, factors := range [][2]int{1: {0, 0}, 2: {1, 0}, 3: {1, 1}} {
			for k := range t {
				if i > 0 {
					VMULPD(power[factors[0]][k], power[factors[1]][k], power[i][k])
				}
			}
		}
		at, left := GP64(), GP64()
		LEAQ(Mem{Base: sum, Index: turn, Scale: 1}, at)
		MOVQ(groups, left)
		Label(loop + "group")
		s := v.Regs(4)
		for i := range s {
			VMOVUPD(Mem{Base: at, Disp: 64 * i}, s[i])
		}
		for k := range t {
			for i := range 3 {
				VFMADD231PD(power[i][k], t[k], s[i])
			}
		}
		for k := range t {
			VMULPD(power[3][k], t[k], t[k])
		}
		for k := range t {
			VADDPD(t[k], s[3], s[3])
		}
		for i := range s {
			VMOVUPD(s[i], Mem{Base: at, Disp: 64 * i})
		}
		ADDQ(I32(4*64), at)
		DECQ(left)
		JNZ(LabelRef(loop + "group"))
		if !v.Wide() {
			XORQ(I32(v.Bytes), turn)
		}
		ADDQ(I32(vectors*v.Bytes), x)
		SUBQ(I32(vectors*v.Lanes()), n)
		JMP(LabelRef(loop))
		Label(end)
	}
	vec.End()
}

// polynomial is the loop of kernels.Polynomial for a multiple of vec.ISA.Lanes numbers.
// coef points to the first of 2 pairs + 1 coefficients.
func polynomial(v vec.ISA) {
	v.Func("polynomial", "func(dst, coef, x *float64, pairs, n int)", "evaluates a polynomial, see Polynomial.")
	dst, coef, x := Load(Param("dst"), GP64()), Load(Param("coef"), GP64()), Load(Param("x"), GP64())
	pairs, n := Load(Param("pairs"), GP64()), Load(Param("n"), GP64())
	unrolls := []int{8, 2, 1}
	if !v.Wide() {
		unrolls = []int{4, 1}
	}
	for _, vectors := range unrolls {
		loop, end := fmt.Sprintf("by%d", vectors), fmt.Sprintf("by%dend", vectors)
		Label(loop)
		CMPQ(n, I32(vectors*v.Lanes()))
		JL(LabelRef(end))
		square, even, odd := v.Regs(vectors), v.Regs(vectors), v.Regs(vectors)
		at, left := GP64(), GP64()
		MOVQ(pairs, left)
		MOVQ(pairs, at)
		SHLQ(Imm(4), at)
		ADDQ(coef, at)
		for k := range square {
			VMOVUPD(Mem{Base: x, Disp: k * v.Bytes}, square[k])
			VMULPD(square[k], square[k], square[k])
			VBROADCASTSD(Mem{Base: at}, even[k])
			v.Zero(odd[k])
		}
		TESTQ(left, left)
		JZ(LabelRef(loop + "sum"))
		Label(loop + "pair")
		for i, part := range [][]VecVirtual{odd, even} {
			c := Mem{Base: at, Disp: -8 * (i + 1)}
			number := v.Broadcast(c)
			for k := range part {
				VFMADD213PD(number, square[k], part[k])
			}
		}
		SUBQ(Imm(16), at)
		DECQ(left)
		JNZ(LabelRef(loop + "pair"))
		Label(loop + "sum")
		for k := range square {
			VFMADD231PD(Mem{Base: x, Disp: k * v.Bytes}, odd[k], even[k])
			VMOVUPD(even[k], Mem{Base: dst, Disp: k * v.Bytes})
		}
		ADDQ(I32(vectors*v.Bytes), x)
		ADDQ(I32(vectors*v.Bytes), dst)
		SUBQ(I32(vectors*v.Lanes()), n)
		JMP(LabelRef(loop))
		Label(end)
	}
	vec.End()
}

// sumLanes is the loop of kernels.sumLanes for count sums. It computes one vector of sums at a time.
func sumLanes(v vec.ISA) {
	v.Func("sumLanes", "func(sum, lanes *float64, count int)", "adds up lanes for vectors of sums, see sumLanes.")
	sum, lanes := Load(Param("sum"), GP64()), Load(Param("lanes"), GP64())
	count, none := Load(Param("count"), GP64()), v.Reg()
	v.Zero(none)
	Label("loop")
	CMPQ(count, Imm(uint64(v.Lanes())))
	JL(LabelRef("done"))
	r := v.Regs(v.Lanes())
	for i := range r {
		for at := 0; at < 64; at += v.Bytes {
			m := Mem{Base: lanes, Disp: 64*i + at}
			if at == 0 {
				VMOVUPD(m, r[i])
			} else {
				VADDPD(m, r[i], r[i])
			}
			VMOVUPD(none, m)
		}
	}
	var s VecVirtual
	if v.Wide() {
		s = sumVectors(v, r)
	} else {
		s = v.HSum4(r)
	}
	VADDPD(Mem{Base: sum}, s, s)
	VMOVUPD(s, Mem{Base: sum})
	ADDQ(I32(v.Bytes), sum)
	ADDQ(I32(64*v.Lanes()), lanes)
	SUBQ(I32(v.Lanes()), count)
	JMP(LabelRef("loop"))
	Label("done")
	vec.End()
}

// sumVectors returns the sums of the lanes of 8 vectors of 512 bits as 8 lanes. It adds
// pairs of lanes, and then twice pairs of 128-bit blocks.
func sumVectors(v vec.ISA, r []VecVirtual) VecVirtual {
	pairs := func(low, high func(a, b, to VecVirtual)) {
		half := r[:0]
		for i := 0; i < len(r); i += 2 {
			x, y := v.Reg(), v.Reg()
			low(r[i], r[i+1], x)
			high(r[i], r[i+1], y)
			VADDPD(x, y, x)
			half = append(half, x)
		}
		r = half
	}
	blocks := func(order uint64) func(a, b, to VecVirtual) {
		return func(a, b, to VecVirtual) { VSHUFF64X2(Imm(order), b, a, to) }
	}
	pairs(func(a, b, to VecVirtual) { VUNPCKLPD(b, a, to) }, func(a, b, to VecVirtual) { VUNPCKHPD(b, a, to) })
	pairs(blocks(0x88), blocks(0xdd)) // blocks 0 and 2, 1 and 3
	pairs(blocks(0x88), blocks(0xdd))
	return r[0]
}
