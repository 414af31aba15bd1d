package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// A table by the bits of a vector's lanes: of 8 lanes a byte each, of 4 lanes two 32-bit lane
// numbers each.
func laneTable(v vec.ISA, name string, entry func(set uint64, lanes int) []uint64) Mem {
	n := v.Lanes()
	var words []uint64
	for set := range uint64(1) << n {
		var packed uint64
		for l, at := range entry(set, n) {
			if v.Wide() {
				packed |= at << (8 * l)
				continue
			}
			// The sign says that the lane's bit is set.
			words = append(words, 2*at|(2*at+1)<<32|set>>l&1<<63)
		}
		if v.Wide() {
			words = append(words, packed)
		}
	}
	return vec.Table(name+v.Name, words...)
}

// apart lists the lanes whose bit is 0, then those whose bit is 1 from the last on.
func apart(set uint64, lanes int) []uint64 {
	at := make([]uint64, lanes)
	low, high := 0, lanes-1
	for l := range at {
		if set>>l&1 == 0 {
			at[low] = uint64(l)
			low++
		} else {
			at[high] = uint64(l)
			high--
		}
	}
	return at
}

// together is the inverse of apart, with lanes of the second of two vectors for the bits 1.
func together(set uint64, lanes int) []uint64 {
	at := make([]uint64, lanes)
	for place, l := range apart(set, lanes) {
		at[l] = uint64(place)
	}
	return at
}

// eights is the loop of split and join: for each byte of mask, body handles the lanes of a part
// of 8 numbers, whose bits times the size of an entry of the table are in set.
type eights struct {
	v           vec.ISA
	table, mask Register
	n           Register
}

// each calls body with the addresses of the next numbers of both kinds: the low ones go up from
// low, the high ones down from high. It returns how many are low.
func (l eights) each(low, high Register, body func(part int, entry, low, high Mem), next func()) {
	v, start, ones := l.v, GP64(), GP64()
	MOVQ(low, start)
	XORQ(ones, ones) // less than 0: a low number stays behind by one place for each
	SHRQ(Imm(3), l.n)
	JZ(LabelRef("done"))
	Label("loop")
	b := GP64()
	MOVBLZX(Mem{Base: l.mask}, b.As32())
	for part := range 8 / v.Lanes() {
		set := b
		entry := Mem{Base: l.table, Index: b, Scale: 8}
		if !v.Wide() {
			set = GP64()
			MOVL(b.As32(), set.As32())
			if part == 0 {
				ANDL(Imm(15), set.As32())
			} else {
				SHRL(Imm(4), set.As32())
			}
			SHLL(Imm(5), set.As32()) // entries of 32 bytes
			entry = Mem{Base: l.table, Index: set, Scale: 1}
		}
		body(part, entry, Mem{Base: low, Index: ones, Scale: 8, Disp: part * v.Bytes}, Mem{Base: high, Index: ones, Scale: 8, Disp: -v.Bytes})
		count := GP64()
		POPCNTQ(set, count)
		SUBQ(count, ones)
	}
	next()
	ADDQ(Imm(64), low)
	INCQ(l.mask)
	DECQ(l.n)
	JNZ(LabelRef("loop"))
	Label("done")
	SUBQ(start, low)
	SHRQ(Imm(3), low)
	ADDQ(ones, low)
	Store(low, ReturnIndex(0))
	vec.End()
}

// split is the loop of kernels.Split for a multiple of 8 numbers: one permutation of a vector,
// written whole to both ends, of which the next one overwrites what does not belong there.
func split(v vec.ISA) {
	v.Func("split", "func(dst, src *float64, mask *uint8, size, n int) int", "separates numbers and returns how many have the bit 0, see Split. size is that of dst.")
	low, high := Load(Param("dst"), GP64()), Load(Param("size"), GP64())
	LEAQ(Mem{Base: low, Index: high, Scale: 8}, high)
	src := Load(Param("src"), GP64())
	l := eights{v: v, mask: Load(Param("mask"), GP64()), n: Load(Param("n"), GP64()), table: GP64()}
	LEAQ(laneTable(v, "apart", apart), l.table)
	l.each(low, high, func(part int, entry, low, high Mem) {
		x, at := v.Reg(), v.Reg()
		if v.Wide() {
			VPMOVZXBQ(entry, at)
			VPERMPD(Mem{Base: src}, at, x)
		} else {
			VMOVUPD(entry, at)
			VPERMPS(Mem{Base: src, Disp: part * v.Bytes}, at, x)
		}
		VMOVUPD(x, low)
		VMOVUPD(x, high)
	}, func() { ADDQ(Imm(64), src) })
}

// join is the loop of kernels.Join for a multiple of 8 numbers.
func join(v vec.ISA) {
	v.Func("join", "func(dst, src *float64, mask *uint8, size, n int) int", "is the way back of split, see Join. size is that of src.")
	dst := Load(Param("dst"), GP64())
	low, high := Load(Param("src"), GP64()), Load(Param("size"), GP64())
	LEAQ(Mem{Base: low, Index: high, Scale: 8}, high)
	l := eights{v: v, mask: Load(Param("mask"), GP64()), n: Load(Param("n"), GP64()), table: GP64()}
	LEAQ(laneTable(v, "together", func(set uint64, lanes int) []uint64 {
		at := together(set, lanes)
		for l := range at {
			if v.Wide() && set>>l&1 == 1 {
				at[l] += uint64(lanes) // of the second source
			}
		}
		return at
	}), l.table)
	l.each(low, high, func(part int, entry, low, high Mem) {
		x, at := v.Reg(), v.Reg()
		if v.Wide() {
			VPMOVZXBQ(entry, at)
			VMOVUPD(low, x)
			VPERMT2PD(high, at, x)
		} else {
			y := v.Reg()
			VMOVUPD(entry, at)
			VPERMPS(low, at, x)
			VPERMPS(high, at, y)
			VBLENDVPD(at, y, x, x)
		}
		VMOVUPD(x, Mem{Base: dst, Disp: part * v.Bytes})
	}, func() { ADDQ(Imm(64), dst) })
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
