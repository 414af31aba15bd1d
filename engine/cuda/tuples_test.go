package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// tupleCase is a network, a loss of tuples, their size and the clipping norm.
type tupleCase struct {
	network int // of networkCases
	loss    embedding.TupleLoss
	size    int
	clip    float64
}

func tupleCases() []tupleCase {
	return []tupleCase{
		{8, embedding.Triplet{Margin: 0.5}, 3, 0.3},
		{6, embedding.NPair{Temperature: 0.5}, 4, 1e6},
		{9, embedding.Contrastive{Margin: 1}, 2, 0.05},
		{5, embedding.NPair{Temperature: 2}, 17, 0.4},
		{11, embedding.Triplet{Margin: 1}, 5, 0.2},
	}
}

// tupleData are n random individuals of d features, or those of x, of three classes.
func tupleData(t testing.TB, rng *rand.Rand, n, d int, x []float64) (*embedding.Data, []int32) {
	t.Helper()
	if x == nil {
		x = make([]float64, n*d)
		for i := range n {
			fillUnit(rng, x[i*d:][:d], 1)
		}
	}
	g := must.Get(pairgraph.New(n, nil))(t)
	data := must.Get(embedding.NewData(slices.Clone(x), d, embedding.L2, 1, g, nil))(t)
	classes := make([]int32, n)
	for i := range classes {
		classes[i] = int32(rng.IntN(3))
	}
	return data, classes
}

// tupleSum is the sum over tuples at theta, on a GPU or, for nil, on the CPU.
func tupleSum(t testing.TB, on embedding.TermAccelerator, c tupleCase, data *embedding.Data, classes []int32, theta []float64, members []int32) ([]float64, error) {
	t.Helper()
	model := networkCases()[c.network].loss(t, data.Dim()).Model
	tuples, err := embedding.NewNetworkTuples(data, classes, c.loss, model, c.size, 1)
	if on != nil {
		tuples, err = embedding.NewNetworkTuplesOn(on, data, classes, c.loss, model, c.size)
	}
	if err != nil {
		return nil, err
	}
	sum := make([]float64, tuples.Len())
	err = errors.Join(tuples.Sum(context.Background(), sum, theta, members, c.clip), tuples.Close())
	return sum, err
}

// tuplesApart compares a sum on a GPU with that of the CPU, relatively to the number of tuples times the clipping norm or what the CPU has.
func tuplesApart(t *testing.T, b Backend, at, d, n int) (what string, away float64, err error) {
	t.Helper()
	rng, c := rand.New(rand.NewPCG(8, uint64(at))), tupleCases()[at]
	data, classes := tupleData(t, rng, n, d, nil)
	theta := networkAt(networkCases()[c.network].loss(t, d), d, rng)
	members, err := embedding.DrawTuples(n, c.size, 4, 0)
	if err != nil {
		return "", 0, err
	}
	want, err := tupleSum(t, nil, c, data, classes, theta, members)
	if err != nil {
		return "", 0, err
	}
	got, err := tupleSum(t, b, c, data, classes, theta, members)
	if err != nil {
		return "", 0, err
	}
	if away = apartBy(got, want) / norm2(want); norm2(got) == 0 {
		away = math.Inf(1)
	}
	return fmt.Sprintf("%s of %d by network %d, n = %d", c.loss.Name(), c.size, c.network, n), away, nil
}

// tupleError is how far float32 may move a sum of tuples, relatively.
const tupleError = 1e-5

// hostTuples are sums of tuples by networks of several kinds, compared with those of the CPU.
func hostTuples(t *testing.T, b Backend, large bool) error {
	t.Helper()
	for at := range tupleCases() {
		if rehearsed() && at > 1 {
			return nil
		}
		d, n := []int{3, 17, 65}[at%3], []int{50, 300, 9, 77}[at%4]
		if large {
			n = 2000
		}
		what, away, err := tuplesApart(t, b, at, d, n)
		if err != nil {
			return err
		}
		if t.Logf("%s: %.2g from the CPU", what, away); !(away <= tupleError) {
			return fmt.Errorf("%s: the sum is %.2g from the CPU's, more than %g", what, away, float64(tupleError))
		}
	}
	return nil
}

// TestTupleSums compares sums of tuples on a GPU with the CPU's.
func TestTupleSums(t *testing.T) {
	b := openFake(t, newFake())
	must.CheckDo(t, hostTuples(t, b, false))
}

// simTuples are the same for TestSim.
func simTuples(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
	for i, at := range []int{0, 1, 2} {
		what, away, err := tuplesApart(t, b, at, []int{3, 17, 9}[i], []int{50, 300, 9}[i])
		if err != nil {
			return lines, err
		}
		lines = append(lines, simLine{what, away / tupleError})
	}
	return lines, nil
}

// tupleBound are bound tuples of the records of a data set.
func tupleBound(t testing.TB, b Backend, net embedding.Network, x []float64, size int) embedding.TermRows {
	t.Helper()
	return must.Get(b.BindTerms(embedding.TermsProblem{Network: net, Norm: 1, X: x, Size: size}))(t)
}

