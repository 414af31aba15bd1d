package variants

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/engine/cuda/ptxtest"
	"dyad/internal/must"
	"dyad/kernels"
)

// layouts are tables of CuTe by name: places by thread and value for operands, bytes by row and
// column for slabs, and fields of descriptors.
type layouts map[string][][]int

// cuteLayouts compiles testdata/layouts.cc with the header files of CUTLASS and CUDA in the
// folders that DYAD_CUTE names, and reads what it prints.
func cuteLayouts(t *testing.T) layouts {
	t.Helper()
	folders := os.Getenv("DYAD_CUTE")
	if folders == "" {
		t.Skip("DYAD_CUTE does not name the folders with CUTLASS's and CUDA's headers")
	}
	dir := t.TempDir()
	if _, err := ptxtest.NewHost("../../../kernels/cuda", dir, ptxtest.Addresses, ptxtest.Edit{}); err != nil {
		t.Skip(err)
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		compiler = "clang++-19"
	}
	args := []string{"-std=c++17", "-O1", "-w", "-I" + dir, "-I.", "-o", filepath.Join(dir, "layouts"), "testdata/layouts.cc"}
	for _, f := range filepath.SplitList(folders) {
		args = append(args, "-I"+f)
	}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	out := must.Get(exec.Command(filepath.Join(dir, "layouts")).Output())(t)
	l := layouts{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] == "ERROR:" { // an address needs a device: CuTe says so
			continue
		}
		var v []int
		for _, w := range words[2:] {
			n := must.Get(strconv.Atoi(w))(t, fmt.Sprintf("%q", line))
			v = append(v, n)
		}
		name := words[0] + " " + words[1]
		l[name] = append(l[name], slices.Collect(slices.Chunk(v[1:], v[0]))...)
	}
	return l
}

// half is a small integer as one of the bf16 numbers of a register.
func half(v, k int) uint32 { return math.Float32bits(float32(v)) >> 16 << (16 * (k % 2)) }

// bf16 is the first or the second number of a register.
func bf16(register uint32, k int) float64 {
	return float64(math.Float32frombits(register >> (16 * k) << 16))
}

