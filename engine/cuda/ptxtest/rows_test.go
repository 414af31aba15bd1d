package ptxtest

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

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
		k := newKit(t, kernels.PTX("rows"))
		x, w := normals(rng, c.n*c.d), normals(rng, c.d)
		s := make([]float64, c.n)
		at := k.in(s)
		k.run("scores", (c.n+255)/256, 1, at, k.in(tiled(x, c.n, c.d)), k.in(w), uint64(c.n), uint64(c.d))
		k.out(at, s)
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
func (k *kit) parts(x, c []float64, d, spans, logParts int) (part, sum []float64) {
	k.t.Helper()
	n := len(c)
	chunks, columns := (n+2048*spans-1)/(2048*spans), 64>>logParts
	part, sum = make([]float64, chunks*d), make([]float64, d)
	at, to := k.in(part), k.in(sum)
	k.run("weighted_sums", chunks, (d+columns-1)/columns, at, k.in(tiled(x, n, d)), k.in(c), uint64(n), uint64(d), uint64(spans), uint64(logParts))
	k.run("combine", (d+7)/8, 1, to, at, uint64(chunks), uint64(d))
	k.out(at, part)
	k.out(to, sum)
	return part, sum
}

// TestWeightedSums compares with the loop of the kernel's comment, for every number of
// parts and for more columns than a block takes, and the total with that of the parts.
func TestWeightedSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct{ n, d, spans, logParts int }{{1, 1, 1, 3}, {300, 3, 1, 2}, {2049, 20, 1, 1}, {4100, 2, 2, 3}, {700, 70, 1, 0}, {200, 9, 1, 3}} {
		k := newKit(t, kernels.PTX("rows"))
		x, v := normals(rng, c.n*c.d), normals(rng, c.n)
		part, sum := k.parts(x, v, c.d, c.spans, c.logParts)
		for a := range c.d {
			total := 0.0
			for g := 0; g*2048*c.spans < c.n; g++ {
				want, size := 0.0, 0.0
				for i := g * 2048 * c.spans; i < min(c.n, (g+1)*2048*c.spans); i++ {
					want += x[i*c.d+a] * v[i]
					size += math.Abs(x[i*c.d+a] * v[i])
				}
				if got := part[g*c.d+a]; !(math.Abs(got-want) <= size*1e-14) {
					t.Errorf("%+v: part %d of column %d is %v, want %v", c, g, a, got, want)
				}
				total += want
			}
			if !(math.Abs(sum[a]-total) <= 1e-11) {
				t.Errorf("%+v: column %d is %v, want %v", c, a, sum[a], total)
			}
		}
	}
}

// TestPartialSumsAreOwnOnly: changing a record leaves every score, partial sum of X^T c
// and partial sum of moments that it is not in with the same bits, and changes the others.
func TestPartialSumsAreOwnOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d, changed = 4500, 2, 2048 + 77
	x, v := normals(rng, n*d), normals(rng, n)
	rows := newKit(t, kernels.PTX("rows"))
	before, _ := rows.parts(x, v, d, 1, 3)
	x[changed*d], x[changed*d+1] = 100, -100
	after, _ := rows.parts(x, v, d, 1, 3)
	for g := range len(before) / d {
		for a := range d {
			if same := math.Float64bits(before[g*d+a]) == math.Float64bits(after[g*d+a]); same != (g != 1) {
				t.Errorf("sums of part %d: the same is %v", g, same)
			}
		}
	}
	near := newKit(t, kernels.PTX("nearlinear"))
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
	for name, run := range map[string]func(k *kit){
		"scores": func(k *kit) {
			k.run("scores", n/256, 1, k.in(v), k.in(x), k.in(make([]float64, d)), n, d)
		},
		"weighted_sums": func(k *kit) {
			k.run("weighted_sums", 1, 1, k.in(make([]float64, d)), k.in(x), k.in(v), n, d, 2, 1)
		},
	} {
		k := newKit(t, kernels.PTX("rows"))
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

// moments runs the kernel on positions scale s and returns the partial sums.
func (k *kit) moments(s []float64, scale float64, logGroups, chunk int) []float64 {
	k.t.Helper()
	chunks := (len(s) + chunk - 1) / chunk
	part := make([]float64, chunks*32<<logGroups)
	at := k.in(part)
	k.run("moments", chunks, 1, at, k.in(s), uint64(len(s)), math.Float64bits(scale), uint64(logGroups), uint64(chunk))
	k.out(at, part)
	return part
}

// TestMoments compares with cosines: the error is within that of the kernel's comment
// and of the cosines (T_a moves by a^2 times the error of the angle). Positions outside
// of [-1, 1] count as its ends, and NaN, too.
func TestMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range []struct{ n, logGroups, chunk int }{{1, 0, 512}, {700, 0, 512}, {301, 1, 512}, {150, 3, 512}, {513, 2, 1024}} {
		s := make([]float64, c.n)
		for i := range s {
			s[i] = 4 * (2*rng.Float64() - 1)
		}
		s[0] = 4
		if c.n > 200 {
			s[1], s[2], s[3] = math.NaN(), 1e300, -4.1
		}
		got := newKit(t, kernels.PTX("nearlinear")).moments(s, 0.25, c.logGroups, c.chunk)
		groups := 1 << c.logGroups
		for g := range (c.n + c.chunk - 1) / c.chunk {
			for a := range 32 * groups {
				i, j := a/32, a%32
				want, count := 0.0, 0.0
				for r := g * c.chunk; r < min(c.n, (g+1)*c.chunk); r++ {
					x := max(-1, min(1, 0.25*s[r]))
					if x != x {
						x = -1
					}
					angle := math.Acos(x)
					want += math.Cos(32*float64(i)*angle) * math.Cos(float64(j)*angle)
					count++
				}
				own := 341.5*float64(i*i) + float64(j*(j+1))/2
				if diff := math.Abs(got[g*32*groups+a] - want); !(diff <= count*(own+count+40*float64(a+1))*0x1p-53) {
					t.Fatalf("%+v: sum (%d, %d) of part %d is off by %g of %v records", c, i, j, g, diff, count)
				}
			}
		}
	}
}

