package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/algorithms/cluster"
	"dyad/algorithms/evaluate"
	"dyad/algorithms/local"
	"dyad/algorithms/local/localaudit"
	"dyad/algorithms/pairs"
	"dyad/algorithms/search"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// neighbouringJobs are jobs of one plan on two data sets that differ in a record.
type neighbouringJobs func(rng *rand.Rand) (data, neighbour algorithms.Job, err error)

// drawJobs draws the options of a kind of run, and says them with the numbers of records and of what is released each time.
type drawJobs func(rng *rand.Rand) (text string, n, d int, jobs neighbouringJobs)

// ofJobs attacks a kind of run by what its plan prints and its job alone: each try replaces a record and asks audit.OnJobs how far the rows of
// the plan move over what their certificates allow. Jobs of both sides are drawn anew each time; the first of them plans.
func ofJobs(name string, draw drawJobs) func(rng *rand.Rand) configuration {
	return func(rng *rand.Rand) configuration {
		return planned(func() configuration {
			text, n, d, jobs := draw(rng)
			c := configuration{area: "kinds", algorithm: name, options: text, n: n, d: d}
			c.plan = func() (attack, error) {
				if _, _, err := jobs(rand.New(rand.NewPCG(1, 1))); err != nil {
					return nil, refusal(err)
				}
				return func(ctx context.Context, tries int, rng *rand.Rand) (found finding, err error) {
					for range tries {
						data, neighbour, err := jobs(rng)
						if err != nil {
							return found, err
						}
						move, err := audit.OnJobs(data, neighbour, "").Move(ctx)
						if ctx.Err() != nil {
							return found, ctx.Err()
						}
						a := attempt{ratio: move}
						if err != nil {
							a.violation = err.Error()
						}
						found.add(a)
					}
					return found, nil
				}, nil
			}
			return c
		})
	}
}

func drawBudget(rng *rand.Rand) privacy.Budget {
	return privacy.Budget{Epsilon: pick(rng, 0.1, 1, 4), Delta: pick(rng, 0, 1e-6)}
}

// drawClusters replaces a mapped record by its opposite at the radius, a long one, a short one, or any.
func drawClusters(rng *rand.Rand) (string, int, int, neighbouringJobs) {
	o := cluster.Options{
		Records: 1 + rng.IntN(40), Clusters: 1 + rng.IntN(6), Dim: 1 + rng.IntN(5), Radius: pick(rng, 0x1p-40, 1, 3, 1e9), Rounds: 1 + rng.IntN(4), Seed: rng.Uint64(), Budget: drawBudget(rng),
	}
	return fmt.Sprintf("k=%d rounds=%d radius=%g eps=%g delta=%g", o.Clusters, o.Rounds, o.Radius, o.Budget.Epsilon, o.Budget.Delta), o.Records, o.Dim, func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
		p, err := cluster.New(o)
		if err != nil {
			return data, neighbour, err
		}
		rows := make([]float64, o.Records*o.Dim)
		for i := range rows {
			rows[i] = o.Radius * rng.NormFloat64() / math.Sqrt(float64(o.Dim))
		}
		other, at := slices.Clone(rows), rng.IntN(o.Records)
		one, two := rows[at*o.Dim:][:o.Dim], other[at*o.Dim:][:o.Dim]
		scale := pick(rng, -1, -1e3, 0, 0.5, math.Inf(-1), math.NaN())
		clear(one)
		one[rng.IntN(o.Dim)] = o.Radius
		for k, v := range one {
			if two[k] = 0; v != 0 {
				two[k] = scale * v
			}
		}
		job := func(x []float64) algorithms.Job {
			return p.Job(func(context.Context) ([]float64, error) { return x, nil })
		}
		return job(rows), job(other), nil
	}
}