// mmaProgram adds a product of A, words 0 to 3 of each lane's 16, and B, words 4 and 5, to words 10 to 13.
func mmaProgram(instruction string) string {
	var b strings.Builder
	b.WriteString(`.visible .entry k(
	.param .u64 k_param_0
)
.maxntid 32, 1, 1
{
	.reg .b32 %r<15>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd0, [k_param_0];
	mov.u32 %r14, %tid.x;
	mul.wide.u32 %rd1, %r14, 64;
	add.s64 %rd2, %rd0, %rd1;
`)
	for k := range 14 {
		fmt.Fprintf(&b, "\tld.global.u32 %%r%d, [%%rd2+%d];\n", k, 4*k)
	}
	fmt.Fprintf(&b, "\t%s {%%r10, %%r11, %%r12, %%r13}, {%%r0, %%r1, %%r2, %%r3}, {%%r4, %%r5}, {%%r10, %%r11, %%r12, %%r13};\n", instruction)
	for k := 10; k < 14; k++ {
		fmt.Fprintf(&b, "\tst.global.u32 [%%rd2+%d], %%r%d;\n", 4*k, k)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

// mma lays random integers out by the tables, runs the interpreter's instruction and reads the
// product by the table of C.
func (l layouts) mma(t *testing.T, kind, instruction string, depth int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := make([]int, 16*depth), make([]int, 8*depth)
	for i := range a {
		a[i] = rng.IntN(64)
	}
	for i := range b {
		b[i] = rng.IntN(64)
	}
	v := make([]uint32, 16*lanes)
	place := func(operand int, table [][]int, m []int) {
		for lane, places := range table {
			for e, at := range places {
				if kind == "bf16" {
					v[16*lane+operand+e/2] |= half(m[at], e)
				} else {
					v[16*lane+operand+e] = math.Float32bits(float32(m[at]))
				}
			}
		}
	}
	place(0, l[kind+" A"], a)
	place(4, l[kind+" B"], b)
	ptxtest.NewKit(t, mmaProgram(instruction), &asynchronous{}).Fill(v, "k", 1, 1)
	for lane, places := range l[kind+" C"] {
		for e, at := range places {
			want := 0
			for k := range depth {
				want += a[at%16+16*k] * b[at/16+8*k]
			}
			if got := math.Float32frombits(v[16*lane+10+e]); got != float32(want) {
				return fmt.Errorf("%s: lane %d, value %d is %v, want %d", instruction, lane, e, got, want)
			}
		}
	}
	return nil
}

// wgmma does the same with wgmma and B in a slab, from each place that a descriptor of CuTe names.
func (l layouts) wgmma(t *testing.T, kind string, columns, byRows int) error {
	rng := rand.New(rand.NewPCG(3, 4))
	for m, fields := range l["descriptor "+kind] {
		layout, stride, base, from := fields[0], fields[1], fields[2], fields[3]
		own := uint64(fields[4]) | uint64(fields[5])<<32
		// The offset between atoms, bits 16 to 29, has no use with one atom.
		descriptor := uint64(layout)<<62 | uint64(base)<<49 | uint64(stride)<<32 | uint64(from/16)
		if own&^(0x3fff<<16) != descriptor {
			return fmt.Errorf("slab_descriptor(%d) is %#x, CuTe's is %#x", from, own, descriptor)
		}
		a, b := make([]int, 64*16), make([]int, 16*columns)
		image, registers, d := make([]uint16, 8192), make([]uint32, 128*4), make([]float32, 128*128)
		for i := range a {
			a[i] = rng.IntN(64)
		}
		for i := range b {
			b[i] = rng.IntN(64)
			k, n := i%16, i/16
			at := l["slab "+kind][n][(k+16*m)%32]
			if byRows == 1 {
				at = l["slab "+kind][k+16*m][n]
			}
			image[at/2] = uint16(half(b[i], 0))
		}
		for thread, places := range l[kind+" A"] {
			for e, at := range places {
				registers[4*thread+e/2] |= half(a[at], e)
			}
		}
		k := ptxtest.NewKit(t, wgmmaProgram(columns, byRows), &asynchronous{})
		to := k.In(d)
		if err := k.Run(k.Module, "k", 1, 1, k.In(image), k.In(registers), to, own); err != nil {
			return err
		}
		k.Out(to, d)
		for thread, places := range l[kind+" C"] {
			for e, at := range places {
				want := 0
				for k := range 16 {
					want += a[at%64+64*k] * b[k+at/64*16]
				}
				if got := d[128*thread+e]; got != float32(want) {
					return fmt.Errorf("wgmma by %s, thread %d, value %d is %v, want %d", kind, thread, e, got, want)
				}
			}
		}
	}
	return nil
}

// packed compares what the packing kernels of mma.sync write with the tables: numbers that say
// where they are in the matrix.
func (l layouts) packed(t *testing.T) error {
	const n, d = 16, 16
	for kind, program := range map[string]string{"bf16x3": ptxtest.WithLogistic(kernels.PTX("metric_mma")), "tf32": ptx(t, "metric_tf32")} {
		k := ptxtest.NewKit(t, program, &asynchronous{})
		run := func(name string, columns, records, vectors int, number func(i, k int) int) []uint32 {
			x, out := make([]float64, n*d), make([]uint32, 4*32*vectors*columns)
			for i := range n {
				for a := range d {
					x[a*n+i] = float64(number(i, a))
				}
			}
			k.Fill(out, "metric_"+name+"_"+kind, 1, columns, k.In(x), n, d, uint64(n/records), math.Float64bits(1))
			return out
		}
		check := func(what string, got []uint32, table func(lane, value int) int, values int) error {
			for lane := range lanes {
				for e := range values {
					var v float64
					if kind == "tf32" {
						v = float64(math.Float32frombits(got[4*lane+e]))
					} else {
						v = bf16(got[4*lane+e/2], e%2)
					}
					if want := table(lane, e); v != float64(want) {
						return fmt.Errorf("metric_%s_%s: lane %d, value %d is %v, want %d", what, kind, lane, e, v, want)
					}
				}
			}
			return nil
		}
		of := func(table string, step int) func(lane, e int) int { // halves of k that follow each other
			return func(lane, e int) int {
				p := l[kind[:4]+" "+table][lane]
				return p[e%len(p)] + e/len(p)*step
			}
		}
		left := run("left", 1, 16, 2, func(i, k int) int { return i + 16*k })
		right := run("right", 1, 8, 2, func(i, k int) int { return i%8 + 8*k + i/8*1024 })
		factor := run("factor", 2, 16, 1, func(i, k int) int { return k%8 + 8*i + k/8*1024 })
		values, records := 8, of("B", 64)
		if kind == "tf32" {
			values = 4
			if err := check("left", left[128:], func(lane, e int) int { return of("A", 0)(lane, e) + 128 }, 4); err != nil {
				return err
			}
			// Rows t and t + 4 of the factor are the records 2t and 2t + 1.
			records = func(lane, e int) int {
				at := l["tf32 B"][lane][e%2]
				row := at / 8
				return at%8 + 8*(row%4*2+row/4+e/2*8)
			}
		}
		err := cmp.Or(check("left", left, of("A", 128), values), check("right", right, of("B", 64), 4), check("factor", factor, records, 4))
		if err != nil {
			return err
		}
	}
	return nil
}

// slabs compares what the packing kernel of wgmma writes with both readings of a slab.
func (l layouts) slabs(t *testing.T) error {
	const n, d = 64, 64
	k := ptxtest.NewKit(t, ptx(t, "metric_wgmma_sm90a"), &asynchronous{})
	x, out := make([]float64, n*d), make([]uint16, 4*2048)
	for i := range x {
		x[i] = float64(i) // column by column
	}
	k.Fill(out, "metric_right_wgmma", 1, 1, k.In(x), n, d, 1, math.Float64bits(1))
	for r := range n {
		for c := range d {
			for _, reading := range []string{"slab columns", "slab rows"} {
				in := c/32*4096 + l[reading][r][c%32]/2
				got := bf16(uint32(out[in]), 0) + bf16(uint32(out[in+2048]), 0)
				if got != float64(c*n+r) {
					return fmt.Errorf("metric_right_wgmma: record %d, feature %d is %v by the %s", r, c, got, reading)
				}
			}
		}
	}
	return nil
}

// handed: the registers of sums become those of the first factor as coefficients_as_rows hands
// them on with bf16: values 0 to 3 of two blocks of 8 columns are values 0 to 3 and 4 to 7.
func (l layouts) handed() error {
	for _, of := range [][2]string{{"bf16 A", "bf16 C"}, {"columns A", "columns C"}} {
		for thread, places := range l[of[0]] {
			rows := len(l[of[0]]) / 2 // 16 of a warp, 64 of four
			for e, at := range places {
				sum := l[of[1]][thread][e%4]
				if want := sum + e/4*8*rows; at != want {
					return fmt.Errorf("%s: thread %d, value %d is at %d, the sum at %d", of[0], thread, e, at, want)
				}
			}
		}
	}
	return nil
}

func (l layouts) check(t *testing.T) error {
	return cmp.Or(
		l.mma(t, "bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16), l.mma(t, "tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8),
		l.wgmma(t, "columns", 64, 0), l.wgmma(t, "rows", 32, 1), l.packed(t), l.slabs(t), l.handed())
}

// TestCuTe: the layouts of the interpreter and of the kernels are those of CUTLASS's CuTe, and
// tables with two places exchanged or another swizzle, and other descriptors, are found.
func TestCuTe(t *testing.T) {
	l := cuteLayouts(t)
	if len(l) != 14 {
		t.Fatalf("%d tables", len(l))
	}
	must.Do(t, l.check(t))
	for _, name := range slices.Sorted(maps.Keys(l)) {
		row := l[name]
		for _, at := range [][2]int{{0, 0}, {len(row) - 1, len(row[0]) - 1}} {
			other := slices.Clone(row[1])
			broken := maps.Clone(l)
			broken[name] = slices.Clone(row)
			broken[name][at[0]], broken[name][1] = slices.Clone(row[at[0]]), other
			switch {
			case strings.HasPrefix(name, "descriptor"):
				broken[name][at[0]][at[1]]++
			default:
				a, b := &broken[name][at[0]][at[1]], &other[0]
				if at[0] == 1 {
					b = &broken[name][0][0]
				}
				*a, *b = *b, *a
			}
			if broken.check(t) == nil {
				t.Errorf("%s: a wrong table is not found, at %v", name, at)
			}
		}
	}
}
