package frozen

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/cluster"
	"dyad/algorithms/evaluate"
	"dyad/algorithms/local"
	"dyad/algorithms/pairs"
	"dyad/algorithms/search"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/privacy"
)

// The records of all runs: n rows of d features, and their labels.
const runN, runD = 40, 3

// runData are deterministic records with features of norm at most 1 and labels -1 and 1.
func runData() (x, y []float64, positive []bool) {
	for i := range runN {
		label := float64(2*(i*7%3%2) - 1)
		for j := range runD {
			x = append(x, (0.2*label+0.3*math.Cos(float64(i*runD+j)))/float64(j+1))
		}
		y, positive = append(y, label), append(positive, label > 0)
	}
	return x, y, positive
}

// seeded are options of a run on public data whose noise has a seed.
func seeded() algorithms.Options {
	return algorithms.Options{Public: true, Source: privacy.NewSeededSource(11)}
}

// TestWeights: what a seeded run of every kind leaves is what it was, up to the last digits of sums, which differ
// between the vector units of processors.
func TestWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of the whole catalogue")
	}
	var lines []string
	add := func(name string, b privacy.Budget, w []float64, err error) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		norm, along := 0.0, 0.0
		for i, v := range w {
			norm, along = math.Hypot(norm, v), along+v*math.Sin(float64(i+1))
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %d numbers, %.12g %.12g", name, law(b), len(w), norm, along))
	}
	for _, b := range budgets(runN) {
		runTrainings(t, b, add)
		runPairs(t, b, add)
		runSearches(b, add)
		runReleases(b, add)
	}
	b := budgets(runN)[0]
	runStreams(b, add)
	runLocals(t, b, add)
	slices.Sort(lines)
	table(t, "weights", lines, 1e-8)
	everyAlgorithm(t, lines)
}

type adds func(name string, b privacy.Budget, weights []float64, err error)

func weightsOf(r *algorithms.Result, err error) ([]float64, error) {
	if err != nil {
		return nil, err
	}
	return r.Weights, nil
}

func runTrainings(t *testing.T, b privacy.Budget, add adds) {
	x, y, _ := runData()
	for _, a := range algorithms.Catalog() {
		i := a.Info()
		for _, m := range i.Modes {
			p, records, err := runPlan(a, x, y, b, m)
			if err != nil {
				continue // TestPlans has what is refused
			}
			w, err := weightsOf(algorithms.Run(t.Context(), records, a, p, seeded()))
			add(fmt.Sprintf("train %s %s", i.Name, m), b, w, err)
		}
	}
}

func runPlan(a algorithms.Algorithm, x, y []float64, b privacy.Budget, m algorithms.Mode) (*algorithms.Plan, *engine.Records, error) {
	records, err := engine.NewRecords(x, y, runD, engine.UnitBounds())
	if err != nil {
		return nil, nil, err
	}
	l2 := a.Info().DefaultL2
	if a.Info().NeedsL2 {
		l2 = max(l2, 0.5)
	}
	problem := engine.Problem{N: runN, D: runD, Bounds: engine.UnitBounds(), Loss: attack.Loss(a.Info()), Radius: 1, LabelValues: 2}
	spec, err := algorithms.NewSpec(cpu.Backend{}, problem, l2, b, m)
	if err != nil {
		return nil, nil, err
	}
	p, err := a.Plan(spec)
	return p, records, err
}

func runStreams(b privacy.Budget, add adds) {
	x, y, _ := runData()
	for _, s := range algorithms.StreamCatalog() {
		for _, m := range s.Info().Modes {
			p, err := streamPlan(s, algorithms.StreamOptions{Horizon: runN, Batch: 4, Buffer: 10}, runD, m)
			if err != nil {
				continue // TestPlans has what is refused
			}
			var all []float64
			session, err := privacy.NewPublicSession(privacy.NewSeededSource(11), p.Events())
			if err == nil {
				all, err = feed(p, session, x, y)
			}
			add(fmt.Sprintf("online %s %s", s.Info().Name, m), b, all, err)
		}
	}
}

