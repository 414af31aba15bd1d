package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// networkCase is a network and how its embeddings are compared.
type networkCase struct {
	hidden []int
	m      int
	act    embedding.Activation
	output embedding.Output
	pair   embedding.PairLoss
	clip   float64
	file   string // with layers in place of hidden and act
}

func networkCases() []networkCase {
	logistic := engine.Logistic{}
	score := embedding.Score{Of: logistic}
	return []networkCase{
		{[]int{5}, 1, embedding.Tanh, embedding.Output{}, score, 0.8, ""},
		{[]int{7}, 1, embedding.Softplus, embedding.Output{}, score, 3, ""},
		{[]int{6, 5}, 1, embedding.Tanh, embedding.Output{}, score, 0.8, ""},
		{[]int{70, 3}, 1, embedding.Softplus, embedding.Output{}, score, 50, ""},
		{nil, 1, embedding.Tanh, embedding.Output{}, score, 0.3, ""},
		{nil, 3, embedding.Tanh, embedding.Output{}, embedding.Bilinear{Of: logistic}, 0.9, ""},
		{[]int{5}, 3, embedding.Tanh, embedding.Output{Unit: true}, embedding.Bilinear{Of: logistic}, 0.7, ""},
		{[]int{6}, 2, embedding.Softplus, embedding.Output{Within: 0.7}, embedding.Distance{Of: logistic}, 5, ""},
		{[]int{66}, 2, embedding.Tanh, embedding.Output{}, embedding.Contrastive{Margin: 1.5}, 1, ""},
		{[]int{6, 70}, 3, embedding.Tanh, embedding.Output{Unit: true}, embedding.Bilinear{Of: logistic}, 0.7, ""},
		{[]int{4, 5}, 2, embedding.Softplus, embedding.Output{}, embedding.Contrastive{Margin: 1.5}, 2, ""},
		{nil, 2, 0, embedding.Output{Unit: true}, embedding.Distance{Of: logistic}, 0.9, "layers: [dense: 5, activation: relu, dense: 6, dense: 4, activation: silu]"},
		{nil, 1, 0, embedding.Output{Within: 0.4}, score, 0.6, "{gain: 1, layers: [dense: 6, activation: silu, dense: 3, activation: relu]}"},
	}
}

func (c networkCase) loss(t testing.TB, d int) embedding.Loss {
	t.Helper()
	var net embedding.Network = must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: c.hidden, Out: c.m, Activation: c.act}))(t)
	if c.file != "" {
		net = embedding.NewGraph(chain{fileNetwork(t, c.file, d, c.m)})
	}
	return embedding.Loss{Model: embedding.Model{Network: net, Output: c.output}, Pair: c.pair, Clip: c.clip, Seed: 7}
}

// networkRecords are records of d features with labels -1 and 1, of units of up to most rows unless it is 0.
func networkRecords(t testing.TB, rng *rand.Rand, n, d, most int) *engine.Records {
	t.Helper()
	var x, y []float64
	var of []int32
	for p := range n {
		rows := 1
		if most > 0 {
			rows += rng.IntN(most)
		}
		for range rows {
			row := make([]float64, d)
			fillUnit(rng, row, math.Sqrt(rng.Float64()))
			x, y, of = append(x, row...), append(y, float64(2*rng.IntN(2)-1)), append(of, int32(p))
		}
	}
	r := must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
	if most > 0 {
		r = must.Get(r.GroupPersons(of, n, most))(t)
	}
	return r
}

func networkProblem(l embedding.Loss, r *engine.Records, most int) engine.Problem {
	return engine.Problem{N: r.Units(), D: r.Dim(), Bounds: r.Bounds(), Loss: l, Radius: l.Radius(), PersonRows: most}
}

// networkSum is a gradient sum and the bound of its rounding. A second call finds used buffers.
func networkSum(b engine.Backend, p engine.Problem, r *engine.Records, theta []float64, calls int) (sum []float64, rounding float64, err error) {
	k, err := b.Plan(p)
	if err != nil {
		return nil, 0, err
	}
	e, err := k.Bind(r)
	if err != nil {
		return nil, 0, err
	}
	sum = make([]float64, len(theta))
	for range calls {
		err = errors.Join(err, e.Sum(context.Background(), sum, engine.Gradient(theta, engine.AllPairs{N: p.N})))
	}
	return sum, k.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Sum, errors.Join(err, e.Close())
}

// networkAt is a theta near the start, or far from it in the balls.
func networkAt(l embedding.Loss, d int, rng *rand.Rand) []float64 {
	domain := l.Domain(d, l.Radius())
	theta := domain.Start()
	size := math.Pow(10, 3*rng.Float64()-2)
	for i := range theta {
		theta[i] += size * rng.NormFloat64()
	}
	_ = domain.Project(theta, math.Inf(1)) // never fails
	return theta
}

// networkError is how far float32 may move a sum, relatively to the largest sum.
const networkError = 1e-7

