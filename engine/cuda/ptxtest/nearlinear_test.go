package ptxtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/kernels"
)

// moments runs the kernel on positions scale s and returns the partial sums.
func (k *Kit) moments(s []float64, scale float64, logGroups, chunk int) []float64 {
	k.T.Helper()
	parts := cut([]int{0, len(s)}, chunk)
	part := make([]float64, len(parts)/3*32<<logGroups)
	k.Fill(part, "moments", len(parts)/3, 1, k.In(s), k.In(parts), math.Float64bits(scale), uint64(logGroups))
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
		got := NewKit(t, kernels.PTX("nearlinear"), nil).moments(s, 0.25, c.logGroups, c.chunk)
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
		k := NewKit(t, kernels.PTX("nearlinear"), nil)
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
		got, parts := make([]float64, c.n), cut([]int{0, c.n}, 512)
		k.Fill(got, "series", len(parts)/3, 1, k.In(s), k.In(coefs), k.In(parts), uint64(c.terms), math.Float64bits(0.5))
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
	k := NewKit(t, kernels.PTX("nearlinear"), nil)
	s := make([]float64, n)
	k.moments(s, 1, 0, n)
	atMost := func(kernel string, most, inFloat64 float64) {
		t.Helper()
		all, arithmetic := 0.0, 0.0
		for name, c := range k.Counts {
			if name != "mov.f64" && name != "neg.f64" { // renamed registers and a modifier
				all += float64(c) / n
			}
			if strings.HasSuffix(name, ".f64") && (strings.HasPrefix(name, "fma") || strings.HasPrefix(name, "add") || strings.HasPrefix(name, "mul") || strings.HasPrefix(name, "sub")) {
				arithmetic += float64(c) / n
			}
		}
		clear(k.Counts)
		if t.Logf("%s: %.1f instructions a record, %.1f in float64", kernel, all, arithmetic); arithmetic > inFloat64 || all > most {
			t.Errorf("%s: %.1f instructions a record, %.1f of them in float64; want at most %v and %v", kernel, all, arithmetic, most, inFloat64)
		}
	}
	atMost("moments", 95, 68) // 32 terms; the sums over the threads of a block add a few
	k.Launch("series", 1, 1, k.In(s), k.In(s), k.In(make([]float64, 256)), k.In([]uint32{0, n, 0}), 31, math.Float64bits(1))
	atMost("series", 115, 68)
	// The two passes load each number of X once, the first one writes the scores, and the
	// second one reads them: 336 bytes a record of 20 features, 33.6 GB for 10^8.
	const d = 20
	x := k.In(make([]float64, n*d))
	k.Launch("score_moments", 1, 1, k.In(make([]float64, 32)), k.In(s), x, k.In(make([]float64, d)), k.In([]uint32{0, n, 0}), d, 0, math.Float64bits(1))
	reads, writes := k.Counts["ld.global.nc.f64"], k.Counts["st.global.f64"]
	if reads != n*d+d || writes != n+32 {
		t.Errorf("score_moments: %d loads and %d stores", reads, writes)
	}
	atMost("score_moments", 220, 92) // 24 of them for 20 columns: batches of 16 and 8
	k.Launch("weighted_series", 1, 1, k.In(make([]float64, d)), x, k.In(s), k.In(make([]float64, 256)), k.In([]uint32{0, n}), n, 0, d, 8, 8, 1, 1, 31, math.Float64bits(1))
	if reads, writes = k.Counts["ld.global.nc.f64"], k.Counts["st.global.f64"]; reads != n*d+n+31 || writes != d {
		t.Errorf("weighted_series: %d loads and %d stores", reads, writes)
	}
	atMost("weighted_series", 220, 90)
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// cut is the table parts of rows whose classes start at these ones, cut at multiples of chunk.
func cut(start []int, chunk int) (parts []uint32) {
	for a, from := range start[:len(start)-1] {
		for from < start[a+1] {
			to := min(start[a+1], (from/chunk+1)*chunk)
			parts = append(parts, uint32(from), uint32(to), uint32(a))
			from = to
		}
	}
	return parts
}

// onePass are records of classes that start at any rows, with a class of none.
type onePass struct {
	n, d, spans, tiles, logParts, terms int
	start                               []int
}

var fusedCases = []onePass{
	{1, 1, 1, 1, 0, 2, []int{0, 1, 1}},
	{700, 20, 1, 1, 0, 31, []int{0, 130, 700}},
	{5000, 3, 2, 8, 3, 32, []int{0, 0, 300, 301, 4500, 5000}},
	{2600, 35, 1, 4, 0, 9, []int{0, 256, 2600}},
}

// TestFusedPasses: score_moments has the scores of the kernel scores and the moments of the
// kernel moments up to the order of sums, weighted_series the sums of series and weighted_sums,
// bit for bit; also where x has the tiles of a panel only.
func TestFusedPasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, c := range fusedCases {
		k, rows := NewKit(t, kernels.PTX("nearlinear"), nil), NewKit(t, kernels.PTX("rows"), nil)
		x, w, s, coefs := normals(rng, c.n*c.d), normals(rng, c.d), make([]float64, c.n), normals(rng, 256*(len(c.start)-1))
		for i := range w {
			w[i] /= float64(4 * c.d)
		}
		scale := math.Float64bits(0.75)
		rows.Fill(s, "scores", (c.n+255)/256, 1, rows.In(tiled(x, c.n, c.d)), rows.In(w), uint64(c.n), uint64(c.d))

		chunk := 256 * c.tiles * c.spans
		parts := cut(c.start, chunk)
		got, part, want := make([]float64, c.n), make([]float64, 32*len(parts)/3), make([]float64, 32*len(parts)/3)
		sums := make([]float64, (c.n+chunk-1)/chunk*c.d)
		start := make([]uint32, len(c.start))
		for a, v := range c.start {
			start[a] = uint32(v)
		}
		gotAt, partAt, sumsAt, table := k.In(got), k.In(part), k.In(sums), k.In(parts)
		sAt, coefsAt, startAt := k.In(s), k.In(coefs), k.In(start)
		for from := 0; from < c.n; from += chunk { // a panel of a chunk
			to := min(c.n, from+chunk)
			panel, first, count := k.In(tiled(x[from*c.d:to*c.d], to-from, c.d)), 0, 0
			for g := range len(parts) / 3 {
				if r := int(parts[3*g]); r < from {
					first++
				} else if r < to {
					count++
				}
			}
			k.Launch("score_moments", count, 1, partAt+uint64(256*first), gotAt, panel, k.In(w), table+uint64(12*first), uint64(c.d), uint64(from/256), scale)
			k.Launch("weighted_series", 1, (c.d+64>>c.logParts-1)/(64>>c.logParts), sumsAt+uint64(8*c.d*(from/chunk)), panel, sAt+uint64(8*from), coefsAt, startAt,
				uint64(to-from), uint64(from), uint64(c.d), uint64(c.spans), uint64(c.tiles), uint64(c.logParts), uint64(len(c.start)-1), uint64(c.terms), scale)
		}
		k.Out(gotAt, got)
		k.Out(partAt, part)
		k.Out(sumsAt, sums)
		k.Fill(want, "moments", len(parts)/3, 1, sAt, table, scale, 0)
		if !sameBits(got, s) {
			t.Fatalf("%+v: scores %v, want %v", c, got, s)
		}
		for i := range part {
			must.Near(t, part[i], want[i], float64(chunk)*0x1p-50, "%+v: moment %d of part %d", c, i%32, i/32)
		}
		v := make([]float64, c.n)
		k.Fill(v, "series", len(parts)/3, 1, sAt, coefsAt, table, uint64(c.terms), scale)
		if plain, _ := rows.parts(x, v, c.d, c.spans, c.tiles, c.logParts); !sameBits(plain, sums) {
			t.Fatalf("%+v: sums %v, want %v", c, sums, plain)
		}
	}
}

