package audit

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy"
	"dyad/privacy/account"
)

// selection is the best of a secret number of runs: all of them, which only an audit has, and what was released.
type selection struct {
	mu       float64 // of one run, as planned
	runs     []selectedRun
	winner   int
	released []float64
	err      error
}

// selectedRun is a run of a candidate and what it told.
type selectedRun struct {
	candidate int
	seen      Observation
	told      []float64
	failed    bool
}

// Best implements privacy.Session: how many runs count is secret, and so are all but the best.
func (o observer) Best(x privacy.Selection, run func(candidate int, s privacy.Session) ([]float64, error)) (int, []float64, error) {
	made := selection{mu: x.Event.Mu}
	made.winner, made.released, made.err = o.Session.Best(x, func(candidate int, s privacy.Session) ([]float64, error) {
		one := selectedRun{candidate: candidate}
		told, err := run(candidate, observer{Session: s, coins: o.coins, observed: &one.seen})
		one.told, one.failed = append([]float64(nil), told...), err != nil
		made.runs = append(made.runs, one)
		return told, err
	})
	o.observed.selections = append(o.observed.selections, made)
	return made.winner, made.released, made.err
}

// Best makes the recorded runs on the other data set, and answers with the recorded one.
func (p replayer) Best(x privacy.Selection, run func(candidate int, s privacy.Session) ([]float64, error)) (int, []float64, error) {
	i := len(p.observed.selections)
	if i >= len(p.selections) {
		return 0, nil, errMoreReleases
	}
	made := selection{mu: x.Event.Mu}
	for _, first := range p.selections[i].runs {
		one := selectedRun{candidate: first.candidate}
		told, err := run(first.candidate, replayer{
			observer: observer{Session: p.Session, coins: p.coins, observed: &one.seen}, recorded: first.seen.Releases, hidden: first.seen.hidden, choices: first.seen.choices,
		})
		switch {
		case errors.Is(err, errMoreReleases):
			return 0, nil, err
		case (err != nil) != first.failed || !sameBits(told, first.told):
			return 0, nil, errMoreTold
		}
		made.runs = append(made.runs, one)
	}
	p.observed.selections = append(p.observed.selections, made)
	first := p.selections[i]
	return first.winner, first.released, first.err
}

// move is how far the exact vectors of a run move between two data sets, in standard deviations of their noise and over
// the mu that a run was planned for: the largest of all runs.
func (c selection) move(other selection) (most float64, err error) {
	for i, run := range c.runs {
		square := 0.0
		for k, r := range run.seen.Releases {
			noise, ok := r.Noise.(privacy.Gaussian)
			if !ok {
				return 0, fmt.Errorf("audit: a run of a selection has noise of type %T", r.Noise)
			}
			if k >= len(other.runs[i].seen.Releases) {
				return 0, errMoreReleases
			}
			square += distance2(other.runs[i].seen.Releases[k].Exact, r.Exact) / (noise.Sigma * noise.Sigma)
		}
		most = max(most, math.Sqrt(square)/c.mu)
	}
	return most, nil
}

// stopping is the cost of a row that is the best of a secret number of runs, nil if there is none.
func (t Target) stopping() *account.RandomStoppingEvent {
	if t.Program == nil {
		return nil
	}
	for _, r := range t.Program.Rows {
		if e, ok := r.Cost.(account.RandomStoppingEvent); ok {
			return &e
		}
	}
	return nil
}