// drawFigures has rows for the figures of an evaluation, of a threshold and of two models; a record moves from below all scores to above them, or
// turns its label.
func drawFigures(of string) drawJobs {
	return func(rng *rand.Rand) (string, int, int, neighbouringJobs) {
		o := evaluate.Options{Records: 2 + rng.IntN(40), Budget: drawBudget(rng)}
		d := 1
		switch of {
		case "figures", "mean loss":
			o.ScoreBound = pick(rng, 1e-3, 1, 50)
			for d = range 1 + rng.IntN(6) {
				o.Thresholds = append(o.Thresholds, o.ScoreBound*(float64(d)/6-0.5))
			}
			if of == "mean loss" {
				o.Loss = &evaluate.ClampedLoss{Name: "step", Phi: func(u float64) float64 { return -1e6 * u }, Low: -1, High: pick(rng, 1.0, 3)}
			}
			o.PersonRows = pick(rng, 0, 0, 3)
		case "threshold": // placed by a released centre and spread
			o.ScoreBound, o.At = pick(rng, 1e-3, 1, 50), []float64{0}
		case "classifiers":
			for d = range 1 + rng.IntN(4) {
				o.Classifiers = append(o.Classifiers, fmt.Sprint(d))
			}
		case "two models":
			o.Compared = "another"
		}
		return fmt.Sprintf("eps=%g delta=%g persons=%d", o.Budget.Epsilon, o.Budget.Delta, o.PersonRows), o.Records, d + 1, func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
			p, err := evaluate.New(o)
			if err != nil {
				return data, neighbour, err
			}
			victim, turned, positive, seed := rng.IntN(o.Records), rng.IntN(3) == 0, rng.IntN(2) == 0, rng.Uint64()
			others := pick(rng, 0, 1, 2) // all of the other class, all alike, any
			side := func(second bool) (d evaluate.Data) {
				rng := rand.New(rand.NewPCG(seed, 1))
				for range o.Classifiers {
					d.Correct = append(d.Correct, nil)
				}
				for i := range o.Records {
					rows := 1
					if o.PersonRows > 0 {
						d.First, rows = append(d.First, len(d.Scores)), 1+i%o.PersonRows
					}
					for range rows {
						s, class := o.ScoreBound*rng.NormFloat64()*0.1, [3]bool{!positive, positive, rng.IntN(2) == 0}[others]
						right := rng.IntN(2) == 0
						if i == victim {
							s, class, right = -10-o.ScoreBound, positive, second
							if second && turned {
								class = !class
							} else if second {
								s = -s
							}
						}
						for k := range d.Correct {
							d.Correct[k] = append(d.Correct[k], right)
						}
						d.Scores, d.Positive = append(d.Scores, s), append(d.Positive, class)
						if o.Compared != "" {
							d.Other = append(d.Other, -s)
						}
					}
				}
				if o.PersonRows > 0 {
					d.First = append(d.First, len(d.Scores))
				}
				return d
			}
			job := func(d evaluate.Data) algorithms.Job {
				return p.Job(func(context.Context) (evaluate.Data, error) { return d, nil })
			}
			return job(side(false)), job(side(true)), nil
		}
	}
}

// drawChoice is a private choice among released models by their ranks: a positive moves from below all others to above them, for every model.
func drawChoice(rng *rand.Rand) (string, int, int, neighbouringJobs) {
	o := search.Options{Records: 3 + rng.IntN(40), Budget: privacy.Budget{Epsilon: pick(rng, 0.1, 1, 4), Delta: 1e-6}}
	for i := range 2 + rng.IntN(4) {
		o.Models = append(o.Models, search.Model{Name: fmt.Sprint("m", i), Digest: fmt.Sprint(i)})
	}
	return fmt.Sprintf("models=%d eps=%g", len(o.Models), o.Budget.Epsilon), o.Records, len(o.Models), func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
		p, err := search.New(o)
		if err != nil {
			return data, neighbour, err
		}
		victim, apart, positives, seed := rng.IntN(o.Records), rng.IntN(2) == 0, rng.IntN(o.Records), rng.Uint64()
		job := func(second bool) algorithms.Job {
			r := search.Records{Scores: func(_ context.Context, model int, _ []float64) (scores []float64, err error) {
				rng := rand.New(rand.NewPCG(seed, uint64(model)))
				for i := range o.Records {
					s := rng.NormFloat64()
					if i == victim {
						if s = -10; second != (apart && model%2 == 0) {
							s = 10
						}
					}
					scores = append(scores, s)
				}
				return scores, nil
			}}
			for i := range o.Records {
				r.Positive = append(r.Positive, i == victim || i < positives)
			}
			return p.Job(r)
		}
		return job(false), job(true), nil
	}
}

