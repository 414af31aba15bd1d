package ptxtest

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/kernels"
)

// withLogistic puts phi'(u) = -1/(1 + e^u) at the markers.
func withLogistic(ptx string) string {
	return regexp.MustCompile(`//@PHI (\S+) (\S+);`).ReplaceAllString(ptx, `{
	.reg .f32 %phi<3>;
	mul.rn.f32 %phi0, $2, 0f3FB8AA3B;
	ex2.approx.ftz.f32 %phi1, %phi0;
	add.rn.f32 %phi1, %phi1, 0f3F800000;
	rcp.approx.ftz.f32 %phi2, %phi1;
	neg.f32 $1, %phi2;
	}`)
}

// metricData are records with norms and distances of at most 1 in size.
type metricData struct {
	n, d       int
	x, xw      []float64 // by columns
	y, w, q, o []float64
}

func newMetricData(rng *rand.Rand, n, d int) *metricData {
	m := &metricData{n: n, d: d, o: make([]float64, d), y: make([]float64, n), w: make([]float64, d*d), x: make([]float64, n*d)}
	for a := range d {
		m.w[a*d+a] = 1 / (1 + float64(a))
		if a > 0 {
			m.w[a*d+a-1], m.w[(a-1)*d+a] = 0.2, 0.2
		}
	}
	for i := range n {
		m.y[i] = float64(1 - 2*rng.IntN(2))
		m.set(i, rng)
	}
	return m
}

// set draws record i.
func (m *metricData) set(i int, rng *rand.Rand) {
	var norm float64
	for k := range m.d {
		m.x[k*m.n+i] = rng.NormFloat64()
		norm = math.Hypot(norm, m.x[k*m.n+i])
	}
	for k := range m.d {
		m.x[k*m.n+i] /= norm * (1 + rng.Float64())
	}
}

