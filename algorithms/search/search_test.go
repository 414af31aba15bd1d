package search

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/evaluate"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
)

// toy is a setting with one weight, released with the noise that a budget asks for.
func toy(name string) Setting {
	return Setting{Name: name, Plan: func(b privacy.Budget) (*algorithms.Plan, error) {
		c, err := privacy.ScoreSum{Levels: 1, Name: name}.Certify()
		if err != nil {
			return nil, err
		}
		row := algorithms.Release{Name: "weight", Coordinates: 1, Certificate: c}
		if b.Delta > 0 {
			row.Noise, err = privacy.CalibrateGaussian(c, b, 1)
		} else {
			row.Noise, err = privacy.CalibratePure(c, b.Epsilon, 1, privacy.KNormNoise)
		}
		return &algorithms.Plan{Algorithm: "toy", Releases: algorithms.Releases{row}}, err
	}}
}

// hidden is a setting whose event has no mu of its own.
func hidden(name string) Setting {
	s := toy(name)
	plan := s.Plan
	s.Plan = func(b privacy.Budget) (*algorithms.Plan, error) {
		p, err := plan(b)
		if err == nil {
			p.Releases = algorithms.Releases{{Cost: account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 2}, Batch: 1, Records: 1000}}}
		}
		return p, err
	}
	return s
}

func toys(n int) (all []Setting) {
	for i := range n {
		all = append(all, toy(string(rune('a'+i))))
	}
	return all
}

