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

const mmaInstruction = "\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r10, %r11, %r12, %r13}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r10, %r11, %r12, %r13};\n"

// placement says which row and column element e of lane l's fragment is, as the tables of
// the PTX manual do.
type placement func(l, e int) (row, column int)

func accumulator(l, e int) (int, int) {
	row, column := l/4, l%4*2+e&1
	if e >= 2 {
		row += 8
	}
	return row, column
}

func firstFactor(l, e int) (int, int) {
	row, column := l/4, l%4*2+e&1
	if e == 2 || e == 3 || e == 6 || e == 7 {
		row += 8
	}
	if e >= 4 {
		column += 8
	}
	return row, column
}

func secondFactor(l, e int) (int, int) {
	row := l%4*2 + e&1
	if e >= 2 {
		row += 8
	}
	return row, l / 4
}

// random is a matrix of numbers that bf16 has.
func random(rng *rand.Rand, rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for r := range m {
		for range columns {
			m[r] = append(m[r], float64(math.Float32frombits(bf16(float32(rng.NormFloat64()))<<16)))
		}
	}
	return m
}

// product computes D = A B + C of random matrices with fragments placed by a and returns the
// largest difference from a plain product, relatively to the sum of absolute values.
func product(t *testing.T, a placement, skew float64) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	A, B, C := random(rng, 16, 16), random(rng, 16, 8), random(rng, 16, 8)
	words := make([]uint32, 32*16)
	put := func(lane, register, e int, v float64) {
		words[lane*16+register+e/2] |= math.Float32bits(float32(v)) >> 16 << (16 * (e % 2))
	}
	for l := range 32 {
		for e := range 8 {
			row, column := a(l, e)
			put(l, 0, e, A[row][column])
		}
		for e := range 4 {
			row, column := secondFactor(l, e)
			put(l, 4, e, B[row][column])
		}
		for e := range 4 {
			row, column := accumulator(l, e)
			words[l*16+10+e] = math.Float32bits(float32(C[row][column]))
		}
	}
	k := NewKit(t, warpProgram(mmaInstruction), nil)
	k.Skew = skew
	k.Fill(words, "warp", 1, 1)
	var worst float64
	for l := range 32 {
		for e := range 4 {
			row, column := accumulator(l, e)
			want, size := C[row][column], math.Abs(C[row][column])
			for m := range 16 {
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
	must.Within(t, product(t, firstFactor, 0), 0, 0x1p-24, "error")
	must.Within(t, product(t, firstFactor, 1), productError/2, productError+0x1p-24, "error at the assumed one")
	swapped := func(l, e int) (int, int) { // registers 1 and 2 of A, as in the order of ldmatrix for B
		if r := e / 2; r == 1 || r == 2 {
			e = (3-r)*2 + e%2
		}
		return firstFactor(l, e)
	}
	if e := product(t, swapped, 0); e < 1e-2 {
		t.Errorf("fragments in a wrong order were not found, error %g", e)
	}
}

// TestTensorConversions: rounding to 8 significant bits.
func TestTensorConversions(t *testing.T) {
	for v, want := range map[float32]float32{
		1: 1, 1 + 0x1p-8: 1, 1 + 0x1p-8 + 0x1p-20: 1 + 0x1p-7, 1 + 0x3p-8: 1 + 0x1p-6, -0x1.ffp0: -2, 0x1p-130: 0x1p-130,
	} {
		must.Equal(t, math.Float32frombits(bf16(v)<<16), want, "bf16(%v)", v)
	}
	k := NewKit(t, warpProgram("\tcvt.rn.bf16x2.f32 %r10, %r0, %r1;\n"), nil)
	words := make([]uint32, 32*16)
	words[0], words[1] = math.Float32bits(1+0x1p-11), math.Float32bits(3)
	k.Fill(words, "warp", 1, 1)
	must.Equal(t, words[10], 0x3f804040, "two numbers")
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
