package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// kind describes the rows of a matrix. If gather is true, 32-bit numbers select the rows;
// otherwise the rows follow each other. If narrow is true, the rows are float32 and are
// converted when they are read; otherwise they are float64.
type kind struct{ gather, narrow bool }

// kinds lists the kinds of rows for which there are kernels.
var kinds = []kind{{}, {gather: true}, {narrow: true}, {gather: true, narrow: true}}

// name returns the name of a kernel for these rows.
func (k kind) name(name string) string {
	upper := strings.ToUpper(name[:1]) + name[1:]
	switch {
	case k.gather && k.narrow:
		return "gatherNarrow" + upper
	case k.gather:
		return "gather" + upper
	case k.narrow:
		return "narrow" + upper
	}
	return name
}

// see returns the names of the documented functions that a kernel implements.
func (k kind) see(name string) string {
	if k.narrow {
		return "Narrow" + name + " and GatherNarrow" + name
	}
	return name + " and Gather" + name
}

// rowsOf emits addresses of the rows of a matrix, and reads their numbers. stride is in bytes.
type rowsOf struct {
	kind
	v         vec.ISA
	x, stride Register
	index     Register // nil if the rows follow each other
}

// bytes returns the size of a number.
func (r rowsOf) bytes() int {
	if r.narrow {
		return 4
	}
	return 8
}

// at returns the address of number k of a row, and disp returns the address of vector i.
func (r rowsOf) at(base, k Register) Mem { return Mem{Base: base, Index: k, Scale: uint8(r.bytes())} }
func (r rowsOf) disp(base Register, i int) Mem {
	return Mem{Base: base, Disp: i * r.v.Lanes() * r.bytes()}
}

// Rows of float32 may lie in a large file, on pages of 4 KB. Hardware prefetching stops at the end of a
// page, so rows are prefetched explicitly. If rows follow each other, the kernels prefetch memory
// aheadBytes ahead; a prefetch beyond the last row is not a fault. If rows are selected, the kernels
// prefetch rows that come aheadRows later in the list.
const (
	aheadBytes = 3 << 10
	aheadRows  = 32
)

// ask prefetches count rows that come later in the list of selected rows. rows holds the number of remaining rows.
func (r rowsOf) ask(rows Register, count int, label string) {
	if !r.narrow || !r.gather {
		return
	}
	CMPQ(rows, I32(aheadRows+count))
	JL(LabelRef(label))
	for i := range count {
		p := GP64()
		MOVLQSX(Mem{Base: r.index, Disp: 4 * (aheadRows + i)}, p)
		IMULQ(r.stride, p)
		PREFETCHT0(Mem{Base: r.x, Index: p, Scale: 1})
		PREFETCHT0(Mem{Base: r.x, Index: p, Scale: 1, Disp: 64})
	}
	Label(label)
}

// mulAdd adds c times the vector at m to s.
func (r rowsOf) mulAdd(m Mem, c, s VecVirtual) {
	if !r.narrow {
		VFMADD231PD(m, c, s)
		return
	}
	if !r.gather {
		next := m
		next.Disp += aheadBytes
		PREFETCHT0(next)
	}
	x := r.v.Reg()
	VCVTPS2PD(m, x)
	VFMADD231PD(x, c, s)
}

// load reads the last numbers of a row.
func (r rowsOf) load(t vec.Tail, m Mem, dst VecVirtual) {
	if r.narrow {
		t.Widen(m, dst)
	} else {
		t.Load(m, dst)
	}
}

// tail selects the last numbers of a row.
func (r rowsOf) tail(n Register) vec.Tail {
	t := r.v.Tail(n)
	if r.narrow {
		t = t.Narrow(n)
	}
	return t
}

// next sets p[0], p[1], ... to the next rows. There may be at most 4.
func (r rowsOf) next(p []GPVirtual) {
	for i := range p {
		if r.index == nil {
			MOVQ(r.x, p[i])
			ADDQ(r.stride, r.x)
			continue
		}
		MOVLQSX(Mem{Base: r.index, Disp: 4 * i}, p[i])
		IMULQ(r.stride, p[i])
		ADDQ(r.x, p[i])
	}
	if r.index != nil {
		ADDQ(I32(4*len(p)), r.index)
	}
}

func loadRows(v vec.ISA, k kind) rowsOf {
	r := rowsOf{kind: k, v: v, x: Load(Param("x"), GP64()), stride: Load(Param("stride"), GP64())}
	shift := uint64(3)
	if r.narrow {
		shift = 2
	}
	SHLQ(Imm(shift), r.stride)
	if k.gather {
		r.index = Load(Param("index"), GP64())
	}
	return r
}

