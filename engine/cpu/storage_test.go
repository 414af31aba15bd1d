package cpu_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/kernels"
)

// stores are the same numbers in every storage: the first is dense in float64.
func stores(t testing.TB, n, d, labels int) (names []string, all []*engine.Records) {
	t.Helper()
	r := rand.New(rand.NewPCG(21, uint64(n)))
	narrow, y := make([]float32, 2*n*d), make([]float64, 2*n)
	for i := range narrow {
		narrow[i] = float32((2*r.Float64() - 1) / math.Sqrt(float64(d)))
	}
	for i := range y {
		y[i] = 2*float64(r.IntN(labels))/float64(labels-1) - 1
	}
	add := func(name string, r *engine.Records, err error) {
		if err != nil {
			t.Fatal(err)
		}
		names, all = append(names, name), append(all, r)
	}
	first := append([]float32(nil), narrow[:n*d]...)
	wide := make([]float64, 2*n*d)
	kernels.Widen(wide, narrow)
	dense, err := engine.NewRecords(wide[:n*d], y[:n], d, engine.UnitBounds())
	add("float64", dense, err)
	some, err := engine.AdoptNarrowRecords(first, slices.Clone(y[:n]), d, engine.UnitBounds())
	add("float32", some, err)
	some, err = engine.StoredRecords(narrow, y, d, engine.UnitBounds())
	add("range of a file", some.Range(0, n), err)
	// The records of the dense ones at every second place of a file, and others between.
	spread := make([]float32, 2*n*d)
	places, labelsOf := make([]int, n), make([]float64, 2*n)
	for i := range n {
		places[i] = 2*i + r.IntN(2)
		copy(spread[places[i]*d:][:d], narrow[i*d:][:d])
		labelsOf[places[i]] = y[i]
	}
	some, err = engine.StoredRecords(spread, labelsOf, d, engine.UnitBounds())
	add("part of a file", some.Subset(places), err)
	kernels.Widen(wide, spread)
	some, err = engine.StoredRecords(wide, labelsOf, d, engine.UnitBounds())
	add("part of a file of float64", some.Subset(places), err)
	return names, all
}

// A sum over pairs has the same bits whatever the records are stored as: for every method, loss and
// variant, over all pairs and over prefixes.
func TestStorageChangesNoBit(t *testing.T) {
	for _, c := range []struct {
		name   string
		n, d   int
		labels int
		loss   engine.Loss
		method cpu.Method
		single bool
	}{
		{"near-linear", 3001, 20, 2, engine.Logistic{}, cpu.NearLinear, false},
		{"near-linear, one column", 3001, 1, 2, engine.Logistic{}, cpu.NearLinear, false},
		{"near-linear, two columns", 3001, 2, 2, engine.Logistic{}, cpu.NearLinear, false},
		{"near-linear, wide", 301, 600, 2, engine.Logistic{}, cpu.NearLinear, false},
		{"direct", 301, 13, 5, engine.Logistic{}, cpu.Direct, false},
		{"sorted", 2001, 7, 2, engine.Score{Of: enginetest.Hinge()}, cpu.Sorted, false},
		{"metric", 301, 9, 2, engine.MahalanobisLogistic{}, cpu.Auto, false},
		{"metric in float32", 301, 9, 2, engine.MahalanobisLogistic{}, cpu.Auto, true},
	} {
		names, all := stores(t, c.n, c.d, c.labels)
		for _, v := range kernels.Variants() {
			backend := cpu.Backend{Workers: 2, Method: c.method, Variant: v, Float32: c.single}
			p := engine.Problem{N: c.n, D: c.d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, LabelValues: c.labels}
			k := must.Get(backend.Plan(p))(t, c.name)
			w := make([]float64, c.loss.ParamDim(c.d))
			for i := range w {
				w[i] = math.Cos(float64(i)) / math.Sqrt(float64(len(w))) / 2
			}
			order := permuted(rand.New(rand.NewPCG(2, 3)), c.n)
			pairs := []engine.Pairs{engine.AllPairs{N: c.n}, engine.PrefixPairs{T: c.n / 2, Order: order}, engine.PrefixPairs{T: c.n - 1}}
			if c.single {
				pairs = pairs[:1]
			}
			want := make([][]float64, len(pairs))
			for i, r := range all {
				e, err := k.Bind(r)
				if err != nil {
					t.Fatalf("%s, %s: %v", c.name, names[i], err)
				}
				for j, q := range pairs {
					got := make([]float64, len(w))
					if err := e.Sum(context.Background(), got, engine.Gradient(w, q)); err != nil {
						t.Fatalf("%s, %s, %T: %v", c.name, names[i], q, err)
					}
					if i == 0 {
						want[j] = got
					} else if !equalBits(got, want[j]) {
						t.Errorf("%s, %v, %s, %T: other bits than float64", c.name, v, names[i], q)
					}
				}
				must.Do(t, e.Close())
			}
		}
	}
}

// So have moments, with every kind of weight and second moment.
func TestStorageChangesNoMoment(t *testing.T) {
	const n, d = 1001, 13
	names, all := stores(t, n, d, 2)
	model := make([]float64, d)
	model[0], model[d-1] = 0.3, -0.2
	for _, v := range kernels.Variants() {
		k := must.Get(cpu.Backend{Workers: 2, Variant: v}.PlanMoments(engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}))(t)
		for _, m := range []engine.Query{
			{Radius: 1, Signed: true}, {Radius: 0.5, Second: engine.FullSecond}, {Radius: 0.7, Second: engine.DiagonalSecond, Class: 1}, {Radius: 0.7, W: model, Intercept: 0.1},
		} {
			var want engine.Moments
			for i, r := range all {
				e := must.Get(k.Bind(r))(t)
				got := engine.NewMoments(d, m.Second)
				must.Do(t, e.Sum(context.Background(), got.All, m))
				if i == 0 {
					want = got
				} else if got.Positives() != want.Positives() || !equalBits(got.Sum, want.Sum) || !equalBits(got.Second, want.Second) {
					t.Errorf("%v, %s, %+v: other bits than float64", v, names[i], m)
				}
			}
		}
	}
}

func equalBits(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}
