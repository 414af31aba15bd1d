package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"asm/vec"
)

// peak generates n rounds of 12 independent fused multiply-adds of vectors of zeros.
func peak(v vec.ISA, e element) {
	v.Func("peak"+e.suffix, "func(n int)", "runs n rounds of peakRound multiply-adds, see Set.Peak"+e.suffix+".")
	n := Load(Param("n"), RCX)
	z := physical(v)
	for i := range 14 {
		if v.Wide() {
			VPXORQ(z[i], z[i], z[i])
		} else {
			VXORPD(z[i], z[i], z[i])
		}
	}
	Label("loop")
	for i := range 12 {
		e.fma231(z[12], z[13], z[i])
	}
	DECQ(n)
	JG(LabelRef("loop"))
	vec.End()
}
