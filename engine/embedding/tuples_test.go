package embedding_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dyad/engine/embedding"
	"dyad/internal/must"
)

// unpaired is random data of n individuals within the unit ball of norm, and their
// classes.
func unpaired(t testing.TB, n, d, classes int, norm embedding.Norm, seed uint64) (*embedding.Data, []int32) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, uint64(d)))
	x, class := make([]float64, n*d), make([]int32, n)
	for i := range x {
		x[i] = 2*r.Float64() - 1
	}
	for i := range class {
		class[i] = int32(r.IntN(classes))
	}
	data := must.Get(embedding.NewData(x, d, norm, 1, pairGraph(t, n, nil), nil))(t)
	return data, class
}

func tuples(t testing.TB, data *embedding.Data, class []int32, loss embedding.TupleLoss, rows, size, workers int) *embedding.Tuples {
	t.Helper()
	return must.Get(embedding.NewTuples(data, class, loss, rows, size, workers))(t)
}

func tupleSum(t testing.TB, s *embedding.Tuples, w []float64, members []int32, clip float64) []float64 {
	t.Helper()
	dst := make([]float64, s.Len())
	must.Do(t, s.Sum(context.Background(), dst, w, members, clip))
	return dst
}

var tupleLosses = []embedding.TupleLoss{embedding.Contrastive{Margin: 1.5}, embedding.Triplet{Margin: 0.7}, embedding.NPair{Temperature: 0.3}}

// differences are the derivatives of f at w by central differences of fourth order.
func differences(w []float64, f func(w []float64) float64) []float64 {
	const h = 1e-3
	out := make([]float64, len(w))
	for k := range w {
		at := func(x float64) float64 {
			v := slices.Clone(w)
			v[k] += x
			return f(v)
		}
		out[k] = (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
	}
	return out
}

// The gradient of a tuple is that of its loss, to 1e-10: by differences, and by
// Gorgonia's symbolic gradient of the loss written down from its definition.
func TestTupleGradients(t *testing.T) {
	const n, d, rows = 5, 3, 2
	for _, loss := range tupleLosses {
		checked := 0
		for seed := uint64(0); checked < 4 && seed < 400; seed++ {
			data, class := unpaired(t, n, d, 3, embedding.L2, seed)
			w := randomMatrix(rows*d, 1.5, seed)
			if !farOf(t, loss, data, class, embedding.Model{Network: embedding.MLP{In: d, Out: rows}}, w, 0.3) {
				continue
			}
			checked++
			s := tuples(t, data, class, loss, rows, n, 1)
			members := numbers(0, n)
			got := tupleSum(t, s, w, members, 1e9)
			byDifferences := differences(w, func(w []float64) float64 { return s.Objective(w, members) })
			value, bySymbols := symbolic(t, loss, data, class, w, rows)
			if v := s.Objective(w, members); math.Abs(v-value) > 1e-12*(1+math.Abs(v)) {
				t.Errorf("%s: value %v, defined as %v", loss.Name(), v, value)
			}
			for k, g := range got {
				if math.Abs(g-byDifferences[k]) > 1e-10*(1+math.Abs(g)) || math.Abs(g-bySymbols[k]) > 1e-12*(1+math.Abs(g)) {
					t.Errorf("%s: entry %d is %v, by differences %v, by autodiff %v", loss.Name(), k, g, byDifferences[k], bySymbols[k])
				}
			}
			// The control: the gradient at a place 10^-3 away is not the same.
			w[0] += 1e-3
			moved := 0.0
			for k, v := range tupleSum(t, s, w, members, 1e9) {
				moved = max(moved, math.Abs(v-bySymbols[k])/(1+math.Abs(v)))
			}
			if moved < 1e-11 && entrywise(embedding.L2, got) > 0 {
				t.Errorf("%s: a wrong gradient passes", loss.Name())
			}
		}
		if checked < 4 {
			t.Errorf("%s: only %d tuples away from kinks", loss.Name(), checked)
		}
	}
}

// symbolic is value and gradient of the loss of one tuple of all individuals, by
// Gorgonia on scalars.
func symbolic(t *testing.T, loss embedding.TupleLoss, data *embedding.Data, class []int32, w []float64, rows int) (value float64, gradient []float64) {
	t.Helper()
	n, d := data.Graph().Len(), data.Dim()
	g := gorgonia.NewGraph()
	number := func(v float64) *gorgonia.Node { return gorgonia.NewConstant(v) }
	mustNode := func(n *gorgonia.Node, err error) *gorgonia.Node { return gorgonia.Must(n, err) }
	add := func(a, b *gorgonia.Node) *gorgonia.Node {
		if a == nil {
			return b
		}
		return mustNode(gorgonia.Add(a, b))
	}
	times := func(a, b *gorgonia.Node) *gorgonia.Node { return mustNode(gorgonia.HadamardProd(a, b)) }
	minus := func(a, b *gorgonia.Node) *gorgonia.Node { return mustNode(gorgonia.Sub(a, b)) }
	weights := make(gorgonia.Nodes, len(w))
	for k, v := range w {
		weights[k] = gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName(string(rune('A'+k))), gorgonia.WithValue(v))
	}
	squares := map[[2]int]*gorgonia.Node{}
	q := func(i, j int) *gorgonia.Node {
		i, j = min(i, j), max(i, j)
		if known := squares[[2]int{i, j}]; known != nil {
			return known
		}
		var sum *gorgonia.Node
		for r := range rows {
			var u *gorgonia.Node
			for k := range d {
				u = add(u, times(number(data.Row(i)[k]-data.Row(j)[k]), weights[r*d+k]))
			}
			sum = add(sum, mustNode(gorgonia.Square(u)))
		}
		squares[[2]int{i, j}] = sum
		return sum
	}
	hinge := func(a *gorgonia.Node) *gorgonia.Node { return mustNode(gorgonia.Rectify(a)) }
	var total *gorgonia.Node
	count := 0.0
	for a := range n {
		for p := range n {
			if a == p {
				continue
			}
			if l, ok := loss.(embedding.Contrastive); ok { // ordered pairs: each twice
				count++
				if class[a] == class[p] {
					total = add(total, times(number(0.5), q(a, p)))
				} else {
					total = add(total, times(number(0.5), mustNode(gorgonia.Square(hinge(minus(number(l.Margin), mustNode(gorgonia.Sqrt(q(a, p)))))))))
				}
				continue
			}
			if class[a] != class[p] {
				continue
			}
			var softmax *gorgonia.Node
			for m := range n {
				if class[m] == class[a] {
					continue
				}
				switch l := loss.(type) {
				case embedding.Triplet:
					count++
					total = add(total, hinge(add(minus(q(a, p), q(a, m)), number(l.Margin))))
				case embedding.NPair:
					softmax = add(softmax, mustNode(gorgonia.Exp(times(number(1/(2*l.Temperature)), minus(q(a, p), q(a, m))))))
				}
			}
			if _, ok := loss.(embedding.NPair); ok {
				count++
				if softmax != nil {
					total = add(total, mustNode(gorgonia.Log(add(softmax, number(1)))))
				}
			}
		}
	}
	gradient = make([]float64, len(w))
	if total == nil {
		return 0, gradient
	}
	total = times(number(1/count), total)
	slopes := must.Get(gorgonia.Grad(total, weights...))(t)
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	must.Do(t, machine.RunAll())
	for k, s := range slopes {
		gradient[k] = s.Value().Data().(float64)
	}
	return total.Value().Data().(float64), gradient
}

