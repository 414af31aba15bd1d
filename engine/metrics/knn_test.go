package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

// slowKNN is the definition, with distances (x - x')^T W (x - x').
func slowKNN(train, test *engine.Records, w []float64, k int, leaveOneOut bool) []float64 {
	d := train.Dim()
	x, v := make([]float64, d), make([]float64, d)
	var out []float64
	for t := range test.Len() {
		var near []neighbour
		for i := range train.Len() {
			if leaveOneOut && unitPoints(train).unit[i] == unitPoints(train).unit[t] {
				continue
			}
			test.Row(t, x)
			train.Row(i, v)
			for c := range v {
				v[c] -= x[c]
			}
			var q float64
			for a := range v {
				if w == nil {
					q += v[a] * v[a]
					continue
				}
				for b := range v {
					q += v[a] * w[a*d+b] * v[b]
				}
			}
			near = append(near, neighbour{q, i})
		}
		sort.SliceStable(near, func(a, b int) bool { return near[a].distance < near[b].distance })
		var labels []float64
		votes := map[float64]int{}
		for _, n := range near[:k] {
			labels = append(labels, train.Label(n.index))
			votes[train.Label(n.index)]++
		}
		best := labels[0]
		for _, l := range labels {
			if votes[l] > votes[best] {
				best = l
			}
		}
		out = append(out, best)
	}
	return out
}

func records(t testing.TB, x, y []float64, d int) *engine.Records {
	t.Helper()
	return must.Get(engine.NewRecords(x, y, d, engine.Bounds{FeatureNorm: 1000, LabelAbs: 10}))(t)
}

// sparseCopy has the same rows, compressed.
func sparseCopy(t testing.TB, r *engine.Records) *engine.Records {
	t.Helper()
	start, index, value := []int64{0}, []int32{}, []float64{}
	row := make([]float64, r.Dim())
	for i := range r.Len() {
		r.Row(i, row)
		for c, v := range row {
			if v != 0 {
				index, value = append(index, int32(c)), append(value, v)
			}
		}
		start = append(start, int64(len(value)))
	}
	return must.Get(engine.NewSparseRecords(start, index, value, slices.Clone(r.Labels()), r.Dim(), r.Bounds()))(t)
}

// gridRecords have features in {-3, ..., 3}: distances are exact, ties frequent.
func gridRecords(t testing.TB, r *rand.Rand, n, d, classes int) *engine.Records {
	return drawnRecords(t, r, n, d, classes, func() float64 { return float64(r.IntN(7) - 3) })
}

// drawnRecords draws every feature, and then every label among the classes.
func drawnRecords(t testing.TB, r *rand.Rand, n, d, classes int, feature func() float64) *engine.Records {
	t.Helper()
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = feature()
	}
	for i := range y {
		y[i] = float64(r.IntN(classes))
	}
	return records(t, x, y, d)
}

// randomPSD is A^T A with A of the given rank.
func randomPSD(r *rand.Rand, d, rank int) []float64 {
	a, w := make([]float64, rank*d), make([]float64, d*d)
	for i := range a {
		a[i] = r.NormFloat64()
	}
	for i := range d {
		for j := range d {
			for k := range rank {
				w[i*d+j] += a[k*d+i] * a[k*d+j]
			}
		}
	}
	return w
}

func TestKNNEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 3))
	ctx := context.Background()
	for trial := range 24 {
		d := 1 + r.IntN(18)
		train := gridRecords(t, r, 6+r.IntN(60), d, 1+r.IntN(4))
		test := gridRecords(t, r, 1+r.IntN(100), d, 4)
		for _, k := range []int{1, 2, 3, 5} {
			var w []float64
			if trial%2 == 1 { // a diagonal of powers of 4 keeps distances exact
				w = make([]float64, d*d)
				for c := range d {
					w[c*d+c] = math.Ldexp(1, 2*r.IntN(4))
				}
			}
			o := KNNOptions{K: k, Metric: w, Workers: 1}
			want := slowKNN(train, test, w, k, false)
			first := must.Get(KNN(ctx, train, test, o))(t)
			must.Same(t, first.Predicted, want, "d = %d, k = %d, metric %v", d, k, w)
			correct := 0
			for i, y := range want {
				if y == test.Label(i) {
					correct++
				}
			}
			if first.Correct != correct || first.Accuracy() != float64(correct)/float64(test.Len()) {
				t.Fatalf("correct %d, want %d", first.Correct, correct)
			}
			for _, workers := range []int{2, 7} {
				o.Workers = workers
				got := must.Get(KNN(ctx, sparseCopy(t, train), sparseCopy(t, test), o))(t)
				must.Same(t, got.Predicted, want, "sparse, %d workers", workers)
			}
			must.Same(t, must.Get(knnLeaveOneOut(ctx, train, o))(t).Predicted, slowKNN(train, train, w, k, true), "leave one out")
		}
	}
}