// softmaxConfiguration asks for the worst neighbours that audits know of a batch softmax, of linear maps and of networks.
func softmaxConfiguration(rng *rand.Rand) configuration {
	return planned(func() configuration {
		m := 4 + rng.IntN(12)
		temperature, both := pick(rng, 0.2, 0.5, 1, 2), rng.IntN(2) == 0
		s := pairs.Spec{
			Individuals: 2 * m, Pairs: m, Dim: 4, Bound: 1, Kappa: 1, Sampling: pairs.Poisson, Batch: m, Epochs: 1, Clip: 1e-5, Loss: embedding.InfoNCE{Temperature: temperature, Symmetric: both},
			Unit: pick(rng, pairs.Individual, pairs.OnePair), Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5},
		}
		net := embedding.MLP{In: 4, Out: 2}
		if rng.IntN(2) == 0 {
			net.Hidden = []int{3}
		}
		c := configuration{area: "kinds", algorithm: "softmax", loss: s.Loss.Name(), n: s.Individuals, d: s.Dim, options: fmt.Sprintf("t=%g unit=%s pairs=%d hidden=%v", temperature, s.Unit, m, net.Hidden)}
		c.plan = func() (attack, error) {
			network, err := embedding.NewMLP(net)
			if err != nil {
				return nil, err
			}
			s.Network = &pairs.Network{Model: embedding.Model{Network: network, Output: embedding.Output{Unit: true}}, Start: network.Start(3), Origin: "public start of seed 3"}
			p, err := s.Plan()
			if err != nil {
				return nil, refusal(err)
			}
			return func(ctx context.Context, _ int, _ *rand.Rand) (found finding, err error) {
				target, err := audit.WorstPairs(ctx, p, 0)
				if err != nil {
					return found, err
				}
				move, err := target.Move(ctx)
				found.add(attempt{ratio: move})
				return found, err
			}, nil
		}
		return c
	})
}

// encodedConfiguration looks for raw rows that an encoder with a basis and interactions maps outside of the unit ball, on which every certificate
// rests.
func encodedConfiguration(rng *rand.Rand) configuration {
	s := dataset.Schema{Version: 1, DataID: "d", Basis: pick(rng, "curve:2", "curve:6", "cosine:8", "none"), Missing: &dataset.Missing{Policy: dataset.MissingMiddle}}
	d := 2 + rng.IntN(3)
	for k := range d {
		s.Columns = append(s.Columns, dataset.Column{Name: fmt.Sprint("c", k), Range: []float64{-1, pick(rng, 1.0, 1e6)}})
	}
	for k := range rng.IntN(d) {
		s.Interactions = append(s.Interactions, []string{fmt.Sprint("c", k), fmt.Sprint("c", k+1)})
	}
	s.Columns = append(s.Columns, dataset.Column{Name: "y", Role: dataset.RoleLabel, Positive: "1", Negative: "0"})
	name := "basis of curves"
	if len(s.Interactions) > 0 {
		name = "interactions of curves"
	}
	return configuration{
		area: "kinds", algorithm: name, options: fmt.Sprintf("basis=%q interactions=%d", s.Basis, len(s.Interactions)), n: 1, d: d,
		plan: func() (attack, error) {
			e, err := dataset.NewEncoder(&s)
			if err != nil {
				return nil, err
			}
			bound := engine.UnitBounds().FeatureNorm
			return func(_ context.Context, tries int, rng *rand.Rand) (found finding, err error) {
				for range tries {
					row := make([]string, d)
					for k := range row {
						row[k] = pick(rng, "-1", "1", "1e300", "-1e300", "0", "", fmt.Sprint(rng.NormFloat64()), fmt.Sprint(1e6*rng.Float64()))
					}
					x, err := e.Encode(row)
					if err != nil {
						return found, err
					}
					norm := 0.0
					for _, v := range x {
						norm = math.Hypot(norm, v)
					}
					found.add(attempt{ratio: norm / bound})
				}
				return found, nil
			}, nil
		},
	}
}

