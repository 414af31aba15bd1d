package embedding_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine/embedding"
	"dyad/internal/must"
)

// fragile is a linear map as a graph whose tape fails for records with a large first feature.
type fragile struct{ d, m int }

func (f fragile) Name() string     { return "fragile" }
func (f fragile) Dims() (d, m int) { return f.d, f.m }
func (f fragile) Layers() []embedding.Layer {
	return []embedding.Layer{{Name: "map", Rows: f.m, Cols: f.d, Radius: 10}}
}
func (f fragile) Start(uint64) []float64           { return make([]float64, f.m*f.d) }
func (f fragile) NewTape() (embedding.Tape, error) { return &fragileTape{fragile: f}, nil }

type fragileTape struct {
	fragile
	theta []float64
}

func (t *fragileTape) Set(theta []float64) error { t.theta = theta; return nil }

func (t *fragileTape) Jacobian(g, jac, x []float64) error {
	if x[0] > 0.6 {
		return errors.New("a large feature")
	}
	t.linear(g, jac, x)
	return nil
}

// linear is the map and its Jacobian.
func (t *fragileTape) linear(g, jac, x []float64) {
	clear(jac)
	for r := range t.m {
		g[r] = 0
		for k, v := range x {
			g[r] += t.theta[r*t.d+k] * v
			jac[r*t.m*t.d+r*t.d+k] = v
		}
	}
}

// networkLosses have gradients for most tuples.
var networkLosses = []embedding.TupleLoss{embedding.Contrastive{Margin: 3}, embedding.Triplet{Margin: 3}, embedding.NPair{Temperature: 0.3}}

// networkModels are all layouts of built-in networks, with every output, and a graph.
func networkModels(t testing.TB, d, m int) []embedding.Model {
	t.Helper()
	var all []embedding.Model
	for _, hidden := range [][]int{nil, {4}, {5, 3}} {
		for i, output := range []embedding.Output{{}, {Unit: true}, {Within: 0.8}} {
			n := must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: hidden, Out: m, Activation: embedding.Activation(i % 2)}))(t)
			all = append(all, embedding.Model{Network: n, Output: output})
		}
	}
	return append(all, embedding.Model{Network: embedding.NewGraph(fragile{d, m}), Output: embedding.Output{Unit: true}})
}

func networkTuples(t testing.TB, data *embedding.Data, class []int32, loss embedding.TupleLoss, model embedding.Model, size, workers int) *embedding.Tuples {
	t.Helper()
	return must.Get(embedding.NewNetworkTuples(data, class, loss, model, size, workers))(t)
}

// parametersOf is a random theta.
func parametersOf(m embedding.Model, seed uint64) []float64 {
	return randomMatrix(embedding.Parameters(m.Network), 1, seed)
}

// farOf says that no hinge of the tuple's loss is near its kink, that squared distances are at least near where their root matters, and
// that the stage of the output is away from its own kinks.
func farOf(t *testing.T, loss embedding.TupleLoss, data *embedding.Data, class []int32, model embedding.Model, theta []float64, near float64) bool {
	n, d := data.Graph().Len(), data.Dim()
	_, m := model.Dims()
	x, f := make([]float64, 0, n*d), make([]float64, n*m)
	for i := range n {
		x = append(x, data.Row(i)...)
	}
	must.Do(t, model.Embed(f, theta, x, n))
	q := func(i, j int) float64 { return embedding.SquaredDistance.Of(f[i*m:][:m], f[j*m:][:m]) }
	for i := range n {
		norm := entrywise(embedding.L2, f[i*m:][:m])
		if w := model.Output.Within; w > 0 && math.Abs(norm-w) < 0.02 || model.Output.Unit && norm*norm < 0.9 {
			return false // the projection has a kink on the sphere, and there is no direction at 0
		}
		for j := range n {
			if l, ok := loss.(embedding.Contrastive); ok && i != j && (math.Abs(math.Sqrt(q(i, j))-l.Margin) < 0.05 || q(i, j) < near) {
				return false
			}
			for k := range n {
				if l, ok := loss.(embedding.Triplet); ok && i != j && class[i] == class[j] && class[k] != class[i] && math.Abs(q(i, j)-q(i, k)+l.Margin) < 0.05 {
					return false
				}
			}
		}
	}
	return true
}

// The gradient of a tuple of every network is that of its loss, by differences; without hidden layers it
// is that of the matrix.
func TestNetworkTupleGradients(t *testing.T) {
	const n, d, m = 5, 3, 2
	for _, model := range networkModels(t, d, m) {
		for _, loss := range networkLosses {
			name, checked := fmt.Sprintf("%s %+v, %s", model.Network.Name(), model.Output, loss.Name()), 0
			for seed := uint64(0); checked < 3 && seed < 4000; seed++ {
				data, class := unpaired(t, n, d, 3, embedding.L2, seed)
				theta := parametersOf(model, seed)
				if !farOf(t, loss, data, class, model, theta, 0.01) || model.Network.Name() == "fragile" && slices.ContainsFunc(numbers(0, n), func(i int32) bool { return data.Row(int(i))[0] > 0.6 }) {
					continue
				}
				s := networkTuples(t, data, class, loss, model, n, 1)
				members := numbers(0, n)
				got := tupleSum(t, s, theta, members, 1e9)
				if entrywise(embedding.L2, got) < 1e-6 {
					continue
				}
				checked++
				for k, want := range differences(theta, func(w []float64) float64 { return s.Objective(w, members) }) {
					if math.Abs(got[k]-want) > 1e-6*(1+math.Abs(want)) {
						t.Fatalf("%s: entry %d is %v, by differences %v", name, k, got[k], want)
					}
				}
				if _, linear := model.Network.(embedding.MLP); linear && len(theta) == m*d && model.Output == (embedding.Output{}) {
					for k, want := range tupleSum(t, tuples(t, data, class, loss, m, n, 1), theta, members, 1e9) {
						must.Near(t, got[k], want, 1e-13*(1+math.Abs(want)), "%s: entry %d", name, k)
					}
				}
				for k := range theta {
					theta[k] += 1e-2
				}
				moved := 0.0
				for k, v := range tupleSum(t, s, theta, members, 1e9) {
					moved = max(moved, math.Abs(v-got[k])/(1+math.Abs(v)))
				}
				if moved < 1e-6 {
					t.Errorf("%s: a gradient at another place passes", name)
				}
			}
			if checked < 3 {
				t.Errorf("%s: only %d tuples away from kinks", name, checked)
			}
		}
	}
}