// Under a general metric no distances tie, so rounding decides nothing.
func TestKNNMetric(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 3))
	const d, n = 9, 120
	train, test := drawnRecords(t, r, n, d, 3, r.NormFloat64), drawnRecords(t, r, n, d, 3, r.NormFloat64)
	for _, rank := range []int{1, 4, d} {
		w := randomPSD(r, d, rank)
		got := must.Get(KNN(context.Background(), train, test, KNNOptions{Metric: w}))(t)
		must.Same(t, got.Predicted, slowKNN(train, test, w, 3, false), "rank %d", rank)
		if plain := slowKNN(train, test, nil, 3, false); slices.Equal(got.Predicted, plain) {
			t.Errorf("rank %d: the metric changes nothing, so the test shows nothing", rank)
		}
	}
	// The zero metric: all tie, so the first K training records vote.
	got, err := KNN(context.Background(), train, test, KNNOptions{K: 1, Metric: make([]float64, d*d)})
	if err != nil || slices.ContainsFunc(got.Predicted, func(y float64) bool { return y != train.Label(0) }) {
		t.Errorf("the zero metric: %v", err)
	}
}

func TestKNNTies(t *testing.T) {
	train := records(t, []float64{1, -1, 2, -2, 5}, []float64{7, 8, 8, 7, 9}, 1)
	test := records(t, []float64{0}, []float64{7}, 1)
	for k, want := range map[int]float64{1: 7, 2: 7, 3: 8, 4: 7} {
		must.Equal(t, must.Get(KNN(context.Background(), train, test, KNNOptions{K: k}))(t).Predicted[0], want, "k = %d", k)
	}
	// 0 has its duplicate as neighbour when left out, but never itself.
	r := records(t, []float64{0, 0, 10}, []float64{1, 2, 3}, 1)
	must.Same(t, must.Get(knnLeaveOneOut(context.Background(), r, KNNOptions{K: 1}))(t).Predicted, []float64{2, 1, 1}, "left out")
}

// Blocks and tiles: more rows than a tile of training rows and than one job.
func TestKNNTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 3))
	const d = 9
	train, test := gridRecords(t, r, tileRows+70, d, 3), gridRecords(t, r, testTile+3, d, 3)
	// A training block of sparse rows holds blockBytes/8/width.
	must.Same(t, must.Get(KNN(context.Background(), sparseCopy(t, train), test, KNNOptions{K: 5}))(t).Predicted, slowKNN(train, test, nil, 5, false), "tiles")
	// Small blocks through the search itself, with a record left out and without.
	train = gridRecords(t, r, 50, 4, 3)
	for _, w := range [][]float64{nil, randomPSD(r, 4, 4)} {
		for _, leaveOneOut := range []bool{false, true} {
			s := must.Get(newSpace(w, 4, 10, 10))(t)
			var want []float64
			for k, block := range []int{1000, 1, 7, 16, 1000, 1000} {
				all := kernels.Variants()
				set := must.Get(kernels.Select(all[k%len(all)]))(t)
				q := search{space: s, set: set, slack32: slack32(s, set), train: unitPoints(sparseCopy(t, train)), test: recordPoints(train), k: 3, leaveOneOut: leaveOneOut,
					workers: 2, predicted: make([]float64, 50), trainBlock: block, testBlock: block}
				must.Do(t, q.run(context.Background()))
				if want == nil {
					want = q.predicted
				}
				must.Same(t, q.predicted, want, "blocks of %d rows, or %v kernels, change the result", block, set.Variant())
			}
		}
	}
}

