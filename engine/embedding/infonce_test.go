package embedding_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
)

// similarPairs are m pairs of individuals of their own, (2i, 2i+1), some of them dissimilar.
func similarPairs(t testing.TB, m, d int, seed uint64, dissimilar ...int) *embedding.Data {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 77))
	list, labels, x := make([]pairgraph.Pair, m), make([]bool, m), make([]float64, 2*m*d)
	for i := range list {
		list[i] = pairgraph.Pair{A: int32(2 * i), B: int32(2*i + 1)}
	}
	for i := range x {
		x[i] = 0.5 * r.NormFloat64()
	}
	for _, i := range dissimilar {
		labels[i] = true
	}
	return must.Get(embedding.NewData(x, d, embedding.L2, 1, pairGraph(t, 2*m, list), labels))(t)
}

// cosineModels are networks that compare cosines: three whose lengths of gradients are known, and two for which they are bounded.
func cosineModels(t testing.TB, d, m int) []embedding.Model {
	t.Helper()
	var all []embedding.Model
	for i, hidden := range [][]int{nil, {4}, {6}, {4, 3}} {
		n := must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: hidden, Out: m, Activation: embedding.Activation(i / 2)}))(t)
		all = append(all, embedding.Model{Network: n, Output: embedding.Output{Unit: true}})
	}
	return append(all, embedding.Model{Network: embedding.NewGraph(steady{fragile{d, m}}), Output: embedding.Output{Unit: true}})
}

// steady is fragile without its failures.
type steady struct{ fragile }

type steadyTape struct{ fragileTape }

func (s steady) NewTape() (embedding.Tape, error) {
	return &steadyTape{fragileTape{fragile: s.fragile}}, nil
}

func (t *steadyTape) Jacobian(g, jac, x []float64) error {
	t.linear(g, jac, x)
	return nil
}

func (s steady) Start(seed uint64) []float64 { return randomMatrix(s.m*s.d, 1, seed) }

var softmaxLosses = []embedding.InfoNCE{{Temperature: 0.3}, {Temperature: 1}, {Temperature: 0.5, Symmetric: true}}

func softmax(t testing.TB, data *embedding.Data, loss embedding.InfoNCE, model embedding.Model, workers int) *embedding.Softmax {
	t.Helper()
	return must.Get(embedding.NewSoftmax(data, loss, model, workers))(t)
}

func softmaxSum(t testing.TB, s *embedding.Softmax, theta []float64, members []int32, clip float64) []float64 {
	t.Helper()
	dst := make([]float64, s.Len())
	must.Do(t, s.Sum(context.Background(), dst, theta, members, clip))
	return dst
}

// plainSoftmax is the sum as it is defined, and its loss: every cosine and its gradient from two records by themselves.
func plainSoftmax(t testing.TB, data *embedding.Data, loss embedding.InfoNCE, model embedding.Model, theta []float64, members []int32, clip float64) (sum []float64, value float64) {
	t.Helper()
	pass := must.Get(model.NewTermPass())(t)
	pass.Set(theta)
	_, dim := model.Dims()
	cosine := func(a, b int32) (float64, []float64) {
		f := make([]float64, 2*dim)
		if !pass.Embed(f, slices.Concat(data.Row(int(a)), data.Row(int(b))), 2) {
			t.Fatal("a record is not finite")
		}
		c := 0.0
		for k := range dim {
			c += f[k] * f[dim+k]
		}
		g := make([]float64, len(theta))
		pass.Pull(g, slices.Concat(f[dim:], f[:dim]), 2)
		size := entrywise(embedding.L2, g)
		for k := range g {
			g[k] *= min(1, clip/max(size, 1e-300))
		}
		return c, g
	}
	var anchors, positives []int32
	for _, p := range members {
		if e := data.Graph().Pairs()[p]; !data.Label(int(p)) {
			anchors, positives = append(anchors, e.A), append(positives, e.B)
		}
	}
	m := len(anchors)
	candidates, share := slices.Clone(positives), 1.0
	if loss.Symmetric {
		anchors, positives = slices.Concat(anchors, positives), slices.Concat(positives, anchors)
		candidates, share = anchors, 0.5
	}
	sum = make([]float64, len(theta))
	for i, a := range anchors {
		var rows [][]float64
		var exps []float64
		total, own, of := 0.0, 0.0, -1
		for _, c := range candidates {
			if c == a {
				continue
			}
			s, g := cosine(a, c)
			if c == positives[i] {
				own, of = s, len(rows)
			}
			rows, exps = append(rows, g), append(exps, math.Exp(s/loss.Temperature))
			total += exps[len(exps)-1]
		}
		value += share * (math.Log(total) - own/loss.Temperature)
		for j, g := range rows {
			c := exps[j] / total
			if j == of {
				c--
			}
			for k, v := range g {
				sum[k] += share * c / loss.Temperature * v
			}
		}
	}
	return sum, value / float64(m)
}

