package ptxtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/kernels"
)

// tiled puts n rows of d columns into the layout of the kernels on rows.
func tiled(x []float64, n, d int) []float64 {
	t := make([]float64, (n+255)/256*256*d)
	for i := range n {
		for k := range d {
			t[(i/256*d+k)*256+i%256] = x[i*d+k]
		}
	}
	return t
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// TestScores compares with the loop of the kernel's comment, bit for bit.
func TestScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ n, d int }{{1, 1}, {300, 7}, {256, 8}, {513, 19}} {
		k := NewKit(t, kernels.PTX("rows"), nil)
		x, w := normals(rng, c.n*c.d), normals(rng, c.d)
		s := make([]float64, c.n)
		k.Fill(s, "scores", (c.n+255)/256, 1, k.In(tiled(x, c.n, c.d)), k.In(w), uint64(c.n), uint64(c.d))
		for i := range s {
			want := 0.0
			for a := range c.d {
				want = math.FMA(x[i*c.d+a], w[a], want)
			}
			if s[i] != want {
				t.Fatalf("%+v: score %d is %v, want %v", c, i, s[i], want)
			}
		}
	}
}

// parts runs weighted_sums and returns the partial sums and, by combine, the total.
func (k *Kit) parts(x, c []float64, d, spans, tiles, logParts int) (part, sum []float64) {
	k.T.Helper()
	n := len(c)
	chunks, columns := (n+256*tiles*spans-1)/(256*tiles*spans), 64>>logParts
	part, sum = make([]float64, chunks*d), make([]float64, d)
	k.Fill(part, "weighted_sums", chunks, (d+columns-1)/columns, k.In(tiled(x, n, d)), k.In(c), uint64(n), uint64(d), uint64(spans), uint64(tiles), uint64(logParts))
	k.Fill(sum, "combine", (d+7)/8, 1, k.In(part), uint64(chunks), uint64(d))
	return part, sum
}

// TestWeightedSums compares with the loop of the kernel's comment, for every number of
// parts and for more columns than a block takes, and the total with that of the parts.
func TestWeightedSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct{ n, d, spans, tiles, logParts int }{
		{1, 1, 1, 8, 3}, {300, 3, 1, 4, 2}, {2049, 20, 1, 8, 1}, {4100, 2, 2, 8, 3}, {700, 70, 1, 1, 0}, {200, 9, 1, 8, 3}, {2100, 3, 3, 2, 1}, {9000, 1, 1, 1, 0},
	} {
		k := NewKit(t, kernels.PTX("rows"), nil)
		x, v := normals(rng, c.n*c.d), normals(rng, c.n)
		part, sum := k.parts(x, v, c.d, c.spans, c.tiles, c.logParts)
		for a := range c.d {
			total := 0.0
			chunk := 256 * c.tiles * c.spans
			for g := 0; g*chunk < c.n; g++ {
				want, size := 0.0, 0.0
				for i := g * chunk; i < min(c.n, (g+1)*chunk); i++ {
					want += x[i*c.d+a] * v[i]
					size += math.Abs(x[i*c.d+a] * v[i])
				}
				must.Near(t, part[g*c.d+a], want, size*1e-14, "%+v: part %d of column %d", c, g, a)
				total += want
			}
			must.Near(t, sum[a], total, 1e-11, "%+v: column %d", c, a)
		}
	}
}

// TestPartialSumsAreOwnOnly: changing a record leaves every score, partial sum of X^T c
// and partial sum of moments that it is not in with the same bits, and changes the others.
func TestPartialSumsAreOwnOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d, changed = 4500, 2, 2048 + 77
	x, v := normals(rng, n*d), normals(rng, n)
	rows := NewKit(t, kernels.PTX("rows"), nil)
	before, _ := rows.parts(x, v, d, 1, 8, 3)
	x[changed*d], x[changed*d+1] = 100, -100
	after, _ := rows.parts(x, v, d, 1, 8, 3)
	for g := range len(before) / d {
		for a := range d {
			must.Equal(t, math.Float64bits(before[g*d+a]) == math.Float64bits(after[g*d+a]), g != 1, "sums of part %d: the same", g)
		}
	}
	near := NewKit(t, kernels.PTX("nearlinear"), nil)
	s := normals(rng, n)
	m := near.moments(s, 0.25, 1, 2048)
	s[changed] += 0.5
	other := near.moments(s, 0.25, 1, 2048)
	for i := range m {
		if same := math.Float64bits(m[i]) == math.Float64bits(other[i]); i%64 != 0 && same != (i/64 != 1) {
			t.Errorf("moment %d of part %d: the same is %v", i%64, i/64, same)
		}
	}
}

// TestRowsCounts: the passes load each number of X once, X^T c each coefficient once,
// and at 20 columns neither has more than 7 instructions a number of X.
// 128 of them in a cycle would take an eighth of the time of the loads.
func TestRowsCounts(t *testing.T) {
	const n, d = 4096, 20
	v := make([]float64, n)
	x := tiled(make([]float64, n*d), n, d)
	for name, run := range map[string]func(k *Kit){
		"scores": func(k *Kit) {
			k.Launch("scores", n/256, 1, k.In(v), k.In(x), k.In(make([]float64, d)), n, d)
		},
		"weighted_sums": func(k *Kit) {
			k.Launch("weighted_sums", 1, 1, k.In(make([]float64, d)), k.In(x), k.In(v), n, d, 2, 8, 1)
		},
	} {
		k := NewKit(t, kernels.PTX("rows"), nil)
		run(k)
		var all int64
		for _, c := range k.Counts {
			all += c
		}
		// scores loads w for every record, too, in one transaction for all.
		loads, want := k.Counts["ld.global.nc.f64"], map[string]int64{"scores": 2 * n * d, "weighted_sums": n*d + n}[name]
		if per := float64(all) / (n * d); loads != want || per > 7 {
			t.Errorf("%s: %d loads, want %d; %.2f instructions a number, want at most 7", name, loads, want, per)
		} else {
			t.Logf("%s: %.2f instructions a number", name, per)
		}
	}
}

// TestBrokenRows is the control: defects put into the PTX are found.
func TestBrokenRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	x, v := normals(rng, 2100*3), normals(rng, 2100)
	want, _ := NewKit(t, kernels.PTX("rows"), nil).parts(x, v, 3, 1, 8, 2)
	Broken(t, kernels.PTX("rows"), nil, func(k *Kit) (bool, error) {
		got := make([]float64, 6)
		part := k.In(got)
		err := k.Run(k.Module, "weighted_sums", 2, 1, part, k.In(tiled(x, 2100, 3)), k.In(v), 2100, 3, 1, 8, 2)
		k.Out(part, got)
		return slices.Equal(got, want), err
	},
		[3]string{"no barrier", "bar.sync \t0;", ""},
		[3]string{"a row of a column left out", "+1792];", "+1536];"},
		[3]string{"no tail", "selp.f64", "mov.f64 %fd1, %fd1; //"})
}
