package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/privacy/account"
)

// accounted is an event, and pairs of laws that two neighbours can reach with it: each
// draw is one release, and there are count of them.
type accounted struct {
	event account.Event
	pairs []outcomes
	count int
}

// event is a kind of event.
type event struct {
	name string
	draw func(rng *rand.Rand) accounted
}

// events draw settings of every kind of event for which worst pairs are known.
func events() []event {
	at := func(law account.NoiseLaw, weights []float64, centres ...float64) mixture {
		return mixture{weights: weights, centres: centres, laplace: law == account.LaplaceLaw}
	}
	one := []float64{1}
	law := func(rng *rand.Rand) account.NoiseLaw {
		return pick(rng, account.GaussianLaw, account.GaussianLaw, account.LaplaceLaw)
	}
	count := func(rng *rand.Rand) int { return pick(rng, 1, 1, 3, 16, 60) }
	// move is a sensitivity over the scale of the noise, smaller for more releases.
	move := func(rng *rand.Rand, count int) float64 {
		return math.Exp(rng.NormFloat64()) / math.Sqrt(float64(count))
	}
	return []event{
		{"Gaussian", func(rng *rand.Rand) accounted {
			n := count(rng)
			m := move(rng, n)
			return accounted{account.Repeat(account.GaussianEvent{Sensitivity: m, Sigma: 1}, n),
				[]outcomes{binned(at("", one, m), at("", one, 0))}, n}
		}},
		{"Laplace", func(rng *rand.Rand) accounted {
			n := count(rng)
			m := move(rng, n)
			return accounted{account.Repeat(account.LaplaceEvent{Sensitivity: m, Scale: 1}, n),
				[]outcomes{binned(at(account.LaplaceLaw, one, m), at(account.LaplaceLaw, one, 0))}, n}
		}},
		{"pure epsilon", func(rng *rand.Rand) accounted {
			n := count(rng)
			m := move(rng, n)
			p, q := 1/(1+math.Exp(-m)), 1/(1+math.Exp(m))
			return accounted{account.Repeat(account.PureEvent{Epsilon: m}, n), []outcomes{{[]float64{p, q}, []float64{q, p}}}, n}
		}},
		{"randomised response", func(rng *rand.Rand) accounted {
			n := count(rng)
			k, u := 2+rng.IntN(4), 1-0.9*rng.Float64()
			o := outcomes{make([]float64, k), make([]float64, k)}
			for i := range k {
				o.p[i], o.q[i] = u/float64(k), u/float64(k)
			}
			o.p[0] += 1 - u
			o.q[1] += 1 - u
			return accounted{account.Repeat(account.RandomizedResponseEvent{Buckets: k, Uniform: u}, n), []outcomes{o}, n}
		}},
		{"Poisson batches, add/remove", func(rng *rand.Rand) accounted {
			n, l := count(rng), law(rng)
			m, rate := move(rng, 1), pick(rng, 1, rng.Float64(), 0.01)
			e := account.Repeat(account.PoissonEvent{Event: l.Event(m, 1), Rate: rate, Relation: account.AddRemove}, n)
			with, without := at(l, []float64{1 - rate, rate}, 0, m), at(l, one, 0)
			return accounted{e, []outcomes{binned(with, without), binned(without, with)}, n}
		}},
		{"Poisson batches, replace-one", func(rng *rand.Rand) accounted {
			n, l := count(rng), law(rng)
			m, rate := move(rng, 1)/2, pick(rng, 1, rng.Float64(), 0.01)
			e := account.Repeat(account.PoissonEvent{Event: l.Event(m, 1), Rate: rate, Relation: account.ReplaceOne}, n)
			w := []float64{1 - rate, rate}
			return accounted{e, []outcomes{binned(at(l, w, 0, m), at(l, w, 0, -m))}, n}
		}},
		{"Poisson batches, groups", func(rng *rand.Rand) accounted {
			n, k := count(rng), 2+rng.IntN(6)
			m, rate := move(rng, 1)/float64(k), pick(rng, 1, rng.Float64(), 0.02)
			relation := pick(rng, account.ReplaceOne, account.AddRemove)
			e := account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: m, Sigma: 1}, Rate: rate,
				Relation: relation, Group: k}, n)
			weights, up, down := make([]float64, k+1), make([]float64, k+1), make([]float64, k+1)
			for j := range weights {
				weights[j] = binomial(k, j) * math.Pow(rate, float64(j)) * math.Pow(1-rate, float64(k-j))
				up[j], down[j] = float64(j)*m, -float64(j)*m
			}
			if relation == account.ReplaceOne {
				return accounted{e, []outcomes{binned(at("", weights, up...), at("", weights, down...))}, n}
			}
			with, without := at("", weights, up...), at("", one, 0)
			return accounted{e, []outcomes{binned(with, without), binned(without, with)}, n}
		}},
		{"batches without replacement", func(rng *rand.Rand) accounted {
			n, l := count(rng), law(rng)
			records := 2 + rng.IntN(200)
			batch := 1 + rng.IntN(records)
			m := move(rng, 1)
			e := account.Repeat(account.WithoutReplacementEvent{Event: l.Event(m, 1), Batch: batch, Records: records}, n)
			gamma := float64(batch) / float64(records)
			w := []float64{1 - gamma, gamma}
			// All other records give 0; the record gives m and its replacement 0, or m/2
			// and -m/2.
			a, b, c, d := at(l, w, 0, m), at(l, one, 0), at(l, w, 0, m/2), at(l, w, 0, -m/2)
			return accounted{e, []outcomes{binned(a, b), binned(b, a), binned(c, d)}, n}
		}},
	}
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := range k {
		b *= float64(n-i) / float64(i+1)
	}
	return b
}