// Sums are those of the definition, without a clip to 1e-12 and with one to 1e-5, and without a clip the gradient of the loss
// by differences.
func TestSoftmaxSums(t *testing.T) {
	const m, d, dim = 6, 4, 3
	data := similarPairs(t, m, d, 1, 2, 5)
	members := numbers(0, m)
	for i, model := range cosineModels(t, d, dim) {
		clips := []float64{1e9, 1, 0.01, 1e-6}
		if i > 2 { // a bound of a length clips to less
			clips = clips[:1]
		}
		theta := parametersOf(model, 4)
		for _, loss := range softmaxLosses {
			name := fmt.Sprintf("%s, %+v", model.Network.Name(), loss)
			s := softmax(t, data, loss, model, 1)
			var free []float64
			for _, clip := range clips {
				got := softmaxSum(t, s, theta, members, clip)
				want, _ := plainSoftmax(t, data, loss, model, theta, members, clip)
				tolerance := 1e-12 * entrywise(embedding.L2, want)
				if clip < 1e9 { // Length is above the norm by what its own roundings could be
					tolerance *= 1e7
				}
				for k, v := range got {
					if math.Abs(v-want[k]) > tolerance {
						t.Fatalf("%s, clip %g: entry %d is %v, defined as %v", name, clip, k, v, want[k])
					}
				}
				if clip == 1e9 {
					free = got
				} else if clip < 1 && entrywise(embedding.L2, got) > 0.99*entrywise(embedding.L2, free) {
					t.Errorf("%s: clip %g does not clip", name, clip)
				}
			}
			for k, v := range differences(theta, func(w []float64) float64 {
				_, value := plainSoftmax(t, data, loss, model, w, members, 1e9)
				return 4 * value // 4 similar pairs
			}) {
				if math.Abs(v-free[k]) > 1e-8*(1+math.Abs(v)) {
					t.Fatalf("%s: entry %d is %v, by differences %v", name, k, free[k], v)
				}
			}
		}
	}
}

// A sum has the same bits for any number of workers and whatever was summed before, dissimilar pairs and others are not in it,
// and batches without two similar pairs sum to 0.
func TestSoftmaxBatches(t *testing.T) {
	data := similarPairs(t, 70, 5, 2, 1, 7, 20)
	model := cosineModels(t, 5, 3)[1]
	theta := parametersOf(model, 4)
	for _, loss := range softmaxLosses {
		one := softmax(t, data, loss, model, 1)
		want := softmaxSum(t, one, theta, numbers(0, 40), 0.1)
		for _, workers := range []int{1, 2, 7} {
			s := softmax(t, data, loss, model, workers)
			softmaxSum(t, s, theta, numbers(30, 70), 0.3)
			must.Same(t, want, softmaxSum(t, s, theta, numbers(0, 40), 0.1), "%s: %d workers or an earlier batch change the bits", loss.Name(), workers)
		}
		without := slices.DeleteFunc(numbers(0, 40), func(p int32) bool { return data.Label(int(p)) })
		must.Same(t, want, softmaxSum(t, one, theta, without, 0.1), "%s: a dissimilar pair is in the sum", loss.Name())
		for _, members := range [][]int32{nil, {1, 7}, {3}, {3, 7}} {
			must.Equal(t, entrywise(embedding.L2, softmaxSum(t, one, theta, members, 0.1)), 0, "%s: the sum of %v has norm", loss.Name(), members)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := softmax(t, data, softmaxLosses[0], model, 2)
	must.ErrDo(t, s.Sum(ctx, make([]float64, s.Len()), theta, numbers(0, 40), 1), "a cancelled sum has no error")
}

// Pairs with a record for which the network is not finite are left out, and others are not touched.
func TestSoftmaxLeavesOutWhatIsNotFinite(t *testing.T) {
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 2, Out: 2}))(t)
	model := embedding.Model{Network: net, Output: embedding.Output{Unit: true}}
	// Squares of images overflow, but for records near 0.
	x := []float64{3e-10, 1e-10, 4e-10, -2e-10, 1e-10, 6e-10, 0.1, 0.5, 3e-10, 3e-10, -2e-10, 3e-10}
	theta := []float64{1e160, 2e160, -1e160, 1e160}
	pairs := []pairgraph.Pair{{A: 0, B: 1}, {A: 2, B: 3}, {A: 4, B: 5}}
	data := must.Get(embedding.NewData(x, 2, embedding.L2, 1, pairGraph(t, 6, pairs), make([]bool, 3)))(t)
	for _, loss := range softmaxLosses {
		s := softmax(t, data, loss, model, 1)
		got := softmaxSum(t, s, theta, numbers(0, 3), 0.1)
		if want := softmaxSum(t, s, theta, []int32{0, 2}, 0.1); !slices.Equal(got, want) || !(entrywise(embedding.L2, want) > 0) {
			t.Errorf("%s: the sum is %v, without the pair %v", loss.Name(), got, want)
		}
	}
}

