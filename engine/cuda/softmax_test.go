package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// bounded is a network whose lengths of gradients the CPU bounds, as a GPU does.
type bounded struct{ embedding.Network }

func (n bounded) Activations() ([]string, bool) { return n.Network.(embedding.Dense).Activations() }

// softmaxData are the pairs (0, 1), (2, 3), ..., and one of the first record and the last one, of records of d features, or of those of x.
func softmaxData(t testing.TB, rng *rand.Rand, m, d int, x []float64) *embedding.Data {
	t.Helper()
	if x == nil {
		x = make([]float64, 2*m*d)
		for i := range 2 * m {
			fillUnit(rng, x[i*d:][:d], 1)
		}
	}
	list := []pairgraph.Pair{}
	for i := range int32(m) {
		list = append(list, pairgraph.Pair{A: 2 * i, B: 2*i + 1})
	}
	list = append(list, pairgraph.Pair{A: 0, B: int32(2*m - 1)})
	g := must.Get(pairgraph.New(2*m, list))(t)
	return must.Get(embedding.NewData(slices.Clone(x), d, embedding.L2, 1, g, make([]bool, m+1)))(t)
}

// upTo are the numbers of from to to - 1.
func upTo(from, to int) (all []int32) {
	for i := from; i < to; i++ {
		all = append(all, int32(i))
	}
	return all
}

// cosineModel is a network of networkCases that compares cosines.
func cosineModel(t testing.TB, at, d int) embedding.Model {
	t.Helper()
	return embedding.Model{Network: networkCases()[at].loss(t, d).Model.Network, Output: embedding.Output{Unit: true}}
}

// softmaxSum is the sum over a batch at theta, on a GPU or, for nil, on the CPU with bounds of lengths.
func softmaxSum(t testing.TB, on embedding.TermAccelerator, data *embedding.Data, loss embedding.InfoNCE, model embedding.Model, theta []float64, members []int32, clip float64) ([]float64, error) {
	t.Helper()
	sum := make([]float64, len(theta))
	made := func() (*embedding.Softmax, error) { return embedding.NewSoftmaxOn(on, data, loss, model, 2) }
	if on == nil {
		model.Network = bounded{model.Network}
		made = func() (*embedding.Softmax, error) { return embedding.NewSoftmax(data, loss, model, 1) }
	}
	s, err := made()
	if err != nil {
		return nil, err
	}
	return sum, errors.Join(s.Sum(context.Background(), sum, theta, members, clip), s.Close())
}

// slim is a GPU with room for few records.
type slim struct {
	Backend
	room int
}

func (s slim) BindTerms(p embedding.TermsProblem) (embedding.TermRows, error) {
	e, err := s.Backend.BindTerms(p)
	if err == nil {
		e.(*tupleRows).room = s.room
	}
	return e, err
}

// TestSoftmaxOnAGPU compares sums of batches with those of the CPU that bounds lengths: float32 apart, also in slices and for a record in two
// pairs; without a clip they are those that the CPU has by factors.
func TestSoftmaxOnAGPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 7))
	for i, at := range []int{5, 6, 10, 11} {
		d, m := []int{3, 17, 5, 9}[i], []int{40, 3, 9, 5}[i]
		data, model := softmaxData(t, rng, m, d, nil), cosineModel(t, at, d)
		theta, loss := networkAt(networkCases()[at].loss(t, d), d, rng), embedding.InfoNCE{Temperature: []float64{0.1, 1}[i%2], Symmetric: i > 1}
		for _, clip := range []float64{0.3, 1e9} {
			members, what := upTo(0, m+1), fmt.Sprintf("%s, %s, clip %g", model.Network.Name(), loss.Name(), clip)
			want := must.Get(softmaxSum(t, nil, data, loss, model, theta, members, clip))(t)
			got := must.Get(softmaxSum(t, openFake(t, newFake()), data, loss, model, theta, members, clip))(t)
			if away := apartBy(got, want) / norm2(want); !(away <= tupleError) || norm2(got) == 0 {
				t.Errorf("%s: %.2g from the CPU", what, away)
			}
			parts := must.Get(softmaxSum(t, slim{openFake(t, newFake()), m + 3}, data, loss, model, theta, members, clip))(t)
			must.Within(t, apartBy(got, parts), 0, 2*embedding.SoftmaxError(model, loss, 1, m+1, clip), "%s: ... by slices", what)
			if clip > 1e6 {
				exact := make([]float64, len(theta))
				s := must.Get(embedding.NewSoftmax(data, loss, model, 1))(t)
				must.Do(t, s.Sum(context.Background(), exact, theta, members, clip))
				must.Within(t, apartBy(got, exact)/norm2(exact), 0, tupleError, "%s: ... from the gradient", what)
			}
		}
	}
}

