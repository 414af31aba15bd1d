package ptxtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// padded copies v to a multiple of 128 with the padding of logistic_tiles.
func padded(v []float32) []float32 {
	p := append([]float32(nil), v...)
	for len(p)%128 != 0 {
		p = append(p, 0x1p62)
	}
	return p
}

// tiles runs logistic_tiles on a and b.
func (k *Kit) tiles(a, b []float32) (row, col []int64) {
	k.T.Helper()
	row, col, err := k.tried(a, b)
	must.Do(k.T, err)
	return row, col
}

func (k *Kit) tried(a, b []float32) (row, col []int64, err error) {
	twice := make([]float32, len(a))
	for i, v := range a {
		twice[i] = 2 * v
	}
	row, col = make([]int64, len(a)), make([]int64, len(b))
	r, c := k.In(row), k.In(col)
	err = k.Run(k.Module, "logistic_tiles", (len(a)+127)/128, (len(b)+2047)/2048, r, c, k.In(padded(twice)), k.In(padded(b)), uint64(len(a)), uint64(len(b)))
	k.Out(r, row)
	k.Out(c, col)
	return row, col, err
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
	k := NewKit(t, kernels.PTX("score"), nil)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		rows, cols int
		h          float64
	}{{1, 1, 3}, {129, 5, 3}, {3, 2049, 2}, {128, 130, 20}, {127, 128, 34.6}, {5, 130, 34.6}} {
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

// TestTermsArePartnersOnly: every term is a function of its two records and the partner of
// its row, whatever else is in the tile: sums are exactly the sums of the terms computed with
// them alone, in either order. The control: with another partner some terms differ.
func TestTermsArePartnersOnly(t *testing.T) {
	k := NewKit(t, kernels.PTX("score"), nil)
	rng := rand.New(rand.NewPCG(7, 8))
	a, b := randomExponentials(rng, 5, 4), randomExponentials(rng, 40, 4)
	row, col := k.tiles(a, b)
	wantCol, differ := make([]int64, len(b)), 0
	for i := range a {
		pair, first := []float32{a[i]}, 0
		if i^1 < len(a) {
			pair, first = []float32{a[i^1], a[i]}, 1 // the other way round
		}
		var sum int64
		for j := range b {
			r, _ := k.tiles(pair, b[j:j+1])
			other, _ := k.tiles([]float32{a[i], a[(i+2)%5] * 1.3}, b[j:j+1])
			if other[0] != r[first] {
				differ++
			}
			sum += r[first]
			wantCol[j] += r[first]
		}
		if sum != row[i] {
			t.Errorf("row %d is %d, its terms sum to %d", i, row[i], sum)
		}
	}
	must.Same(t, col, wantCol, "columns")
	if differ < 20 {
		t.Errorf("with another partner %d terms differ", differ)
	}
}

// TestLargeProducts: at the largest and the smallest exponentials, each with partners of all
// sizes and without one, where products of two pairs leave the range of float32, a term is
// within its error. The control: with exponents one and a half times as large, or padding that
// is 2^40 larger, it is not.
func TestLargeProducts(t *testing.T) {
	worst := func(exponent, padding float64) (worst float64) {
		k := NewKit(t, kernels.PTX("score"), nil)
		var scales []float32
		for h := -8; h <= 8; h += sizes.Of(2, 1) {
			scales = append(scales, float32(math.Exp2(exponent*float64(h)/8)))
		}
		var a []float32
		for _, v := range scales {
			for _, partner := range scales {
				a = append(a, v, partner)
			}
			a = append(a, v, float32(math.Exp2(padding)/2))
		}
		for _, k.Skew = range []float64{0, 1, -1} {
			for _, b := range scales {
				row, _ := k.tiles(a, []float32{b})
				for i, got := range row {
					want := 1 / (1 + float64(a[i])*float64(b))
					if a[i] == float32(math.Exp2(padding)/2) {
						want = 0
					}
					worst = max(worst, math.Abs(float64(got)*0x1p-23-want))
				}
			}
		}
		return worst
	}
	must.Within(t, worst(24/math.Ln2, 62), 0, 6*0x1p-24, "off by")
	for _, c := range [][2]float64{{36 / math.Ln2, 62}, {24 / math.Ln2, 102}} {
		if far := worst(c[0], c[1]); far < 0.01 {
			t.Errorf("exponents up to %.1f, padding 2^%v: off by %g only", c[0], c[1], far)
		}
	}
}

// TestTermsAreClamped: no score, NaN and infinity included, gives a term outside of
// [0, 1], and so an overflow or a sensitivity that was not paid for: the exponentials
// are clamped to the range in which padding adds nothing.
func TestTermsAreClamped(t *testing.T) {
	const limit = 24
	s := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 0, 64, -64, 5e-324}
	for _, skew := range []float64{0, 1, -1} {
		k := NewKit(t, kernels.PTX("score"), nil)
		k.Skew = skew
		exponentials := func(scale, factor float64) uint64 {
			out := k.In(make([]float32, 128))
			k.Launch("exponentials", 1, 1, out, k.In(s), k.In(places(len(s))), 128, math.Float64bits(scale), math.Float64bits(limit), math.Float64bits(factor), uint64(math.Float32bits(0x1p62)))
			return out
		}
		a, b := exponentials(1, 2), exponentials(-1, 1)
		for i := range s {
			// One record against all: its sum is within the number of the others.
			sums, other := k.In(make([]int64, 1)), k.In(make([]int64, len(s)))
			one := k.Alloc(512)
			to, from := k.Bytes(one, 512), k.Bytes(a, 512)
			copy(to, from[4*i:4*i+4])
			for j := 4; j < 512; j += 4 {
				copy(to[j:], from[508:512])
			}
			k.Launch("logistic_tiles", 1, 1, sums, other, one, b, 1, uint64(len(s)))
			sum, terms := make([]int64, 1), make([]int64, len(s))
			k.Out(sums, sum)
			k.Out(other, terms)
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

// TestLogisticCounts: one special-function operation for two pairs, and at most six
// instructions a pair with it.
func TestLogisticCounts(t *testing.T) {
	k := NewKit(t, kernels.PTX("score"), nil)
	rng := rand.New(rand.NewPCG(9, 10))
	k.tiles(randomExponentials(rng, 128, 3), randomExponentials(rng, 2048, 3))
	pairs := 128.0 * 2048
	var all int64
	for name, n := range k.Counts {
		if name != "mov.b32" { // another name for the same register
			all += n
		}
	}
	must.Equal(t, float64(k.Counts["rcp.approx.ftz.f32"])/pairs, 0.5, "... reciprocals a pair")
	if per := float64(all) / pairs; per > 6 {
		t.Errorf("%.2f instructions a pair, want at most 6", per)
	} else {
		t.Logf("%.2f instructions a pair", per)
	}
}

// places are 128 places of records, the first n of them taken in order.
func places(n int) []uint32 {
	at := make([]uint32, 128)
	for i := range at {
		if at[i] = math.MaxUint32; i < n {
			at[i] = uint32(i)
		}
	}
	return at
}

// TestExponentials: relative error, clamping, order and padding.
func TestExponentials(t *testing.T) {
	k := NewKit(t, kernels.PTX("score"), nil)
	s := []float64{0, 1, -1, 0.3, 31.9, -31.9, 1000, -1000, 1e-300, 5.5451774444795623}
	const scale, limit = 2.0, 64.0
	at, got := places(len(s)), make([]float32, 128)
	at[0], at[3], at[100] = at[3], math.MaxUint32, at[0]
	k.Fill(got, "exponentials", 1, 1, k.In(s), k.In(at), 128, math.Float64bits(scale), math.Float64bits(limit), math.Float64bits(2), uint64(math.Float32bits(0x1p62)))
	for i, from := range at {
		want := 0x1p62
		if from != math.MaxUint32 {
			want = 2 * math.Exp(max(-limit, min(limit, scale*s[from])))
		}
		if math.Abs(float64(got[i])/want-1) > 0x1p-24*(1+1e-6) {
			t.Errorf("place %d with record %d is %v, want %v", i, from, got[i], want)
		}
	}
}

// TestForgottenPhi: PTX with the marker still in place does not run.
func TestForgottenPhi(t *testing.T) {
	k := NewKit(t, kernels.PTX("spliced"), nil)
	one := uint64(math.Float32bits(1))
	err := k.Run(k.Module, "pair_tiles", 1, 1, k.In([]int64{0}), k.In([]float32{1, 0, 1, 0}), k.In([]uint32{1}), 1, one, one, one, 0, 0)
	if err == nil || !strings.Contains(err.Error(), "not set") {
		t.Errorf("got %v", err)
	}
}

// TestBrokenPTX is the control of these tests: defects put into the PTX are found.
func TestBrokenPTX(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	a, b := randomExponentials(rng, 140, 3), randomExponentials(rng, 40, 3)
	want, _ := NewKit(t, kernels.PTX("score"), nil).tiles(a, b)
	Broken(t, kernels.PTX("score"), nil, func(k *Kit) (bool, error) {
		got, _, err := k.tried(a, b)
		return slices.Equal(got, want), err
	},
		[3]string{"no barrier", "bar.sync \t0;", ""},
		[3]string{"wrong offset", "ld.global.f32 \t%f1, [%rd21];", "ld.global.f32 \t%f1, [%rd21+4096];"},
		[3]string{"wrong constant", "0f3F000000;", "0f3F000001;"},
		[3]string{"no reduction", "red.global.add.u64 ", "//"})
}
