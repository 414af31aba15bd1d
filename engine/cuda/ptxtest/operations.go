package ptxtest

import (
	"math"

	"dyad/kernels"
)

func f32(v uint64) float32    { return math.Float32frombits(uint32(v)) }
func f64(v uint64) float64    { return math.Float64frombits(v) }
func bits32(v float32) uint64 { return uint64(math.Float32bits(v)) }
func bits64(v float64) uint64 { return math.Float64bits(v) }

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// flush is the .ftz modifier. It returns a zero with the same sign for a subnormal number.
func flush(v float32) float32 {
	if v != 0 && v > -0x1p-126 && v < 0x1p-126 {
		return float32(math.Copysign(0, float64(v)))
	}
	return v
}

// saturate is the .sat modifier, which clamps to [0, 1].
func saturate(v float32) float32 {
	if !(v > 0) { // or NaN
		return 0
	}
	return min(v, 1)
}

// fused returns a b + c, rounded once. The float64 product is exact, and the sum is rounded to odd, so that the
// conversion to float32 rounds correctly.
func fused(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	t := s - p
	e := (p - (s - t)) + (q - t)
	if e != 0 && math.Float64bits(s)&1 == 0 {
		s = math.Nextafter(s, math.Copysign(math.Inf(1), e))
	}
	return float32(s)
}

func fusedSaturated(a, b, c uint64) uint64 {
	return bits32(saturate(flush(fused(flush(f32(a)), flush(f32(b)), flush(f32(c))))))
}

// maximum and minimum return the other operand if one operand is NaN.
func maximum[T float32 | float64](a, b T) T {
	if a != a || b > a {
		return b
	}
	return a
}

func minimum[T float32 | float64](a, b T) T {
	if a != a || b < a {
		return b
	}
	return a
}

// truncate converts v to a signed integer of 64 bits, with saturation. NaN becomes the smallest integer.
func truncate(v float64) uint64 {
	switch {
	case v >= 0x1p63:
		return math.MaxInt64
	case !(v >= -0x1p63):
		return 1 << 63
	}
	return uint64(int64(v))
}

// disturb moves the result of an instruction that rounds float64 by ulps units in the last place. The bits of
// the operands choose the direction.
func disturb(f op, ulps int) op {
	return func(a, b, c uint64) uint64 {
		v := f64(f(a, b, c))
		h := (a ^ b*0x9e3779b97f4a7c15 ^ c*0xc2b2ae3d27d4eb4f) * 0xd6e8feb86659fd93
		to := math.Inf(1 - 2*int(h>>63))
		for range ulps {
			if v == 0 || math.IsInf(v, 0) {
				break
			}
			v = math.Nextafter(v, to)
		}
		return bits64(v)
	}
}

// divide returns a / b. For b = 0 PTX defines no result, and divide returns the largest uint32.
func divide(a, b uint32) uint32 {
	if b == 0 {
		return math.MaxUint32
	}
	return a / b
}

// nearestInt rounds to the nearest integer, ties to even, and clamps. NaN becomes 0.
func nearestInt(v float64) uint64 {
	switch r := math.RoundToEven(v); {
	case r != r:
		return 0
	case r >= 0x1p63:
		return math.MaxInt64
	case r < -0x1p63:
		return 1 << 63
	default:
		return uint64(int64(r))
	}
}

type op = func(a, b, c uint64) uint64

func u32op(f func(a, b uint32) uint32) op {
	return func(a, b, _ uint64) uint64 { return uint64(f(uint32(a), uint32(b))) }
}

func f32op(f func(a, b float32) float32) op {
	return func(a, b, _ uint64) uint64 { return bits32(f(f32(a), f32(b))) }
}

func f64op(f func(a, b float64) float64) op {
	return func(a, b, _ uint64) uint64 { return bits64(f(f64(a), f64(b))) }
}

func copyOp(a, _, _ uint64) uint64 { return a }

// copy32 copies the lower 32 bits of a register and clears the upper half.
func copy32(a, _, _ uint64) uint64 { return uint64(uint32(a)) }

// compare returns the setp instructions of a type, by the name of the comparison.
func compare[T int32 | uint32 | int64 | uint64 | float32 | float64](of func(uint64) T) map[string]op {
	return map[string]op{
		"lt": func(a, b, _ uint64) uint64 { return truth(of(a) < of(b)) },
		"le": func(a, b, _ uint64) uint64 { return truth(of(a) <= of(b)) },
		"gt": func(a, b, _ uint64) uint64 { return truth(of(a) > of(b)) },
		"ge": func(a, b, _ uint64) uint64 { return truth(of(a) >= of(b)) },
		"eq": func(a, b, _ uint64) uint64 { return truth(of(a) == of(b)) },
		"ne": func(a, b, _ uint64) uint64 { x, y := of(a), of(b); return truth(x < y || x > y) },
		// The following are also true if an operand is NaN.
		"ltu": func(a, b, _ uint64) uint64 { return truth(!(of(a) >= of(b))) },
		"leu": func(a, b, _ uint64) uint64 { return truth(!(of(a) > of(b))) },
		"gtu": func(a, b, _ uint64) uint64 { return truth(!(of(a) <= of(b))) },
		"geu": func(a, b, _ uint64) uint64 { return truth(!(of(a) < of(b))) },
		"neu": func(a, b, _ uint64) uint64 { return truth(of(a) != of(b)) },
		"equ": func(a, b, _ uint64) uint64 { x, y := of(a), of(b); return truth(!(x < y || x > y)) },
	}
}