// apartOfPairs is how far a sum moves at most when the first, a middle or the last pair leaves the batch, relatively to the certificate.
func apartOfPairs(t *testing.T, b embedding.TermAccelerator, data *embedding.Data, loss embedding.InfoNCE, model embedding.Model, theta []float64, m int, clip float64) (worst float64) {
	t.Helper()
	rho := embedding.SoftmaxError(model, loss, 1, m, clip)
	c := must.Get(privacy.SoftmaxSample{Group: 1, Pairs: m, Rate: 0.5, Expected: float64(m) / 2, Temperature: loss.Temperature, Symmetric: loss.Symmetric, Roundoff: rho / clip / float64(m) * 2}.Certify())(t)
	all := must.Get(softmaxSum(t, b, data, loss, model, theta, upTo(0, m), clip))(t)
	for _, at := range []int{0, m / 2, m - 1} {
		without := must.Get(softmaxSum(t, b, data, loss, model, theta, append(upTo(0, at), upTo(at+1, m)...), clip))(t)
		worst = max(worst, apartBy(all, without)/clip/float64(m)*2/c.Sensitivity())
	}
	return worst
}

// TestSoftmaxNeighbours: a pair more moves a sum within the certificate, first, last and between, for random records and for a linear map
// whose Jacobians of some records are 250 times as long as those of others, in the first blocks of a batch and in the last one.
func TestSoftmaxNeighbours(t *testing.T) {
	rng, b, worst := rand.New(rand.NewPCG(2, 9)), openFake(t, newFake()), 0.0
	for i := range sizes.Of(4, 24) {
		const m, d = 6, 3
		at := []int{5, 6, 10, 11}[i%4]
		loss := embedding.InfoNCE{Temperature: []float64{0.5, 2}[rng.IntN(2)], Symmetric: rng.IntN(2) == 0}
		theta := networkAt(networkCases()[at].loss(t, d), d, rng)
		worst = max(worst, apartOfPairs(t, b, softmaxData(t, rng, m, d, nil), loss, cosineModel(t, at, d), theta, m, []float64{1e-3, 0.1}[rng.IntN(2)]))
	}
	const m, d = 40, 2
	model := embedding.Model{Network: must.Get(embedding.NewMLP(embedding.MLP{In: d, Out: 2}))(t), Output: embedding.Output{Unit: true}}
	x := make([]float64, 2*m*d)
	for i := range 2 * m {
		if x[i*d], x[i*d+1] = 0.01, 1e-4*rng.NormFloat64(); i%2 == 1 && i > 48 { // records from 64 on of a batch
			x[i*d], x[i*d+1] = 1e-4*rng.NormFloat64(), 0.9
		}
	}
	for k := (2*m - 2) * d; k < len(x); k++ { // the last pair is the opposite of others
		x[k] *= -1
	}
	steep := apartOfPairs(t, b, softmaxData(t, rng, m, d, x), embedding.InfoNCE{Temperature: 5}, model, []float64{1, 0, 0, 1e-3}, m, 3)
	if t.Logf("the largest moves are %.3g and %.3g of the certificate", worst, steep); !(worst > 0.08 && worst <= 1 && steep > 0.3 && steep <= 1) {
		t.Errorf("the largest moves are %v and %v of the certificate", worst, steep)
	}
}

// TestSinglesOnAGPU: a record adds the same alone and among others, several times if it comes several times, and a sum in slices is
// within SinglesError.
func TestSinglesOnAGPU(t *testing.T) {
	rng, b := rand.New(rand.NewPCG(6, 2)), openFake(t, newFake())
	for _, at := range []int{5, 10} {
		const d, n = 4, 12
		l := networkCases()[at].loss(t, d)
		net, theta, x := l.Model.Network, networkAt(l, d, rng), make([]float64, n*d)
		for i := range n {
			fillUnit(rng, x[i*d:][:d], 1)
		}
		e := tupleBound(t, b, net, x, 1)
		_, m := net.Dims()
		members, v, total := []int32{}, make([]float64, n*m), 0.0
		for k := range v {
			v[k] = rng.NormFloat64()
		}
		for range 130 {
			members = append(members, int32(rng.IntN(n)))
		}
		norms, g := make([]float64, n), make([]float64, n*m)
		must.Do(t, e.Begin(context.Background(), theta, 1))
		must.Do(t, e.Embed(context.Background(), g, norms, upTo(0, n)))
		want := make([]float64, len(theta))
		for i := range int32(n) {
			alone := tupleTermSum(t, e, 1, m, theta, []int32{i}, func(int) []float64 { return v[int(i)*m:][:m] }, norms[i]*norm2(v[int(i)*m:][:m]), 1)
			if size, most := norm2(alone), norms[i]*norm2(v[int(i)*m:][:m]); !(size > 0 && size <= most) {
				t.Errorf("%s: a term of norm %v, bounded by %v", net.Name(), size, most)
			}
			for _, k := range members {
				if k == i {
					total += norms[i] * norm2(v[int(i)*m:][:m])
					for k, a := range alone {
						want[k] += a
					}
				}
			}
		}
		for _, most := range []int{77, 256} {
			slices.Reverse(members)
			got := tupleTermSum(t, e, 1, m, theta, members, func(i int) []float64 { return v[int(members[i])*m:][:m] }, total, most)
			if off, bound := apartBy(got, want), 2*embedding.SinglesError(net, len(members))*total; !(off <= bound) || bound > 1e-9*total {
				t.Errorf("%s: off by %v, bounded by %v", net.Name(), off, bound)
			}
		}
		must.Do(t, e.Close())
	}
}