func TestKNNErrors(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 9))
	a, b := gridRecords(t, r, 5, 2, 2), gridRecords(t, r, 5, 3, 2)
	knn := func(train, test *engine.Records, o KNNOptions) error { _, err := KNN(ctx, train, test, o); return err }
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, cancelled := KNN(done, a, a, KNNOptions{})
	_, tooFew := knnLeaveOneOut(ctx, a, KNNOptions{K: 5})
	huge := must.Get(engine.NewRecords([]float64{1, 1}, []float64{1, 1}, 1, engine.Bounds{FeatureNorm: 1e200, LabelAbs: 1}))(t)
	for name, err := range map[string]error{
		"dimension":   knn(a, b, KNNOptions{}),
		"K above n":   knn(a, a, KNNOptions{K: 6}),
		"negative K":  knn(a, a, KNNOptions{K: -1}),
		"workers":     knn(a, a, KNNOptions{Workers: -1}),
		"metric size": knn(a, a, KNNOptions{Metric: []float64{1}}),
		"asymmetric":  knn(a, a, KNNOptions{Metric: []float64{1, 0.5, 0, 1}}),
		"indefinite":  knn(a, a, KNNOptions{Metric: []float64{1, 2, 2, 1}}),
		"negative":    knn(a, a, KNNOptions{Metric: []float64{-1, 0, 0, -1}}),
		"NaN metric":  knn(a, a, KNNOptions{Metric: []float64{1, 0, 0, math.NaN()}}),
		"overflow":    knn(huge, huge, KNNOptions{K: 1}),
		"underflow":   knn(a, a, KNNOptions{Metric: []float64{1e-320, 0, 0, 0}}),
		"cancelled":   cancelled,
		"left out":    tooFew,
	} {
		must.ErrDo(t, err, "%s: no error", name)
	}
}

// Abandoned distances: never one that is below the limit, always one that is not.
func TestSquaredDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for n := range 68 {
		a, b := make([]float64, n), make([]float64, n)
		var want float64
		for i := range a {
			a[i], b[i] = r.NormFloat64(), r.NormFloat64()
			want += (a[i] - b[i]) * (a[i] - b[i])
		}
		d, ok := squaredDistance(a, b, math.Inf(1))
		if !ok || !near(d, want, 1e-14) {
			t.Fatalf("n = %d: %v, want %v", n, d, want)
		}
		if back, _ := squaredDistance(b, a, math.Inf(1)); back != d {
			t.Errorf("n = %d: the distance is not symmetric", n)
		}
		if again, ok := squaredDistance(a, b, math.Nextafter(d, 1e9)); !ok || again != d {
			t.Errorf("n = %d: a distance below the limit was dropped", n)
		}
		if _, ok := squaredDistance(a, b, d); ok {
			t.Errorf("n = %d: a distance at the limit was kept", n)
		}
	}
}

func BenchmarkKNN1e4x1e4d32(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n, d = 10_000, 32
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*r.IntN(2) - 1)
		for c := range d {
			x[i*d+c] = r.NormFloat64() + y[i]/8
		}
	}
	rec := records(b, x, y, d)
	for name, w := range map[string][]float64{"identity": nil, "metric": randomPSD(r, d, d)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must.Get(KNN(context.Background(), rec, rec, KNNOptions{Metric: w}))(b)
			}
		})
	}
}

// TestKNNFarFromOrigin has distances far below the rounding errors of norms and inner
// products, which rule out nothing there: the exact distances must decide. A search by
// s + t - 2 c alone fails on these records.
func TestKNNFarFromOrigin(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 3))
	const n, d = 300, 20
	far := func() float64 { return 200 + 0x1p-24*r.NormFloat64() }
	train, test := drawnRecords(t, r, n, d, 10, far), drawnRecords(t, r, n, d, 10, far)
	want := slowKNN(train, test, nil, 1, false)
	must.Same(t, must.Get(KNN(context.Background(), train, test, KNNOptions{K: 1}))(t).Predicted, want, "by definition")
	wrong := 0
	for i := range n {
		nearest, label := math.Inf(1), 0.0
		x := test.Dense()[i*d:][:d]
		for j := range n {
			z := train.Dense()[j*d:][:d]
			if v := kernels.Dot(x, x) + kernels.Dot(z, z) - 2*kernels.Dot(x, z); v < nearest {
				nearest, label = v, train.Label(j)
			}
		}
		if label != want[i] {
			wrong++
		}
	}
	if wrong < n/4 {
		t.Errorf("inner products alone get only %d of %d wrong: the test is too easy", wrong, n)
	}
}