// Values and slopes at places that differences do not reach: on the kinks, at distance 0,
// without triplets, and where exponentials overflow.
func TestTupleLossesAtTheEdges(t *testing.T) {
	// Records 0 and 1 of one class, 2 of another; entries (0,1), (0,2), (1,2).
	slopes := func(l embedding.TupleLoss, ap, an, pn float64, classes ...int32) [3]float64 {
		c, q := make([]float64, 9), make([]float64, 9)
		q[1], q[2], q[5] = ap, an, pn
		l.Slopes(c, q, classes)
		return [3]float64{c[1], c[2], c[5]}
	}
	for name, v := range map[string]struct{ got, want [3]float64 }{
		"triplet, both active":       {slopes(embedding.Triplet{Margin: 1}, 1, 1, 1, 0, 0, 1), [3]float64{1, -0.5, -0.5}},
		"triplet, both on the kink":  {slopes(embedding.Triplet{Margin: 1}, 1, 2, 2, 0, 0, 1), [3]float64{}},
		"triplet, one class":         {slopes(embedding.Triplet{Margin: 1}, 1, 2, 2, 5, 5, 5), [3]float64{}},
		"contrastive, at distance 0": {slopes(embedding.Contrastive{Margin: 2}, 0, 0, 1, 0, 0, 1), [3]float64{1. / 6, 0, -1. / 6}},
		"contrastive, on the margin": {slopes(embedding.Contrastive{Margin: 2}, 4, 4, 9, 0, 1, 1), [3]float64{0, 0, 1. / 6}},
		"npair, overflowing softmax": {slopes(embedding.NPair{Temperature: 0.5}, 1e6, 0, 2e6, 0, 0, 1), [3]float64{0.5, -0.5, 0}},
		"npair, one class":           {slopes(embedding.NPair{Temperature: 0.5}, 1, 2, 3, 1, 1, 1), [3]float64{}},
		"npair, all at one place":    {slopes(embedding.NPair{Temperature: 0.5}, 0, 0, 0, 0, 0, 1), [3]float64{0.5, -0.25, -0.25}},
	} {
		for k := range v.got {
			if math.Abs(v.got[k]-v.want[k]) > 1e-15 {
				t.Errorf("%s: slopes %v, want %v", name, v.got, v.want)
			}
		}
	}
	must.Equal(t, (embedding.NPair{Temperature: 0.5}).Value([]float64{0, 1e6, 0, 0, 0, 2e6, 0, 0, 0}, []int32{0, 0, 1}), 5e5, "the value of an overflowing softmax")
}

