package pairs_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	power "dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
)

// softmaxSpec is a training on m pairs of individuals of their own.
func softmaxSpec(t testing.TB, m int, loss embedding.InfoNCE, hidden ...int) pairs.Spec {
	t.Helper()
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 4, Hidden: hidden, Out: 2}))(t)
	return pairs.Spec{
		Individuals: 2 * m, Pairs: m, Dim: 4, Bound: 1, Loss: loss, Kappa: 1, Sampling: pairs.Poisson, Batch: max(1, m/2),
		Epochs: 2, Clip: 1e-5,
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5},
		Network: &pairs.Network{
			Model: embedding.Model{Network: net, Output: embedding.Output{Unit: true}}, Start: net.Start(3),
			Origin:    "public start of seed 3",
			Optimizer: algorithms.Optimizer{Update: "adam", Decay: "linear"},
		},
	}
}

// disjoint are the pairs (0, 1), (2, 3), ... of features x.
func disjoint(t testing.TB, s pairs.Spec, x []float64) *embedding.Data {
	t.Helper()
	list := make([]pairgraph.Pair, s.Pairs)
	for i := range list {
		list[i] = pairgraph.Pair{A: int32(2 * i), B: int32(2*i + 1)}
	}
	g := must.Get(pairgraph.New(s.Individuals, list))(t)
	return newData(t, s, x, g, make([]bool, s.Pairs))
}

func randomFeatures(r *rand.Rand, s pairs.Spec) []float64 {
	x := make([]float64, s.Individuals*s.Dim)
	for i := range x {
		x[i] = 0.5 * r.NormFloat64()
	}
	return x
}

// softmaxSums makes the sums of a plan over features.
type softmaxSums func(t testing.TB, p *pairs.Plan, x []float64) pairs.BatchSum

func ownSoftmax(t testing.TB, p *pairs.Plan, x []float64) pairs.BatchSum {
	t.Helper()
	return must.Get(p.Sums(disjoint(t, p.Spec, x), nil))(t)
}

// lastPairMoves is how far the mean of a batch of all pairs at theta moves when the last one is taken out.
func lastPairMoves(t testing.TB, p *pairs.Plan, x, theta []float64, build softmaxSums) float64 {
	t.Helper()
	s := p.Spec
	sum := build(t, p, x)
	all := make([]int32, s.Pairs)
	for i := range all {
		all[i] = int32(i)
	}
	with, without := make([]float64, len(theta)), make([]float64, len(theta))
	must.Do(t, errors.Join(sum(context.Background(), with, theta, 0, all, s.Clip),
		sum(context.Background(), without, theta, 0, all[:s.Pairs-1], s.Clip)))
	moved := 0.0
	for k, v := range with {
		moved = math.Hypot(moved, v-without[k])
	}
	return moved / s.Clip / float64(s.Batch)
}

// signed are the worst case of a linear map onto two features: anchors u and positives -v, and for the last pair -u and v, with v
// near u after the map and far from it before. Every gradient of a cosine is one direction or its opposite.
func signed(s pairs.Spec, angle float64) (x, theta []float64) {
	x, theta = make([]float64, s.Individuals*s.Dim), make([]float64, 2*s.Dim)
	theta[0], theta[s.Dim+1] = 1, 1
	sin, cos := math.Sincos(angle)
	for i := range s.Pairs {
		sign := 1.0
		if i == s.Pairs-1 {
			sign = -1
		}
		copy(x[2*i*s.Dim:], []float64{0.9 * sign})
		copy(x[(2*i+1)*s.Dim:], []float64{-0.3 * cos * sign, -0.3 * sin * sign, -0.9 * sign})
	}
	return x, theta
}

var softmaxes = []embedding.InfoNCE{
	{Temperature: 0.25}, {Temperature: 0.5}, {Temperature: 1}, {Temperature: 5},
	{Temperature: 0.5, Symmetric: true}, {Temperature: 1, Symmetric: true}, {Temperature: 20, Symmetric: true},
}

