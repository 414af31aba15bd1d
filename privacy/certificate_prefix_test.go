package privacy

import (
	"math"
	"slices"
	"testing"

	"dyad/internal/must"
)

// participation is u_k(b), b = 1..Updates, by the definition.
func participation(s PairwiseStream, k int) []float64 {
	u := make([]float64, s.Updates())
	exchanged := 1.0
	if s.PerClass {
		exchanged = 1 + max(1, s.Lipschitz/s.PairDiameter)
	}
	for b := range u {
		for t := s.BurnIn + b*s.Batch + 1; t <= s.BurnIn+(b+1)*s.Batch; t++ {
			size := t - 1
			if s.Buffer > 0 {
				size = min(size, s.Buffer)
			}
			switch {
			case t == k:
				u[b] += 1 / float64(s.Batch)
			case t > k && (s.Buffer == 0 || s.Reservoir || s.PerClass || t-k <= s.Buffer):
				u[b] += exchanged / float64(size) / float64(s.Batch)
			}
		}
	}
	return u
}

// brutePrefix is max_k sum_b (Dg (C u_k)_b + 2 rho)^2 with the dense C, over all records.
func brutePrefix(s PairwiseStream) float64 {
	c := []float64{1}
	if s.Factor != nil {
		c = s.Factor.coefficients(s.Updates())
	}
	largest := 0.0
	for k := 1; k <= s.Horizon; k++ {
		u := participation(s, k)
		sum, touched := 0.0, false
		for b := range u {
			row := 0.0
			for j := 0; j <= b && j < len(c); j++ {
				row += c[j] * u[b-j]
			}
			touched = s.Factor != nil && touched || u[b] > 0
			if touched {
				sum += (s.PairDiameter*row + 2*s.Roundoff) * (s.PairDiameter*row + 2*s.Roundoff)
			}
		}
		largest = max(largest, sum)
	}
	return largest
}

func TestPrefixCertificateIsTheMaximumOverRecords(t *testing.T) {
	tried := 0
	for _, n := range []int{4, 9, 40, 101} {
		for _, m := range []int{1, 2, 5, 8} {
			for _, t1 := range []int{1, 2, 7} {
				for _, buffer := range []int{0, 1, 4, 10, 60} {
					for _, kind := range []string{"last", "reservoir", "class"} {
						for _, factor := range []bool{true, false} {
							if buffer == 0 && kind != "last" || buffer == 1 && kind == "class" {
								continue
							}
							s := PairwiseStream{PairDiameter: 1.5, Horizon: n, Batch: m, BurnIn: t1, Buffer: buffer, Reservoir: kind == "reservoir", PerClass: kind == "class", Roundoff: 0.125}
							if s.PerClass {
								s.Lipschitz = 2
							}
							if s.Updates() < 2 {
								continue
							}
							if factor {
								s.Factor, _ = SquareRootToeplitz(s.Updates())
							}
							c := must.Get(s.Certify())(t)
							want := math.Sqrt(brutePrefix(s))
							must.Within(t, c.Sensitivity(), want*(1-1e-14), want*(1+1e-11),
								"%+v: by the definition %.15g", s, want)
							tried++
						}
					}
				}
			}
		}
	}
	must.AtLeast(t, tried, 200, "cases")
}

// Units from an independent computation: noise of the last released
// iterate for step size 1, Dg = 1 and mu = 1; batch 1, all records kept. And the known
// defect: the norm of one column of C, which counts a record once, is 3.1 to 4.7 times
// too small.
func TestUnitTable(t *testing.T) {
	for _, row := range []struct {
		n                   int
		secret, fed, prefix float64
		defect              float64
	}{{64, 37.53, 10.13, 7.45, 3.126}, {256, 97.74, 20.46, 11.14, 3.938}, {1024, 240.15, 41.01, 15.52, 4.744}} {
		near := func(what string, got, want float64) {
			must.Near(t, got, want, 0.6e-2*max(1, want/100), "n = %d, %s", row.n, what)
		}
		eta := slices.Repeat([]float64{1}, row.n+1)
		a, scale := must.Get2(StreamOutputs{Curvature: Curvature{PairDiameter: 1, Smoothness: 1e-9, Convex: true, Diameter: 1e9}, Eta: eta, Radius: 1e9}.Certify())(t)
		near("secret state", scale[row.n]*a.ExactSensitivity(), row.secret)
		s := PairwiseStream{PairDiameter: 1, Horizon: row.n, Batch: 1, BurnIn: 1}
		b := must.Get(s.Certify())(t)
		near("noise fed back", b.Sensitivity()*math.Sqrt(float64(row.n-1)), row.fed)
		s.Factor = must.Get(SquareRootToeplitz(s.Updates()))(t)
		p := must.Get(s.Certify())(t)
		last, _ := s.Factor.PrefixNoise(s.Updates())
		near("prefix sums", p.Sensitivity()*last, row.prefix)
		column := 0.0
		for _, c := range s.Factor.coefficients(s.Updates()) {
			column += c * c
		}
		ratio := p.Sensitivity() / math.Sqrt(column)
		near("over one participation", ratio, row.defect)
		must.AtLeast(t, ratio, 3, "n = %d: %.3g times the norm of one column: the participation of a record in later pairs is not counted", row.n, ratio)
	}
}

// keptPerClass are the records before t that are held, by the definition.
func keptPerClass(class []bool, before, each int) map[int]bool {
	kept, count := map[int]bool{}, map[bool]int{}
	for i := before - 1; i >= 0; i-- {
		if count[class[i]]++; count[class[i]] <= each {
			kept[i] = true
		}
	}
	return kept
}

// Replacing a record and with it its class changes the buffers by the record and at
// most one other on either side, in all 2^10 streams of two classes. The number held
// changes too, so it must not be what a sum is divided by.
func TestBuffersPerClassOfNeighbours(t *testing.T) {
	const n, each = 10, 2
	most, counts := 0, false
	for bits := range 1 << n {
		class := make([]bool, n)
		for i := range class {
			class[i] = bits>>i&1 == 1
		}
		for k := range n {
			other := slices.Clone(class)
			other[k] = !other[k]
			for before := 1; before <= n; before++ {
				a, b := keptPerClass(class, before, each), keptPerClass(other, before, each)
				lost, gained := 0, 0
				for i := range before {
					if i != k && a[i] && !b[i] {
						lost++
					}
					if i != k && b[i] && !a[i] {
						gained++
					}
				}
				most = max(most, lost, gained)
				counts = counts || len(a) != len(b)
			}
		}
	}
	if most != 1 || !counts {
		t.Errorf("besides the record, %d others change on a side, want 1; the number held changes: %v, want true", most, counts)
	}
}
