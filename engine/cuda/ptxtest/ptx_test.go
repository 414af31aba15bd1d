package ptxtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/kernels"
)

func TestParseKernels(t *testing.T) {
	for program, names := range map[string][]string{
		"rows":       {"scores", "weighted_sums", "combine"},
		"score":      {"exponentials", "logistic_tiles", "split", "coefficients"},
		"spliced":    {"pair_tiles"},
		"nearlinear": {"score_moments", "moments", "weighted_moments", "class_moments", "expand", "series", "weigh", "weighted_series"},
	} {
		m := must.Get(Parse(kernels.PTX(program)))(t)
		for _, name := range names {
			if m.kernels[name] == nil {
				t.Errorf("%s has no kernel %s", program, name)
			}
		}
	}
}

// program wraps statements into a kernel of 64 threads with one parameter and 64
// words of shared memory.
func program(body string) string {
	return ".version 7.0\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 64, 1, 1\n{\n" +
		"\t.reg .pred %p<4>;\n\t.reg .b32 %r<9>;\n\t.reg .f32 %f<9>;\n\t.reg .b64 %rd<9>;\n\t.shared .align 4 .b8 part[256];\n" +
		"\tld.param.u64 %rd0, [k_param_0];\n\tmov.u32 %r0, %tid.x;\n\tmul.wide.u32 %rd1, %r0, 4;\n\tadd.s64 %rd2, %rd0, %rd1;\n" +
		"\tmov.u64 %rd3, part;\n\tadd.s64 %rd4, %rd3, %rd1;\n" + body + "\n\tret;\n}\n"
}

// TestFaultsAreFound: what a GPU would do silently is an error here.
func TestFaultsAreFound(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"correct", "st.shared.u32 [%rd4], %r0;\nbar.sync 0;\nld.shared.u32 %r1, [%rd3+4];\nst.global.u32 [%rd2], %r1;", ""},
		{"unset register", "add.s32 %r1, %r0, %r2;", "not set"},
		{"unset predicate", "@%p1 mov.u32 %r1, 1;", "not set"},
		{"unset value of a store", "st.global.u32 [%rd2], %r3;", "not set"},
		{"out of bounds", "st.global.u32 [%rd2+4], %r0;", "outside of every buffer"},
		{"below the buffer", "sub.s64 %rd5, %rd2, 4;\nld.global.u32 %r1, [%rd5];", "outside of every buffer"},
		{"not aligned", "ld.global.u32 %r1, [%rd2+2];", "not aligned"},
		{"outside shared", "st.shared.u32 [%rd4+4], %r0;", "outside of shared memory"},
		{"unwritten shared", "ld.shared.u32 %r1, [%rd4];", "never written"},
		{"race", "st.shared.u32 [%rd4], %r0;\nbar.sync 0;\nst.shared.u32 [%rd4], %r0;\nld.shared.u32 %r1, [%rd3+4];", "without a barrier"},
		{"race after reading", "st.shared.u32 [%rd4], %r0;\nbar.sync 0;\nld.shared.u32 %r1, [%rd3+4];\nst.shared.u32 [%rd4], %r1;", "without a barrier"},
		{"divergence", "setp.lt.u32 %p0, %r0, 7;\n@%p0 bra $end;\nbar.sync 0;\n$end:", "reach the barrier"},
		{"two barriers", "setp.lt.u32 %p0, %r0, 7;\n@%p0 bra $other;\nbar.sync 0;\nret;\n$other:\nbar.sync 0;", "barriers of lines"},
		{"unknown instruction", "frobnicate.f32 %f0, %f1;", "unknown instruction"},
		{"undeclared register", "mov.u32 %r9, 1;", "not declared"},
		{"missing label", "bra $nowhere;", "no label"},
	} {
		Fault(t, c.name, program(c.body), nil, c.want, func(k *Kit) error { return k.Run(k.Module, "k", 1, 1, k.Alloc(256)) })
	}
}

// TestScopes: a block declares its registers anew.
func TestScopes(t *testing.T) {
	body := "{\n.reg .f32 %phi<2>;\nmov.f32 %phi0, 0f3F800000;\nmov.f32 %f0, %phi0;\n}\n{\n.reg .f32 %phi<2>;\nmov.f32 %f1, %phi0;\n}"
	m := must.Get(Parse(program(body)))(t)
	var machine Machine
	must.FailDo(t, machine.Run(m, "k", 1, 1, machine.Alloc(256)), "not set", "a register of another block was found")
}