// What is not supported is refused with what to do.
func TestSoftmaxRefuses(t *testing.T) {
	data := similarPairs(t, 4, 3, 1)
	net := func(n embedding.MLP) embedding.Network {
		return must.Get(embedding.NewMLP(n))(t)
	}
	unit := embedding.Output{Unit: true}
	manhattan := must.Get(embedding.NewData(make([]float64, 4), 2, embedding.L1, 1, pairGraph(t, 2, nil), nil))(t)
	for says, c := range map[string]struct {
		data  *embedding.Data
		loss  embedding.InfoNCE
		model embedding.Model
	}{
		"temperature": {data, embedding.InfoNCE{}, embedding.Model{Network: net(embedding.MLP{In: 3, Out: 2}), Output: unit}},
		"0.02 to 100": {data, embedding.InfoNCE{Temperature: 0.01}, embedding.Model{Network: net(embedding.MLP{In: 3, Out: 2}), Output: unit}},
		"unit length": {data, softmaxLosses[0], embedding.Model{Network: net(embedding.MLP{In: 3, Out: 2}), Output: embedding.Output{Within: 1}}},
		"3":           {data, softmaxLosses[0], embedding.Model{Network: net(embedding.MLP{In: 4, Out: 2}), Output: unit}},
		"l1":          {manhattan, softmaxLosses[0], embedding.Model{Network: net(embedding.MLP{In: 2, Out: 2}), Output: unit}},
		"nil":         {data, softmaxLosses[0], embedding.Model{}},
	} {
		must.Fail(embedding.NewSoftmax(c.data, c.loss, c.model, 1))(t, says)
	}
}

// The bound of the summation holds against sums of the definition where nothing is clipped, and is small.
func TestSoftmaxError(t *testing.T) {
	data := similarPairs(t, 40, 5, 3)
	for _, model := range cosineModels(t, 5, 3) {
		theta := model.Network.Start(3)
		for _, loss := range softmaxLosses {
			const clip = 1e3
			s := softmax(t, data, loss, model, 1)
			got := softmaxSum(t, s, theta, numbers(0, 40), clip)
			if !slices.Equal(got, softmaxSum(t, s, theta, numbers(0, 40), 1e9)) {
				t.Fatalf("%s: a gradient is longer than the clip", model.Network.Name())
			}
			want, _ := plainSoftmax(t, data, loss, model, theta, numbers(0, 40), clip)
			for k := range got {
				got[k] -= want[k]
			}
			e := embedding.SoftmaxError(model, loss, 1, 40, clip)
			if off := entrywise(embedding.L2, got); off > e || !(e < 1e-6) || off == 0 {
				t.Errorf("%s, %s: off by %v, bounded by %v", model.Network.Name(), loss.Name(), off, e)
			}
		}
	}
}
