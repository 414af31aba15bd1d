package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// locate is the loop of kernels.Locate for a multiple of vec.ISA.Lanes points.
func locate(v vec.ISA) {
	v.Func("locate", "func(pos *float64, off *int32, s *float64, class *uint8, n int, lo, scale float64, bins, row int32)",
		"maps scores to bins, see Locate.")
	pos, off := Load(Param("pos"), GP64()), Load(Param("off"), GP64())
	s, class := Load(Param("s"), GP64()), Load(Param("class"), GP64())
	n := Load(Param("n"), GP64())
	lo, scale, one, minus := v.Reg(), v.Reg(), v.Broadcast(vec.Number(1)), v.Broadcast(vec.Number(-1))
	broadcastParam("lo", lo)
	broadcastParam("scale", scale)
	// Vectors of 32-bit integers have half the width.
	words := func(r VecVirtual) Register {
		if v.Wide() {
			return r.AsY()
		}
		return r.AsX()
	}
	count := func(param string) Register {
		x, r := Load(Param(param), GP32()), v.Reg()
		VMOVD(x, r.AsX())
		VPBROADCASTD(r.AsX(), words(r))
		return words(r)
	}
	bins, row := count("bins"), count("row")
	last, zero, limit := words(v.Reg()), words(v.Reg()), v.Reg()
	if v.Wide() {
		VPTERNLOGD(Imm(0xff), last, last, last)
		VPADDD(last, bins, last)
		VPXORD(zero, zero, zero)
	} else {
		VPCMPEQD(last, last, last)
		VPADDD(last, bins, last)
		VPXOR(zero, zero, zero)
	}
	VCVTDQ2PD(bins, limit)

	Label("loop")
	CMPQ(n, I32(v.Lanes()))
	JL(LabelRef("done"))
	z, x, b := v.Reg(), v.Reg(), v.Reg()
	VMOVUPD(Mem{Base: s}, z)
	VSUBPD(lo, z, z)
	VMULPD(scale, z, z)
	// Of two operands with a NaN these return the first.
	VMAXPD(z, minus, z)
	VMINPD(z, limit, z)
	if v.Wide() {
		VCVTTPD2DQ(z, words(b)) // NaN becomes the least integer
	} else {
		VCVTTPD2DQY(z, words(b))
	}
	VPMAXSD(words(b), zero, words(b))
	VPMINSD(words(b), last, words(b))
	VCVTDQ2PD(words(b), x)
	VSUBPD(x, z, x)
	VADDPD(x, x, x)
	VSUBPD(one, x, x)
	VMINPD(x, one, x)
	VMAXPD(x, minus, x)
	VMOVUPD(x, Mem{Base: pos})
	c := words(v.Reg())
	VPMOVZXBD(Mem{Base: class}, c)
	VPMULLD(bins, c, c)
	VPADDD(words(b), c, c)
	VPMULLD(row, c, c)
	if v.Wide() {
		VMOVDQU32(c, Mem{Base: off})
	} else {
		VMOVDQU(c, Mem{Base: off})
	}
	ADDQ(I32(v.Bytes), pos)
	ADDQ(I32(v.Bytes), s)
	ADDQ(I32(4*v.Lanes()), off)
	ADDQ(I32(v.Lanes()), class)
	SUBQ(I32(v.Lanes()), n)
	JMP(LabelRef("loop"))
	Label("done")
	vec.End()
}

// broadcastParam sets all lanes of r to a parameter of type float64.
func broadcastParam(name string, r VecVirtual) {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(p.Addr, r)
}

// chebyshevMoments is the loop of kernels.ChebyshevMoments for a multiple of
// vec.ISA.Lanes points. The first W = Lanes polynomials come from the recurrence over a
// vector of points; their transpose holds T_0 ... T_(W-1) of each point, and further ones
// follow by T_(a+W) = 2 T_W T_a - T_|a-W|.
func chebyshevMoments(v vec.ISA) {
	v.Func("chebyshevMoments", "func(mom *float64, limit, terms int, pos *float64, off *int32, n int)",
		"adds to the moments of bins, see ChebyshevMoments. limit is the largest offset.")
	mom, limit, terms := Load(Param("mom"), GP64()), Load(Param("limit"), GP64()), Load(Param("terms"), GP64())
	pos, off, n := Load(Param("pos"), GP64()), Load(Param("off"), GP64()), Load(Param("n"), GP64())
	lanes := v.Lanes()
	top, twice := AllocLocal(v.Bytes), AllocLocal(v.Bytes) // T_W and 2 T_W of each point

	groups := GP64() // vectors of moments
	LEAQ(Mem{Base: terms, Disp: lanes - 1}, groups)
	SHRQ(Imm(uint64(v.LogLanes())), groups)
	reverse := v.Reverser()

	Label("loop")
	CMPQ(n, I32(lanes))
	JL(LabelRef("done"))
	x, x2 := v.Reg(), v.Reg()
	VMOVUPD(Mem{Base: pos}, x)
	VADDPD(x, x, x2)
	t := []VecVirtual{v.Broadcast(vec.Number(1)), x}
	for a := 2; a <= lanes; a++ {
		next := v.Reg()
		vec.Move(t[a-2], next)
		VFMSUB231PD(t[a-1], x2, next)
		t = append(t, next)
	}
	VMOVUPD(t[lanes], top)
	VADDPD(t[lanes], t[lanes], t[lanes])
	VMOVUPD(t[lanes], twice)
	for j, cur := range v.Transpose(t[:lanes]) {
		label := func(s string) string { return s + string(rune('0'+j)) }
		m, k := GP64(), GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * j}, m)
		CMPQ(m, limit)
		CMOVQHI(limit, m)
		LEAQ(Mem{Base: mom, Index: m, Scale: 8}, m)
		MOVQ(groups, k)
		add := func() { // and go on unless this was the last group
			sum := v.Reg()
			VADDPD(Mem{Base: m}, cur, sum)
			VMOVUPD(sum, Mem{Base: m})
			DECQ(k)
		}
		add()
		JZ(LabelRef(label("end")))
		prev, factor, next := v.Reg(), v.Reg(), v.Reg()
		reverse(cur, top.Offset(8*j), prev)
		VBROADCASTSD(twice.Offset(8*j), factor)
		Label(label("group"))
		vec.Move(prev, next)
		VFMSUB231PD(cur, factor, next)
		vec.Move(cur, prev)
		vec.Move(next, cur)
		ADDQ(I32(v.Bytes), m)
		add()
		JNZ(LabelRef(label("group")))
		Label(label("end"))
	}
	ADDQ(I32(v.Bytes), pos)
	ADDQ(I32(4*lanes), off)
	SUBQ(I32(lanes), n)
	JMP(LabelRef("loop"))
	Label("done")
	vec.End()
}