// A tuple's term has norm at most the clip in the norm of the data, attains it, and is
// unchanged by anybody outside of the tuple; sums are those of the terms.
func TestTuplesAreClippedAsAWhole(t *testing.T) {
	const n, d, rows, size, clip = 60, 5, 4, 6, 1e-2
	for _, norm := range []embedding.Norm{embedding.L1, embedding.L2} {
		for _, loss := range tupleLosses {
			data, class := unpaired(t, n, d, 2, norm, 7)
			s := tuples(t, data, class, loss, rows, size, 1)
			for _, scale := range []float64{1e-200, 1e-3, 1, 1e100, 1e160} {
				w := randomMatrix(rows*d, scale, 3)
				all := must.Get(embedding.DrawTuples(n, size, 1, 2))(t)
				total, largest := make([]float64, s.Len()), 0.0
				for from := 0; from < n; from += size {
					one := tupleSum(t, s, w, all[from:from+size], clip)
					length := entrywise(norm, one)
					if !(length <= clip*(1+1e-15)) {
						t.Fatalf("%s, %s, W of size %g: a term has norm %v, clip %v", norm, loss.Name(), scale, length, clip)
					}
					largest = max(largest, length)
					for k, v := range one {
						total[k] += v
					}
				}
				if scale == 1 && largest < 0.999*clip {
					t.Errorf("%s, %s: the largest term has norm %v, the clip is not attained", norm, loss.Name(), largest)
				}
				sum := tupleSum(t, s, w, all, clip)
				for k := range sum {
					sum[k] -= total[k]
				}
				if e := entrywise(norm, sum); e > 2*embedding.SumError(rows, d, n/size, clip) {
					t.Errorf("%s, %s: the sum is %v from that of its terms", norm, loss.Name(), e)
				}
			}
		}
	}
}

// Tuples of one epoch are disjoint and of different individuals, epochs differ, and the
// result has the same bits for any number of workers.
func TestDrawnTuplesAndWorkers(t *testing.T) {
	const n, size = 3001, 7
	var epochs [2][]int32
	for e := range epochs {
		members := must.Get(embedding.DrawTuples(n, size, 5, e))(t)
		if sorted := slices.Compact(slices.Sorted(slices.Values(members))); len(sorted) != n/size*size || sorted[0] < 0 || sorted[len(sorted)-1] >= n {
			t.Fatalf("an individual is in two tuples, or nobody: %d of %d are different", len(sorted), len(members))
		}
		epochs[e] = members
	}
	if slices.Equal(epochs[0], epochs[1]) {
		t.Error("two epochs have the same tuples")
	}
	data, class := unpaired(t, n, 9, 3, embedding.L2, 1)
	w := randomMatrix(4*9, 1, 2)
	one := tupleSum(t, tuples(t, data, class, tupleLosses[1], 4, size, 1), w, epochs[0], 0.1)
	for _, workers := range []int{2, 7} {
		must.Same(t, one, tupleSum(t, tuples(t, data, class, tupleLosses[1], 4, size, workers), w, epochs[0], 0.1), "%d workers change the result", workers)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := tuples(t, data, class, tupleLosses[1], 4, size, 2)
	must.FailDo(t, s.Sum(ctx, make([]float64, s.Len()), w, epochs[0], 1), context.Canceled, "a cancelled sum returned")
	for _, size := range []int{0, 1, 4000} {
		must.Err(embedding.DrawTuples(n, size, 1, 0))(t, "tuples of %d were drawn", size)
		must.Err(embedding.NewTuples(data, class, tupleLosses[0], 2, size, 1))(t, "tuples of %d were accepted", size)
	}
	must.Err(embedding.NewTuples(data, class[1:], tupleLosses[0], 2, 2, 1))(t, "too few classes were accepted")
}