// feed steps through all records and returns all releases, one behind the other.
func feed(p *algorithms.Plan, session privacy.Session, x, y []float64) (all []float64, err error) {
	stream, err := algorithms.NewStream(p, session)
	for i := 0; i < runN && err == nil; i++ {
		var w []float64
		w, err = stream.Step(context.Background(), x[i*runD:(i+1)*runD], y[i])
		all = append(all, w...)
	}
	return all, err
}

func runPairs(t *testing.T, b privacy.Budget, add adds) {
	x, _, positive := runData()
	classes := make([]int32, runN)
	for i, p := range positive {
		if p {
			classes[i] = 1
		}
	}
	var list []pairgraph.Pair
	labels := make([]bool, runN)
	for i := range runN { // a ring: each individual is in two pairs
		j := (i + 1) % runN
		list, labels[i] = append(list, pairgraph.Pair{A: int32(min(i, j)), B: int32(max(i, j))}), positive[i] != positive[j]
	}
	graph := must.Get(pairgraph.New(runN, list))(t)
	alone := must.Get(pairgraph.New(runN, nil))(t)
	contrastive := embedding.Contrastive{Margin: 1}
	for name, s := range map[string]pairs.Spec{
		"gradients":       {Loss: contrastive},
		"K-norm, shrunk":  {Loss: contrastive, Noise: privacy.KNormNoise, Shrink: true},
		"paper":           {Loss: contrastive, Mode: algorithms.Paper, Unit: pairs.Group},
		"exact":           {Loss: contrastive, Mode: algorithms.NonPrivate},
		"Poisson":         {Loss: contrastive, Sampling: pairs.Poisson},
		"moments":         {Loss: contrastive, Method: pairs.Moments},
		"input":           {Loss: contrastive, Method: pairs.Input},
		"input by class":  {Loss: contrastive, Method: pairs.Input, ByClass: true},
		"labels":          {Loss: contrastive, Method: pairs.Labels, Unit: pairs.Group},
		"softmax":         {Loss: embedding.InfoNCE{Temperature: 0.5}, Network: pairNetwork(runD), Sampling: pairs.Poisson, Kappa: 1, Unit: pairs.OnePair},
		"tuples":          {Loss: embedding.Triplet{Margin: 1}, Tuple: 4, Seed: 5},
		"tuples, network": {Loss: embedding.Triplet{Margin: 1}, Tuple: 4, Seed: 5, Network: pairNetwork(runD)},
		"all pairs":       {Loss: embedding.Contrastive{Margin: 1}, AllPairs: true},
	} {
		s.Individuals, s.Dim, s.Bound, s.Budget = runN, runD, 1, b
		g, of, who := alone, []bool(nil), classes
		if s.Tuple == 0 && !s.AllPairs {
			g, of, who = graph, labels, nil
			s.Pairs = len(list)
			if s.Kappa == 0 {
				s.Kappa = 2
			}
			if s.ByClass {
				who = classes
			}
		}
		p, err := s.Plan()
		if err != nil {
			continue // TestPlans has what is refused
		}
		data := must.Get(embedding.NewData(slices.Clone(x), runD, p.Spec.Norm(), 1, g, of))(t, name)
		w, err := weightsOf(pairs.Run(t.Context(), data, who, p, pairs.Options{Options: seeded()}))
		add("pairs "+name, b, w, err)
	}
}