// networkApart compares a sum on a GPU with that of the CPU, relatively to the largest sum.
func networkApart(t *testing.T, b Backend, at, d, n, most, calls int) (what string, away float64, err error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(at)))
	l := networkCases()[at].loss(t, d)
	r := networkRecords(t, rng, n, d, most)
	p, theta := networkProblem(l, r, most), networkAt(l, d, rng)
	got, _, err := networkSum(embedding.Backend{On: b}, p, r, theta, calls)
	if err != nil {
		return "", 0, err
	}
	want, _, err := networkSum(embedding.Backend{}, p, r, theta, 1)
	if err != nil {
		return "", 0, err
	}
	constants, err := l.Constants(p.Bounds, p.Radius)
	if away = apartBy(got, want) / (float64(p.N) * float64(p.N) * constants.Lipschitz); !(apartBy(got, want) <= tupleError*norm2(want)) || norm2(got) == 0 {
		away = math.Inf(1)
	}
	return fmt.Sprintf("%s, %d units", l.Name(), n), away, err
}

// hostNetworks are the sums of networks of every kind, compared with those of the CPU.
func hostNetworks(t *testing.T, b Backend, large bool) error {
	t.Helper()
	for at := range networkCases() {
		if rehearsed() && at > 2 {
			return nil
		}
		d, n, most := []int{3, 17, 65}[at%3], []int{40, 270, 9, 33}[at%4], 3*(at%2)
		if n > 256 {
			most = 0
		}
		if large {
			n = 2000
		}
		what, away, err := networkApart(t, b, at, d, n, most, 2)
		if err != nil {
			return err
		}
		if t.Logf("%s: %.2g from the CPU", what, away); !(away <= networkError) {
			return fmt.Errorf("%s: the sum is %.2g from the CPU's, more than %g", what, away, float64(networkError))
		}
	}
	return nil
}

// TestNetworkSums compares the sums of every kind of network that a GPU takes with those of the CPU.
func TestNetworkSums(t *testing.T) {
	must.CheckDo(t, hostNetworks(t, openFake(t, newFake()), false))
}

// TestNetworkSumsFill64Bits: where all records add one entry, and their sum is all that a plan allows, nearly a power of two, the integers hold it.
func TestNetworkSumsFill64Bits(t *testing.T) {
	const n, d, slope = 40, 5, 0.79 // together 31.6
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range n {
		x[i*d] = 1
	}
	r := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	k := must.Get(openFake(t, newFake()).PlanRows(embedding.RowsProblem{Network: networkCases()[4].loss(t, d).Model.Network, Norm: 1, Rows: n, Most: n * slope}))(t)
	rows := must.Get(k.Bind(r))(t)
	theta, v, sum := make([]float64, d), slices.Repeat([]float64{slope}, n), make([]float64, d)
	must.Do(t, rows.Embed(t.Context(), make([]float64, n), make([]float64, n), theta))
	must.Do(t, rows.Pull(t.Context(), sum, v))
	if !(math.Abs(sum[0]/(n*slope)-1) < 1e-5) || norm2(sum) != sum[0] {
		t.Errorf("records that add one entry have the sum %v, want about %v", sum, n*slope)
	}
	must.Do(t, rows.Close())
}

// TestCompareNetworks: the comparison of dyad doctor passes, and finds sums without a part.
func TestCompareNetworks(t *testing.T) {
	text, err := openFake(t, newFake()).Device.CompareNetworks(t.Context())
	if t.Log(text); err != nil {
		t.Error(err)
	}
	f := defective(replacing("red.global.add.u64", "st.global.u64"))
	must.Err(openFake(t, f).Device.CompareNetworks(t.Context()))(t, "chunks in place of their sum are not found")
}

// TestNetworkFailures: a call that fails, whichever it is, ends a sum with its error, and nothing is left on the GPU (fakeContext.Detach).
func TestNetworkFailures(t *testing.T) {
	r := networkRecords(t, rand.New(rand.NewPCG(1, 1)), 9, 3, 0)
	l := networkCases()[2].loss(t, 3)
	p := networkProblem(l, r, 0)
	eachCall(t, 50, driver.Result(2), "networks", func(f *fakeDriver) error {
		_, _, err := networkSum(embedding.Backend{On: openFake(t, f)}, p, r, networkAt(l, 3, rand.New(rand.NewPCG(1, 1))), 2)
		return err
	})
}

