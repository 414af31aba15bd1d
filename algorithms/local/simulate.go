package local

import (
	"context"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
)

// Simulate runs a protocol over records of one user each. The users are visited in a new random order in each
// epoch. Labels must be -1 or 1. progress, if not nil, gets the number of finished visits and the number of all
// visits.
//
// src draws the randomness of the users and the shuffler. A run with a seeded source is an experiment: the
// guarantee holds only if the noise is secret.
func Simulate(ctx context.Context, p *Plan, records *engine.Records, src *privacy.Source,
	progress func(done, total int64)) (*State, error) {
	if records.ByPerson() {
		return nil, errPersons
	}
	if records.Len() != p.Users || records.Dim() != p.Dim {
		return nil, errShape
	}
	for i := range p.Users {
		if y := records.Label(i); y != 1 && y != -1 {
			return nil, errLabel
		}
	}
	s := &simulation{plan: p, records: records, client: NewClient(p, src), x: make([]float64, p.Dim), state: p.Start()}
	if p.Method == PrestigeLabel {
		s.labels = make([]float64, p.Users)
		for i := range s.labels {
			var err error
			if s.labels[i], err = s.client.Label(records.Label(i)); err != nil {
				return nil, err
			}
		}
	}
	total := int64(p.Users) * int64(p.Epochs)
	for !p.Done(s.state) {
		order := src.Permutation(p.Users)
		for from := 0; from < len(order); from += p.Batch {
			if err := s.visit(order[from:min(from+p.Batch, len(order))]); err != nil {
				return nil, err
			}
			if from%4096 < p.Batch {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if progress != nil {
					progress(s.state.Visits, total)
				}
			}
		}
	}
	return s.state, nil
}

type simulation struct {
	plan    *Plan
	records *engine.Records
	client  *Client
	state   *State
	x       []float64
	labels  []float64 // randomised, for PrestigeLabel only
	batch   []Message
}

// visit visits the users of one batch.
func (s *simulation) visit(users []int32) error {
	s.batch = s.batch[:0]
	for _, u := range users {
		s.records.Row(int(u), s.x)
		if s.labels != nil {
			if err := s.plan.Learn(s.state, s.x, s.labels[u]); err != nil {
				return err
			}
			continue
		}
		m, err := s.client.Message(s.state, engine.Record{X: s.x, Y: s.records.Label(int(u))})
		if err != nil {
			return err
		}
		s.batch = append(s.batch, m)
	}
	if s.labels != nil {
		return nil
	}
	return s.plan.Apply(s.state, s.batch)
}

// Job returns the training of a plan by one program that sees the records of all users. The job releases one
// model and its lambda. The function train simulates the users, who draw all noise. It calls ChooseL2 with
// the given numbers of candidates and folds, unless candidates is 0. Then it calls Simulate. objective
// describes the minimised function. The charge is for the messages of one user.
func (p *Plan) Job(objective string, candidates, folds int,
	train func(ctx context.Context, t algorithms.Tracker) ([]float64, error)) algorithms.Job {
	q := p.Plan
	q.Objective, q.Releases = objective, p.messages(candidates, folds)
	if p.Guarantee.Kind != privacy.None {
		if candidates > 0 {
			q.Guarantee = p.Choosing(Choice{Accuracies: make([]float64, candidates), Folds: folds})
		}
		q.Guarantee.Unit, q.Guarantee.Relation, q.Guarantee.Released = algorithms.OneRecord, "replace-one",
			"the model of a simulation of all users"
		q.Guarantee.Warnings = nil // warnings of the protocol do not apply to the run
	}
	return algorithms.Job{Plan: &q, Withholds: true, OwnNoise: true, Train: func(ctx context.Context, _ privacy.Session, t algorithms.Tracker) ([]float64, error) {
		return train(ctx, t)
	}}
}