// tupleTermSum is the sum of terms with given v, at most most of them in an Embed.
func tupleTermSum(t testing.TB, e embedding.TermRows, size, m int, theta []float64, members []int32, v func(i int) []float64, clip float64, most int) []float64 {
	t.Helper()
	ctx, sum := context.Background(), make([]float64, len(theta))
	must.Do(t, e.Begin(ctx, theta, clip))
	for from := 0; from < len(members); from += most * size {
		part := members[from:min(from+most*size, len(members))]
		var all []float64
		for i := range part {
			all = append(all, v(from+i)...)
		}
		must.Do(t, errors.Join(e.Embed(ctx, make([]float64, len(part)*m), make([]float64, len(part)), part), e.Add(ctx, all)))
	}
	must.Do(t, e.Sum(ctx, sum))
	return sum
}

// TestTuplesAlone: what a tuple adds has the same bits alone and among others, first and last, and is no longer than the clipping norm, which
// long ones reach; a tuple whose gradient overflows adds nothing and changes no other. Sums of tuples are exact sums of what they add alone,
// and 64 bits hold them where all tuples add the same single entry.
func TestTuplesAlone(t *testing.T) {
	const n, size, d, clip = 40, 2, 5, 0.79           // all together 15.8, which is nearly a power of two
	net := networkCases()[4].loss(t, d).Model.Network // w.x
	x, theta, all := make([]float64, n*d), make([]float64, d), make([]int32, n)
	for i := range all {
		all[i], x[i*d] = int32(i), 1
	}
	e := tupleBound(t, openFake(t, newFake()), net, x, size)
	sum := tupleTermSum(t, e, size, 1, theta, all, func(int) []float64 { return []float64{1e3} }, clip, n)
	if entry := sum[0]; !(math.Abs(entry/(n/size*clip)-1) < 1e-5) || norm2(sum) != entry {
		t.Errorf("tuples that add one entry have the sum %v, want about %v", sum, n/size*clip)
	}
	must.ErrDo(t, e.Embed(t.Context(), make([]float64, size), make([]float64, size), all[:size]), "64 bits need not hold more tuples than the data have, and they are taken")
	must.Do(t, e.Close())
	must.Within(t, longestTuple(t, newFake(), 5, 10, 11), 0.9999, 1, "the longest tuple is ... of the clipping norm")
}

// longestTuple is the largest norm of what a tuple adds by one of the networks, relative to the clipping norm.
func longestTuple(t *testing.T, f *fakeDriver, networks ...int) (worst float64) {
	t.Helper()
	b, rng := openFake(t, f), rand.New(rand.NewPCG(6, 1))
	for _, at := range networks {
		const d, n, clip = 5, 23, 0.25
		size := []int{2, 3, 5, 17}[rng.IntN(3)]
		l := networkCases()[at].loss(t, d)
		net := l.Model.Network
		_, m := net.Dims()
		theta, x := networkAt(l, d, rng), make([]float64, n*d)
		for i := range n {
			fillUnit(rng, x[i*d:][:d], 1)
		}
		e := tupleBound(t, b, net, x, size)
		members, v := make([]int32, n/size*size), make([]float64, n*m)
		for i, to := range rng.Perm(len(members)) {
			members[i] = int32(to)
		}
		for k := range v {
			v[k] = rng.NormFloat64() * math.Pow(10, 4*rng.Float64()-3)
		}
		broken := rng.IntN(len(members) / size)
		for k := range m {
			v[int(members[broken*size])*m+k] = math.Inf(1)
		}
		of := func(list []int32) func(i int) []float64 {
			return func(i int) []float64 { return v[int(list[i])*m:][:m] }
		}
		all := tupleTermSum(t, e, size, m, theta, members, of(members), clip, len(members))
		total := make([]float64, len(all))
		for k := range len(members) / size {
			tuple := members[k*size:][:size]
			alone := tupleTermSum(t, e, size, m, theta, tuple, of(tuple), clip, 1)
			worst = max(worst, norm2(alone)/clip)
			if (norm2(alone) == 0) != (k == broken) {
				t.Errorf("tuple %d of %d adds a vector of norm %v; it overflows: %v", k, len(members)/size, norm2(alone), k == broken)
			}
			for i, a := range alone {
				total[i] += a // exact: few multiples of one unit
			}
		}
		if worst <= 1 && apartBy(all, total) > float64(len(members))*clip*0x1p-50 {
			t.Errorf("%s: the sum is not that of its tuples alone: %v", net.Name(), apartBy(all, total))
		}
		must.Same(t, tupleTermSum(t, e, size, m, theta, members, of(members), clip, 2), all, "%s: sums in several launches have other bits", net.Name())
		must.Do(t, e.Close())
	}
	return worst
}