// dot is the loop of kernels.Dot, with four partial sums.
func dot(v vec.ISA) {
	v.Func("dot", "func(x, y *float64, n int) float64", "returns the sum of x_k y_k, see Dot.")
	x, y, n := Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	s := v.Regs(4)
	v.Zero(s...)
	for _, blocks := range []int{4, 1} {
		loop, end := fmt.Sprintf("by%d", blocks), fmt.Sprintf("by%dend", blocks)
		Label(loop)
		CMPQ(n, I32(blocks*v.Lanes()))
		JL(LabelRef(end))
		a := v.Regs(blocks)
		for k := range a {
			VMOVUPD(Mem{Base: x, Disp: k * v.Bytes}, a[k])
		}
		for k := range a {
			VFMADD231PD(Mem{Base: y, Disp: k * v.Bytes}, a[k], s[k])
		}
		ADDQ(I32(blocks*v.Bytes), x)
		ADDQ(I32(blocks*v.Bytes), y)
		SUBQ(I32(blocks*v.Lanes()), n)
		JMP(LabelRef(loop))
		Label(end)
	}
	TESTQ(n, n)
	JZ(LabelRef("join"))
	tail, a, b := v.Tail(n), v.Reg(), v.Reg()
	tail.Load(Mem{Base: x}, a)
	tail.Load(Mem{Base: y}, b)
	VFMADD231PD(a, b, s[1])
	Label("join")
	VADDPD(s[0], s[1], s[0])
	VADDPD(s[2], s[3], s[2])
	VADDPD(s[0], s[2], s[0])
	Store(v.HSum(s[0]), ReturnIndex(0))
	vec.End()
}

// dots is the loop of kernels.Dots, GatherDots, NarrowDots or GatherNarrowDots for up to
// vec.ISA.Lanes()*64 columns. It adds the products to dst, or to zero if add is 0. So dst need not be
// cleared before the first columns, and -0 becomes 0 as it would in a cleared dst. The loop processes
// four rows at a time, and then single rows.
func dots(v vec.ISA, kd kind) {
	params := "func(dst, x, w *float64, rows, d, stride, add int)"
	switch {
	case kd.gather && kd.narrow:
		params = "func(dst *float64, x *float32, w *float64, index *int32, rows, d, stride, add int)"
	case kd.gather:
		params = "func(dst, x, w *float64, index *int32, rows, d, stride, add int)"
	case kd.narrow:
		params = "func(dst *float64, x *float32, w *float64, rows, d, stride, add int)"
	}
	v.Func(kd.name("dots"), params, "adds the products of rows with w, see "+kd.see("Dots")+".")
	dst, w := Load(Param("dst"), GP64()), Load(Param("w"), GP64())
	rows, full := Load(Param("rows"), GP64()), Load(Param("d"), GP64())
	r := loadRows(v, kd)
	rest := GP64()
	MOVQ(full, rest)
	ANDQ(I32(v.Lanes()-1), rest)
	SUBQ(rest, full)
	tail := r.tail(rest)
	k := GP64()

	products := func(name string, count int) []VecVirtual {
		s, p := v.Regs(count), make([]GPVirtual, count)
		for i := range p {
			p[i] = GP64()
		}
		r.ask(rows, count, "asked"+name)
		r.next(p)
		v.Zero(s...)
		XORQ(k, k)
		at := func(base Register) Mem { return Mem{Base: base, Index: k, Scale: 8} }
		Label("columns" + name)
		CMPQ(k, full)
		JGE(LabelRef("tail" + name))
		wk := v.Reg()
		VMOVUPD(at(w), wk)
		for i := range s {
			r.mulAdd(r.at(p[i], k), wk, s[i])
		}
		ADDQ(I32(v.Lanes()), k)
		JMP(LabelRef("columns" + name))
		Label("tail" + name)
		TESTQ(rest, rest)
		JZ(LabelRef("join" + name))
		wk = v.Reg()
		tail.Load(at(w), wk)
		for i := range s {
			x := v.Reg()
			r.load(tail, r.at(p[i], k), x)
			VFMADD231PD(x, wk, s[i])
		}
		Label("join" + name)
		return s
	}

	// finish emits the addition to dst, with a label such as add4.
	finish := func(name string, sum func(first bool)) {
		add := GP64()
		Load(Param("add"), add)
		TESTQ(add, add)
		JNZ(LabelRef("add" + name))
		sum(true)
		JMP(LabelRef("added" + name))
		Label("add" + name)
		sum(false)
		Label("added" + name)
	}
	Label("rows4")
	CMPQ(rows, Imm(4))
	JL(LabelRef("rows1"))
	s := v.HSum4(products("4", 4))
	finish("4", func(first bool) {
		if first {
			zero := YMM()
			VXORPD(zero, zero, zero)
			VADDPD(zero, s, s)
		} else {
			VADDPD(Mem{Base: dst}, s, s)
		}
	})
	VMOVUPD(s, Mem{Base: dst})
	ADDQ(Imm(32), dst)
	SUBQ(Imm(4), rows)
	JMP(LabelRef("rows4"))
	Label("rows1")
	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	s = v.HSum(products("1", 1)[0])
	finish("1", func(first bool) {
		if first {
			zero := XMM()
			VXORPD(zero, zero, zero)
			VADDSD(zero, s, s)
		} else {
			VADDSD(Mem{Base: dst}, s, s)
		}
	})
	VMOVSD(s, Mem{Base: dst})
	ADDQ(Imm(8), dst)
	DECQ(rows)
	JMP(LabelRef("rows1"))
	Label("done")
	vec.End()
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
