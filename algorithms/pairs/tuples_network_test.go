package pairs_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// networkSpec is tupleSpec for a network of 3 features with hidden layers.
func networkSpec(t testing.TB, output embedding.Output, hidden ...int) pairs.Spec {
	t.Helper()
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: hidden, Out: 2}))(t)
	s := tupleSpec()
	s.Rows, s.Network = 0, &pairs.Network{
		Model: embedding.Model{Network: net, Output: output}, Start: net.Start(3), Origin: "public start of seed 3",
		Optimizer: algorithms.Optimizer{Update: "adam", Decay: "linear"},
	}
	return s
}

// networkVariants are all losses, noises, layouts and outputs.
func networkVariants(t testing.TB) map[string]pairs.Spec {
	out := map[string]pairs.Spec{}
	for i, output := range []embedding.Output{{}, {Unit: true}, {Within: 1}} {
		for _, hidden := range [][]int{nil, {4}, {4, 3}} {
			for name, s := range tupleVariants() {
				if s.AllPairs {
					continue
				}
				n := networkSpec(t, output, hidden...)
				n.Loss, n.Budget, n.Noise = s.Loss, s.Budget, s.Noise
				n.Individuals, n.Tuple, n.Batch = 12, 4, 1+i
				n.Clip = []float64{1e-3, 0.3, 5}[len(hidden)]
				out[fmt.Sprintf("%s, %v, output %d", name, hidden, i)] = n
			}
		}
	}
	return out
}

// Replacing one individual of 12, features and class, moves all releases of a network together by no more than the
// certificate, in every variant, and by more than half of it in some.
func TestNetworkTuplesStayWithinTheCertificate(t *testing.T) {
	r, closest := rand.New(rand.NewPCG(5, 6)), 0.0
	for name, s := range networkVariants(t) {
		closest = max(closest, everyRecord(t, name, tuplePlan(t, s), r))
	}
	must.AtLeast(t, closest, 0.5, "the certificates are never used by more than")
}

// networkWorst are neighbours whose clipped terms are opposite: a class is turned.
func networkWorst(t testing.TB) (p *pairs.Plan, a, b people) {
	s := networkSpec(t, embedding.Output{}, 4)
	s.Individuals, s.Tuple, s.Batch, s.Epochs, s.Clip, s.Loss = 12, 3, 4, 3, 1e-7, embedding.Contrastive{Margin: 1e6}
	p = tuplePlan(t, s)
	a, b = reversing(p.Spec, 0)
	return p, a, b
}

// networkSums builds sums over other tuples or with another clip.
func networkSums(drawn func(s pairs.Spec, epoch int) []int32, scale float64) builder {
	return func(t testing.TB, p *pairs.Plan, who people) pairs.BatchSum {
		s := p.Spec
		sums := must.Get(embedding.NewNetworkTuples(who.data(t, s), who.classes, s.Loss.(embedding.TupleLoss), s.Network.Model, s.Tuple, 1))(t)
		return func(ctx context.Context, dst, w []float64, step int, _ []int32, clip float64) error {
			return sums.Sum(ctx, dst, w, drawn(s, step), clip*scale)
		}
	}
}

// byRecord clips what every record adds to its tuple, and not the tuple.
func byRecord(t testing.TB, p *pairs.Plan, who people) pairs.BatchSum {
	s := p.Spec
	data := who.data(t, s)
	pass := must.Get(s.Network.Model.NewTermPass())(t)
	return func(_ context.Context, dst, w []float64, step int, _ []int32, clip float64) error {
		pass.Set(w)
		clear(dst)
		m, k := s.Rows, s.Tuple
		list := members(t, s, step)
		for ; len(list) > 0; list = list[k:] {
			f, q, c, classes := make([]float64, k*m), make([]float64, k*k), make([]float64, k*k), make([]int32, k)
			for i, v := range list[:k] {
				classes[i] = who.classes[v]
				pass.Embed(f[i*m:], data.Row(int(v)), 1)
			}
			for i := range k {
				for j := i + 1; j < k; j++ {
					for e := range m {
						q[i*k+j] += (f[i*m+e] - f[j*m+e]) * (f[i*m+e] - f[j*m+e])
					}
				}
			}
			s.Loss.(embedding.TupleLoss).Slopes(c, q, classes)
			for i, v := range list[:k] {
				g := make([]float64, m)
				for j := range k {
					for e := range m {
						g[e] += 2 * c[min(i, j)*k+max(i, j)] * (f[i*m+e] - f[j*m+e])
					}
				}
				own, ignored := make([]float64, len(dst)), make([]float64, m)
				pass.Embed(ignored, data.Row(int(v)), 1)
				pass.Pull(own, g, 1)
				norm := 0.0
				for _, v := range own {
					norm = math.Hypot(norm, v)
				}
				for e, v := range own {
					dst[e] += v * min(1, clip/max(norm, 1e-300))
				}
			}
		}
		return nil
	}
}