// A pair more in a batch moves the release by no more than the certificate: for random records and networks of every size, for
// records that a search from there and from the worst case finds, for every temperature. Both losses nearly reach it.
func TestOnePairMovesASoftmaxWithinTheCertificate(t *testing.T) {
	rounds, losses, networks, sizes := power.Of(120, 400), softmaxes, [][]int{nil, {3}, {3, 2}}, []int{2, 3, 12}
	if testing.Short() {
		rounds, losses, networks, sizes = 20, []embedding.InfoNCE{softmaxes[1], softmaxes[6]}, networks[:1], sizes[2:]
	}
	r := rand.New(rand.NewPCG(11, 12))
	best := map[string]float64{}
	for _, loss := range losses {
		for _, hidden := range networks {
			for _, m := range sizes {
				if len(hidden) > 1 && m != 3 { // its lengths are bounds, whatever m is
					continue
				}
				s := softmaxSpec(t, m, loss, hidden...)
				p := planOf(t, s)
				certified := p.Certificate().Sensitivity()
				share := func(x, theta []float64) float64 {
					v := lastPairMoves(t, p, slices.Clone(x), theta, ownSoftmax) / certified
					if v > 1 {
						t.Fatalf("%s at %g, %d pairs, %v: one pair moves the release by %v of the certificate", loss.Name(),
							loss.Temperature, m, hidden, v)
					}
					best[loss.Name()] = max(best[loss.Name()], v)
					return v
				}
				x, theta := randomFeatures(r, s), s.Network.Start
				if hidden == nil && m%2 == 0 {
					x, theta = signed(s, 0.02)
				}
				now := share(x, theta)
				for range rounds { // climb
					y, w := slices.Clone(x), slices.Clone(theta)
					size := math.Pow(10, -3*r.Float64())
					if r.IntN(3) == 0 {
						w[r.IntN(len(w))] += size * r.NormFloat64()
						s.Network.Model.Project(w)
					} else {
						y[r.IntN(len(y))] += size * r.NormFloat64()
					}
					if v := share(y, w); v >= now {
						x, theta, now = y, w, v
					}
				}
			}
		}
	}
	t.Logf("shares of the certificate: %v", best)
	if best["infonce"] < 0.98 || best["ntxent"] < 0.5 {
		t.Errorf("the certificates are never used by more than %v", best)
	}
}

// Adding pairs one after the other moves a batch by at most so many certificates, and pairs that are in no batch or dissimilar
// by none: that is what the accounting of Poisson batches needs.
func TestPairsOfASoftmaxAddUp(t *testing.T) {
	s := softmaxSpec(t, 14, embedding.InfoNCE{Temperature: 0.5}, 3)
	s.Kappa = 4
	p := planOf(t, s)
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		x := randomFeatures(r, s)
		sum := ownSoftmax(t, p, slices.Clone(x))
		base := []int32{0, 2, 3, 5, 6, 8}
		before := make([]float64, len(s.Network.Start))
		must.Do(t, sum(context.Background(), before, s.Network.Start, 0, base, s.Clip))
		for j := 1; j <= 4; j++ {
			after := make([]float64, len(before))
			must.Do(t, sum(context.Background(), after, s.Network.Start, 0,
				append(slices.Clone(base), []int32{9, 10, 11, 12}[:j]...), s.Clip))
			moved := 0.0
			for k, v := range after {
				moved = math.Hypot(moved, v-before[k])
			}
			must.AtMost(t, moved/s.Clip/float64(s.Batch), float64(j)*p.Certificate().Sensitivity(),
				"%d pairs move the release by", j)
		}
		// The last pair is in no batch here.
		y := slices.Clone(x)
		for k := 26 * s.Dim; k < len(y); k++ {
			y[k] = r.NormFloat64()
		}
		again := make([]float64, len(before))
		must.Do(t, ownSoftmax(t, p, y)(context.Background(), again, s.Network.Start, 0, base, s.Clip))
		must.Same(t, before, again, "a pair that is in no batch changes its bits")
	}
}