// ledgers are the accountants.
func ledgers() map[string]account.Accountant {
	return map[string]account.Accountant{"total": &account.Total{}, "GDP": &account.GDP{}, "PLD": &account.PLD{},
		"RDP": &account.RDP{}, "zCDP": &account.ZCDP{}}
}

// accountantJobs compare every accountant with every kind of event.
func accountantJobs(_ []candidate, round int) []job {
	var jobs []job
	for _, e := range events() {
		for _, name := range []string{"total", "GDP", "PLD", "RDP", "zCDP"} {
			jobs = append(jobs, job{fmt.Sprintf("accountant|%s|%s|%d", name, e.name, round), func(*rand.Rand) configuration {
				return configuration{
					area: "accountant", algorithm: name, loss: e.name,
					options: "delta of a worst pair over delta(epsilon), and at epsilon(delta)", cost: 5,
					plan: func() (hunt, error) {
						return accountant(e.draw, func() account.Accountant { return ledgers()[name] }), nil
					},
				}
			}})
		}
	}
	return jobs
}

// accountant compares an accountant with lower bounds for random settings.
func accountant(draw func(rng *rand.Rand) accounted, fresh func() account.Accountant) hunt {
	return each(1, func(_ context.Context, rng *rand.Rand) (attempt, error) {
		setting, a := draw(rng), fresh()
		if err := a.Compose(setting.event); err != nil { // it does not know the event
			return attempt{}, fmt.Errorf("%w: %w", errRefused, err)
		}
		return attempt{ratio: setting.closest(a)}, nil
	})
}

// closest is the largest ratio of a lower bound of delta over what an accountant says.
// Below smallestDelta lower bounds are too rough.
func (s accounted) closest(a account.Accountant) float64 {
	const smallestDelta = 1e-8
	worst := 0.0
	for _, pair := range s.pairs {
		lower := divergence(pair, s.count)
		for _, epsilon := range []float64{0, 0.05, 0.3, 1, 3, 8} {
			if delta := lower(epsilon); delta > smallestDelta {
				worst = max(worst, delta/a.Delta(epsilon))
			}
		}
		for _, delta := range []float64{0.1, 1e-3, 1e-5, 1e-7} {
			if epsilon := a.Epsilon(delta); !math.IsInf(epsilon, 1) {
				worst = max(worst, lower(epsilon)/delta)
			}
		}
	}
	return worst
}