// operations holds the instructions without memory access, by their full names.
var operations = build()

func build() map[string]op {
	ops := map[string]op{
		"mov.u32": copy32, "mov.b32": copy32, "mov.f32": copy32, "mov.u64": copyOp, "mov.b64": copyOp, "mov.f64": copyOp,
		"mov.pred":           copyOp,
		"cvta.to.global.u64": copyOp, "cvta.global.u64": copyOp,
		"add.s32":    u32op(func(a, b uint32) uint32 { return a + b }),
		"sub.s32":    u32op(func(a, b uint32) uint32 { return a - b }),
		"mul.lo.s32": u32op(func(a, b uint32) uint32 { return a * b }),
		"div.u32":    u32op(divide),
		"rem.u32":    u32op(func(a, b uint32) uint32 { return a - divide(a, b)*b }),
		"neg.s32":    u32op(func(a, _ uint32) uint32 { return -a }),
		"and.b32":    u32op(func(a, b uint32) uint32 { return a & b }),
		"or.b32":     u32op(func(a, b uint32) uint32 { return a | b }),
		"not.b32":    u32op(func(a, _ uint32) uint32 { return ^a }),
		"xor.b32":    u32op(func(a, b uint32) uint32 { return a ^ b }),
		"shl.b32":    u32op(func(a, b uint32) uint32 { return a << b }),
		"shr.u32":    u32op(func(a, b uint32) uint32 { return a >> b }),
		"bfe.u32": func(a, b, c uint64) uint64 {
			return uint64(uint32(a)) >> (b & 255) & (1<<(c&255) - 1)
		},
		"cvt.rn.bf16x2.f32": func(a, b, _ uint64) uint64 { return uint64(bf16(f32(a)))<<16 | uint64(bf16(f32(b))) },
		"min.u32":           u32op(func(a, b uint32) uint32 { return min(a, b) }),
		"max.u32":           u32op(func(a, b uint32) uint32 { return max(a, b) }),
		"min.s32":           u32op(func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }),
		"max.s32":           u32op(func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }),
		"add.s64":           func(a, b, _ uint64) uint64 { return a + b },
		"sub.s64":           func(a, b, _ uint64) uint64 { return a - b },
		"neg.s64":           func(a, _, _ uint64) uint64 { return -a },
		"mul.lo.s64":        func(a, b, _ uint64) uint64 { return a * b },
		"mul.wide.u32":      func(a, b, _ uint64) uint64 { return uint64(uint32(a)) * uint64(uint32(b)) },
		"mul.wide.s32":      func(a, b, _ uint64) uint64 { return uint64(int64(int32(a)) * int64(int32(b))) },
		"mad.lo.s32":        func(a, b, c uint64) uint64 { return uint64(uint32(a)*uint32(b) + uint32(c)) },
		"mad.lo.s64":        func(a, b, c uint64) uint64 { return a*b + c },
		"and.b64":           func(a, b, _ uint64) uint64 { return a & b },
		"or.b64":            func(a, b, _ uint64) uint64 { return a | b },
		"shl.b64":           func(a, b, _ uint64) uint64 { return a << uint32(b) },
		"shr.u64":           func(a, b, _ uint64) uint64 { return a >> uint32(b) },
		"min.u64":           func(a, b, _ uint64) uint64 { return min(a, b) },
		"max.u64":           func(a, b, _ uint64) uint64 { return max(a, b) },
		"and.pred":          func(a, b, _ uint64) uint64 { return a & b },
		"or.pred":           func(a, b, _ uint64) uint64 { return a | b },
		"not.pred":          func(a, _, _ uint64) uint64 { return 1 - a },

		"cvt.u64.u32": copy32, "cvt.u32.u64": copy32,
		"cvt.s64.s32":     func(a, _, _ uint64) uint64 { return uint64(int64(int32(a))) },
		"cvt.rn.f32.f64":  func(a, _, _ uint64) uint64 { return bits32(float32(f64(a))) },
		"cvt.f64.f32":     func(a, _, _ uint64) uint64 { return bits64(float64(f32(a))) },
		"cvt.rn.f64.s64":  func(a, _, _ uint64) uint64 { return bits64(float64(int64(a))) },
		"cvt.rn.f64.s32":  func(a, _, _ uint64) uint64 { return bits64(float64(int32(a))) },
		"cvt.rn.f64.u32":  func(a, _, _ uint64) uint64 { return bits64(float64(uint32(a))) },
		"cvt.rni.s64.f32": func(a, _, _ uint64) uint64 { return nearestInt(float64(f32(a))) },
		"cvt.rni.s64.f64": func(a, _, _ uint64) uint64 { return nearestInt(f64(a)) },
		"cvt.rn.f64.u64":  func(a, _, _ uint64) uint64 { return bits64(float64(a)) },

		"cvt.rzi.s64.f64": func(a, _, _ uint64) uint64 { return truncate(f64(a)) },

		"fma.rn.f64":         func(a, b, c uint64) uint64 { return bits64(math.FMA(f64(a), f64(b), f64(c))) },
		"add.rn.f64":         f64op(func(a, b float64) float64 { return a + b }),
		"sub.rn.f64":         f64op(func(a, b float64) float64 { return a - b }),
		"mul.rn.f64":         f64op(func(a, b float64) float64 { return a * b }),
		"div.rn.f64":         f64op(func(a, b float64) float64 { return a / b }),
		"sqrt.rn.f64":        f64op(func(a, _ float64) float64 { return math.Sqrt(a) }),
		"min.f64":            f64op(minimum[float64]),
		"max.f64":            f64op(maximum[float64]),
		"abs.f64":            f64op(func(a, _ float64) float64 { return math.Abs(a) }),
		"neg.f64":            f64op(func(a, _ float64) float64 { return -a }),
		"add.rn.f32":         f32op(func(a, b float32) float32 { return a + b }),
		"sub.rn.f32":         f32op(func(a, b float32) float32 { return a - b }),
		"mul.rn.f32":         f32op(func(a, b float32) float32 { return a * b }),
		"neg.f32":            f32op(func(a, _ float32) float32 { return -a }),
		"abs.f32":            f32op(func(a, _ float32) float32 { return float32(math.Abs(float64(a))) }),
		"max.f32":            f32op(maximum[float32]),
		"min.f32":            f32op(minimum[float32]),
		"sqrt.rn.f32":        f32op(func(a, _ float32) float32 { return float32(math.Sqrt(float64(a))) }),
		"div.rn.f32":         f32op(func(a, b float32) float32 { return a / b }),
		"rcp.rn.f32":         f32op(func(a, _ float32) float32 { return 1 / a }),
		"fma.rn.f32":         func(a, b, c uint64) uint64 { return bits32(fused(f32(a), f32(b), f32(c))) },
		"fma.rn.ftz.sat.f32": fusedSaturated,

		// Machine replaces these instructions, because it knows the error to add.
		"rcp.approx.ftz.f32": nil, "ex2.approx.ftz.f32": nil, "lg2.approx.ftz.f32": nil,
	}
	for _, name := range []string{"selp.b32", "selp.u32", "selp.f32"} {
		ops[name] = func(a, b, c uint64) uint64 {
			if c == 0 {
				a = b
			}
			return uint64(uint32(a))
		}
	}
	for _, name := range []string{"selp.b64", "selp.f64"} {
		ops[name] = func(a, b, c uint64) uint64 {
			if c == 0 {
				return b
			}
			return a
		}
	}
	add := func(suffix string, m map[string]op) {
		for name, f := range m {
			ops["setp."+name+"."+suffix] = f
		}
	}
	add("u32", compare(func(v uint64) uint32 { return uint32(v) }))
	add("s32", compare(func(v uint64) int32 { return int32(v) }))
	add("b32", compare(func(v uint64) uint32 { return uint32(v) }))
	add("u64", compare(func(v uint64) uint64 { return v }))
	add("s64", compare(func(v uint64) int64 { return int64(v) }))
	add("f32", compare(f32))
	add("f64", compare(f64))
	return ops
}

