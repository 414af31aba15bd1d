package ptxtest

import (
	"fmt"
	"math"
)

// lanes is the number of threads of a warp.
const lanes = 32

// collective is an instruction that all lanes of a warp run together.
type collective struct {
	operands int // number of registers and constants; each element of a vector counts
	results  int // number of leading operands that are set
	// run computes the results of all lanes from the operands that follow the results. v[lane][operand] holds both.
	run func(v *[lanes][16]uint64, skew float64)
}

var collectives = map[string]collective{
	"shfl.sync.bfly.b32": {operands: 5, results: 1, run: butterfly},
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": {operands: 14, results: 4, run: multiply},
}

// collective decodes a collective instruction.
func (p *parser) collective(i *instruction, operands []string) error {
	if len(operands) != collectives[i.name].operands || i.guard >= 0 {
		return fmt.Errorf("%d operands, or a predicate", len(operands))
	}
	i.kind = warp
	for k, o := range operands {
		name := p.operand
		if k < collectives[i.name].results {
			name = p.register
		}
		r, err := name(o)
		if err != nil {
			return err
		}
		i.many = append(i.many, r)
	}
	return nil
}

// advanceWarp runs the lanes of a warp to their ends or past the next barrier.
//
//go:norace
func (b *Block) advanceWarp(w int) error {
	first := w * lanes
	warpThreads := b.threads[first:min(first+lanes, len(b.threads))]
	for started := false; ; started = true {
		waiting, at := 0, -1
		for k := range warpThreads {
			lane := len(warpThreads) - 1 - k
			s := &warpThreads[lane]
			if s.done {
				continue
			}
			if started && s.barrier {
				continue
			}
			s.barrier = false
			if err := b.advance(s, first+lane); err != nil {
				return fmt.Errorf("thread %d, line %d: %w", first+lane, b.code[min(s.pc, len(b.code)-1)].line, err)
			}
			if !s.done && !s.barrier {
				if at >= 0 && at != s.pc {
					return fmt.Errorf("lanes of warp %d wait at different lines: %d and %d", w, b.code[at].line, b.code[s.pc].line)
				}
				at = s.pc
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		if waiting != lanes {
			return fmt.Errorf("%d of %d lanes of warp %d reach %s of line %d", waiting, lanes, w, b.code[at].name,
				b.code[at].line)
		}
		var err error
		if i := &b.code[at]; i.kind == foreign {
			err = i.foreign.Run(b, first)
		} else {
			err = b.together(first, i)
		}
		if err != nil {
			return fmt.Errorf("warp %d, line %d: %w", w, b.code[at].line, err)
		}
		b.counts[at] += lanes
		for lane := range warpThreads {
			warpThreads[lane].pc++
		}
	}
}

// together runs a collective instruction.
//
//go:norace
func (b *Block) together(first int, i *instruction) error {
	c := collectives[i.name]
	var v [lanes][16]uint64
	for lane := range lanes {
		s := &b.threads[first+lane]
		for k, r := range i.many {
			if k >= c.results && !s.set[r] {
				return fmt.Errorf("an operand of %s is not set in lane %d", i.name, lane)
			}
			v[lane][k] = s.registers[r]
		}
	}
	c.run(&v, b.Skew)
	for lane := range lanes {
		for k, r := range i.many[:c.results] {
			if err := b.put(first+lane, i, r, v[lane][k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// butterfly exchanges values between lanes whose numbers differ in the bits of an operand. It supports only
// whole warps.
//
//go:norace
func butterfly(v *[lanes][16]uint64, _ float64) {
	var out [lanes]uint64
	for lane := range v {
		out[lane] = v[lane^int(v[lane][2]&31)][1]
	}
	for lane := range v {
		v[lane][0] = out[lane]
	}
}

// Operands of mma: 0 to 3 are D, 4 to 7 are A, 8 and 9 are B, 10 to 13 are C.
const (
	operandA = 4
	operandB = 8
	operandC = 10
)

// bf16Row returns the element in row r and column k of the 16 x 16 matrix A, according to the PTX manual, "Matrix
// Fragments for mma.m16n8k16". g = lane / 4, t = lane % 4. A register holds two bf16 numbers. a0 and a1 are in row g and columns 2t and 2t+1, and a2 and a3 are in row g
// + 8 of the same columns. a4 to a7 are in the same rows, 8 columns further.
//
//go:norace
func bf16Row(v *[lanes][16]uint64, r, k int) float64 {
	lane := r%8*4 + k%8/2
	return bf16Half(v[lane][operandA+r/8+k/8*2], k%2)
}

// bf16Column returns the element in row k and column c of the 16 x 8 matrix B. b0 and b1 are in rows 2t and 2t+1 of column g. b2 and b3 are 8 rows further.
//
//go:norace
func bf16Column(v *[lanes][16]uint64, k, c int) float64 {
	return bf16Half(v[c*4+k%8/2][operandB+k/8], k%2)
}

func bf16Half(register uint64, half int) float64 {
	return float64(math.Float32frombits(uint32(register) >> (16 * half) << 16))
}

// productError is the assumed error of a matrix product of 16 terms, relative to the sum of the absolute values of
// its 17 summands.
const productError = 20 * 0x1p-23

// multiply sets D to A B + C. D and C are in rows g and g + 8 and in columns 2t and 2t+1. The sum is exact
// before it is rounded to nearest. If skew is not 0, an error of skew times productError is added, because
// hardware truncates the summands in its own order.
//
//go:norace
func multiply(v *[lanes][16]uint64, skew float64) {
	var a [16][16]float64
	var b [16][8]float64
	for k := range 16 {
		for r := range 16 {
			a[r][k] = bf16Row(v, r, k)
		}
		for c := range 8 {
			b[k][c] = bf16Column(v, k, c)
		}
	}
	for r := range 16 {
		for c := range 8 {
			lane, register := r%8*4+c/2, r/8*2+c%2
			sum := float64(f32(v[lane][operandC+register]))
			size := math.Abs(sum)
			for k := range 16 {
				p := a[r][k] * b[k][c]
				sum += p
				size += math.Abs(p)
			}
			v[lane][register] = bits32(float32(sum + skew*productError*size*(1-0x1p-20)))
		}
	}
}

// bf16 returns v rounded to 8 significant bits, ties to even.
func bf16(v float32) uint32 {
	u := math.Float32bits(v)
	if v != v {
		return 0x7fff
	}
	return (u + 0x7fff + u>>16&1) >> 16
}