// TestKNNNearTies has 30 rows whose distances from a query differ by less than float32 can tell, among 1,900 others, for 60
// queries: the nearest one must come out, as in float64. The control, a filter that trusts float32 to the last digit, loses some.
func TestKNNNearTies(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	const n, d, slack = 1920, 12, 4 * (12 + 16) * 0x1p-24
	lost := map[kernels.Variant]int{}
	for range 60 {
		x, y, centre := make([]float64, n*d), make([]float64, n), make([]float64, d)
		for l := range centre {
			centre[l] = 3 * r.NormFloat64()
		}
		for i := range n {
			row, norm := x[i*d:][:d], 0.0
			for l := range row {
				row[l] = r.NormFloat64()
				norm += row[l] * row[l]
			}
			far := 2 + r.Float64()
			if i%64 == 0 {
				far = 1 + 1e-9*r.Float64()
			}
			for l := range row {
				row[l] = centre[l] + far*row[l]/math.Sqrt(norm)
			}
			y[i] = float64(i) / n
		}
		train, test := records(t, x, y, d), records(t, centre, []float64{0}, d)
		want := slowKNN(train, test, nil, 1, false)
		s := must.Get(newSpace(nil, d, 100, 100))(t)
		for _, v := range kernels.Variants() {
			set := must.Get(kernels.Select(v))(t)
			if v != kernels.Generic && slack32(s, set) != slack {
				t.Errorf("%v: slack %g", v, slack32(s, set))
			}
			for _, e := range []float64{0, slack, 1e-12} {
				q := search{space: s, set: set, slack32: e, train: recordPoints(train), test: recordPoints(test), k: 1,
					workers: 1, predicted: make([]float64, 1), trainBlock: 5000, testBlock: 1000}
				must.Do(t, q.run(context.Background()))
				if slices.Equal(q.predicted, want) {
					continue
				}
				if e == 1e-12 {
					lost[v]++
				} else {
					t.Errorf("%v, slack %g: neighbour %v, want %v", v, e, q.predicted, want)
				}
			}
		}
	}
	for _, v := range kernels.Variants() {
		if lost[v] == 0 {
			t.Errorf("%v: the control loses no neighbour: the test sees nothing", v)
		}
	}
}

// TestNeighboursOfPersons: a row has no neighbour among the rows of its person, by definition and in
// every block; as rows of their own, equal rows of a person would all be right.
func TestNeighboursOfPersons(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, twins := range []bool{false, true} {
		var x, y []float64
		var of []int32
		for p := range 40 {
			row, label := []float64{rng.NormFloat64(), rng.NormFloat64()}, float64(2*rng.IntN(2)-1)
			for range 1 + rng.IntN(5) {
				if !twins {
					row = []float64{rng.NormFloat64(), rng.NormFloat64()}
				}
				x, y, of = append(x, row...), append(y, label), append(of, int32(p))
			}
		}
		rows := records(t, x, y, 2)
		r := must.Get(rows.GroupPersons(of, 40, 5))(t)
		got := must.Get(knnLeaveOneOut(t.Context(), r, KNNOptions{K: 3}))(t)
		must.Same(t, got.Predicted, slowKNN(r, r, nil, 3, true), "by definition")
		alone := must.Get(knnLeaveOneOut(t.Context(), rows, KNNOptions{K: 1}))(t)
		if twins && alone.Accuracy() < got.Accuracy()+0.2 {
			t.Errorf("rows of their own: %v, of persons: %v", alone.Accuracy(), got.Accuracy())
		}
		must.Err(knnLeaveOneOut(t.Context(), r, KNNOptions{K: r.Len() - 1}))(t, "more neighbours than other persons have rows")
	}
}