// TestTermsOfNetworkTuplesAreComputedAlone: the clipped gradient of a tuple is the same, bit for bit, alone and
// at every place of a list of other tuples, whose own terms are zero: records of one class and one place, or
// one for which the graph fails.
func TestTermsOfNetworkTuplesAreComputedAlone(t *testing.T) {
	const n, d, m, others = 64, 3, 2, 10
	rng := rand.New(rand.NewPCG(64, 26))
	for _, model := range networkModels(t, d, m) {
		for _, loss := range networkLosses {
			for _, size := range []int{2, 5} {
				seen := false
				for trial := range 6 {
					x, class := randomMatrix(n*d, 0.3, rng.Uint64()), make([]int32, n)
					for i := range size {
						class[i] = int32(i % 2)
						x[i*d] = min(x[i*d], 0.5) // finite
					}
					for i := size; i < n; i++ {
						copy(x[i*d:(i+1)*d], x[(size+(i-size)/size*size)*d:]) // copies of the first one of their tuple
					}
					if trial%2 == 1 {
						for i := size; i < n; i += size { // and this one another
							x[i*d], x[i*d+1], x[i*d+2] = 0.9, 0.1, 0.1
							class[i] = 1
						}
					}
					zero := trial%2 == 0 || model.Network.Name() == "fragile"
					data := must.Get(embedding.NewData(x, d, embedding.L2, 1, pairGraph(t, n, nil), nil))(t)
					theta, clip := parametersOf(model, rng.Uint64()), []float64{0.01, 0.5, 10}[trial%3]
					s := networkTuples(t, data, class, loss, model, size, 1+trial%3)
					alone := tupleSum(t, s, theta, numbers(0, size), clip)
					seen = seen || entrywise(embedding.L2, alone) > 0
					if norm := entrywise(embedding.L2, alone); norm > clip {
						t.Fatalf("a term of norm %v, clipped to %v", norm, clip)
					}
					if !zero {
						continue
					}
					for place := range others {
						var members []int32
						for k := range others {
							at := (1 + (k+place)%(n/size-1)) * size
							if k == place {
								at = 0
							}
							members = append(members, numbers(at, at+size)...)
						}
						for k, v := range tupleSum(t, s, theta, members, clip) {
							if v != alone[k] {
								t.Fatalf("%s %+v, %s, tuples of %d: a tuple has another gradient at place %d", model.Network.Name(), model.Output, loss.Name(), size, place)
							}
						}
					}
				}
				if triplets := size > 2 || loss.Name() == "contrastive"; triplets && !seen {
					t.Errorf("%s, %s: no tuple has a gradient", model.Network.Name(), loss.Name())
				}
			}
		}
	}
}

// What Embed says of a record without an embedding is needed: f then holds that of another record.
func TestRecordsThatFailLeaveOthers(t *testing.T) {
	const d, m = 3, 2
	model := networkModels(t, d, m)[9]
	p := must.Get(model.NewTermPass())(t)
	p.Set(parametersOf(model, 1))
	f := make([]float64, m)
	if !p.Embed(f, []float64{0.1, 0.2, 0.3}, 1) || f[0] == 0 {
		t.Fatalf("a record has the embedding %v", f)
	}
	if p.Embed(f, []float64{0.9, 0, 0}, 1) || f[0] == 0 {
		t.Errorf("a record without an embedding has %v: no defect to guard against", f)
	}
}

// Tuples, networks and features that do not fit are refused.
func TestNetworkTuplesAreChecked(t *testing.T) {
	data, class := unpaired(t, 80, 3, 2, embedding.L2, 1)
	model := networkModels(t, 3, 2)[3]
	for name, err := range map[string]error{
		"size":     second(embedding.NewNetworkTuples(data, class, tupleLosses[0], model, 65, 1)),
		"features": second(embedding.NewNetworkTuples(data, class, tupleLosses[0], networkModels(t, 4, 2)[0], 4, 1)),
		"loss":     second(embedding.NewNetworkTuples(data, class, nil, model, 4, 1)),
		"network":  second(embedding.NewNetworkTuples(data, class, tupleLosses[0], embedding.Model{}, 4, 1)),
		"classes":  second(embedding.NewNetworkTuples(data, class[1:], tupleLosses[0], model, 4, 1)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second(_ *embedding.Tuples, err error) error { return err }