// gradientOf attacks mean gradients of a loss with a mechanism of its own: an envelope of a loss with kinks, or pairs in float32.
func gradientOf(name string) func(rng *rand.Rand) configuration {
	return func(rng *rand.Rand) configuration {
		return planned(func() configuration {
			c := candidate{name: "logistic kernel", loss: engine.Logistic{}, ranges: len(ranges)}
			if name == "envelope" {
				phi, err := engine.NewExpression("hinge", "max(0, 1-u)", engine.ExpressionOptions{})
				if err != nil {
					return configuration{plan: func() (attack, error) { return nil, err }}
				}
				envelope, err := engine.NewEnvelope(phi, pick(rng, 0.1, 0.9), -4.001, 4.001)
				if err != nil {
					return configuration{plan: func() (attack, error) { return nil, err }}
				}
				c = candidate{name: envelope.Text(), loss: engine.Score{Of: envelope}, ranges: 1}
			}
			t := draw(c, false, rng)
			t.n, t.problem.N, t.problem.Groups = min(t.n, 40), min(t.n, 40), nil
			if name == "float32" {
				t.backend.Method, t.backend.Float32 = cpu.Direct, true
			} else {
				t.backend.Method = cpu.Direct
			}
			t.describe()
			made := gradient(c, t)
			made.area, made.algorithm = "kinds", name
			return made
		})
	}
}

// localNetworkConfiguration attacks the messages of users about a network: the ratio is that of the epsilon that is shown over the printed one.
func localNetworkConfiguration(rng *rand.Rand) configuration {
	return planned(func() configuration {
		method := pick(rng, local.Prestige, local.PrestigeParticipation, local.DJW)
		linear, err := engine.NewExpression("linear", "-u", engine.ExpressionOptions{})
		if err != nil {
			return configuration{plan: func() (attack, error) { return nil, err }}
		}
		p := local.Protocol{
			Method: method, Loss: linear, Users: 1 << 20, Dim: 2, FeatureNorm: 1, Epochs: 3, Epsilon: pick(rng, 0.5, 1, 2), Pairs: pick(rng, 1, 8),
			Network: &local.Network{Hidden: 4, Seed: rng.Uint64(), Clip: 0.5},
		}
		return configuration{
			area: "kinds", algorithm: "local network", options: fmt.Sprintf("%s eps=%g pairs=%d hidden=%d", method, p.Epsilon, p.Pairs, p.Network.Hidden), n: 1, d: p.Dim, cost: 10,
			plan: func() (attack, error) {
				plan, err := p.Plan()
				if err != nil {
					return nil, refusal(err)
				}
				return func(ctx context.Context, tries int, rng *rand.Rand) (found finding, err error) {
					r, err := localaudit.Attack(ctx, plan, localaudit.Options{Runs: 300 * tries, Visits: 1, Confidence: 0.999999, Seed: rng.Uint64()})
					if err != nil {
						return found, err
					}
					found.add(attempt{ratio: r.LowerBound / r.Claim})
					return found, nil
				}, nil
			},
		}
	})
}

// jobKind is a mechanism that is attacked through jobs.
type jobKind struct {
	name string
	draw drawJobs
}

func jobKinds() []jobKind {
	all := []jobKind{
		{"clusters", drawClusters}, {"choice", drawChoice}, {"search of trainings", drawSearch(search.Compose)}, {"random stopping", drawSearch(search.RandomStopping)},
		{"private curve", drawCurve},
	}
	for _, of := range []string{"figures", "mean loss", "threshold", "classifiers", "two models"} {
		all = append(all, jobKind{of, drawFigures(of)})
	}
	return all
}

// kindJobs attack every kind of run that is not a training by the same call.
func kindJobs(_ []candidate, round int) (jobs []job) {
	add := func(name string, times int, make func(rng *rand.Rand) configuration) {
		for i := range times {
			jobs = append(jobs, job{fmt.Sprintf("kinds|%s|%d|%d", name, i, round), make})
		}
	}
	for _, k := range jobKinds() {
		add(k.name, 6, ofJobs(k.name, k.draw))
	}
	add("softmax", 3, softmaxConfiguration)
	add("encoding", 6, encodedConfiguration)
	add("envelope", 3, gradientOf("envelope"))
	add("float32", 3, gradientOf("float32"))
	add("local network", 3, localNetworkConfiguration)
	return jobs
}