// What does not go with a batch softmax is refused with a reason.
func TestSoftmaxPlansRefuse(t *testing.T) {
	for says, change := range map[string]func(*pairs.Spec){
		"Poisson":            func(s *pairs.Spec) { s.Sampling = pairs.Fixed },
		"give a network":     func(s *pairs.Spec) { s.Network = nil },
		"delta > 0":          func(s *pairs.Spec) { s.Budget.Delta = 0 },
		`method "gradients"`: func(s *pairs.Spec) { s.Shrink = true },
		"certified mode":     func(s *pairs.Spec) { s.Mode, s.Budget.Delta = algorithms.Paper, 0 },
		"give at least 2":    func(s *pairs.Spec) { s.Pairs = 1 },
		"0.02 to 100":        func(s *pairs.Spec) { s.Loss = embedding.InfoNCE{Temperature: 1e-3} },
		"unit length":        func(s *pairs.Spec) { s.Network.Model.Output = embedding.Output{Within: 1} },
		"kappa":              func(s *pairs.Spec) { s.Kappa = account.MaxGroup + 1 },
		"contrastive, tripl": func(s *pairs.Spec) {
			s.Tuple, s.Pairs, s.Kappa, s.Sampling, s.Batch = 2, 0, 0,
				pairs.Fixed, 0
		},
	} {
		s := softmaxSpec(t, 6, embedding.InfoNCE{Temperature: 1}, 3)
		change(&s)
		if _, err := s.Plan(); err == nil || !errors.Is(err, pairs.ErrPlan) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error about %q", err, says)
		}
	}
	p := planOf(t, softmaxSpec(t, 6, embedding.InfoNCE{Temperature: 1}, 3))
	x := randomFeatures(rand.New(rand.NewPCG(1, 1)), p.Spec)
	must.Fail(pairs.Run(context.Background(), disjoint(t, p.Spec, x), nil, p, pairs.Options{Engine: embedding.CPU{}}))(t,
		pairs.ErrPlan, "another device")
}

// The plan charges a Poisson event of the softmax's sensitivity, and its report says what couples the pairs.
func TestSoftmaxPlan(t *testing.T) {
	power.NotShort(t, "slow")
	s := softmaxSpec(t, 3000, embedding.InfoNCE{Temperature: 1}, 8)
	s.Kappa, s.Batch, s.Clip = 2, 150, 0.5
	p := planOf(t, s)
	all, _ := p.Events()[0].(account.RepeatedEvent)
	event, ok := all.Event.(account.PoissonEvent)
	if !ok || event.Group != 2 || event.Rate != 0.05 || all.Count != 40 || event.Relation != account.ReplaceOne {
		t.Fatalf("the plan charges %v", p.Events())
	}
	limit := 2 * (math.Exp(2) + 1)
	if got := p.Certificate().ExactSensitivity() * 150; !(got < limit && got > 0.99*limit) {
		t.Errorf("sensitivity %v, want a little below %v", got, limit)
	}
	must.Below(t, p.Certificate().RoundoffShare(), 1e-4, "roundoff is")
	text := p.Report().Text()
	must.Contain(t, text, "times the clip, at temperature", "each cosine is clipped to 0.5", "infonce with temperature 1",
		"mlp 4-8-2 tanh", "stay secret")
	other := s
	net := *s.Network
	net.Start = slices.Clone(net.Start)
	net.Start[0]++
	other.Network = &net
	for name, q := range map[string]*pairs.Plan{"start": planOf(t, other),
		"symmetric": planOf(t, func() pairs.Spec { q := s; q.Loss = embedding.InfoNCE{Temperature: 1, Symmetric: true}; return q }())} {
		if q.Objective == p.Objective {
			t.Errorf("a plan with another %s has the same objective: a resumed run could mix them", name)
		}
	}
}

