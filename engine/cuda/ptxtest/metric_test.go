package ptxtest

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
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
	points     []float32
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

// coefficient is phi'(u_ij) y_i y_j by definition.
func (m *metricData) coefficient(i, j int) float64 {
	var dist float64
	for a := range m.d {
		for b := range m.d {
			dist += (m.x[a*m.n+i] - m.x[a*m.n+j]) * m.w[a*m.d+b] * (m.x[b*m.n+i] - m.x[b*m.n+j])
		}
	}
	t := m.y[i] * m.y[j]
	return -t / (1 + math.Exp(t*(1-dist)))
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// metricTiles are a way to compute the tiles, with its tile sizes.
type metricTiles struct {
	name, file string
	parsed     *Module // of file, with the logistic loss
	operand    string  // suffix of the packing kernels
	rows       int     // of a block
	feature    int     // of a block
	align      int     // of n
	grid       float64
	tolerance  float64
}

// variant is the PTX of bench/gpu/variants, which the product does not have; the test is skipped without that folder.
func variant(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../bench/gpu/variants/" + name + ".ptx")
	if err != nil {
		t.Skip(err)
	}
	return string(text)
}

// text is the PTX of the tiles, with the logistic loss.
func (f metricTiles) text(t *testing.T) string {
	t.Helper()
	if ptx := kernels.PTX(f.file); ptx != "" {
		return withLogistic(ptx)
	}
	return withLogistic(variant(t, f.file))
}

// parse sets parsed.
func (f metricTiles) parse(t *testing.T) metricTiles {
	t.Helper()
	f.parsed = newKit(t, f.text(t)).module
	return f
}

func fp32Tiles(t *testing.T) metricTiles {
	return metricTiles{name: "metric_tiles_fp32", file: "metric_fp32", rows: 64, feature: 64, align: 64, grid: 0x1p-22, tolerance: 1e-6}.parse(t)
}

func allMetricTiles(t *testing.T) []metricTiles {
	mma := metricTiles{file: "metric_mma", align: 256, grid: 0x1p-17, tolerance: 1e-4}.parse(t)
	all := []metricTiles{fp32Tiles(t)}
	for _, operand := range []string{"bf16x3", "tf32"} {
		if mma.operand = operand; operand == "tf32" {
			mma.file, mma.grid, mma.tolerance = "metric_tf32", 0x1p-22, 2e-3
			mma = mma.parse(t)
		}
		mma.name, mma.rows, mma.feature = "metric_tiles_"+operand+"_64", 256, 64
		all = append(all, mma)
		if testing.Short() {
			return append(all, wgmmaTiles(t, 64))
		}
		mma.name, mma.rows, mma.feature = "metric_tiles_"+operand+"_128", 128, 128
		all = append(all, mma)
	}
	return append(all, wgmmaTiles(t, 64), wgmmaTiles(t, 128))
}

func wgmmaTiles(t *testing.T, features int) metricTiles {
	return metricTiles{name: "metric_tiles_wgmma_" + strconv.Itoa(features), file: "metric_wgmma_sm90a", operand: "wgmma",
		rows: 128, feature: features, align: 256, grid: 0x1p-17, tolerance: 1e-4}.parse(t)
}

// sums runs the tiles of the first blocks of rows and one span of columns, and returns z
// and the sums.
func (f metricTiles) sums(t *testing.T, m *metricData, blocks, span int) (z, sums []int64) {
	t.Helper()
	f.project(t, m)
	k := &kit{t: t, module: f.parsed}
	z, sums = must.Get2(f.run(k, m, blocks, span))(t)
	return z, sums
}

// project computes X W and x_i^T W x_i.
func (f metricTiles) project(t *testing.T, m *metricData) {
	t.Helper()
	k := newKit(t, kernels.PTX("metric"))
	n, d := uint64(m.n), uint64(m.d)
	xw, q, x, o := k.in(make([]float64, m.n*m.d)), k.in(make([]float64, m.n)), k.in(m.x), k.in(m.o)
	k.run("metric_project", (m.n+255)/256, (m.d+7)/8, xw, x, o, k.in(m.w), n, d)
	k.run("metric_own", (m.n+255)/256, 1, q, x, o, xw, n, d)
	m.xw, m.q, m.points = make([]float64, m.n*m.d), make([]float64, m.n), make([]float32, 2*roundUp(m.n, 256))
	points := k.in(m.points)
	k.run("metric_points", len(m.points)/512, 1, points, q, k.in(m.y), n, uint64(len(m.points)/2))
	k.out(xw, m.xw)
	k.out(q, m.q)
	k.out(points, m.points)
}

// run runs the tiles of a module.
func (f metricTiles) run(k *kit, m *metricData, blocks, span int) (z, sums []int64, err error) {
	z, sums = make([]int64, m.n*m.d), make([]int64, m.n)
	zAt, sumsAt := k.in(z), k.in(sums)
	bits := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	args := append([]uint64{zAt, sumsAt}, f.operands(k, m)...)
	args = append(args, k.in(m.points), uint64(m.n), uint64(m.d))
	if f.operand == "" {
		args = append(args, uint64(roundUp(m.n, f.align)))
	}
	args = append(args, uint64(span), bits(-2), bits(1), bits(0x1p32))
	err = k.Run(k.module, f.name, blocks, (m.d+f.feature-1)/f.feature, args...)
	k.out(zAt, z)
	k.out(sumsAt, sums)
	return z, sums, err
}

// same returns a comparison of what a program computes with z and sums, for broken.
func (f metricTiles) same(m *metricData, blocks int, z, sums []int64) func(k *kit) (bool, error) {
	return func(k *kit) (bool, error) {
		gotZ, got, err := f.run(k, m, blocks, 0)
		return slices.Equal(gotZ, z) && slices.Equal(got, sums), err
	}
}

// operands are X W and X as the tiles want them.
func (f metricTiles) operands(k *kit, m *metricData) []uint64 {
	stride, padded := roundUp(m.n, f.align), roundUp(m.d, f.feature)
	n, d := uint64(m.n), uint64(m.d)
	pack := func(name string, v []float64, records, steps int) uint64 {
		at := k.in(make([]float32, stride*padded))
		blocks := stride / records
		k.run("metric_"+name+"_"+f.operand, (blocks+7)/8, steps, at, k.in(v), n, d, uint64(blocks), math.Float64bits(1))
		return at
	}
	switch f.operand {
	case "wgmma":
		return []uint64{pack("left", m.xw, 16, padded/16), pack("right", m.x, 64, padded/64)}
	case "bf16x3", "tf32":
		return []uint64{pack("left", m.xw, 16, (m.d+15)/16), pack("right", m.x, 8, (m.d+15)/16), pack("factor", m.x, 16, padded/8)}
	}
	floats := func(v []float64) uint64 {
		at := k.in(make([]float32, stride*padded))
		must.Do(k.t, k.Run(newKit(k.t, kernels.PTX("metric")).module, "metric_floats", (stride+255)/256, padded, at, k.in(v), n, d, uint64(stride), math.Float64bits(1)))
		return at
	}
	return []uint64{floats(m.xw), floats(m.x)}
}

// TestMetricTiles compares with the loop of the kernels' comments, in partly filled
// tiles and pieces of features.
func TestMetricTiles(t *testing.T) {
	for _, f := range allMetricTiles(t) {
		for _, size := range [][2]int{{2, 1}, {67, 3}, {130, 70}, {70, 150}} {
			if !sizes.Full() && size[0] > 67 && size[1] < 150 || testing.Short() && size[0] > 67 || size[1] > 128 && f.name != "metric_tiles_wgmma_128" || size[1] > 64 && f.name == "metric_tiles_wgmma_64" {
				continue // one takes no more features, and one has the more to do with them
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
				most = max(most, math.Abs(float64(sums[i])*f.grid-v))
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
	sizes.NotShort(t, "slow")
	for _, f := range allMetricTiles(t) {
		if f.operand == "tf32" && !sizes.Full() {
			continue // its tiles are cut as those of bf16x3; its own products are DYAD_FULL
		}
		m := newMetricData(rand.New(rand.NewPCG(3, 4)), 67, 5)
		_, full := f.sums(t, m, (m.n+f.rows-1)/f.rows, 0)
		const i = 65 // two tiles, and the diagonal one
		others := sizes.Of([]int{0, 63, 64}, []int{0, 17, 40, 63, 64, 66})
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
	sizes.NotShort(t, "slow")
	for _, f := range allMetricTiles(t) {
		if f.operand == "tf32" && !sizes.Full() {
			continue // its tiles are cut as those of bf16x3; its own products are DYAD_FULL
		}
		const d = 2
		n := 1024 + 64
		rng := rand.New(rand.NewPCG(5, 6))
		m := newMetricData(rng, n, d)
		spans := []int{1}
		if f.operand == "" && sizes.Full() {
			spans = []int{0, 1}
		}
		type sums struct{ z, c []int64 }
		run := func() (all []sums) {
			for _, s := range spans {
				z, c := f.sums(t, m, 1, s) // rows of the first block
				all = append(all, sums{z, c})
			}
			return all
		}
		before := run()
		for _, k := range []int{5, 1030} {
			old := slices.Clone(m.x)
			m.set(k, rng)
			after := run()
			copy(m.x, old)
			changed := 0
			for at, s := range spans {
				for i := range min(f.rows, n) {
					same := true
					for a := range d {
						same = same && before[at].z[a*n+i] == after[at].z[a*n+i]
					}
					if !same {
						changed++
					}
					if in := k == i || k > i && k/1024 == s; !in && !same {
						t.Errorf("%s: record %d changed the products of row %d and span %d", f.name, k, i, s)
					}
				}
				if k < f.rows {
					continue // it is in the sums of all columns
				}
				for j := f.rows; j < n; j++ {
					if j != k && before[at].c[j] != after[at].c[j] {
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
	f := fp32Tiles(t)
	z, sums := f.sums(t, m, 2, 0)
	broken(t, f.text(t), f.same(m, 2, z, sums),
		edit{"no barrier", "bar.sync \t0;", ""},
		edit{"not clamped above the diagonal", "selp.f32", "add.rn.f32"},
		edit{"three", "0f40400000", "0f40400001"},
		edit{"no reduction", "red.global.add.u64 ", "//"})
}

// TestMetricCounts gates the instructions a pair above the diagonal, at 64 features: the
// products of matrices are as few as the method allows, and the rest is small.
func TestMetricCounts(t *testing.T) {
	const d, columns = 64, 256
	for _, f := range allMetricTiles(t) {
		if f.feature > d || testing.Short() && f.operand != "bf16x3" || f.operand == "tf32" && !sizes.Full() { // the full size has its instructions
			continue
		}
		m := newMetricData(rand.New(rand.NewPCG(7, 8)), 1024+columns, d)
		f.project(t, m)
		k := &kit{t: t, module: f.parsed}
		must.Get2(f.run(k, m, 1, 1))(t) // the second span: whole tiles
		pairs := float64(f.rows) * columns
		packing := &kit{t: t, module: f.parsed}
		f.operands(packing, m)
		var products, special, other float64
		for name, n := range k.Counts {
			switch n := float64(n - packing.Counts[name]); {
			case strings.HasPrefix(name, "mma."), strings.HasPrefix(name, "wgmma.mma_async."), name == "fma.rn.f32":
				products += n
			case strings.HasPrefix(name, "ex2."), strings.HasPrefix(name, "rcp."):
				special += n
			case name != "mov.b32":
				other += n
			}
		}
		// Instructions of a lane: mma.sync does 16 8 16 or 16 8 8 products in 32 lanes, wgmma
		// 64 64 16, and 64 32 16 for the second half of them, in 128. Two more are in the
		// distance and the margin.
		limit := map[string]float64{"": 2*d + 2, "bf16x3": 2*d*3/64.0 + 2, "tf32": 2*d/32.0 + 2, "wgmma": d*3/512.0 + d*3/256.0 + 2}[f.operand]
		others := map[string]float64{"": 114, "bf16x3": 31, "tf32": 31, "wgmma": 32}[f.operand]
		if products/pairs > limit*1.001 || special/pairs != 2 || other/pairs > others {
			t.Errorf("%s: more than %.2f products, 2 special functions and %.0f others a pair", f.name, limit, others)
		}
		t.Logf("%s: %.2f products, %.2f special functions and %.2f others a pair", f.name, products/pairs, special/pairs, other/pairs)
	}
}