// Opposite terms attain the certificate, and known defects move the releases by more.
func TestNetworkTupleDefectsAreCaught(t *testing.T) {
	p, a, b := networkWorst(t)
	certified := p.Certificate().Sensitivity()
	must.Within(t, tupleMove(t, p, a, b, own), 0.99*certified, certified, "the worst case moves the releases")
	drawn := func(s pairs.Spec, epoch int) []int32 { return members(t, s, epoch) }
	for name, c := range map[string]struct {
		build  builder
		caught bool
	}{
		"the control":                    {networkSums(drawn, 1), false},
		"a clip twice as large":          {networkSums(drawn, 2), true},
		"records are clipped one by one": {byRecord, true},
		"an individual is in two tuples": {networkSums(func(s pairs.Spec, epoch int) []int32 {
			m := drawn(s, epoch)
			last := int32(s.Individuals - 1)
			m[(slices.Index(m, last)+s.Tuple)%len(m)] = last
			return m
		}, 1), true},
	} {
		must.Equal(t, tupleMove(t, p, a, b, c.build) > 1.05*certified, c.caught,
			"%s: the releases move by, certified %v", name, certified)
	}
}

func TestNetworkTuplePlansRefuse(t *testing.T) {
	for says, change := range map[string]func(*pairs.Spec){
		"--task metric": func(s *pairs.Spec) {
			s.Tuple, s.AllPairs, s.Batch, s.Seed = 0, true, 0, 0
			s.Loss = embedding.Contrastive{Margin: 1}
		},
		"at most 64":                        func(s *pairs.Spec) { s.Individuals, s.Tuple = 200, 65 },
		"features":                          func(s *pairs.Spec) { s.Dim = 4 },
		"the starting parameter vector has": func(s *pairs.Spec) { s.Network.Start = s.Network.Start[1:] },
		"update":                            func(s *pairs.Spec) { s.Network.Optimizer.Update = "newton" },
		"last iterate":                      func(s *pairs.Spec) { s.Network.Optimizer.Tail = 0.5 },
		"nil":                               func(s *pairs.Spec) { s.Network.Model.Network = nil },
	} {
		s := networkSpec(t, embedding.Output{}, 4)
		change(&s)
		must.Fail(s.Plan())(t, says)
	}
}

// A run has the same bits for any number of workers and if it continues from a checkpoint, learns what a
// matrix cannot, and every layer is in its ball.
func TestNetworkTupleRuns(t *testing.T) {
	s := networkSpec(t, embedding.Output{Unit: true}, 8)
	s.Individuals, s.Batch, s.Epochs, s.Clip, s.Budget.Epsilon = 600, 0, 40, 0.5, 20
	p := tuplePlan(t, s)
	r := rand.New(rand.NewPCG(9, 9))
	who := people{make([]float64, s.Individuals*s.Dim), make([]int32, s.Individuals)}
	for i := range who.classes { // XOR
		x, y := 2*r.Float64()-1, 2*r.Float64()-1
		who.x[i*3], who.x[i*3+1] = 0.7*x, 0.7*y
		if x*y > 0 {
			who.classes[i] = 1
		}
	}
	data := who.data(t, s)
	book := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger")))(t)
	var w []float64
	for _, workers := range []int{1, 3} {
		run := must.Get(pairs.Run(context.Background(), data, who.classes, p, pairs.Options{Options: algorithms.Options{Ledger: book, DataID: "d", Source: privacy.NewSeededSource(4)}, Workers: workers}))(t)
		if w != nil && !slices.Equal(w, run.Weights) {
			t.Error("the result depends on workers")
		}
		w = run.Weights
	}
	sums := must.Get(embedding.NewNetworkTuples(data, who.classes, s.Loss.(embedding.TupleLoss), s.Network.Model, 8, 1))(t)
	m := must.Get(embedding.DrawTuples(s.Individuals, 8, 99, 0))(t)
	if before, after := sums.Objective(s.Network.Start, m), sums.Objective(w, m); !(after < 0.9*before) {
		t.Errorf("the loss is %v at the start and %v after training", before, after)
	}
	inside := slices.Clone(w)
	s.Network.Model.Project(inside)
	must.Same(t, w, inside, "a layer is not in its ball")
	other := s
	net := *s.Network
	net.Start = slices.Clone(net.Start)
	net.Start[0]++
	other.Network = &net
	if tuplePlan(t, other).Objective == p.Objective {
		t.Error("a plan with another start has the same objective: a resumed run could mix them")
	}
	text := p.Report().Text()
	must.Contain(t, text, "mlp 3-8-2 tanh, 48 parameters", "public start of seed 3", "adam, momentum 0.9; linear steps", "the parameters of the network after each of 40 batches")
}

// What a run keeps after each step is all that the next one depends on.
func TestNetworkTuplesContinue(t *testing.T) {
	s := networkSpec(t, embedding.Output{Within: 1}, 4)
	s.Epochs = 6
	p := tuplePlan(t, s)
	who := randomPeople(p.Spec, 2)
	full := &near{}
	var kept [][]float64
	want := must.Get(pairs.Train(context.Background(), who.data(t, p.Spec), who.classes, p, full, 1, algorithms.Tracker{OnKeep: func(done int, _ []int32, vectors ...[]float64) {
		if done == 7 {
			for _, v := range vectors {
				kept = append(kept, slices.Clone(v))
			}
		}
	}}))(t)
	rest := &near{at: 7}
	got, err := pairs.Train(context.Background(), who.data(t, p.Spec), who.classes, p, rest, 1, algorithms.Tracker{OnRestore: func(_ []int32, vectors ...[]float64) (int, error) {
		for i, v := range vectors {
			copy(v, kept[i])
		}
		return 7, nil
	}})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("a continued training ends at %v, want %v (%v)", got, want, err)
	}
}