// TestSoftmaxLeavesOut: a pair with a record whose numbers overflow in float32 leaves a batch, and others are as without it.
func TestSoftmaxLeavesOut(t *testing.T) {
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 2, Hidden: []int{2, 2}, Out: 2, Activation: embedding.Softplus}))(t)
	model := embedding.Model{Network: net, Output: embedding.Output{Unit: true}}
	theta := []float64{1e30, 0, 0, 0, 1e30, 0, 1e20, -1, 0, 1, 1, 0, 1e-20, 1e-3, 1e-20, -1e-3}
	x := []float64{3e-31, 1e-31, 4e-31, -2e-31, 1e-31, 6e-31, 0.5, 0.5, 3e-31, 3e-31, -2e-31, 3e-31}
	data := softmaxData(t, nil, 3, 2, x)
	for _, loss := range []embedding.InfoNCE{{Temperature: 1}, {Temperature: 1, Symmetric: true}} {
		b := openFake(t, newFake())
		got := must.Get(softmaxSum(t, b, data, loss, model, theta, upTo(0, 3), 0.1))(t)
		want := must.Get(softmaxSum(t, b, data, loss, model, theta, []int32{0, 2}, 0.1))(t)
		if off := apartBy(got, want); !(off <= 2*embedding.SoftmaxError(model, loss, 1, 3, 0.1)) || norm2(want) == 0 {
			t.Errorf("%s: the sum is %v, without the pair %v", loss.Name(), got, want)
		}
		if none := must.Get(softmaxSum(t, b, data, loss, model, theta, []int32{1}, 0.1))(t); norm2(none) != 0 {
			t.Errorf("%s: the sum of a pair that overflows is %v", loss.Name(), none)
		}
	}
}

// TestSoftmaxTraining: a whole run on a GPU is that on the CPU but for float32, with one plan; what a GPU does not compute is refused with the
// CPU as the way out, before anything is charged, and a call that fails ends a sum with its error.
func TestSoftmaxTraining(t *testing.T) {
	const m, d = 12, 3
	rng := rand.New(rand.NewPCG(3, 3))
	model := cosineModel(t, 9, d)
	spec := pairs.Spec{
		Individuals: 2 * m, Pairs: m + 1, Dim: d, Bound: 1, Loss: embedding.InfoNCE{Temperature: 0.5}, Kappa: 2, Sampling: pairs.Poisson, Batch: 6, Epochs: 2, Clip: 0.05,
		Budget:  privacy.Budget{Epsilon: 1, Delta: 1e-5},
		Network: &pairs.Network{Model: model, Start: model.Network.Start(1), Optimizer: algorithms.NetworkOptimizer()},
	}
	data := softmaxData(t, rng, m, d, nil)
	run := func(s pairs.Spec, o pairs.Options, seed uint64) ([]float64, error) {
		p := must.Get(s.Plan())(t)
		o.Public, o.Source = true, privacy.NewSeededSource(seed)
		r, err := pairs.Run(context.Background(), data, nil, p, o)
		if err != nil {
			return nil, err
		}
		return r.Weights, nil
	}
	f := newFake()
	here, there := must.Get(run(spec, pairs.Options{}, 5))(t), must.Get(run(spec, pairs.Options{Networks: openFake(t, f)}, 5))(t)
	control := must.Get(run(spec, pairs.Options{}, 6))(t)
	off, other := apartBy(here, there)/norm2(here), apartBy(here, control)/norm2(here)
	if t.Logf("off by %.2g, another seed by %.2g", off, other); !(off > 0 && off <= 1e-8 && other > 1e-2) || f.machine.Counts["cvt.rzi.s64.f64"] == 0 {
		t.Errorf("the weights of a GPU are off by %g, those of another seed by %g", off, other)
	}
	free, small, shape := spec, openFake(t, newFake()), *spec.Network
	free.Mode, free.Budget = algorithms.NonPrivate, privacy.Budget{}
	small.Memory = driverBytes + 100
	shape.Model.Network = struct{ embedding.Network }{model.Network} // not known as dense
	unknown := spec
	unknown.Network = &shape
	for name, c := range map[string]struct {
		spec pairs.Spec
		on   Backend
	}{"without clipping": {free, openFake(t, f)}, "little memory": {spec, small}, "other layers": {unknown, openFake(t, f)}} {
		refused(run(c.spec, pairs.Options{Networks: c.on}, 5))(t, name)
	}
	eachCall(t, 50, driver.Result(2), "softmax", func(f *fakeDriver) error {
		_, err := softmaxSum(t, slim{openFake(t, f), 9}, data, embedding.InfoNCE{Temperature: 0.5}, model, spec.Network.Start, upTo(0, 6), 1)
		return err
	})
}
