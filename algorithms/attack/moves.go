package attack

import (
	"context"
	"math"

	"dyad/algorithms"
	"dyad/privacy"
)

// Move is how far something that a run asks for is from what its replay on a neighbour asks for.
type Move struct {
	Call            // of the replay
	Was   []float64 // Before of the run that answers it
	Name  string    // of the row of the plan, if it is known; Selection for what a run of one releases
	By    float64   // the distance of exact vectors in the norm of their certificate, or the largest change of a score
	Bound float64   // the certified sensitivity of it
}

// Share is the move over its bound.
func (m Move) Share() float64 { return m.By / m.Bound }

// Apart is the distance of two exact vectors in the norm of a certificate.
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

// Moves are how far a replay moves from the run that answers it: releases, hidden steps, choices, and what each run of a selection releases.
func (r *Recorder) Moves() (all []Move) {
	for i, c := range r.Calls {
		was := r.Of.Calls[i]
		switch c.Kind {
		case Release, Hidden:
			all = append(all, Move{Call: c, Was: was.Before, By: Apart(c.Certificate, c.Before, was.Before), Bound: c.Certificate.Sensitivity()})
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

// Joint is how far all releases move together: the root of the sum of squares for Gaussian noise, the sum for pure noise.
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

// Jobs runs two jobs of one plan, on a data set and on a neighbour, and returns how far what they ask for moves. The error is a Violation if the
// second one asks for something else, or returns other bits.
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
