package ptxtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/internal/must"
)

// warpProgram runs instructions on registers of each lane: %r0 to %r9 are words 0 to 9 of
// the lane's 16, and %r10 to %r13 are written to words 10 to 13.
func warpProgram(instructions string) string {
	var b strings.Builder
	b.WriteString(`.visible .entry warp(
	.param .u64 warp_param_0
)
.maxntid 32, 1, 1
{
	.reg .b32 %r<20>;
	.reg .b64 %rd<4>;
	.reg .pred %p<2>;
	ld.param.u64 %rd0, [warp_param_0];
	mov.u32 %r14, %tid.x;
	mul.wide.u32 %rd1, %r14, 64;
	add.s64 %rd2, %rd0, %rd1;
`)
	for k := range 14 {
		fmt.Fprintf(&b, "\tld.global.u32 %%r%d, [%%rd2+%d];\n", k, 4*k)
	}
	b.WriteString(instructions)
	for k := 10; k < 14; k++ {
		fmt.Fprintf(&b, "\tst.global.u32 [%%rd2+%d], %%r%d;\n", 4*k, k)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

func mmaInstruction(shape string) string {
	return "\tmma.sync.aligned." + shape + " {%r10, %r11, %r12, %r13}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r10, %r11, %r12, %r13};\n"
}

// placement says which row and column element e of lane l's fragment is, as the tables of
// the PTX manual do.
type placement func(l, e int) (row, column int)

// mmaCase is an instruction and the placements of the manual for its operands.
type mmaCase struct {
	shape         string
	depth         int
	a, b          placement
	bf16          bool
	elementsA     int
	elementsB     int
	representable func(v float64) float64
}

func accumulator(l, e int) (int, int) {
	row, column := l/4, l%4*2+e&1
	if e >= 2 {
		row += 8
	}
	return row, column
}

var mmaCases = []mmaCase{{
	shape: "m16n8k16.row.col.f32.bf16.bf16.f32", depth: 16, bf16: true, elementsA: 8, elementsB: 4,
	a: func(l, e int) (int, int) {
		row, column := l/4, l%4*2+e&1
		if e == 2 || e == 3 || e == 6 || e == 7 {
			row += 8
		}
		if e >= 4 {
			column += 8
		}
		return row, column
	},
	b: func(l, e int) (int, int) {
		row := l%4*2 + e&1
		if e >= 2 {
			row += 8
		}
		return row, l / 4
	},
	representable: func(v float64) float64 { return float64(math.Float32frombits(bf16(float32(v)) << 16)) },
}, {
	shape: "m16n8k8.row.col.f32.tf32.tf32.f32", depth: 8, elementsA: 4, elementsB: 2,
	a: func(l, e int) (int, int) {
		row, column := l/4, l%4
		if e == 1 || e == 3 {
			row += 8
		}
		if e >= 2 {
			column += 4
		}
		return row, column
	},
	b:             func(l, e int) (int, int) { return l%4 + 4*e, l / 4 },
	representable: func(v float64) float64 { return float64(f32(roundTF32(math.Float32bits(float32(v))))) },
}}

// random is a matrix of numbers that the operands have.
func (c mmaCase) random(rng *rand.Rand, rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for r := range m {
		for range columns {
			m[r] = append(m[r], c.representable(rng.NormFloat64()))
		}
	}
	return m
}

// run computes D = A B + C of random matrices with fragments placed by a and returns the
// largest difference from a plain product, relatively to the sum of absolute values.
func (c mmaCase) run(t *testing.T, a placement, skew float64) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	A, B, C := c.random(rng, 16, c.depth), c.random(rng, c.depth, 8), c.random(rng, 16, 8)
	words := make([]uint32, 32*16)
	put := func(lane, register, e int, v float64) {
		u := math.Float32bits(float32(v))
		if c.bf16 {
			words[lane*16+register+e/2] |= u >> 16 << (16 * (e % 2))
		} else {
			words[lane*16+register+e] = u
		}
	}
	for l := range 32 {
		for e := range c.elementsA {
			row, column := a(l, e)
			put(l, 0, e, A[row][column])
		}
		for e := range c.elementsB {
			row, column := c.b(l, e)
			put(l, 4, e, B[row][column])
		}
		for e := range 4 {
			row, column := accumulator(l, e)
			words[l*16+10+e] = math.Float32bits(float32(C[row][column]))
		}
	}
	k := NewKit(t, warpProgram(mmaInstruction(c.shape)), nil)
	k.Skew = skew
	k.Fill(words, "warp", 1, 1)
	var worst float64
	for l := range 32 {
		for e := range 4 {
			row, column := accumulator(l, e)
			want, size := C[row][column], math.Abs(C[row][column])
			for m := range c.depth {
				want += A[row][m] * B[m][column]
				size += math.Abs(A[row][m] * B[m][column])
			}
			worst = max(worst, math.Abs(float64(math.Float32frombits(words[l*16+10+e]))-want)/size)
		}
	}
	return worst
}

// TestMMA compares with a plain product of matrices. Fragments in another order, and
// tensor cores at their assumed error, differ from it.
func TestMMA(t *testing.T) {
	for _, c := range mmaCases {
		must.Within(t, c.run(t, c.a, 0), 0, 0x1p-24, "%s: error", c.shape)
		if e, most := c.run(t, c.a, 1), productError(c.depth); !(e > most/2 && e <= most+0x1p-24) {
			t.Errorf("%s: error %g at the assumed one of %g", c.shape, e, most)
		}
		swapped := func(l, e int) (int, int) { // registers 1 and 2 of A, as in the order of ldmatrix for B
			per := c.elementsA / 4
			if r := e / per; r == 1 || r == 2 {
				e = (3-r)*per + e%per
			}
			return c.a(l, e)
		}
		if e := c.run(t, swapped, 0); e < 1e-2 {
			t.Errorf("%s: fragments in a wrong order were not found, error %g", c.shape, e)
		}
	}
}

// TestTensorConversions: rounding to 8 and to 11 significant bits.
func TestTensorConversions(t *testing.T) {
	for v, want := range map[float32]float32{
		1: 1, 1 + 0x1p-8: 1, 1 + 0x1p-8 + 0x1p-20: 1 + 0x1p-7, 1 + 0x3p-8: 1 + 0x1p-6, -0x1.ffp0: -2, 0x1p-130: 0x1p-130,
	} {
		must.Equal(t, math.Float32frombits(bf16(v)<<16), want, "bf16(%v)", v)
	}
	for v, want := range map[float32]float32{1: 1, 1 + 0x1p-11: 1 + 0x1p-10, 1 + 0x1p-12: 1, -1 - 0x1p-11: -1 - 0x1p-10} {
		must.Equal(t, f32(roundTF32(math.Float32bits(v))), want, "tf32(%v)", v)
	}
	k := NewKit(t, warpProgram("\tcvt.rn.bf16x2.f32 %r10, %r0, %r1;\n\tcvt.rna.tf32.f32 %r11, %r0;\n"), nil)
	words := make([]uint32, 32*16)
	words[0], words[1] = math.Float32bits(1+0x1p-11), math.Float32bits(3)
	k.Fill(words, "warp", 1, 1)
	if words[10] != 0x3f804040 || words[11] != math.Float32bits(1+0x1p-10) {
		t.Errorf("got %#x and %#x", words[10], words[11])
	}
}

// TestExchange: each lane gets the value of its partner.
func TestExchange(t *testing.T) {
	k := NewKit(t, warpProgram("\tshfl.sync.bfly.b32 %r10, %r14, 4, 31, -1;\n"), nil)
	words := make([]uint32, 32*16)
	k.Fill(words, "warp", 1, 1)
	for l := range 32 {
		if got := words[l*16+10]; got != uint32(l^4) {
			t.Fatalf("lane %d has %d", l, got)
		}
	}
}

// TestWarpDefects: an instruction of the warp that not all lanes reach, or with an operand
// that is not set, is an error.
func TestWarpDefects(t *testing.T) {
	shuffle := "\tshfl.sync.bfly.b32 %r10, %r14, 4, 31, -1;\n"
	for name, c := range map[string][2]string{
		"divergence":         {"\tsetp.lt.u32 %p0, %r14, 7;\n\t@%p0 bra $skip;\n" + shuffle + "$skip:\n", "7 of 32 lanes"},
		"an unset operand":   {strings.ReplaceAll(shuffle, "%r14", "%r15"), "not set"},
		"a vector elsewhere": {"\tmov.b64 %rd3, {%r1, %r2};\n", "with a vector"},
		"a predicate":        {"\tsetp.lt.u32 %p0, %r14, 7;\n\t@%p0 " + strings.TrimSpace(shuffle) + "\n", "predicate"},
	} {
		Fault(t, name, warpProgram(c[0]), nil, strings.Replace(c[1], "7 of", "25 of", 1), func(k *Kit) error { return k.Run(k.Module, "warp", 1, 1, k.In(make([]uint32, 32*16))) })
	}
}

// TestVectorAlignment: a vector of words at an address that is aligned to a word only.
func TestVectorAlignment(t *testing.T) {
	for offset, bad := range map[int]bool{0: false, 4: true, 16: false} {
		k := NewKit(t, warpProgram(fmt.Sprintf("\tld.global.nc.v4.u32 {%%r10, %%r11, %%r12, %%r13}, [%%rd2+%d];\n", offset)), nil)
		words := make([]uint32, 32*16+4)
		for i := range words {
			words[i] = uint32(i)
		}
		at := k.In(words)
		err := k.Run(k.Module, "warp", 1, 1, at)
		must.Equal(t, bad, err != nil, "offset %d: %v", offset, err)
		if k.Out(at, words); err == nil && (words[10] != uint32(offset/4) || words[13] != uint32(offset/4+3)) {
			t.Errorf("offset %d: got %v", offset, words[10:14])
		}
	}
}
