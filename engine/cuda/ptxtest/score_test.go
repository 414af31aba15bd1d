package ptxtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/kernels"
)

// kit runs the score kernels on Go slices.
type kit struct {
	t *testing.T
	Machine
	module *Module
}

func newKit(t *testing.T, ptx string) *kit {
	t.Helper()
	m, err := Parse(ptx)
	if err != nil {
		t.Fatal(err)
	}
	return &kit{t: t, module: m}
}

func (k *kit) in(v any) uint64 {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		k.t.Fatal(err)
	}
	at := k.Alloc(len(b))
	copy(k.Bytes(at, len(b)), b)
	return at
}

func (k *kit) out(at uint64, v any) {
	if _, err := binary.Decode(k.Bytes(at, binary.Size(v)), binary.LittleEndian, v); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) run(name string, x, y int, args ...uint64) {
	k.t.Helper()
	if err := k.Run(k.module, name, x, y, args...); err != nil {
		k.t.Fatal(err)
	}
}

// padded copies v to a multiple of 128 with the padding of logistic_tiles.
func padded(v []float32) []float32 {
	p := append([]float32(nil), v...)
	for len(p)%128 != 0 {
		p = append(p, 0x1p120)
	}
	return p
}

// tiles runs logistic_tiles on a and b.
func (k *kit) tiles(a, b []float32) (row, col []int64) {
	k.t.Helper()
	twice := make([]float32, len(a))
	for i, v := range a {
		twice[i] = 2 * v
	}
	row, col = make([]int64, len(a)), make([]int64, len(b))
	r, c := k.in(row), k.in(col)
	k.run("logistic_tiles", (len(a)+127)/128, (len(b)+2047)/2048, r, c, k.in(padded(twice)), k.in(padded(b)), uint64(len(a)), uint64(len(b)))
	k.out(r, row)
	k.out(c, col)
	return row, col
}

func randomExponentials(rng *rand.Rand, n int, h float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.Exp2(h * (2*rng.Float64() - 1)))
	}
	return v
}

// TestLogisticTiles compares with the loop of the kernel's comment, in every case of
// partly filled tiles and strips, at ordinary and at extreme exponents.
func TestLogisticTiles(t *testing.T) {
	k := newKit(t, kernels.PTX("score"))
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		rows, cols int
		h          float64
	}{{1, 1, 3}, {129, 5, 3}, {3, 2049, 2}, {128, 130, 20}, {127, 128, 92}} {
		for _, skew := range []float64{0, 1, -1} {
			k.Skew = skew
			a, b := randomExponentials(rng, c.rows, c.h), randomExponentials(rng, c.cols, c.h)
			row, col := k.tiles(a, b)
			wantRow, wantCol := make([]float64, c.rows), make([]float64, c.cols)
			for i := range a {
				for j := range b {
					v := 1 / (1 + float64(a[i])*float64(b[j]))
					wantRow[i] += v
					wantCol[j] += v
				}
			}
			check := func(got []int64, want []float64, terms int) {
				for i := range got {
					if diff := math.Abs(float64(got[i])*0x1p-23 - want[i]); !(diff <= float64(terms)*7*0x1p-24) {
						t.Fatalf("%+v skew %v: sum %d is off by %g", c, skew, i, diff)
					}
				}
			}
			check(row, wantRow, c.cols)
			check(col, wantCol, c.rows)
		}
	}
}

// TestTermsAreOwnOnly: every term is a function of its two records, whatever else is in
// the tile: sums are exactly the sums of the terms computed alone. So changing record k
// leaves all partial sums without k alone to the last bit.
func TestTermsAreOwnOnly(t *testing.T) {
	k := newKit(t, kernels.PTX("score"))
	rng := rand.New(rand.NewPCG(7, 8))
	a, b := randomExponentials(rng, 2, 4), randomExponentials(rng, 40, 4)
	row, col := k.tiles(a, b)
	wantCol := make([]int64, len(b))
	for i := range a {
		var sum int64
		for j := range b {
			r, _ := k.tiles(a[i:i+1], b[j:j+1])
			sum += r[0]
			wantCol[j] += r[0]
		}
		if sum != row[i] {
			t.Errorf("row %d is %d, its terms sum to %d", i, row[i], sum)
		}
	}
	for j := range b {
		if col[j] != wantCol[j] {
			t.Errorf("column %d is %d, its terms sum to %d", j, col[j], wantCol[j])
		}
	}
	// Control: with one reciprocal for two pairs, 1/p0 = p1 / (p0 p1), a term depends
	// on a third record.
	shared := func(p0, p1 float32) float32 { return 1 / (p0 * p1) * p1 }
	if shared(3, 1.1) == shared(3, 1.3) && shared(3, 1.7) == shared(3, 1.1) {
		t.Error("the control does not show the defect")
	}
}

