package variants

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/engine/cuda/ptxtest"
	"dyad/internal/sizes"
)

// wgmmaProgram copies 16 KB to shared memory and adds one product of four warps with that
// many columns, of A in registers and B by the descriptor of a parameter.
func wgmmaProgram(columns, byRows int) string {
	var b strings.Builder
	b.WriteString(`.visible .entry k(
	.param .u64 k_param_0,
	.param .u64 k_param_1,
	.param .u64 k_param_2,
	.param .u64 k_param_3
)
.maxntid 128, 1, 1
{
	.reg .b32 %r<20>;
	.reg .f32 %f<128>;
	.reg .b64 %rd<20>;
	.reg .pred %p<2>;
	.shared .align 1024 .b8 image[16384];
	ld.param.u64 %rd0, [k_param_0];
	ld.param.u64 %rd1, [k_param_1];
	ld.param.u64 %rd2, [k_param_2];
	ld.param.u64 %rd3, [k_param_3];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd4, %r0, 16;
	mul.wide.u32 %rd5, %r0, 512;
	add.s64 %rd6, %rd1, %rd4;
	ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd6];
	add.s64 %rd7, %rd2, %rd5;
	setp.ne.b32 %p0, 1, 0;
`)
	for k := range columns / 2 {
		fmt.Fprintf(&b, "\tld.global.f32 %%f%d, [%%rd7+%d];\n", k, 4*k)
	}
	b.WriteString("\tmov.u64 %rd8, image;\n\tadd.s64 %rd9, %rd8, %rd4;\n\tcvt.u32.u64 %r5, %rd9;\n\tadd.s64 %rd10, %rd0, %rd4;\n")
	for range 16384 / 2048 {
		b.WriteString("\tcp.async.cg.shared.global [%r5], [%rd10], 16;\n\tadd.s32 %r5, %r5, 2048;\n\tadd.s64 %rd10, %rd10, 2048;\n")
	}
	b.WriteString("\tcp.async.wait_all;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\twgmma.fence.sync.aligned;\n")
	var d []string
	for k := range columns / 2 {
		d = append(d, fmt.Sprintf("%%f%d", k))
	}
	fmt.Fprintf(&b, "\twgmma.mma_async.sync.aligned.m64n%dk16.f32.bf16.bf16 {%s}, {%%r1, %%r2, %%r3, %%r4}, %%rd3, %%p0, 1, 1, %d;\n", columns, strings.Join(d, ", "), byRows)
	b.WriteString("\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n")
	for k := range columns / 2 {
		fmt.Fprintf(&b, "\tst.global.f32 [%%rd7+%d], %%f%d;\n", 4*k, k)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

// stored is where the figures of the PTX manual have number (r, c) of an atom of rows of that
// many bytes: its 16 bytes change places with those of the same row, by the number of the
// row in units of 128 bytes.
func stored(width, r, c int) int {
	line := r * width / 128
	return r*width + (c/8^line%(width/16))*16 + c%8*2
}

// factor is the row and the column of element e of a lane in the first factor of mma.sync, as in the table of the PTX
// manual, and accumulator is the same for the sums.
func factor(l, e int) (row, column int) { return l/4 + e/2%2*8, l%4*2 + e%2 + e/4*8 }

func accumulator(l, e int) (row, column int) { return l/4 + e/2*8, l%4*2 + e%2 }

type wgmmaCase struct {
	columns, byRows     int
	width               int // bytes of a row of an atom
	lead, stride, start int
	mode                uint64
	at                  func(k, n int) int // where B is stored
}

func (c wgmmaCase) descriptor() uint64 {
	return c.mode<<62 | uint64(c.stride/16)<<32 | uint64(c.lead/16)<<16 | uint64(c.start/16)
}

func wgmmaCases() map[string]wgmmaCase {
	columns := func(width, first int) func(k, n int) int {
		return func(k, n int) int { return stored(width, n, first+k) }
	}
	rows := func(width, first int) func(k, n int) int {
		return func(k, n int) int { return stored(width, first+k, n) }
	}
	return map[string]wgmmaCase{
		"columns of a slab":        {columns: 64, width: 64, lead: 16, stride: 512, mode: 2, at: columns(64, 0)},
		"its other columns":        {columns: 64, width: 64, lead: 16, stride: 512, mode: 2, start: 32, at: columns(64, 16)},
		"rows of a slab":           {columns: 32, byRows: 1, width: 64, lead: 16, stride: 512, mode: 2, at: rows(64, 0)},
		"its last rows":            {columns: 32, byRows: 1, width: 64, lead: 16, stride: 512, mode: 2, start: 48 * 64, at: rows(64, 48)},
		"a swizzle of 128 bytes":   {columns: 64, width: 128, lead: 16, stride: 1024, mode: 1, start: 96, at: columns(128, 48)},
		"one of 128 bytes by rows": {columns: 64, byRows: 1, width: 128, lead: 16, stride: 1024, mode: 1, at: rows(128, 0)},
		"one of 32 bytes":          {columns: 8, width: 32, lead: 16, stride: 256, mode: 3, at: columns(32, 0)},
		"two slabs by rows": {columns: 64, byRows: 1, width: 64, lead: 4096, stride: 512, mode: 2, at: func(k, n int) int {
			return n/32*4096 + stored(64, k, n%32)
		}},
	}
}

// run returns the largest difference from a plain product, relatively to the sum of absolute
// values.
func (c wgmmaCase) run(t *testing.T, descriptor uint64, skew float64) (float64, error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(rows, columns int) [][]float64 { // of numbers that bf16 has
		m := make([][]float64, rows)
		for r := range m {
			for range columns {
				m[r] = append(m[r], float64(rng.IntN(255)-127)/64)
			}
		}
		return m
	}
	A, B, D := random(64, 16), random(16, c.columns), random(64, c.columns)
	image := make([]uint16, 8192)
	for i := range image {
		image[i] = 0x7fc0 // NaN: what is not of B is not read
	}
	for k := range B {
		for n, v := range B[k] {
			image[c.at(k, n)/2] = uint16(math.Float32bits(float32(v)) >> 16)
		}
	}
	a, d := make([]uint32, 128*4), make([]float32, 128*128)
	for thread := range 128 {
		for e := range 8 {
			row, k := factor(thread%32, e)
			a[thread*4+e/2] |= math.Float32bits(float32(A[thread/32*16+row][k])) >> 16 << (16 * (e % 2))
		}
		for e := range c.columns / 2 {
			row, column := accumulator(thread%32, e%4)
			d[thread*128+e] = float32(D[thread/32*16+row][e/4*8+column])
		}
	}
	k := ptxtest.NewKit(t, wgmmaProgram(c.columns, c.byRows), &asynchronous{})
	k.Skew = skew
	at := k.In(d)
	if err := k.Run(k.Module, "k", 1, 1, k.In(image), k.In(a), at, descriptor); err != nil {
		return 0, err
	}
	k.Out(at, d)
	var worst float64
	for thread := range 128 {
		for e := range c.columns / 2 {
			r, column := accumulator(thread%32, e%4)
			row, n := thread/32*16+r, e/4*8+column
			want, size := D[row][n], math.Abs(D[row][n])
			for k := range 16 {
				want += A[row][k] * B[k][n]
				size += math.Abs(A[row][k] * B[k][n])
			}
			if diff := math.Abs(float64(d[thread*128+e])-want) / size; !(diff <= worst) {
				worst = diff
			}
		}
	}
	return worst, nil
}

// TestWgmma compares with a plain product of matrices, stored as in the figures of the
// manual. A wrong stride, offset, start or swizzle differs from it, and so do tensor cores
// at their assumed error.
func TestWgmma(t *testing.T) {
	for name, c := range wgmmaCases() {
		if e, err := c.run(t, c.descriptor(), 0); err != nil || !(e <= 0x1p-24) {
			t.Errorf("%s: error %g, %v", name, e, err)
		}
		if e, err := c.run(t, c.descriptor(), 1); err != nil || !(e > matrixProductError/2 && e <= matrixProductError+0x1p-24) {
			t.Errorf("%s: error %g at the assumed one of %g, %v", name, e, matrixProductError, err)
		}
		for defect, change := range map[string]func(*wgmmaCase){
			"stride":  func(c *wgmmaCase) { c.stride *= 2 },
			"start":   func(c *wgmmaCase) { c.start += 16 },
			"swizzle": func(c *wgmmaCase) { c.mode = c.mode%3 + 1 },
			"none":    func(c *wgmmaCase) { c.mode = 0 },
			"offset":  func(c *wgmmaCase) { c.lead *= 2 },
		} {
			wrong := c
			change(&wrong)
			e, err := c.run(t, wrong.descriptor(), 0)
			unused := defect == "offset" && name != "two slabs by rows" || defect == "stride" && c.columns == 8
			if found := err != nil || !(e <= 1e-2); found == unused {
				t.Errorf("%s, wrong %s: error %g, %v", name, defect, e, err)
			}
		}
	}
}

// TestWgmmaDefects: what is undefined on a GPU is an error.
func TestWgmmaDefects(t *testing.T) {
	good := wgmmaProgram(32, 1)
	const (
		fence   = "\twgmma.fence.sync.aligned;\n"
		commit  = "\twgmma.commit_group.sync.aligned;\n"
		wait    = "\twgmma.wait_group.sync.aligned 0;\n"
		barrier = "\tbar.sync 0;\n"
	)
	product := good[strings.Index(good, "\twgmma.mma_async"):strings.Index(good, commit)]
	for _, c := range []struct{ name, old, new, want string }{
		{"correct", "", "", ""},
		{"twice", product, product + product, ""},
		{"a group in flight", wait, product + commit + "\twgmma.wait_group.sync.aligned 1;\n" + wait, ""},
		{"no fence", fence, "", "no wgmma.fence"},
		{"a sum written after the fence", fence, fence + "\tmov.f32 %f3, %f4;\n", "written after the last"},
		{"a factor written after the fence", fence, fence + "\tmov.b32 %r2, %r1;\n", "written after the last"},
		{"no fence after a sum was waited for", wait, wait + product + commit + wait, "written after the last"},
		{"no wait", wait, "", "not set"},
		{"a wait for all but one group", wait, strings.Replace(wait, "0", "1", 1), "not set"},
		{"no commit", commit, "", "not set"},
		{"no results", good[strings.Index(good, wait):], "\tret;\n}\n", "ends before its products"},
		{"a sum read in flight", commit, commit + "\tadd.rn.f32 %f60, %f3, %f4;\n", "not set"},
		{"a sum written in flight", commit, commit + "\tmov.f32 %f3, 0f00000000;\n", "in flight"},
		{"a factor written in flight", commit, commit + "\tmov.b32 %r2, %r1;\n", "in flight"},
		{"another product with one of the sums", product, product + strings.Replace(product, "%f0, %f1", "%f1, %f0", 1), "another product"},
		{"memory written in flight", commit, commit + "\tst.shared.u32 [%rd9], %r1;\n", "without a barrier"},
		{"memory written in flight after a barrier", commit, commit + barrier + "\tst.shared.u32 [%rd8], %r1;\n", "in flight reads"},
		{"memory written after the wait", wait, wait + "\tst.shared.u32 [%rd9], %r1;\n", "without a barrier"},
		{"no barrier", barrier, "", "never written"},
		{"a copy after the barrier", barrier, barrier + "\tst.shared.u32 [%rd8], %r1;\n", "without a barrier"},
		{"copies that are not waited for", "\tcp.async.wait_all;\n", "", "being copied"},
		{"copies that were never waited for", good[strings.Index(good, "\tcp.async.wait_all"):], "\tret;\n}\n", "before its copies"},
		{"memory read while it is copied", "\tcp.async.wait_all;\n", "\tld.shared.u32 %r7, [%rd9];\n\tcp.async.wait_all;\n", "being copied"},
		{"copies that are not shown", "\tfence.proxy.async.shared::cta;\n", "", "fence.proxy.async"},
		{"stores that are not shown", barrier, "\tst.shared.u32 [%rd9], %r1;\n" + barrier, "fence.proxy.async"},
		{"a copy that is not aligned", "%rd10, %rd0, %rd4;\n", "%rd10, %rd0, 8;\n", "not aligned"},
		{"a copy from outside", "%rd10, %rd0, %rd4;\n", "%rd10, %rd0, 16384;\n", "outside of every buffer"},
		{"a copy to outside", "cvt.u32.u64 %r5, %rd9;\n", "mov.u32 %r5, 16384;\n", "outside of shared memory"},
		{"three of four warps", fence, "\tsetp.gt.u32 %p1, %r0, 95;\n\t@%p1 bra $end;\n" + fence, "has not begun"},
		{"half of a warp", fence, "\tsetp.gt.u32 %p1, %r0, 15;\n\t@%p1 bra $end;\n" + fence, "16 of 32 lanes"},
		{"lanes with different descriptors", fence, "\tadd.s64 %rd3, %rd3, %rd4;\n" + fence, "all lanes must have the same descriptor"},
		{"a negative factor", ", 1, 1, 1;", ", 1, -1, 1;", "operands"},
		{"another shape", "m64n32k16", "m64n36k16", "unknown shape"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		text = strings.Replace(text, "\tret;\n", "$end:\n\tret;\n", 1)
		ptxtest.Fault(t, c.name, text, &asynchronous{}, c.want, func(k *ptxtest.Kit) error {
			return k.Run(k.Module, "k", 1, 1, k.In(make([]byte, 16384)), k.In(make([]uint32, 512)), k.In(make([]float32, 128*128)), wgmmaCases()["rows of a slab"].descriptor())
		})
	}
}

// TestBrokenWgmmaTiles: defects put into the embedded tiles are found, as errors of the
// interpreter or by their results.
func TestBrokenWgmmaTiles(t *testing.T) {
	sizes.NotShort(t, "slow")
	f := wgmmaTiles(t, 64)
	m := ptxtest.NewRecords(rand.New(rand.NewPCG(9, 10)), 67, 3)
	z, sums := f.Sums(t, m, 1, 0)
	ptxtest.Broken(t, f.PTX, f.Extension, f.Same(m, 1, z, sums),
		[3]string{"a stride in the descriptors", fmt.Sprint(int64(slabDescriptor(512))), fmt.Sprint(int64(slabDescriptor(1024)))},
		[3]string{"no wait for products", "wgmma.wait_group.sync.aligned 0;", ""},
		[3]string{"no fence before products", "wgmma.fence.sync.aligned;", ""},
		[3]string{"no commit", "wgmma.commit_group.sync.aligned;", ""},
		[3]string{"products by columns", "more, 1, 1, 1;", "more, 1, 1, 0;"},
		[3]string{"sums that are not begun anew", "setp.ne.b32 more, 0, 0;", "setp.ne.b32 more, 1, 0;"},
		[3]string{"no wait for copies", "cp.async.wait_all;", ""},
		[3]string{"copies that are not shown", "fence.proxy.async.shared::cta;", ""},
		[3]string{"no barrier", "bar.sync \t0;", ""},
		[3]string{"a copy to the wrong place", ", 8192;", ", 8208;"})
}

// slabDescriptor is that of kernels/cuda/wgmma.h without the address.
func slabDescriptor(stride uint64) uint64 { return 2<<62 | stride>>4<<32 | 1<<16 }
