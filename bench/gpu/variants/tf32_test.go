package variants

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine/cuda/ptxtest"
	"dyad/internal/must"
)

const (
	tf32Product    = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
	tf32Conversion = "cvt.rna.tf32.f32"
)

// tf32Error is the assumed error of a matrix product of 8 terms, relative to the sum of the absolute values of its
// 9 summands.
const tf32Error = 12 * 0x1p-23

// tf32 decodes an instruction of tf32.
func (a *asynchronous) tf32(f *ptxtest.Foreign, operands []string, register func(string) (int32, error)) error {
	var r []int32
	for _, o := range operands {
		n, err := register(o)
		if err != nil {
			return err
		}
		r = append(r, n)
	}
	switch {
	case f.Name == tf32Conversion && len(r) == 2:
		f.Run = func(b *ptxtest.Block, t int) error {
			values, set := b.Registers(t)
			if !set[r[1]] {
				return fmt.Errorf("an operand of %s is not set", f.Name)
			}
			values[r[0]], set[r[0]] = uint64(roundTF32(uint32(values[r[1]]))), true
			return a.Writes(t, r[0])
		}
	case f.Name == tf32Product && len(r) == 14:
		f.Warp = true
		f.Run = func(b *ptxtest.Block, first int) error { return a.multiply(b, first, r) }
	default:
		return fmt.Errorf("operands %v", operands)
	}
	return nil
}

// multiply sets D to A B + C, which are the registers 0 to 3, 4 to 7, 8 and 9, and 10 to 13 of r, according to the
// PTX manual, "Matrix Fragments for mma.m16n8k8". Tensor cores use the upper 19 bits of a register of A and B.
func (a *asynchronous) multiply(b *ptxtest.Block, first int, r []int32) error {
	for t := first; t < first+lanes; t++ {
		_, set := b.Registers(t)
		for _, o := range r[4:] {
			if !set[o] {
				return fmt.Errorf("an operand of %s is not set in lane %d", tf32Product, t-first)
			}
		}
	}
	number := func(lane, operand int) float64 {
		values, _ := b.Registers(first + lane)
		return float64(math.Float32frombits(uint32(values[r[operand]]) &^ 0x1fff))
	}
	var sums [lanes][4]float32
	for lane := range lanes {
		values, _ := b.Registers(first + lane)
		for e := range 4 {
			row, column := accumulator(lane, e)
			sum := float64(math.Float32frombits(uint32(values[r[10+e]])))
			size := math.Abs(sum)
			for k := range 8 { // a0 and a1 are in column t, in rows g and g + 8; b0 is in row t and column g
				v := number(row%8*4+k%4, 4+row/8+k/4*2) * number(column*4+k%4, 8+k/4)
				sum += v
				size += math.Abs(v)
			}
			sums[lane][e] = float32(sum + b.Skew*tf32Error*size*(1-0x1p-20))
		}
	}
	for lane := range lanes {
		values, set := b.Registers(first + lane)
		for e, sum := range sums[lane] {
			if err := a.Writes(first+lane, r[e]); err != nil {
				return err
			}
			values[r[e]], set[r[e]] = uint64(math.Float32bits(sum)), true
		}
	}
	return nil
}

// roundTF32 rounds to 11 significant bits, ties away from zero.
func roundTF32(u uint32) uint32 {
	if u&0x7f800000 == 0x7f800000 {
		return u
	}
	return (u + 0x1000) &^ 0x1fff
}

// tf32Place is the row and the column of element e of a lane in A, as in the table of the PTX manual.
func tf32Place(l, e int) (row, column int) { return l/4 + e%2*8, l%4 + e/2*4 }

// tf32Off returns the largest difference of D = A B + C of random matrices from a plain product, relatively to the sum
// of absolute values, with the fragments of A placed by place.
func tf32Off(t *testing.T, place func(l, e int) (row, column int), skew float64) (worst float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	A, B, C := make([]float32, 16*8), make([]float32, 8*8), make([]float32, 16*8)
	for _, m := range [][]float32{A, B, C} {
		for i := range m {
			m[i] = math.Float32frombits(roundTF32(math.Float32bits(float32(rng.NormFloat64()))))
		}
	}
	words := make([]float32, 16*lanes)
	for l := range lanes {
		for e := range 4 {
			row, column := place(l, e)
			words[16*l+e] = A[8*row+column]
			row, column = accumulator(l, e)
			words[16*l+10+e] = C[8*row+column]
		}
		for e := range 2 {
			words[16*l+4+e] = B[8*(l%4+4*e)+l/4]
		}
	}
	k := ptxtest.NewKit(t, mmaProgram(tf32Product), &asynchronous{})
	k.Skew = skew
	k.Fill(words, "k", 1, 1)
	for l := range lanes {
		for e := range 4 {
			row, column := accumulator(l, e)
			want := float64(C[8*row+column])
			size := math.Abs(want)
			for k := range 8 {
				v := float64(A[8*row+k]) * float64(B[8*k+column])
				want += v
				size += math.Abs(v)
			}
			worst = max(worst, math.Abs(float64(words[16*l+10+e])-want)/size)
		}
	}
	return worst
}

// TestTF32 compares with a plain product of matrices. Fragments in another order, and tensor cores at their assumed
// error, differ from it. Numbers are rounded to 11 significant bits.
func TestTF32(t *testing.T) {
	must.Within(t, tf32Off(t, tf32Place, 0), 0, 0x1p-24, "error")
	must.Within(t, tf32Off(t, tf32Place, 1), tf32Error/2, tf32Error+0x1p-24, "error at the assumed one")
	swapped := func(l, e int) (int, int) { return tf32Place(l, []int{0, 2, 1, 3}[e]) }
	if e := tf32Off(t, swapped, 0); e < 1e-2 {
		t.Errorf("fragments in a wrong order were not found, error %g", e)
	}
	for v, want := range map[float32]float32{1: 1, 1 + 0x1p-11: 1 + 0x1p-10, 1 + 0x1p-12: 1, -1 - 0x1p-11: -1 - 0x1p-10} {
		must.Equal(t, math.Float32frombits(roundTF32(math.Float32bits(v))), want, "tf32(%v)", v)
	}
}