// Every road keeps its budget by the accountant of ledgers, and spends at least 99 % of it; random
// stopping gives trainings more than composition where there are many settings.
func TestSearchKeepsItsBudget(t *testing.T) {
	records, settings := []int{100, 5000, 1 << 20}, []int{2, 5, 12}
	budgets := []privacy.Budget{{Epsilon: 0.3, Delta: 1e-6}, {Epsilon: 4, Delta: 1e-9}, {Epsilon: 1}}
	if testing.Short() {
		records, settings, budgets = records[1:2], []int{2, 12}, budgets[1:]
	}
	for i, n := range records {
		for j, b := range budgets {
			for l, k := range settings {
				if (i+j+l)%3 != 0 && !sizes.Full() && !testing.Short() {
					continue // any two of them still meet
				}
				for _, road := range []Road{Auto, Compose, RandomStopping} {
					if b.Delta == 0 && road == RandomStopping {
						continue
					}
					p := must.Get(New(Options{Records: n, Budget: b, Settings: toys(k), Road: road}))(t, "n ", n, ", ", b, ", ", k, " settings, ", road)
					var total account.Total
					for _, e := range p.Events() {
						must.Do(t, total.Compose(e))
					}
					if got := total.Epsilon(b.Delta); got > b.Epsilon || got < 0.99*b.Epsilon || got != p.Guarantee.Epsilon {
						t.Errorf("n %d, %v, %d settings, %q: epsilon %v, guarantee %v", n, b, k, p.Options.Road, got, p.Guarantee.Epsilon)
					}
					if want := b.Delta > 0; road == Auto && (p.Options.Road == RandomStopping) != want && (k == 12 || !want) { // few settings: either may give more
						t.Errorf("n %d, %v: %d settings are chosen by %s: %s", n, b, k, p.Options.Road, p.Reason)
					}
				}
			}
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	for name, o := range map[string]Options{
		"one setting":           {Records: 100, Budget: b, Settings: toys(1)},
		"a name twice":          {Records: 100, Budget: b, Settings: []Setting{toy("a"), toy("a")}},
		"both kinds":            {Records: 100, Budget: b, Settings: toys(2), Models: []Model{{"m", "1"}, {"n", "2"}}},
		"noisy max of settings": {Records: 100, Budget: b, Settings: toys(2), Road: NoisyMax},
		"runs of compose":       {Records: 100, Budget: b, Settings: toys(2), Road: Compose, Runs: 9},
		"pure random stopping":  {Records: 100, Budget: privacy.Budget{Epsilon: 1}, Settings: toys(2), Road: RandomStopping},
		"too many runs":         {Records: 100, Budget: b, Settings: toys(2), Road: RandomStopping, Runs: 1000},
		"one record":            {Records: 1, Budget: b, Settings: toys(2)},
	} {
		must.Fail(New(o))(t, algorithms.ErrAssumption, name)
	}
	must.Fail(New(Options{Records: 5000, Budget: b, Settings: []Setting{toy("a"), hidden("b"), toy("c")}, Road: RandomStopping}))(t, errHidden, "secret batches in random stopping")
}

// Hidden steps of the same noise twice are no plan that a session carries out: composing is refused before
// anything is charged, and the rule takes the other road. Every plan is one that a session takes.
func TestSearchPlansAreThoseOfSessions(t *testing.T) {
	steps := func(name string) Setting {
		s := toy(name)
		plan := s.Plan
		s.Plan = func(b privacy.Budget) (*algorithms.Plan, error) {
			p, err := plan(b)
			if err == nil {
				sigma := account.ConvergentSensitivity(1, 1, 2, 4) / account.GDPMu(b.Epsilon, b.Delta) * (1 + 1e-12)
				p.Releases = algorithms.Releases{{Cost: account.ConvergentEvent{Sigma: sigma, Gap: 1, Contraction: 1, Diameter: 2, Grid: 0x1p-30, Steps: 4}}}
			}
			return p, err
		}
		return s
	}
	b := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	for name, settings := range map[string][]Setting{"hidden steps": {steps("a"), steps("b")}, "hidden steps once": {steps("a"), toy("b")}, "toys": toys(2)} {
		for _, road := range []Road{Auto, Compose, RandomStopping} {
			p, err := New(Options{Records: 5000, Budget: b, Settings: settings, Road: road})
			if name == "hidden steps" && road == Compose {
				if !errors.Is(err, errJoint) {
					t.Errorf("%s, %q: %v", name, road, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %q: %v", name, road, err)
				continue
			}
			must.Check(privacy.NewPublicSession(privacy.NewSeededSource(1), p.Events()))(t, name, ", ", road)
		}
	}
}

// record is what a query sees of a record: the score that each candidate gives it, and its class.
type record struct {
	scores   [3]float64
	positive bool
}

func recordsOf(all []record, train func(i int) []float64) Records {
	r := Records{
		Train: func(_ context.Context, i int, p *algorithms.Plan, s privacy.Session) ([]float64, error) {
			w := train(i)
			return w, s.Release(w, p.Certificate(), p.Noise())
		},
		Scores: func(_ context.Context, i int, _ []float64) ([]float64, error) {
			var out []float64
			for _, one := range all {
				out = append(out, one.scores[i])
			}
			return out, nil
		},
	}
	for _, one := range all {
		r.Positive = append(r.Positive, one.positive)
	}
	return r
}

// scores are the exact scores by which a search chooses.
func scores(r *attack.Recorder) []int64 {
	for _, c := range r.Made(attack.Choice) {
		return c.Scores
	}
	return nil
}

// A search finds the better candidate, returns its weights, and tells nothing while it runs.
func TestSearchFindsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var all []record
	for range 4000 {
		positive := rng.IntN(2) == 0
		one := record{positive: positive, scores: [3]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}}
		if positive {
			one.scores[1] += 2
		}
		all = append(all, one)
	}
	for _, o := range []Options{{Settings: toys(3), Road: Compose}, {Settings: toys(3), Road: RandomStopping}, {Models: []Model{{"a", "1"}, {"b", "2"}, {"c", "3"}}}} {
		o.Records, o.Budget = len(all), privacy.Budget{Epsilon: 2, Delta: 1e-6}
		p := must.Get(New(o))(t)
		right := 0
		const trials = 40
		for seed := range uint64(trials) {
			out := must.Get(algorithms.Execute(context.Background(), p.Job(recordsOf(all, func(i int) []float64 { return []float64{float64(1000 * i)} })), algorithms.Options{
				Public: true, Source: privacy.NewSeededSource(seed),
				Tracker: algorithms.Tracker{OnStep: func(int, int) { t.Error("a search reports a step") }},
			}))(t)
			found := must.Get(p.Read(out.Weights))(t)
			if found.Winner == 1 {
				right++
			}
			if len(o.Settings) > 0 && math.Abs(found.Weights[0]-1000*float64(found.Winner)) > 200 {
				t.Fatalf("candidate %d won with weights %v", found.Winner, found.Weights)
			}
			exact := must.Get(evaluate.Data{Scores: scoresOf(all, found.Winner), Positive: classesOf(all)}.Ranks(len(all), 0))(t)
			if found.AUC != 0 {
				must.Near(t, 0.5+exact.Sum/(2*positivesOf(all)*(float64(len(all))-positivesOf(all))), found.AUC, 0.06,
					"AUC")
			}
		}
		must.AtLeast(t, right, trials*3/4, "%s finds the best in %d of %d searches", p.Options.Road, right, trials)
	}
}

func scoresOf(all []record, i int) (out []float64) {
	for _, r := range all {
		out = append(out, r.scores[i])
	}
	return out
}

func classesOf(all []record) (out []bool) {
	for _, r := range all {
		out = append(out, r.positive)
	}
	return out
}

func positivesOf(all []record) (n float64) {
	for _, r := range all {
		if r.positive {
			n++
		}
	}
	return n
}
