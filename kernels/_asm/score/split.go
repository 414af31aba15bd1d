package main

import (
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

const (
	nibbles    = 16 // sets of the lanes of 256 bits
	tableBytes = 32 // an entry of a table by nibble: a vector of pairs of 32-bit lane numbers
	complement = (nibbles - 1) * tableBytes
)

// lanePairs are the 32-bit lanes of the 64-bit lanes at, in memory order.
func lanePairs(at [4]uint64) []uint64 {
	words := make([]uint64, len(at))
	for i, l := range at {
		words[i] = 2*l | (2*l+1)<<32
	}
	return words
}

// packLanes is a table by nibble: the lanes of its bits first.
func packLanes() Mem {
	var words []uint64
	for set := range uint64(nibbles) {
		var at [4]uint64
		next := 0
		for l := range uint64(4) {
			if set>>l&1 == 1 {
				at[next] = l
				next++
			}
		}
		words = append(words, lanePairs(at)...)
	}
	return vec.Table("packLanes", words...)
}

// spreadLanes is a table by nibble: for each lane, how many bits are below it. The sign of a
// lane says that its bit is set.
func spreadLanes() Mem {
	var words []uint64
	for set := range uint64(nibbles) {
		var at [4]uint64
		for l := range at {
			at[l] = uint64(bits.OnesCount64(set & (1<<l - 1)))
		}
		for l, word := range lanePairs(at) {
			words = append(words, word|set>>l&1<<63)
		}
	}
	return vec.Table("spreadLanes", words...)
}

// nibble sets one and zero to the places in a table of a half of the byte in b and of its
// complement.
func nibble(half int, b, one, zero Register) {
	MOVL(b, one)
	if half == 0 {
		ANDL(Imm(nibbles-1), one)
	} else {
		SHRL(Imm(4), one)
	}
	SHLL(Imm(uint64(bits.Len(tableBytes-1))), one)
	MOVL(one, zero)
	XORL(I32(complement), zero)
}

// advance moves the addresses behind count ones and lanes - count zeros. count is lost.
func advance(zero, one, count Register, lanes int) {
	LEAQ(Mem{Base: one, Index: count, Scale: 8}, one)
	NEGQ(count)
	LEAQ(Mem{Base: zero, Index: count, Scale: 8, Disp: 8 * lanes}, zero)
}

// split is the loop of kernels.Split for a multiple of 8 numbers. It writes whole vectors, of
// which the next one overwrites what is not in use.
func split(v vec.ISA) {
	v.Func("split", "func(zero, one, src *float64, mask *uint8, n int) int", "separates numbers and returns how many went to zero, see Split.")
	zero, one := Load(Param("zero"), GP64()), Load(Param("one"), GP64())
	src, mask := Load(Param("src"), GP64()), Load(Param("mask"), GP64())
	n, start := Load(Param("n"), GP64()), GP64()
	MOVQ(zero, start)
	table := GP64()
	if !v.Wide() {
		LEAQ(packLanes(), table)
	}
	Label("loop")
	CMPQ(n, Imm(8))
	JL(LabelRef("done"))
	b := GP64()
	MOVBLZX(Mem{Base: mask}, b.As32())
	if v.Wide() {
		ones, zeros := K(), K()
		KMOVB(b.As32(), ones)
		KNOTB(ones, zeros)
		x, y := v.Reg(), v.Reg()
		VMOVUPD(Mem{Base: src}, x)
		VCOMPRESSPD_Z(x, ones, y)
		VCOMPRESSPD_Z(x, zeros, x)
		VMOVUPD(y, Mem{Base: one})
		VMOVUPD(x, Mem{Base: zero})
		POPCNTQ(b, b)
		advance(zero, one, b, 8)
	} else {
		for half := range 2 {
			at, other := GP64(), GP64()
			nibble(half, b.As32(), at.As32(), other.As32())
			x, y := v.Reg(), v.Reg()
			VMOVUPD(Mem{Base: table, Index: at, Scale: 1}, y)
			VMOVUPD(Mem{Base: table, Index: other, Scale: 1}, x)
			VPERMPS(Mem{Base: src, Disp: half * v.Bytes}, y, y)
			VPERMPS(Mem{Base: src, Disp: half * v.Bytes}, x, x)
			VMOVUPD(y, Mem{Base: one})
			VMOVUPD(x, Mem{Base: zero})
			POPCNTQ(at, at)
			advance(zero, one, at, 4)
		}
	}
	ADDQ(Imm(64), src)
	INCQ(mask)
	SUBQ(Imm(8), n)
	JMP(LabelRef("loop"))
	Label("done")
	returnCount(zero, start)
	vec.End()
}

// join is the loop of kernels.Join for a multiple of 8 numbers.
func join(v vec.ISA) {
	v.Func("join", "func(dst, zero, one *float64, mask *uint8, n int) int", "merges numbers and returns how many came from zero, see Join.")
	dst := Load(Param("dst"), GP64())
	zero, one := Load(Param("zero"), GP64()), Load(Param("one"), GP64())
	mask, n, start := Load(Param("mask"), GP64()), Load(Param("n"), GP64()), GP64()
	MOVQ(zero, start)
	table := GP64()
	if !v.Wide() {
		LEAQ(spreadLanes(), table)
	}
	Label("loop")
	CMPQ(n, Imm(8))
	JL(LabelRef("done"))
	b := GP64()
	MOVBLZX(Mem{Base: mask}, b.As32())
	if v.Wide() {
		ones, zeros := K(), K()
		KMOVB(b.As32(), ones)
		KNOTB(ones, zeros)
		x, y := v.Reg(), v.Reg()
		VMOVUPD(Mem{Base: zero}, x)
		VMOVUPD(Mem{Base: one}, y)
		VEXPANDPD_Z(x, zeros, x)
		VEXPANDPD(y, ones, x)
		VMOVUPD(x, Mem{Base: dst})
		POPCNTQ(b, b)
		advance(zero, one, b, 8)
	} else {
		for half := range 2 {
			at, other := GP64(), GP64()
			nibble(half, b.As32(), at.As32(), other.As32())
			x, y, set := v.Reg(), v.Reg(), v.Reg()
			VMOVUPD(Mem{Base: table, Index: at, Scale: 1}, set)
			VMOVUPD(Mem{Base: table, Index: other, Scale: 1}, x)
			VPERMPS(Mem{Base: zero}, x, x)
			VPERMPS(Mem{Base: one}, set, y)
			VBLENDVPD(set, y, x, x)
			VMOVUPD(x, Mem{Base: dst, Disp: half * v.Bytes})
			POPCNTQ(at, at)
			advance(zero, one, at, 4)
		}
	}
	ADDQ(Imm(64), dst)
	INCQ(mask)
	SUBQ(Imm(8), n)
	JMP(LabelRef("loop"))
	Label("done")
	returnCount(zero, start)
	vec.End()
}

// returnCount returns how many numbers are from start to end.
func returnCount(end, start Register) {
	SUBQ(start, end)
	SHRQ(Imm(3), end)
	Store(end, ReturnIndex(0))
}

// sumLanes is the loop of kernels.SumLanes, as many sums at a time as a vector has, of which
// there are count.
func sumLanes(v vec.ISA) {
	v.Func("sumLanes", "func(sum, lanes *float64, count int)", "adds up lanes for vectors of sums, see SumLanes.")
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

// sumVectors returns the sums of the lanes of 8 vectors of 512 bits as 8 lanes: of pairs of
// lanes, then twice of pairs of 128 bits.
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

// dots1 is the loop of kernels.Dots for one column and a multiple of 8 rows.
func dots1(v vec.ISA) {
	v.Func("dots1", "func(dst, x, w *float64, rows int)", "multiplies rows of one column by w, see Dots.")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64())
	w, rows := v.Broadcast(Mem{Base: Load(Param("w"), GP64())}), Load(Param("rows"), GP64())
	Label("loop")
	CMPQ(rows, Imm(8))
	JL(LabelRef("done"))
	for at := 0; at < 64; at += v.Bytes {
		y := v.Reg()
		VMULPD(Mem{Base: x, Disp: at}, w, y)
		VMOVUPD(y, Mem{Base: dst, Disp: at})
	}
	ADDQ(Imm(64), x)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(8), rows)
	JMP(LabelRef("loop"))
	Label("done")
	vec.End()
}

