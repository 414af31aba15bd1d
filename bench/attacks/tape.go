package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms/replay"
	"dyad/engine/terms"
	"dyad/privacy"
	"dyad/privacy/account"
)

// quiet is a session with small noise: a guarantee holds whatever was released before.
type quiet struct {
	privacy.Session // of coins
	noise           *rand.Rand
}

// Release implements privacy.Session.
func (q quiet) Release(x []float64, _ privacy.Certificate, _ privacy.Mechanism) error {
	for k := range x {
		x[k] += 0.1 * q.noise.NormFloat64()
	}
	return nil
}

// HiddenStep implements privacy.Session.
func (q quiet) HiddenStep(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	return q.Release(x, c, m)
}

// quietly records a run with small noise.
func quietly(seed uint64) (*replay.Recorder, error) {
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(seed), []account.Event{account.PureEvent{Epsilon: 1}}) // never asked for
	return &replay.Recorder{Session: quiet{session, rand.New(rand.NewPCG(seed, 3))}}, err
}

// releases are those of a run and its steps of a secret state.
func releases(r *replay.Recorder) []replay.Call {
	return slices.DeleteFunc(slices.Clone(r.Calls), func(c replay.Call) bool { return c.Kind != replay.Release && c.Kind != replay.Hidden })
}

// replayed trains on a data set, side 0, and on its neighbour with the same past and coins. It returns the recorded run, the distances of the
// vectors before the noise in a norm, and a violation if the runs differ in anything else.
func replayed(seed uint64, norm terms.Norm, train func(side int, s privacy.Session) ([]float64, error)) (*replay.Recorder, []float64, string, error) {
	first, err := quietly(seed)
	if err != nil {
		return nil, nil, "", err
	}
	want, err := train(0, first)
	if err != nil {
		return nil, nil, "", err
	}
	second := &replay.Recorder{Session: first.Session, Of: first}
	got, err := train(1, second)
	var v replay.Violation
	if err = second.Outcome(err); errors.As(err, &v) {
		return first, nil, v.Reason, nil
	} else if err != nil {
		return nil, nil, "", err
	}
	again := releases(second)
	all := make([]float64, len(again))
	for i, c := range releases(first) {
		for k, v := range c.Before {
			d := math.Abs(v - again[i].Before[k])
			if norm == terms.L1 {
				all[i] += d
			} else {
				all[i] += d * d
			}
		}
		if norm != terms.L1 {
			all[i] = math.Sqrt(all[i])
		}
	}
	if !slices.Equal(want, got) {
		return first, all, "the result depends on an unreleased value", nil
	}
	return first, all, "", nil
}

// joint is how far all releases moved together: the root of the sum of squares for
// Gaussian noise, the sum for pure noise.
func joint(moves []float64, gaussian bool) float64 {
	total := 0.0
	for _, m := range moves {
		if gaussian {
			m *= m
		}
		total += m
	}
	if gaussian {
		return math.Sqrt(total)
	}
	return total
}