// TestSeries compares with the sum of cosines.
func TestSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct{ n, terms int }{{1, 2}, {257, 31}, {600, 256}} {
		k := newKit(t, kernels.PTX("nearlinear"))
		s, coefs := make([]float64, c.n), make([]float64, 256)
		for i := range s {
			s[i] = 2*rng.Float64() - 1
		}
		for a := range c.terms {
			coefs[a] = rng.NormFloat64() / float64(a+1)
		}
		for a := c.terms; a < len(coefs); a++ {
			coefs[a] = math.NaN() // not read
		}
		got := make([]float64, c.n)
		at := k.in(got)
		k.run("series", (c.n+511)/512, 1, at, k.in(s), k.in(coefs), uint64(c.n), uint64(c.terms), math.Float64bits(0.5))
		k.out(at, got)
		for i := range got {
			want := 0.0
			for a := range c.terms {
				want += coefs[a] * math.Cos(float64(a)*math.Acos(0.5*s[i]))
			}
			if !(math.Abs(got[i]-want) <= 1e-12) {
				t.Fatalf("%+v: series at %v is %v, want %v", c, s[i], got[i], want)
			}
		}
	}
}

// TestNearLinearCounts: two operations in float64 for a moment of a record, and two for
// a term of the series.
func TestNearLinearCounts(t *testing.T) {
	const n = 16384
	k := newKit(t, kernels.PTX("nearlinear"))
	s := make([]float64, n)
	k.moments(s, 1, 0, n)
	count := func() (all, arithmetic float64) {
		for name, c := range k.Counts {
			if name != "mov.f64" && name != "neg.f64" { // renamed registers and a modifier
				all += float64(c) / n
			}
			if strings.HasSuffix(name, ".f64") && (strings.HasPrefix(name, "fma") || strings.HasPrefix(name, "add") || strings.HasPrefix(name, "mul") || strings.HasPrefix(name, "sub")) {
				arithmetic += float64(c) / n
			}
		}
		clear(k.Counts)
		return all, arithmetic
	}
	// 32 terms; the sums over the threads of a block add a few.
	all, arithmetic := count()
	if arithmetic > 68 || all > 95 {
		t.Errorf("moments: %.1f instructions a record, %.1f of them in float64; want at most 95 and 68", all, arithmetic)
	}
	t.Logf("moments: %.1f instructions a record, %.1f in float64", all, arithmetic)
	k.run("series", n/512, 1, k.in(s), k.in(s), k.in(make([]float64, 256)), n, 31, math.Float64bits(1))
	all, arithmetic = count()
	if arithmetic > 68 || all > 115 {
		t.Errorf("series: %.1f instructions a record, %.1f of them in float64; want at most 115 and 68", all, arithmetic)
	}
	t.Logf("series: %.1f instructions a record, %.1f in float64", all, arithmetic)
}

// TestBrokenRows is the control: defects put into the PTX are found.
func TestBrokenRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	x, v := normals(rng, 2100*3), normals(rng, 2100)
	want, _ := newKit(t, kernels.PTX("rows")).parts(x, v, 3, 1, 2)
	for _, c := range []struct{ name, old, new string }{
		{"no barrier", "bar.sync \t0;", ""},
		{"a row of a column left out", "+1792];", "+1536];"},
		{"no tail", "selp.f64", "mov.f64 %fd1, %fd1; //"},
	} {
		broken := strings.ReplaceAll(kernels.PTX("rows"), c.old, c.new)
		if broken == kernels.PTX("rows") {
			t.Errorf("%s: the PTX has no %q", c.name, c.old)
			continue
		}
		m, err := Parse(broken)
		if err != nil {
			continue
		}
		k := &kit{t: t, module: m}
		part := k.in(make([]float64, 6))
		err = k.Run(m, "weighted_sums", 2, 1, part, k.in(tiled(x, 2100, 3)), k.in(v), 2100, 3, 1, 2)
		got := make([]float64, 6)
		k.out(part, got)
		same := true
		for i := range got {
			same = same && got[i] == want[i]
		}
		if err == nil && same {
			t.Errorf("%s: not found", c.name)
		}
	}
}
