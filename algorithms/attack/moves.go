package attack

import (
	"context"
	"math"

	"dyad/algorithms"
	"dyad/privacy"
)

// Move compares a request of a run with the same request in a replay on a neighbour.
type Move struct {
	Call // the call of the replay
	// Was holds the exact vector of the recorded run. Call.Before is the vector of the replay with the same answers.
	Was []float64
	// Name is the name of the row of the plan, if it is known. If a release belongs to a single run of a selection,
	// Name is Selection.
	Name string
	// By is the distance between the exact vectors of the two runs, in the norm of the certificate. For a
	// choice, By is the largest change of a score.
	By float64
	// Bound is the certified sensitivity.
	Bound float64
}

// Share returns the move divided by its bound.
func (m Move) Share() float64 { return m.By / m.Bound }

// Apart returns the distance of two exact vectors in the norm of a certificate.
func Apart(c privacy.Certificate, a, b []float64) float64 {
	far, square := 0.0, 0.0
	for k, v := range a {
		far += math.Abs(v - b[k])
		square += (v - b[k]) * (v - b[k])
	}
	if c.Manhattan() {
		return far
	}
	return math.Sqrt(square)
}

// Moves compares the calls of a replay with the same calls of the recorded run, and returns how far the values
// moved. The replay gets the answers of the recorded run. There is one Move for each release, hidden step and
// choice, and for each release of each run of a selection.
func (r *Recorder) Moves() (all []Move) {
	for i, c := range r.Calls {
		was := r.Of.Calls[i]
		switch c.Kind {
		case Release, Hidden:
			all = append(all, Move{Call: c, Was: was.Before, By: Apart(c.Certificate, c.Before, was.Before),
				Bound: c.Certificate.Sensitivity()})
		case Choice:
			m := Move{Call: c, Bound: math.Ceil(c.Certificate.Sensitivity())}
			for k, q := range c.Scores {
				m.By = max(m.By, math.Abs(float64(q-was.Scores[k])))
			}
			all = append(all, m)
		case Selection:
			for _, run := range c.Runs {
				for _, m := range run.Seen.Moves() {
					m.Name = Selection
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// Joint combines the distances of all moves (Move.By) into one distance. For Gaussian noise, this is the root of the
// sum of their squares. For pure noise, it is their sum.
func Joint(all []Move) (far float64) {
	gaussian := false
	for _, m := range all {
		if _, gaussian = m.Noise.(privacy.Gaussian); gaussian {
			far += m.By * m.By
		} else {
			far += m.By
		}
	}
	if gaussian {
		return math.Sqrt(far)
	}
	return far
}

// Jobs runs two jobs of one plan, one on a data set and one on a neighbour. For every request it returns the
// distance between the values of the two jobs (Move). The error is a Violation if the two jobs do not make the
// same requests in the same order, or if they do not return the same bits.
func Jobs(ctx context.Context, data, neighbour algorithms.Job, seed uint64) ([]Move, error) {
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(seed), data.Plan.Events())
	if err != nil {
		return nil, err
	}
	_, second, err := Both(session, func(side int, s privacy.Session) ([]float64, error) {
		return [2]algorithms.Job{data, neighbour}[side].Train(ctx, s, algorithms.Tracker{})
	})
	if err != nil {
		return nil, err
	}
	all, i := second.Moves(), 0
	for _, row := range data.Plan.Releases {
		for range max(1, row.Times) {
			if row.Noise != nil && i < len(all) {
				all[i].Name = row.Name
				i++
			}
		}
	}
	return all, nil
}
