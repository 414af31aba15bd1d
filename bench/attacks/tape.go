package main

import (
	"errors"
	"math/rand/v2"

	"dyad/algorithms/attack"
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

// quietly is a session of that kind with coins of a seed.
func quietly(seed uint64) (privacy.Session, error) {
	// never asked for
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(seed), []account.Event{account.PureEvent{Epsilon: 1}})
	return quiet{session, rand.New(rand.NewPCG(seed, 3))}, err
}

// replayed trains on a data set, side 0, and on its neighbour with the same past and coins. It returns the recorded run, the moves, and
// a violation if the runs differ in anything else.
func replayed(seed uint64, train func(side int, s privacy.Session) ([]float64, error)) (
	first *attack.Recorder, moves []attack.Move, violation string, err error) {
	session, err := quietly(seed)
	if err != nil {
		return nil, nil, "", err
	}
	first, second, err := attack.Both(session, train)
	var v attack.Violation
	if errors.As(err, &v) {
		return first, nil, v.Reason, nil
	} else if err != nil {
		return nil, nil, "", err
	}
	return first, second.Moves(), "", nil
}