// TestExpand compares class_moments and expand with a loop over the moments of T_(32i+j), which
// the test has from the products by cosines of two angles, and the matrices of both orders.
func TestExpand(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct{ terms, classes, logGroups, parts int }{{31, 2, 0, 5}, {2, 1, 0, 1}, {70, 3, 2, 300}, {256, 2, 3, 2}, {20, 16, 0, 16}} {
		k := NewKit(t, kernels.PTX("nearlinear"), nil)
		length, first := 32<<c.logGroups, make([]uint32, c.classes+1)
		for a := range first {
			first[a] = uint32(a * c.parts / c.classes)
		}
		if c.classes > 2 { // one has no parts
			first[2] = first[1]
		}
		part, moments := make([]float64, c.parts*length), make([]float64, c.classes*length)
		for a := range c.classes {
			for g := first[a]; g < first[a+1]; g++ {
				angle := 3 * rng.Float64()
				for j := range length {
					part[int(g)*length+j] = math.Cos(float64(j/32*32)*angle) * math.Cos(float64(j%32)*angle)
					moments[a*length+j] += math.Cos(float64(j) * angle)
				}
			}
		}
		p := c.terms
		matrices := normals(rng, (1+c.classes*(c.classes-1)/2)*p*p)
		for i := range matrices {
			matrices[i] /= float64(p)
		}
		coefs := make([]float64, 256*c.classes)
		sums := k.In(make([]float64, len(moments)))
		k.Launch("class_moments", length/8, c.classes, sums, k.In(part), k.In(first), uint64(length))
		k.Fill(coefs, "expand", 1, c.classes, sums, k.In(matrices), uint64(p), uint64(c.classes), uint64(c.logGroups))
		for a := range c.classes {
			want := make([]float64, p)
			for node := range p {
				value := 0.0
				for b := range c.classes {
					if a == b {
						continue
					}
					of, row := matrices[(1+max(a, b)*(max(a, b)-1)/2+min(a, b))*p*p:], node
					if a < b {
						row = p - 1 - node
					}
					for j := range p {
						v := of[j*p+row] * moments[b*length+j]
						if a < b && j%2 == 0 {
							v = -v
						}
						value += v
					}
				}
				for i := range p {
					want[i] += matrices[node*p+i] * value
				}
			}
			for i := range p {
				if !(math.Abs(coefs[256*a+i]-want[i]) <= 1e-11*float64(c.parts)) {
					t.Fatalf("%+v: coefficient %d of class %d is %v, want %v", c, i, a, coefs[256*a+i], want[i])
				}
			}
		}
	}
}