// clustered are pairs of records of the same one of eight clusters in the first three features, and noise in the fourth.
func clustered(s pairs.Spec, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, s.Individuals*s.Dim)
	for i := range s.Individuals {
		c := (i / 2) % 8
		for k := range 3 {
			x[i*s.Dim+k] = 0.35*float64(2*(c>>k&1)-1) + 0.08*r.NormFloat64()
		}
		x[i*s.Dim+3] = 0.4 * r.NormFloat64()
	}
	return x
}

// meanSoftmax is the mean loss of the first 64 pairs, whose records are all different.
func meanSoftmax(t testing.TB, data *embedding.Data, s pairs.Spec, theta []float64) (sum float64) {
	const m = 64
	_, rows := s.Network.Model.Dims()
	loss, f, x := s.Loss.(embedding.InfoNCE), make([]float64, 2*m*rows), make([]float64, 2*m*s.Dim)
	for i, e := range data.Graph().Pairs()[:m] {
		copy(x[i*s.Dim:], data.Row(int(e.A)))
		copy(x[(m+i)*s.Dim:], data.Row(int(e.B)))
	}
	must.Do(t, s.Network.Model.Embed(f, theta, x, 2*m))
	similarity := func(i, j int) float64 {
		return floats.Dot(f[i*rows:][:rows], f[j*rows:][:rows]) / loss.Temperature
	}
	for i := range m {
		total := 0.0
		for j := range 2 * m {
			if j != i && (loss.Symmetric || j >= m) {
				total += math.Exp(similarity(i, j))
			}
		}
		sum += (math.Log(total) - similarity(i, m+i)) / m
	}
	return sum
}

// A run lowers the loss, and is the same for any number of workers and if it continues from a checkpoint.
func TestSoftmaxTrains(t *testing.T) {
	power.NotShort(t, "slow")
	for _, loss := range power.Of([]embedding.InfoNCE{{Temperature: 1, Symmetric: true}},
		[]embedding.InfoNCE{{Temperature: 1}, {Temperature: 1, Symmetric: true}}) {
		s := softmaxSpec(t, 600, loss, 8)
		s.Batch, s.Epochs, s.Clip, s.Budget.Epsilon = 100, 6, 0.5, 50
		p := planOf(t, s)
		data := disjoint(t, s, clustered(s, 1))
		var w []float64
		for _, workers := range []int{1, 3} {
			run := must.Get(pairs.Run(context.Background(), data, nil, p,
				pairs.Options{Options: algorithms.Options{Public: true, Source: privacy.NewSeededSource(4)}, Workers: workers}))(t)
			if w != nil && !slices.Equal(w, run.Weights) {
				t.Error("the result depends on workers")
			}
			w = run.Weights
		}
		if before, after := meanSoftmax(t, data, s, s.Network.Start), meanSoftmax(t, data, s, w); !(after < before-0.05) {
			t.Errorf("%s: the loss is %v at the start and %v after training", loss.Name(), before, after)
		}
	}
	s := softmaxSpec(t, 12, embedding.InfoNCE{Temperature: 1}, 3)
	p := planOf(t, s)
	data := disjoint(t, s, clustered(s, 2))
	full := &attack.Recorder{Session: &drawn{coins: privacy.NewSeededSource(5)}}
	steps := p.Batches * s.Epochs
	var kept [][]float64
	want := must.Get(pairs.Train(context.Background(), data, nil, p, full, 1, algorithms.Tracker{OnKeep: func(done int, _ []int32, vectors ...[]float64) {
		if done == steps-1 {
			for _, v := range vectors {
				kept = append(kept, slices.Clone(v))
			}
		}
	}}))(t)
	// a batch and its release
	rest := &attack.Recorder{Session: full.Session, Of: &attack.Recorder{Calls: full.Calls[len(full.Calls)-2:]}}
	got, err := pairs.Train(context.Background(), data, nil, p, rest, 1, algorithms.Tracker{OnRestore: func(_ []int32, vectors ...[]float64) (int, error) {
		for i, v := range vectors {
			copy(v, kept[i])
		}
		return steps - 1, nil
	}})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("a continued training ends at %v, want %v (%v)", got, want, err)
	}
}