// clenshaw is the loop of kernels.Clenshaw for a multiple of vec.ISA.Lanes points. The
// coefficients of as many points are loaded W = Lanes at a time, from the last on, and
// transposed.
func clenshaw(v vec.ISA) {
	v.Func("clenshaw", "func(dst, coef *float64, limit, terms int, pos *float64, off *int32, n int)",
		"evaluates the sums of bins, see Clenshaw. limit is the largest offset.")
	dst, coef := Load(Param("dst"), GP64()), Load(Param("coef"), GP64())
	limit, terms := Load(Param("limit"), GP64()), Load(Param("terms"), GP64())
	pos, off, n := Load(Param("pos"), GP64()), Load(Param("off"), GP64()), Load(Param("n"), GP64())
	lanes := v.Lanes()
	index := AllocLocal(8 * lanes) // offsets, checked

	// groups vectors of coefficients, and 1 to W more under tail.
	groups, rest := GP64(), GP64()
	LEAQ(Mem{Base: terms, Disp: -1}, groups)
	SHRQ(Imm(uint64(v.LogLanes())), groups)
	MOVQ(groups, rest)
	SHLQ(Imm(uint64(v.LogLanes())), rest)
	SUBQ(rest, terms)
	tail := v.Tail(terms)
	all := GP64()
	MOVQ(I32(lanes), all)
	full := v.Tail(all)

	Label("loop")
	CMPQ(n, I32(lanes))
	JL(LabelRef("done"))
	for j := range lanes {
		m := GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * j}, m)
		CMPQ(m, limit)
		CMOVQHI(limit, m)
		MOVQ(m, index.Offset(8*j))
	}
	x, x2, b1, b2 := v.Reg(), v.Reg(), v.Reg(), v.Reg()
	VMOVUPD(Mem{Base: pos}, x)
	VADDPD(x, x, x2)
	v.Zero(b1, b2)
	mask := full.Copy(tail)
	from, k := GP64(), GP64()
	MOVQ(groups, k)
	MOVQ(groups, from)
	SHLQ(Imm(uint64(v.LogLanes()+3)), from)
	ADDQ(coef, from)
	load := func() []VecVirtual {
		c := v.Regs(lanes)
		for j := range c {
			m := GP64()
			MOVQ(index.Offset(8*j), m)
			mask.Load(Mem{Base: from, Index: m, Scale: 8}, c[j])
		}
		return v.Transpose(c)
	}
	step := func(c VecVirtual) { // b1, b2 = (c - b2) + 2 x b1, b1
		VSUBPD(b2, c, c)
		VFMADD231PD(x2, b1, c)
		vec.Move(b1, b2)
		vec.Move(c, b1)
	}
	Label("group")
	TESTQ(k, k)
	JZ(LabelRef("last"))
	c := load()
	for a := lanes - 1; a >= 0; a-- {
		step(c[a])
	}
	mask.Assign(full)
	SUBQ(I32(v.Bytes), from)
	DECQ(k)
	JMP(LabelRef("group"))
	Label("last")
	c = load()
	for a := lanes - 1; a > 0; a-- {
		step(c[a])
	}
	VSUBPD(b2, c[0], c[0])
	VFMADD231PD(x, b1, c[0])
	VMOVUPD(c[0], Mem{Base: dst})
	ADDQ(I32(v.Bytes), dst)
	ADDQ(I32(v.Bytes), pos)
	ADDQ(I32(4*lanes), off)
	SUBQ(I32(lanes), n)
	JMP(LabelRef("loop"))
	Label("done")
	vec.End()
}