// TestNetworkRefusals: what a GPU does not compute of networks is refused when it is planned, with what to do.
func TestNetworkRefusals(t *testing.T) {
	b := openFake(t, newFake())
	r := networkRecords(t, rand.New(rand.NewPCG(1, 1)), 9, 3, 0)
	small := b
	small.Memory = driverBytes + 100
	for name, c := range map[string]struct {
		on   Backend
		loss embedding.Loss
	}{
		"clipped pairs": {b, func() embedding.Loss { l := networkCases()[0].loss(t, 3); l.PairClip = 1; return l }()},
		"little memory": {small, networkCases()[0].loss(t, 3)},
	} {
		_, err := embedding.Backend{On: c.on}.Plan(networkProblem(c.loss, r, 0))
		if t.Log(err); !errors.Is(err, engine.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// simNetworks compares gradient sums of networks with the CPU.
func simNetworks(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
	for i, at := range []int{0, 1, 2, 6, 7, 9, 11} {
		what, away, err := networkApart(t, b, at, []int{3, 17, 9}[i%3], []int{40, 270, 9}[i%3], 3*((i+1)%2), 1)
		if err != nil {
			return lines, err
		}
		lines = append(lines, simLine{what, away / networkError})
	}
	return lines, nil
}

// networkRoofline is networks-roofline.csv: records a second on an H200 as predicted, the same if float32 had the rate that bf16x3 has for
// metrics, and at the full rates of its data sheet of float32, of float64 and of memory. Nothing here was measured.
func networkRoofline(t *testing.T) string {
	t.Helper()
	gpus := must.Get(readNamed())(t)
	var sheets []struct {
		Multiprocessors int
		Clock           float64 `json:"clock_hz"`
		Bandwidth       float64 `json:"bytes_per_second"`
	}
	must.Do(t, json.Unmarshal(namedGPUs, &sheets))
	g := gpus[0]
	fp32, ok := g.predicted("direct, fp32")
	bf16x3, also := g.predicted("direct, bf16x3")
	if !ok || !also {
		t.Fatal("no predicted times of metrics")
	}
	const n, float32s, float64s = 1e6, 256, 64 // operations of a multiprocessor in a clock
	clocks := sheets[0].Clock * float64(sheets[0].Multiprocessors)
	var out strings.Builder
	out.WriteString("gpu,network,n,predicted,with_bf16x3,float32_limit,float64_limit,memory_limit,programs\n")
	for _, p := range predictedNetworks() {
		w := p.work
		fmt.Fprintf(&out, "%s,%s,%.0f,%.3g,%.3g,%.3g,%.3g,%.3g,%s\n", g.Name, p.name, float64(n), n/w.seconds(g.Name, n, 1), n/w.seconds(g.Name, n, fp32.PerPair/bf16x3.PerPair),
			float32s*clocks/(2*w.single), float64s*clocks/w.double, sheets[0].Bandwidth/w.bytes, p.programs)
	}
	return out.String()
}

// predictedNetwork is a row of predicted.csv and networks-roofline.csv.
type predictedNetwork struct {
	name, programs string
	d              int
	work           networkWork
}

func predictedNetworks() (all []predictedNetwork) {
	ptx := embeddedPTX()
	for _, mlp := range []embedding.MLP{{In: 20, Hidden: []int{32}, Out: 1}, {In: 784, Hidden: []int{128}, Out: 1}, {In: 784, Hidden: []int{128, 64}, Out: 1}, {In: 784, Hidden: []int{128, 64}, Out: 16}} {
		net, _ := denseOf(mlp)
		all = append(all, predictedNetwork{net.name, "network:" + ptx["network"], net.in, net.work()})
		if net.out > 1 {
			all = append(all, predictedNetwork{net.name + " in tuples of 3", "network:" + ptx["network"] + " tuples:" + ptx["tuples"], net.in, net.tupleWork(3)})
		}
	}
	return all
}

// tupleWork returns the work for a record in tuples of the given size. There are two passes over the entries of
// the gradient instead of one. After each tuple every entry needs a square, a product, a conversion at a quarter
// of the rate of float64, and an addition of 64 bits. Columns are gathered in sectors of 32 bytes.
func (n dense) tupleWork(size float64) networkWork {
	w := n.work()
	for _, l := range n.layers {
		rows, cols := float64(l.Rows), float64(l.Cols)
		w.double += rows * cols * (1 + 8/size)
		w.bytes += 4*cols*float64(chunksOf(l.Rows, networkSide)) + 8*rows*float64(chunksOf(l.Cols, networkSide)) +
			16*tupleLanes*float64(tilesOf(l))/size
	}
	w.bytes += 36 * float64(n.in+1)
	return w
}

// TestNetworkRoofline: the committed file belongs to the embedded kernels. With DYAD_SASS_OUT it is written there.
func TestNetworkRoofline(t *testing.T) {
	const name = "networks-roofline.csv"
	if to := os.Getenv("DYAD_SASS_OUT"); to != "" {
		must.Do(t, os.WriteFile(filepath.Join(to, name), []byte(networkRoofline(t)), 0o644))
		return
	}
	text, err := os.ReadFile(filepath.Join(results, name))
	if err != nil || string(text) != networkRoofline(t) {
		t.Errorf("%s is not what the models predict for the embedded PTX: %v; run this test with DYAD_SASS_OUT", name, err)
	}
}