// TestTermsAreClamped: no score, NaN and infinity included, gives a term outside of
// [0, 1], and so an overflow or a sensitivity that was not paid for: the exponentials
// are clamped to the range in which padding adds nothing.
func TestTermsAreClamped(t *testing.T) {
	const limit = 64
	s := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 0, 64, -64, 5e-324}
	for _, skew := range []float64{0, 1, -1} {
		k := newKit(t, kernels.PTX("score"))
		k.Skew = skew
		exponentials := func(scale, factor float64) uint64 {
			out := k.in(make([]float32, 128))
			k.run("exponentials", 1, 1, out, k.in(s), uint64(len(s)), math.Float64bits(scale), math.Float64bits(limit), math.Float64bits(factor), uint64(math.Float32bits(0x1p120)))
			return out
		}
		a, b := exponentials(1, 2), exponentials(-1, 1)
		for i := range s {
			// One record against all: its sum is within the number of the others.
			sums, other := k.in(make([]int64, 1)), k.in(make([]int64, len(s)))
			one := k.Alloc(512)
			to, from := k.Bytes(one, 512), k.Bytes(a, 512)
			copy(to, from[4*i:4*i+4])
			for j := 4; j < 512; j += 4 {
				copy(to[j:], from[508:512])
			}
			k.run("logistic_tiles", 1, 1, sums, other, one, b, 1, uint64(len(s)))
			sum, terms := make([]int64, 1), make([]int64, len(s))
			k.out(sums, sum)
			k.out(other, terms)
			var total int64
			for j, v := range terms {
				if v < 0 || v > 1<<23 {
					t.Errorf("scores %v and %v: term %d", s[i], s[j], v)
				}
				total += v
			}
			if sum[0] != total {
				t.Errorf("score %v: the terms sum to %d, not %d: padding counts", s[i], total, sum[0])
			}
		}
	}
}

// TestLogisticCounts: one special-function operation a pair, and at most five others.
func TestLogisticCounts(t *testing.T) {
	k := newKit(t, kernels.PTX("score"))
	rng := rand.New(rand.NewPCG(9, 10))
	k.tiles(randomExponentials(rng, 128, 3), randomExponentials(rng, 2048, 3))
	pairs := 128.0 * 2048
	var all int64
	for name, n := range k.Counts {
		if name != "mov.b32" { // another name for the same register
			all += n
		}
	}
	if per := float64(k.Counts["rcp.approx.ftz.f32"]) / pairs; per != 1 {
		t.Errorf("%v reciprocals a pair, want 1", per)
	}
	if per := float64(all) / pairs; per > 6 {
		t.Errorf("%.2f instructions a pair, want at most 6", per)
	} else {
		t.Logf("%.2f instructions a pair", per)
	}
}

// TestExponentials: relative error, clamping and padding.
func TestExponentials(t *testing.T) {
	k := newKit(t, kernels.PTX("score"))
	s := []float64{0, 1, -1, 0.3, 31.9, -31.9, 1000, -1000, 1e-300, 5.5451774444795623}
	const scale, limit = 2.0, 64.0
	out := k.in(make([]float32, 128))
	k.run("exponentials", 1, 1, out, k.in(s), uint64(len(s)), math.Float64bits(scale), math.Float64bits(limit), math.Float64bits(2), uint64(math.Float32bits(0x1p120)))
	got := make([]float32, 128)
	k.out(out, got)
	for i, v := range s {
		want := 2 * math.Exp(max(-limit, min(limit, scale*v)))
		if math.Abs(float64(got[i])/want-1) > 0x1p-24*(1+1e-6) {
			t.Errorf("exp(%v) = %v, want %v", scale*v, got[i], want)
		}
	}
	for _, v := range got[len(s):] {
		if v != 0x1p120 {
			t.Fatalf("padding %v", v)
		}
	}
}

// TestForgottenPhi: PTX with the marker still in place does not run.
func TestForgottenPhi(t *testing.T) {
	k := newKit(t, kernels.PTX("score"))
	one := k.in([]float32{1, 0})
	err := k.Run(k.module, "pair_tiles", 1, 1, k.in([]int64{0}), one, one, k.in([]uint32{1}), 1, uint64(math.Float32bits(1)), 0, 0)
	if err == nil || !strings.Contains(err.Error(), "not set") {
		t.Errorf("got %v", err)
	}
}

// TestBrokenPTX is the control of these tests: defects put into the PTX are found.
func TestBrokenPTX(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	a, b := randomExponentials(rng, 140, 3), randomExponentials(rng, 40, 3)
	want, _ := newKit(t, kernels.PTX("score")).tiles(a, b)
	for _, c := range []struct{ name, old, new string }{
		{"no barrier", "bar.sync \t0;", ""},
		{"wrong offset", "ld.global.f32 \t%f1, [%rd24];", "ld.global.f32 \t%f1, [%rd24+4096];"},
		{"wrong constant", "0f3F000000;", "0f3F000001;"},
		{"no reduction", "red.global.add.u64 ", "//"},
	} {
		broken := strings.ReplaceAll(kernels.PTX("score"), c.old, c.new)
		if broken == kernels.PTX("score") {
			t.Errorf("%s: the PTX has no %q", c.name, c.old)
			continue
		}
		k := newKit(t, broken)
		row := k.in(make([]int64, len(a)))
		col := k.in(make([]int64, len(b)))
		twice := make([]float32, len(a))
		for i := range a {
			twice[i] = 2 * a[i]
		}
		err := k.Run(k.module, "logistic_tiles", 2, 1, row, col, k.in(padded(twice)), k.in(padded(b)), uint64(len(a)), uint64(len(b)))
		got := make([]int64, len(a))
		k.out(row, got)
		same := true
		for i := range got {
			same = same && got[i] == want[i]
		}
		if err == nil && same {
			t.Errorf("%s: not found", c.name)
		}
	}
}
