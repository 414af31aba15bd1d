package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// laneTable returns a table of lane numbers. Its index has one bit for each lane of a vector.
// With 8 lanes an entry has one byte for each lane, and with 4 lanes it has two 32-bit
// numbers for each lane.
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
			// The sign is set if the lane's bit is.
			words = append(words, 2*at|(2*at+1)<<32|set>>l&1<<63)
		}
		if v.Wide() {
			words = append(words, packed)
		}
	}
	return vec.Table(name+v.Name, words...)
}

// apart lists the lanes whose bit is 0 in increasing order, and then the lanes whose bit is 1 in decreasing order.
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

// together is the inverse of apart. Lanes whose bit is 1 come from the second of two vectors.
func together(set uint64, lanes int) []uint64 {
	at := make([]uint64, lanes)
	for place, l := range apart(set, lanes) {
		at[l] = uint64(place)
	}
	return at
}

// eights is the loop of split and join. For each byte of mask, it calls body for every vector
// of the 8 numbers, with the table entry for the bits of this vector.
type eights struct {
	v           vec.ISA
	table, mask Register
	n           Register
}

// each calls body with the addresses of the next low and high numbers. Addresses of low numbers
// increase from low on, and addresses of high numbers decrease from high on. each returns how
// many numbers are low.
func (l eights) each(low, high Register, body func(part int, entry, low, high Mem), next func()) {
	v, start, ones := l.v, GP64(), GP64()
	MOVQ(low, start)
	XORQ(ones, ones) // minus the number of bits 1: the next low place is behind by this number
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
		body(part, entry, Mem{Base: low, Index: ones, Scale: 8, Disp: part * v.Bytes},
			Mem{Base: high, Index: ones, Scale: 8, Disp: -v.Bytes})
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

// split is the loop of kernels.splitByMask for a multiple of 8 numbers. It permutes a vector once
// and writes the whole vector to both ends. The next vector overwrites the excess.
func split(v vec.ISA) {
	v.Func("split", "func(dst, src *float64, mask *uint8, size, n int) int",
		"separates numbers and returns how many have the bit 0, see splitByMask. size is the length of dst.")
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

// join is the loop of kernels.join for a multiple of 8 numbers.
func join(v vec.ISA) {
	v.Func("join", "func(dst, src *float64, mask *uint8, size, n int) int",
		"is the way back of split, see join. size is the length of src.")
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
