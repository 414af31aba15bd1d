package algorithms

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// Where a few directions stand out of noise and a small bulk, the eigenvalues that stand out give the same model as all of them; one
// eigenvalue for all directions gives another model.
func TestTopSpectrumIsThatOfAllEigenvalues(t *testing.T) {
	const d, rank, n, s1 = 300, 12, 20000.0, 40.0
	s := engine.Symmetric{Dim: d}
	rng := rand.New(rand.NewPCG(8, 1))
	m := make([]float64, s.Len())
	signal := make([]float64, d)
	add := func(by float64) {
		v := make([]float64, d)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		engine.ScaleTo(v, math.Sqrt(by))
		label := rng.NormFloat64()
		for i := range v {
			signal[i] += label * v[i] * math.Sqrt(by)
			for j := i; j < d; j++ {
				by := math.Sqrt2
				if i == j {
					by = 1
				}
				m[s.Index(i, j)] += by * v[i] * v[j]
			}
		}
	}
	for k := range rank {
		add(n / 4 / float64(k+2))
	}
	for range 2 * d {
		add(n / 10 / (2 * d))
	}
	const s2 = 12.0 // its edge is 294, the least planted one 385
	for k := range m {
		m[k] += s2 * rng.NormFloat64()
	}
	for i := range signal {
		signal[i] = signal[i]/10 + s1*rng.NormFloat64()
	}
	model := func(of spectrum) []float64 {
		a := of.along(signal)
		w := of.sum(momentsSolution(a, of.values, momentsRidge(a, of.values, s1, n, s2*math.Sqrt(d))))
		engine.ScaleTo(w, 1)
		return w
	}
	values, vectors := s.Eigen(m)
	all := spectrum{vectors: vectors, values: momentsSpectrum(values, s2, n, 1)}
	edge := beyondEdge*math.Sqrt(2*d)*s2 + s.Rest(m, nil).Mean
	found, frame, complete := s.Top(m, edge)
	if !complete || len(found) < rank-2 || len(found) > rank+1 {
		t.Fatalf("%d values stand out, complete %v", len(found), complete)
	}
	top := spectrum{frame: frame, values: topSpectrum(s.Rest(m, found), s2, n)}
	want := model(all)
	cos := func(w []float64) (c float64) {
		for i := range w {
			c += w[i] * want[i]
		}
		return c
	}
	flat := spectrum{values: slices.Repeat([]float64{n / d}, d)}
	if got, without := cos(model(top)), cos(model(flat)); got < 0.995 || without > 0.9 {
		t.Errorf("the model has the cosine %v with that of all eigenvalues, and %v without any", got, without)
	}
	var sum, whole float64
	for k := range top.values {
		sum, whole = sum+top.values[k], whole+all.values[k]
		if k < len(found) && math.Abs(top.values[k]-all.values[d-1-k]) > 0.02*all.values[d-1-k] {
			t.Errorf("eigenvalue %d is %v, and %v of all", k, top.values[k], all.values[d-1-k])
		}
		if k > 0 && top.values[k] > top.values[k-1] || top.values[k] < 0 {
			t.Errorf("values %v are not in descending order", top.values)
			break
		}
	}
	must.Near(t, sum, whole, 0.05*whole, "the trace")
	row := top.row(7)
	for k, v := range row {
		axis := make([]float64, d)
		axis[k] = 1
		if got := top.sum(axis)[7]; math.Abs(got-v) > 1e-12 {
			t.Fatalf("entry %d of axis 7 is %v, want %v", k, v, got)
		}
	}
}