// dots2 is the loop of kernels.Dots for two columns and a multiple of 8 rows.
func dots2(v vec.ISA) {
	v.Func("dots2", "func(dst, x, w *float64, rows int)", "multiplies rows of two columns by w, see Dots.")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64())
	at, rows := Load(Param("w"), GP64()), Load(Param("rows"), GP64())
	w := []VecVirtual{v.Broadcast(Mem{Base: at}), v.Broadcast(Mem{Base: at, Disp: 8})}
	var column []VecVirtual
	if v.Wide() {
		for k := range uint64(2) {
			numbers := []uint64{k, k + 2, k + 4, k + 6, k + 8, k + 10, k + 12, k + 14}
			column = append(column, v.Reg())
			VMOVUPD(vec.Table([]string{"evenLanes", "oddLanes"}[k], numbers...), column[k])
		}
	}
	Label("loop")
	CMPQ(rows, Imm(8))
	JL(LabelRef("done"))
	for part := 0; part < 64; part += v.Bytes {
		s := v.Reg()
		if v.Wide() {
			a, b, y := v.Reg(), v.Reg(), v.Reg()
			VMOVUPD(Mem{Base: x}, a)
			VMOVUPD(Mem{Base: x, Disp: 64}, b)
			vec.Move(column[0], s)
			vec.Move(column[1], y)
			VPERMI2PD(b, a, s)
			VPERMI2PD(b, a, y)
			VMULPD(w[0], s, s)
			VFMADD231PD(w[1], y, s)
		} else {
			a, b, y := v.Reg(), v.Reg(), v.Reg()
			VMOVUPD(Mem{Base: x, Disp: 2 * part}, a)
			VMOVUPD(Mem{Base: x, Disp: 2*part + v.Bytes}, b)
			VUNPCKLPD(b, a, s)
			VUNPCKHPD(b, a, y)
			VMULPD(w[0], s, s)
			VFMADD231PD(w[1], y, s)
			VPERMPD(Imm(0xd8), s, s) // rows 0, 2, 1, 3
		}
		VMOVUPD(s, Mem{Base: dst, Disp: part})
	}
	ADDQ(I32(128), x)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(8), rows)
	JMP(LabelRef("loop"))
	Label("done")
	vec.End()
}
