package embedding

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// batchOf is a batch of a model at theta over the rows of x.
func batchOf(t *testing.T, m Model, theta, x []float64) *Batch {
	t.Helper()
	b := must.Get(m.NewBatch(1, x))(t)
	d, _ := m.Dims()
	for i, ok := range embedAll(t, b, theta, len(x)/d) {
		if !ok {
			t.Fatalf("record %d is not usable", i)
		}
	}
	return b
}

// embedAll embeds all n records of a batch at theta, in their order.
func embedAll(t *testing.T, b *Batch, theta []float64, n int) []bool {
	t.Helper()
	must.Do(t, b.Begin(t.Context(), theta, 1))
	members := make([]int32, n)
	for i := range members {
		members[i] = int32(i)
	}
	return must.Get(b.Embed(t.Context(), members))(t)
}

// The length of the gradient of a cosine is at least its norm, by a backward pass of the two records, and with factors little more, also for records
// that are almost alike; it and the cosine have the same bits for the two records by themselves, in either order and at any place of a
// batch.
func TestLengthsOfCosines(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const d, dim, count = 5, 3, 140
	for _, hidden := range [][]int{nil, {1}, {9}, {9, 4}} {
		for _, activation := range []Activation{Tanh, Softplus} {
			net := must.Get(NewMLP(MLP{In: d, Hidden: hidden, Out: dim, Activation: activation}))(t)
			model := Model{Network: net, Output: Output{Unit: true}}
			theta, x := net.Start(r.Uint64()), make([]float64, count*d)
			for i := range x {
				x[i] = 0.3 * r.NormFloat64()
			}
			for i := 1; i < count; i += 4 { // near the record before
				for k := range d {
					x[i*d+k] = x[(i-1)*d+k] + math.Pow(10, -float64(i)/12)*r.NormFloat64()
				}
			}
			b := batchOf(t, model, theta, x)
			pass := must.Get(model.NewTermPass())(t)
			pass.Set(theta)
			for i := range count {
				for _, j := range []int{(i + 1) % count, (i + 17) % count, (i + 90) % count} {
					both := slices.Concat(x[i*d:][:d], x[j*d:][:d])
					f, g := make([]float64, 2*dim), make([]float64, len(theta))
					pass.Embed(f, both, 2)
					pass.Pull(g, slices.Concat(f[dim:], f[:dim]), 2)
					norm, length := math.Sqrt(sumOfSquares(g)), b.Length(i, j)
					if length < norm*(1-1e-12) || length > norm+1e-3*(1+norm) && len(hidden) < 2 { // a bound where there are no factors
						t.Fatalf("%s: the gradient of the cosine of records %d and %d has norm %v, its bound is %v", net.Name(), i, j, norm, length)
					}
					alone := batchOf(t, model, theta, both)
					first, second := 0, 1
					if i > j { // the lower place comes first
						alone = batchOf(t, model, theta, slices.Concat(both[d:], both[:d]))
					}
					if length != b.Length(j, i) || length != alone.Length(first, second) || b.Cosine(i, j) != alone.Cosine(first, second) || b.Cosine(i, j) != b.Cosine(j, i) {
						t.Fatalf("%s: records %d and %d have other numbers by themselves", net.Name(), i, j)
					}
				}
			}
		}
	}
	b := must.Get(Model{Network: NewGraph(slope{}), Output: Output{Unit: true}}.NewBatch(1, []float64{1, 0x1p190, 0x1p205, math.Inf(1)}))(t)
	must.Same(t, embedAll(t, b, []float64{1}, 4), []bool{true, true, false, false}, "records with slopes of 1, 2^190, 2^205 and infinity are usable")
}

// slope is a graph whose only parameter has a record's number as its slope.
type slope struct{}

func (slope) Name() string                       { return "slope" }
func (slope) Dims() (d, m int)                   { return 1, 1 }
func (slope) Layers() []Layer                    { return []Layer{{Name: "w", Rows: 1, Cols: 1, Radius: 1}} }
func (slope) Start(uint64) []float64             { return []float64{1} }
func (s slope) NewTape() (Tape, error)           { return s, nil }
func (slope) Set([]float64) error                { return nil }
func (slope) Jacobian(f, jac, x []float64) error { f[0], jac[0] = 1, x[0]; return nil }

// The bound of Pull holds against the sum record by record, with errors of v, and is small.
func TestBatchError(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 8))
	const d, dim, count = 5, 3, 140
	net := must.Get(NewMLP(MLP{In: d, Hidden: []int{9}, Out: dim}))(t)
	model := Model{Network: net, Output: Output{Unit: true}}
	theta, x := net.Start(4), make([]float64, count*d)
	v, off := make([]float64, count*dim), make([]float64, count*dim)
	for i := range x {
		x[i] = 0.3 * r.NormFloat64()
	}
	total, errors := 0.0, 0.0
	for i := range v {
		v[i] = r.NormFloat64()
		off[i] = v[i] + 1e-9*r.NormFloat64()
		total, errors = total+math.Abs(v[i]), errors+math.Abs(off[i]-v[i])
	}
	got, want := make([]float64, len(theta)), make([]float64, len(theta))
	pass := must.Get(model.NewTermPass())(t)
	pass.Set(theta)
	for i := range count {
		pass.Embed(make([]float64, dim), x[i*d:][:d], 1)
		pass.Pull(want, slices.Clone(v[i*dim:][:dim]), 1)
	}
	for _, c := range []struct {
		v   []float64
		off float64
	}{{v, 0}, {off, errors}} {
		clear(got)
		must.Do(t, batchOf(t, model, theta, x).Pull(t.Context(), got, slices.Clone(c.v)))
		distance := 0.0
		for k := range got {
			distance = math.Hypot(distance, got[k]-want[k])
		}
		if bound := model.BatchError(1, count, total, c.off, 0); distance > bound || distance == 0 || bound > 1e-2 {
			t.Errorf("the sum is off by %v, bounded by %v", distance, bound)
		}
	}
	// Without factors the clip bounds it: f = 1/sqrt(1 + e^2) has the gradient x (1 - f^2)/sqrt(1 + e^2).
	graph := Model{Network: NewGraph(slope{}), Output: Output{Unit: true}}
	by, exact := math.Sqrt(1+SmallestNorm*SmallestNorm), new(big.Float).SetPrec(300)
	x, v, total, theta, got = make([]float64, count), make([]float64, count), 0, []float64{1}, []float64{0}
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	for i := range x {
		share := r.NormFloat64()
		x[i] = math.Exp2(40 * r.Float64())
		v[i], total = share/x[i], total+math.Abs(share)
		term, square := number(1), number(by)
		term.Sub(term, square.Quo(number(1), square.Mul(square, square))) // 1 - f^2
		exact.Add(exact, term.Mul(term, number(x[i])).Mul(term, number(v[i])).Quo(term, number(by)))
	}
	b := batchOf(t, graph, theta, x)
	must.Do(t, b.Pull(t.Context(), got, v))
	away, _ := exact.Sub(exact, number(got[0])).Float64()
	if bound := graph.BatchError(1, count, total, 0, 1); !(math.Abs(away) <= bound) || away == 0 || bound > 1e-10 {
		t.Errorf("the sum of a graph is off by %v, bounded by %v", away, bound)
	}
}
