package ptxtest

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// WithLogistic replaces each marker //@PHI in the text ptx by code that computes phi'(u) = -1/(1 + e^u).
func WithLogistic(ptx string) string {
	return regexp.MustCompile(`//@PHI (\S+) (\S+);`).ReplaceAllString(ptx, `{
	.reg .f32 %phi<3>;
	mul.rn.f32 %phi0, $2, 0f3FB8AA3B;
	ex2.approx.ftz.f32 %phi1, %phi0;
	add.rn.f32 %phi1, %phi1, 0f3F800000;
	rcp.approx.ftz.f32 %phi2, %phi1;
	neg.f32 $1, %phi2;
	}`)
}

// Records holds random records of norm at most 1, for tests.
type Records struct {
	n, d       int
	x, xw      []float64 // by columns
	y, w, q, o []float64
	points     []float32
}

// NewRecords draws n records of d features.
func NewRecords(rng *rand.Rand, n, d int) *Records {
	m := &Records{n: n, d: d, o: make([]float64, d), y: make([]float64, n), w: make([]float64, d*d),
		x: make([]float64, n*d)}
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
func (m *Records) set(i int, rng *rand.Rand) {
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
func (m *Records) coefficient(i, j int) float64 {
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

// Tiles describes one implementation of the tiles for metrics, and the sizes of its tiles.
type Tiles struct {
	Name      string
	PTX       string // with the logistic loss, see WithLogistic
	Extension Extension
	Operand   string // suffix of the packing kernels
	Rows      int    // of a block
	Feature   int    // of a block
	Align     int    // of n
	Most      int    // features that a test takes; 0 means any number
	Grid      float64
	Tolerance float64
	// Products and Others limit a lane's instructions for a pair above the diagonal with 64 features. Products
	// counts fused operations and matrix products. Others excludes moves and the two special functions.
	Products, Others float64

	parsed *Module
}

// kit returns a kit for the program.
func (f *Tiles) kit(t *testing.T) *Kit {
	t.Helper()
	if f.parsed == nil {
		f.parsed = NewKit(t, f.PTX, f.Extension).Module
	}
	return &Kit{T: t, Module: f.parsed}
}

// Sums runs the tiles of one span of columns and the first `blocks` blocks of rows. z has
// the sums of c_ij x_j in units of 2^-32. sums has those of c_ij in units of Grid.
func (f *Tiles) Sums(t *testing.T, m *Records, blocks, span int) (z, sums []int64) {
	t.Helper()
	f.project(t, m)
	z, sums = must.Get2(f.run(f.kit(t), m, blocks, span))(t)
	return z, sums
}

// project computes X W and x_i^T W x_i.
func (f *Tiles) project(t *testing.T, m *Records) {
	t.Helper()
	k := NewKit(t, kernels.PTX("metric"), nil)
	n, d := uint64(m.n), uint64(m.d)
	xw, q, x, o := k.In(make([]float64, m.n*m.d)), k.In(make([]float64, m.n)), k.In(m.x), k.In(m.o)
	k.Launch("metric_project", (m.n+255)/256, (m.d+7)/8, xw, x, o, k.In(m.w), n, d)
	k.Launch("metric_own", (m.n+255)/256, 1, q, x, o, xw, n, d)
	m.xw, m.q, m.points = make([]float64, m.n*m.d), make([]float64, m.n), make([]float32, 2*roundUp(m.n, 256))
	points := k.In(m.points)
	k.Launch("metric_points", len(m.points)/512, 1, points, q, k.In(m.y), n, uint64(len(m.points)/2))
	k.Out(xw, m.xw)
	k.Out(q, m.q)
	k.Out(points, m.points)
}

// run runs the tiles of a module.
func (f *Tiles) run(k *Kit, m *Records, blocks, span int) (z, sums []int64, err error) {
	z, sums = make([]int64, m.n*m.d), make([]int64, m.n)
	zAt, sumsAt := k.In(z), k.In(sums)
	bits := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	args := append([]uint64{zAt, sumsAt}, f.operands(k, m)...)
	args = append(args, k.In(m.points), uint64(m.n), uint64(m.d))
	if f.Operand == "" {
		args = append(args, uint64(roundUp(m.n, f.Align)))
	}
	args = append(args, uint64(span), bits(-2), bits(1), bits(0x1p32))
	err = k.Run(k.Module, f.Name, blocks, (m.d+f.Feature-1)/f.Feature, args...)
	k.Out(zAt, z)
	k.Out(sumsAt, sums)
	return z, sums, err
}

// Same returns a function for Broken. The function reports whether a program computes exactly z and sums.
func (f *Tiles) Same(m *Records, blocks int, z, sums []int64) func(k *Kit) (bool, error) {
	return func(k *Kit) (bool, error) {
		gotZ, got, err := f.run(k, m, blocks, 0)
		return slices.Equal(gotZ, z) && slices.Equal(got, sums), err
	}
}

// operands are X W and X as the tiles want them.
func (f *Tiles) operands(k *Kit, m *Records) []uint64 {
	stride, padded := roundUp(m.n, f.Align), roundUp(m.d, f.Feature)
	n, d := uint64(m.n), uint64(m.d)
	pack := func(name string, v []float64, records, steps int) uint64 {
		at := k.In(make([]float32, stride*padded))
		blocks := stride / records
		k.Launch("metric_"+name+"_"+f.Operand, (blocks+7)/8, steps, at, k.In(v), n, d, uint64(blocks), math.Float64bits(1))
		return at
	}
	switch f.Operand {
	case "wgmma":
		return []uint64{pack("left", m.xw, 16, padded/16), pack("right", m.x, 64, padded/64)}
	case "bf16x3", "tf32":
		return []uint64{pack("left", m.xw, 16, (m.d+15)/16), pack("right", m.x, 8, (m.d+15)/16),
			pack("factor", m.x, 16, padded/8)}
	}
	floats := func(v []float64) uint64 {
		at := k.In(make([]float32, stride*padded))
		must.Do(k.T, k.Run(NewKit(k.T, kernels.PTX("metric"), nil).Module, "metric_floats", (stride+255)/256, padded, at,
			k.In(v), n, d, uint64(stride), math.Float64bits(1)))
		return at
	}
	return []uint64{floats(m.xw), floats(m.x)}
}

// CheckSums compares the sums of the tiles with a plain loop in Go. Some sizes fill a
// tile or a piece of features only partly.
func CheckSums(t *testing.T, tiles []*Tiles) {
	for _, f := range tiles {
		for _, size := range [][2]int{{2, 1}, {67, 3}, {130, 70}, {70, 150}} {
			if !sizes.Full() && size[0] > 67 && size[1] < 150 || testing.Short() && size[0] > 67 ||
				f.Most > 0 && size[1] > f.Most {
				continue
			}
			m := NewRecords(rand.New(rand.NewPCG(1, uint64(size[0]))), size[0], size[1])
			z, sums := f.Sums(t, m, (m.n+f.Rows-1)/f.Rows, 0)
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
				most = max(most, math.Abs(float64(sums[i])*f.Grid-v))
			}
			for i, v := range wantZ {
				most = max(most, math.Abs(float64(z[i])*0x1p-32-v))
			}
			if !(most <= float64(m.n)*f.Tolerance) {
				t.Errorf("%s, n = %d, d = %d: a sum is off by %g", f.Name, m.n, m.d, most)
			}
			t.Logf("%s, n = %d, d = %d: largest error %.2g a pair", f.Name, m.n, m.d, most/float64(m.n))
		}
	}
}

// CheckOwnOnly checks that c_ij depends only on records i and j and their order, not on other records or places
// in the tile. The integers of pairs that are computed alone must add up to the sums of the tile.
func CheckOwnOnly(t *testing.T, tiles []*Tiles) {
	sizes.NotShort(t, "slow")
	for _, f := range tiles {
		m := NewRecords(rand.New(rand.NewPCG(3, 4)), 67, 5)
		_, full := f.Sums(t, m, (m.n+f.Rows-1)/f.Rows, 0)
		const i = 65 // two tiles, and the diagonal one
		others := sizes.Of([]int{0, 63, 64}, []int{0, 17, 40, 63, 64, 66})
		keep := slices.Clone(m.y)
		for j := range m.y {
			if j != i && !slices.Contains(others, j) {
				m.y[j] = 0 // no coefficient
			}
		}
		_, sums := f.Sums(t, m, (m.n+f.Rows-1)/f.Rows, 0)
		var want int64
		for _, j := range others {
			first, second := min(i, j), max(i, j)
			alone := &Records{n: 2, d: m.d, o: m.o, w: m.w, y: []float64{keep[first], keep[second]}}
			for k := range m.d {
				alone.x = append(alone.x, m.x[k*m.n+first], m.x[k*m.n+second])
			}
			_, s := f.Sums(t, alone, 1, 0)
			want += s[0]
			if s[0] != s[1] || s[0] == 0 {
				t.Errorf("%s: the two records of one pair must have equal sums other than 0, but have %v", f.Name, s)
			}
		}
		if sums[i] != want || full[i] == want {
			t.Errorf("%s: the coefficients of record %d sum to %d, but those of its single pairs sum to %d", f.Name,
				i, sums[i], want)
		}
	}
}

// CheckPartials changes record k. The partial sums that do not contain record k must keep
// their bits: the products of rows and spans, and the sums of coefficients.
func CheckPartials(t *testing.T, tiles []*Tiles) {
	sizes.NotShort(t, "slow")
	for _, f := range tiles {
		const d = 2
		n := 1024 + 64
		rng := rand.New(rand.NewPCG(5, 6))
		m := NewRecords(rng, n, d)
		spans := []int{1}
		if f.Operand == "" && sizes.Full() {
			spans = []int{0, 1}
		}
		type sums struct{ z, c []int64 }
		run := func() (all []sums) {
			for _, s := range spans {
				z, c := f.Sums(t, m, 1, s) // rows of the first block
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
				for i := range min(f.Rows, n) {
					same := true
					for a := range d {
						same = same && before[at].z[a*n+i] == after[at].z[a*n+i]
					}
					if !same {
						changed++
					}
					if in := k == i || k > i && k/1024 == s; !in && !same {
						t.Errorf("%s: record %d changed the products of row %d and span %d", f.Name, k, i, s)
					}
				}
				if k < f.Rows {
					continue // it is in the sums of all columns
				}
				for j := f.Rows; j < n; j++ {
					if j != k && before[at].c[j] != after[at].c[j] {
						t.Errorf("%s: record %d changed the coefficients of column %d", f.Name, k, j)
					}
				}
			}
			if changed == 0 { // the control: sums with k do change
				t.Errorf("%s: record %d changed nothing", f.Name, k)
			}
		}
	}
}

// CheckCounts checks the number of instructions for each pair above the diagonal, at 64
// features: at most Products and Others, and 2 special functions.
func CheckCounts(t *testing.T, tiles []*Tiles) {
	const d, columns = 64, 256
	for _, f := range tiles {
		if f.Feature > d || testing.Short() && f.Operand != "bf16x3" {
			continue
		}
		m := NewRecords(rand.New(rand.NewPCG(7, 8)), 1024+columns, d)
		f.project(t, m)
		k := f.kit(t)
		must.Get2(f.run(k, m, 1, 1))(t) // the second span: whole tiles
		pairs := float64(f.Rows) * columns
		packing := f.kit(t)
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
		if products/pairs > f.Products*1.001 || special/pairs != 2 || other/pairs > f.Others {
			t.Errorf("%s: limits for a pair: %.2f products, exactly 2 special functions, %.0f other operations", f.Name,
				f.Products, f.Others)
		}
		t.Logf("%s: a pair takes %.2f products, %.2f special functions and %.2f other operations", f.Name, products/pairs,
			special/pairs, other/pairs)
	}
}