func runSearches(b privacy.Budget, add adds) {
	x, y, positive := runData()
	score := func(w []float64) (scores []float64) {
		for i := range runN {
			s := 0.0
			for j := range runD {
				s += x[i*runD+j] * w[j]
			}
			scores = append(scores, s)
		}
		return scores
	}
	models := [][]float64{{1, 0, 0}, {-1, 0.5, 0}}
	chosen := []algorithms.Algorithm{algorithms.Moments{}, algorithms.GradientPerturbation{}, algorithms.DPGDC{}}
	for _, road := range []search.Road{search.Compose, search.RandomStopping, search.NoisyMax} {
		o := search.Options{Records: runN, Budget: b, Road: road}
		var records *engine.Records
		if road == search.NoisyMax {
			o.Models = []search.Model{{Name: "one", Digest: "1"}, {Name: "two", Digest: "2"}}
		} else {
			for _, a := range chosen {
				o.Settings = append(o.Settings, search.Setting{Name: a.Info().Name, Plan: func(b privacy.Budget) (p *algorithms.Plan, err error) {
					p, records, err = runPlan(a, x, y, b, algorithms.Certified)
					return p, err
				}})
			}
		}
		p, err := search.New(o)
		if err != nil {
			continue // TestPlans has what is refused
		}
		w, err := weightsOf(algorithms.Execute(context.Background(), p.Job(search.Records{
			Positive: positive,
			Train: func(ctx context.Context, i int, p *algorithms.Plan, s privacy.Session) ([]float64, error) {
				ev, err := p.Spec.Kernel.Bind(records)
				if err != nil {
					return nil, err
				}
				return chosen[i].Train(ctx, ev, p, s, algorithms.Tracker{})
			},
			Scores: func(_ context.Context, i int, w []float64) ([]float64, error) {
				if w == nil {
					w = models[i]
				}
				return score(w), nil
			},
		}), seeded()))
		add("search "+string(road), b, w, err)
	}
}

// runReleases are the runs that release sums and learn nothing else: clusters, evaluations and a threshold.
func runReleases(b privacy.Budget, add adds) {
	x, _, positive := runData()
	var other []float64
	for i := range runN {
		other = append(other, x[i*runD+1])
	}
	var scores []float64
	for i := range runN {
		scores = append(scores, x[i*runD])
	}
	c, err := cluster.New(cluster.Options{Records: runN, Clusters: 2, Dim: runD, Radius: 1, Seed: 7, Map: "map", Budget: b})
	if err == nil {
		var w []float64
		w, err = weightsOf(algorithms.Execute(context.Background(), c.Job(func(context.Context) ([]float64, error) { return slices.Clone(x), nil }), seeded()))
		add("cluster", b, w, err)
	} else {
		add("cluster", b, nil, err)
	}
	for kind, o := range evaluated() {
		o.Records, o.Budget = runN, b
		p, err := evaluate.New(o)
		if err != nil {
			add("evaluate "+kind, b, nil, err)
			continue
		}
		d := evaluate.Data{Scores: scores, Positive: positive}
		switch {
		case o.Compared != "":
			d.Other = other
		case o.Classifiers != nil:
			d = evaluate.Data{Correct: [][]bool{positive, positive}}
		}
		w, err := weightsOf(algorithms.Execute(context.Background(), p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }), seeded()))
		add("evaluate "+kind, b, w, err)
		if kind != "thresholds" || err != nil {
			continue
		}
		f, err := p.Figures(w, 0.95)
		if err != nil {
			add("threshold", b, nil, err)
			continue
		}
		at, err := f.Threshold(evaluate.Aim{Name: "balanced"})
		if err != nil {
			add("threshold", b, nil, err)
			continue
		}
		add("threshold", b, []float64{at.Threshold, at.Sensitivity.Value, at.Specificity.Value}, nil)
	}
}

func runLocals(t *testing.T, b privacy.Budget, add adds) {
	x, y, _ := runData()
	for _, m := range local.Methods() {
		p := must.Get(local.Protocol{Method: m, Loss: localLoss(), Dim: runD, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: runN, Epochs: 3, Epsilon: 1.25}.Plan())(t)
		records := must.Get(engine.NewRecords(x, y, runD, engine.UnitBounds()))(t)
		state, err := local.Simulate(t.Context(), p, records, privacy.NewSeededSource(11), nil)
		if err != nil {
			add("local "+m.String(), b, nil, err)
			continue
		}
		add("local "+m.String(), b, state.W, nil)
	}
}