// TestFused compares with exact arithmetic where float64 does not round twice, and at
// a case where it does.
func TestFused(t *testing.T) {
	// 1 + 2^-24 + 2^-60 rounds up; rounded to float64 first it is a tie, down.
	a, b, c := float32(0x1p-30), float32(0x1p-30), float32(1+0x1p-23)
	must.Equal(t, fused(a, b, c), c, "got")
	if got, naive := fused(0x1.000002p-24, 0x1.fffffep-1, 1), float32(math.FMA(0x1.000002p-24, 0x1.fffffep-1, 1)); got != 1+0x1p-23 || naive != 1 && naive != got {
		t.Errorf("got %x, naive %x", got, naive)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		a, b, c := float32(rng.IntN(1<<12)), float32(rng.IntN(1<<12)), float32(rng.IntN(1<<23))
		if got := fused(a, b, c); got != float32(int64(a)*int64(b)+int64(c)) {
			t.Fatalf("%v %v %v: %v", a, b, c, got)
		}
	}
}

// TestSkew: the error of approximate instructions is as large as documented, and not
// larger; twice the error is.
func TestSkew(t *testing.T) {
	exact := map[string]func(float64) float64{"rcp.approx.ftz.f32": func(v float64) float64 { return 1 / v }, "ex2.approx.ftz.f32": math.Exp2}
	for name, largest := range map[string]float64{"rcp.approx.ftz.f32": kernels.ReciprocalError, "ex2.approx.ftz.f32": kernels.ExponentError} {
		for _, skew := range []float64{0, 1, -1, 2, -2} {
			f := approximate(name, skew)
			var worst float64
			rng := rand.New(rand.NewPCG(3, 4))
			for range 20000 {
				v := float32(1 + 10*rng.Float64())
				want := exact[name](float64(v))
				worst = max(worst, math.Abs(float64(f32(f(bits32(v), 0, 0)))/want-1))
			}
			lo, hi := 0.9*largest*math.Abs(skew)*2/3, largest
			if math.Abs(skew) == 2 {
				lo, hi = largest, 2*largest
			}
			if worst > hi || worst < lo {
				t.Errorf("%s, skew %v: relative error %g, want %g to %g", name, skew, worst, lo, hi)
			}
		}
	}
}

// TestConversions: float64 to integers as the manual says, and comparisons with NaN.
func TestConversions(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want int64
	}{{1.9, 1}, {-1.9, -1}, {-0.5, 0}, {0x1p62, 1 << 62}, {1e300, math.MaxInt64}, {-1e300, math.MinInt64}, {math.NaN(), math.MinInt64}} {
		must.Equal(t, int64(operations["cvt.rzi.s64.f64"](bits64(c.v), 0, 0)), c.want, "%v", c.v)
	}
	nan, one := bits64(math.NaN()), bits64(1)
	for name, want := range map[string]uint64{"le": 0, "leu": 1, "gt": 0, "gtu": 1, "lt": 0, "ltu": 1, "ge": 0, "geu": 1} {
		must.Equal(t, operations["setp."+name+".f64"](nan, one, 0), want, "setp.%s of NaN", name)
	}
	if f := operations["setp.leu.f64"]; f(one, bits64(2), 0) != 1 || f(bits64(2), one, 0) != 0 {
		t.Error("setp.leu of numbers is wrong")
	}
}

// TestDisturb: results are off by the units asked for, to both sides.
func TestDisturb(t *testing.T) {
	f := disturb(operations["add.rn.f64"], 2)
	up, down := 0, 0
	for i := range 1000 {
		v := 1 + float64(i)/1024
		switch got := f64(f(bits64(v), bits64(0.25), 0)) - (v + 0.25); {
		case got == 0x1p-51 || got == 0x1p-50:
			up++
		case got == -0x1p-51 || got == -0x1p-50:
			down++
		default:
			t.Fatalf("off by %g", got)
		}
	}
	if up < 300 || down < 300 {
		t.Errorf("%d up and %d down", up, down)
	}
}