// coefficient is c_ij by definition.
func (m *metricData) coefficient(i, j int) float64 {
	var dist float64
	for a := range m.d {
		for b := range m.d {
			dist += (m.x[a*m.n+i] - m.x[a*m.n+j]) * m.w[a*m.d+b] * (m.x[b*m.n+i] - m.x[b*m.n+j])
		}
	}
	t := m.y[i] * m.y[j]
	return t / (1 + math.Exp(t*(1-dist)))
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// metricTiles are a way to compute the tiles, with its tile sizes.
type metricTiles struct {
	name, file    string
	rows, feature int // of a block
	pad           int // of n
	tolerance     float64
}

var fp32Tiles = metricTiles{name: "metric_tiles_fp32", file: "metric_fp32", rows: 64, feature: 64, pad: 64, tolerance: 1e-6}

// sums runs the tiles of a range of blocks of rows and one span of columns, from block
// number row0 = 0 on, and returns z and the sums.
func (f metricTiles) sums(t *testing.T, m *metricData, blocks, span int) (z, sums []int64) {
	t.Helper()
	helper := newKit(t, kernels.PTX("metric"))
	n, d := uint64(m.n), uint64(m.d)
	xw := helper.in(make([]float64, m.n*m.d))
	q, x, o := helper.in(make([]float64, m.n)), helper.in(m.x), helper.in(m.o)
	helper.run("metric_project", (m.n+255)/256, (m.d+7)/8, xw, x, o, helper.in(m.w), n, d)
	helper.run("metric_own", (m.n+255)/256, 1, q, x, o, xw, n, d)
	m.xw, m.q = make([]float64, m.n*m.d), make([]float64, m.n)
	helper.out(xw, m.xw)
	helper.out(q, m.q)
	k := newKit(t, withLogistic(kernels.PTX(f.file)))
	left, right := f.operands(k, m)
	z, sums = make([]int64, m.n*m.d), make([]int64, m.n)
	zAt, sumsAt := k.in(z), k.in(sums)
	bits := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	k.run(f.name, blocks, (m.d+f.feature-1)/f.feature, zAt, sumsAt, left, right, k.in(m.q), k.in(m.y), n, d,
		uint64(roundUp(m.n, f.pad)), uint64(span), bits(-2), bits(-1), bits(0x1p32))
	k.out(zAt, z)
	k.out(sumsAt, sums)
	return z, sums
}

// operands are X W and X as the tiles want them.
func (f metricTiles) operands(k *kit, m *metricData) (left, right uint64) {
	stride, padded := roundUp(m.n, f.pad), roundUp(m.d, f.feature)
	make := func(v []float64) uint64 {
		at := k.in(make([]float32, stride*padded))
		k.run("metric_floats", (stride+255)/256, padded, at, k.in(v), uint64(m.n), uint64(m.d), uint64(stride), math.Float64bits(1))
		return at
	}
	return make(m.xw), make(m.x)
}

func allMetricTiles() []metricTiles { return []metricTiles{fp32Tiles} }

// TestMetricTiles compares with the loop of the kernels' comments, in partly filled
// tiles and pieces of features.
func TestMetricTiles(t *testing.T) {
	for _, f := range allMetricTiles() {
		for _, size := range [][2]int{{2, 1}, {67, 3}, {130, 70}} {
			if testing.Short() && size[0] > 100 {
				continue
			}
			m := newMetricData(rand.New(rand.NewPCG(1, uint64(size[0]))), size[0], size[1])
			z, sums := f.sums(t, m, (m.n+f.rows-1)/f.rows, 0)
			wantZ, wantSums := make([]float64, m.n*m.d), make([]float64, m.n)
			for i := range m.n {
				for j := i + 1; j < m.n; j++ {
					c := m.coefficient(i, j)
					wantSums[i] += c
					wantSums[j] += c
					for k := range m.d {
						wantZ[k*m.n+i] += c * m.x[k*m.n+j]
					}
				}
			}
			var most float64
			for i, v := range wantSums {
				most = max(most, math.Abs(float64(sums[i])*0x1p-22-v))
			}
			for i, v := range wantZ {
				most = max(most, math.Abs(float64(z[i])*0x1p-32-v))
			}
			if !(most <= float64(m.n)*f.tolerance) {
				t.Errorf("%s, n = %d, d = %d: a sum is off by %g", f.name, m.n, m.d, most)
			}
			t.Logf("%s, n = %d, d = %d: largest error %.2g a pair", f.name, m.n, m.d, most/float64(m.n))
		}
	}
}

// TestMetricCoefficientsAreOwnOnly: c_ij is a function of records i and j and of their
// order, whatever else is in the tile and wherever they are in it: the sums of
// coefficients are those of the pairs alone, as integers.
func TestMetricCoefficientsAreOwnOnly(t *testing.T) {
	for _, f := range allMetricTiles() {
		m := newMetricData(rand.New(rand.NewPCG(3, 4)), 67, 5)
		_, full := f.sums(t, m, (m.n+f.rows-1)/f.rows, 0)
		const i = 65 // two tiles, and the diagonal one
		others := []int{0, 17, 40, 63, 64, 66}
		keep := slices.Clone(m.y)
		for j := range m.y {
			if j != i && !slices.Contains(others, j) {
				m.y[j] = 0 // no coefficient
			}
		}
		_, sums := f.sums(t, m, (m.n+f.rows-1)/f.rows, 0)
		var want int64
		for _, j := range others {
			first, second := min(i, j), max(i, j)
			alone := &metricData{n: 2, d: m.d, o: m.o, w: m.w, y: []float64{keep[first], keep[second]}}
			for k := range m.d {
				alone.x = append(alone.x, m.x[k*m.n+first], m.x[k*m.n+second])
			}
			_, s := f.sums(t, alone, 1, 0)
			want += s[0]
			if s[0] != s[1] || s[0] == 0 {
				t.Errorf("%s: a pair alone has the sums %v", f.name, s)
			}
		}
		if sums[i] != want || full[i] == want {
			t.Errorf("%s: the coefficients of record %d sum to %d, alone to %d", f.name, i, sums[i], want)
		}
	}
}

// TestMetricRecordChangesItsPartialsOnly: when record k changes, every partial sum
// without k keeps its bits: the products of rows and spans, and all coefficients.
func TestMetricRecordChangesItsPartialsOnly(t *testing.T) {
	for _, f := range allMetricTiles() {
		const d = 2
		n := 1024 + f.rows
		rng := rand.New(rand.NewPCG(5, 6))
		m := newMetricData(rng, n, d)
		type sums struct{ z, c []int64 }
		run := func() (spans [2]sums) {
			for s := range spans {
				if s == 0 && testing.Short() {
					spans[s] = sums{make([]int64, n*d), make([]int64, n)}
					continue
				}
				spans[s].z, spans[s].c = f.sums(t, m, 1, s) // rows of the first block
			}
			return spans
		}
		before := run()
		for _, k := range []int{5, 1030} {
			if testing.Short() && k == 5 {
				continue
			}
			old := slices.Clone(m.x)
			m.set(k, rng)
			after := run()
			copy(m.x, old)
			changed := 0
			for s := range before {
				for i := range f.rows {
					in := k == i || k > i && k/1024 == s // k is in the sum of row i over span s
					if testing.Short() && s == 0 {
						in = false
					}
					same := true
					for a := range d {
						same = same && before[s].z[a*n+i] == after[s].z[a*n+i]
					}
					if !same {
						changed++
					}
					if !in && !same {
						t.Errorf("%s: record %d changed the products of row %d and span %d", f.name, k, i, s)
					}
				}
				for j := range n { // sums over the rows of the block, all of which meet k
					if same := before[s].c[j] == after[s].c[j]; j >= f.rows && j != k && k >= f.rows && !same {
						t.Errorf("%s: record %d changed the coefficients of column %d", f.name, k, j)
					}
				}
			}
			if changed == 0 { // the control: sums with k do change
				t.Errorf("%s: record %d changed nothing", f.name, k)
			}
		}
	}
}

// TestBrokenMetricPTX is the control of these tests: defects put into the PTX are found.
func TestBrokenMetricPTX(t *testing.T) {
	m := newMetricData(rand.New(rand.NewPCG(9, 10)), 67, 3)
	f := fp32Tiles
	z, sums := f.sums(t, m, 2, 0)
	for _, c := range []struct{ name, old, new string }{
		{"no barrier", "bar.sync \t0;", ""},
		{"not clamped above the diagonal", "selp.f32", "add.rn.f32"},
		{"three quarters", "0fBF400000", "0fBF400001"},
		{"no reduction", "red.global.add.u64 ", "//"},
	} {
		broken := strings.ReplaceAll(withLogistic(kernels.PTX(f.file)), c.old, c.new)
		if broken == withLogistic(kernels.PTX(f.file)) {
			t.Errorf("%s: the PTX has no %q", c.name, c.old)
			continue
		}
		module, err := Parse(broken)
		if err != nil {
			continue
		}
		k := &kit{t: t, module: module}
		left, right := f.operands(k, m)
		zAt, sumsAt := k.in(make([]int64, len(z))), k.in(make([]int64, len(sums)))
		bits := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
		err = k.Run(module, f.name, 2, 1, zAt, sumsAt, left, right, k.in(m.q), k.in(m.y), uint64(m.n), uint64(m.d),
			uint64(roundUp(m.n, f.pad)), 0, bits(-2), bits(-1), bits(0x1p32))
		gotZ, got := make([]int64, len(z)), make([]int64, len(sums))
		k.out(zAt, gotZ)
		k.out(sumsAt, got)
		if err == nil && slices.Equal(gotZ, z) && slices.Equal(got, sums) {
			t.Errorf("%s: not found", c.name)
		}
	}
}