// TestTupleDefects: tuples that are not clipped are found, and those that are clipped by another number than their length.
func TestTupleDefects(t *testing.T) {
	for name, edit := range map[string][2]string{
		"no tuple is clipped":               {"setp.gt.f64", "setp.lt.f64"},
		"the square in place of the length": {"sqrt.rn.f64", "mov.f64"},
	} {
		f := defective(replacing(edit[0], edit[1], "tuple_clip"))
		t.Run(name, func(t *testing.T) {
			if worst := longestTuple(t, f, 5); worst > 0.9999 && worst <= 1 || !f.edited {
				t.Errorf("the longest tuple is %v of the clipping norm", worst)
			}
		})
	}
}

// TestTupleNeighbours: a replaced record moves a sum by at most twice the clipping norm and what the rounding of the sum adds.
func TestTupleNeighbours(t *testing.T) {
	rng, b, worst := rand.New(rand.NewPCG(2, 9)), openFake(t, newFake()), 0.0
	for range sizes.Of(6, 40) {
		const n, d = 12, 3
		c := tupleCases()[rng.IntN(3)]
		c.clip = []float64{1e-3, 0.1}[rng.IntN(2)]
		theta := networkAt(networkCases()[c.network].loss(t, d), d, rng)
		x := make([]float64, n*d)
		for i := range n {
			fillUnit(rng, x[i*d:][:d], 1)
		}
		members := must.Get(embedding.DrawTuples(n, c.size, 1, 0))(t)
		_, classes := tupleData(t, rng, n, d, x)
		var sums [2][]float64
		for side := range sums {
			data, _ := tupleData(t, rng, n, d, x)
			sums[side] = must.Get(tupleSum(t, b, c, data, classes, theta, members))(t)
			last := int(members[len(members)-1])
			for k := range d {
				x[last*d+k] *= -1
			}
			classes[last] = (classes[last] + 1) % 3
		}
		certified := 2*c.clip + 2*embedding.SumError(1, len(theta), len(members)/c.size, c.clip)
		worst = max(worst, apartBy(sums[0], sums[1])/certified)
	}
	if t.Logf("the largest move is %.3g of the certificate", worst); !(worst > 0.5 && worst <= 1) {
		t.Errorf("the largest move is %v of the certificate", worst)
	}
}

// TestTupleRefusals: what a GPU does not do with tuples is refused with the CPU as the way out, and a sum after Close with an error. A
// call that fails, whichever it is, ends a sum with its error, and nothing is left on the GPU.
func TestTupleRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	data, classes := tupleData(t, rng, 20, 3, nil)
	c := tupleCase{8, embedding.Triplet{Margin: 0.5}, 3, 1}
	theta := networkAt(networkCases()[c.network].loss(t, 3), 3, rng)
	members := []int32{1, 2, 3, 4, 5, 6}
	b := openFake(t, newFake())
	b.Memory = driverBytes + 100
	refused(tupleSum(t, b, c, data, classes, theta, members))(t, "little memory")
	c.clip = 0x1p-160
	must.Err(tupleSum(t, openFake(t, newFake()), c, data, classes, theta, members))(t, "a clip that float64 does not square")
	c.clip = 1
	eachCall(t, 50, driver.Result(2), "tuples", func(f *fakeDriver) error {
		_, err := tupleSum(t, openFake(t, f), c, data, classes, theta, members)
		return err
	})
}

// TestTupleTraining: a whole run with a network on a GPU is that on the CPU but for float32, with the same plan and noise; without clipping
// it is refused before anything is charged.
func TestTupleTraining(t *testing.T) {
	const d = 3
	l := networkCases()[6].loss(t, d)
	spec := pairs.Spec{
		Individuals: 30, Dim: d, Bound: 1, Loss: embedding.Triplet{Margin: 1}, Tuple: 5, Seed: 1, Batch: 2, Epochs: 2, Clip: 0.05, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5},
		Network: &pairs.Network{Model: l.Model, Start: l.Model.Network.Start(1), Optimizer: algorithms.NetworkOptimizer()},
	}
	data, classes := tupleData(t, rand.New(rand.NewPCG(3, 3)), 30, d, nil)
	run := func(o pairs.Options, seed uint64) []float64 {
		p := must.Get(spec.Plan())(t)
		o.Public, o.Source = true, privacy.NewSeededSource(seed)
		r := must.Get(pairs.Run(context.Background(), data, classes, p, o))(t)
		return r.Weights
	}
	f := newFake()
	here, there, control := run(pairs.Options{}, 5), run(pairs.Options{Networks: openFake(t, f)}, 5), run(pairs.Options{}, 6)
	off, other := apartBy(here, there)/norm2(here), apartBy(here, control)/norm2(here)
	if t.Logf("off by %.2g, another seed by %.2g", off, other); !(off > 0 && off <= 1e-6 && other > 1e-2) || f.machine.Counts["cvt.rzi.s64.f64"] == 0 {
		t.Errorf("the weights of a GPU are off by %g, those of another seed by %g", off, other)
	}
	spec.Mode, spec.Budget = algorithms.NonPrivate, privacy.Budget{}
	p := must.Get(spec.Plan())(t)
	o := pairs.Options{Networks: openFake(t, f)}
	o.Public = true
	refused(pairs.Run(context.Background(), data, classes, p, o))(t, "without clipping")
}