// logarithmError bounds the error of lg2.approx: absolute for arguments in (1/2, 2),
// relative elsewhere (PTX ISA 9.1, section 9.7.3.20).
const logarithmError = 0x1p-22

// approximate returns an approximate instruction with an error of skew times its documented error. If skew is
// 0, the instruction rounds correctly.
func approximate(name string, skew float64) op {
	// step moves the correctly rounded result by skew times ulps units.
	step := func(exact float64, ulps int) uint64 {
		v := float32(exact)
		to := float32(math.Copysign(math.Inf(1), skew))
		for range int(math.Round(math.Abs(skew) * float64(ulps))) {
			v = math.Nextafter32(v, to)
		}
		return bits32(flush(v))
	}
	switch name {
	case "rcp.approx.ftz.f32":
		return func(a, _, _ uint64) uint64 {
			v := 1 / float64(flush(f32(a)))
			if math.IsInf(v, 0) || v == 0 || v != v {
				return bits32(float32(v))
			}
			return step(v, kernels.ReciprocalUlps)
		}
	case "ex2.approx.ftz.f32":
		return func(a, _, _ uint64) uint64 {
			v := math.Exp2(float64(flush(f32(a))))
			if v > math.MaxFloat32 || v != v {
				return bits32(float32(v))
			}
			return step(v, kernels.ExponentUlps)
		}
	case "lg2.approx.ftz.f32":
		return func(a, _, _ uint64) uint64 {
			v := math.Log2(float64(flush(f32(a))))
			if math.IsInf(v, 0) || v != v {
				return bits32(float32(v))
			}
			return bits32(flush(float32(v + skew*logarithmError*max(1, math.Abs(v)))))
		}
	}
	return nil
}
