package algorithms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyad/engine"
	"dyad/privacy"
)

// Options say how a plan is carried out. They cannot change its guarantee,
// except that Public data need none.
type Options struct {
	// Ledger is charged with the whole plan before any record is evaluated.
	// It is required unless Public is set.
	Ledger *privacy.Ledger
	// DataID names the data in the ledger, e.g. the schema's data id.
	DataID string
	// Fingerprint is a keyed hash of the data file (Ledger.Fingerprint); "" if
	// there is none. It only warns when a data id points to other data.
	Fingerprint string
	// Public declares the data public: nothing is charged, and the guarantee
	// says that none is given.
	Public bool
	// Source draws all randomness; nil means a new one keyed by the operating
	// system. A seeded source marks the guarantee as reproducible.
	Source *privacy.Source
	// Tracker is told the progress; nil means nobody is.
	Tracker Tracker
}

// Result is a trained model.
type Result struct {
	Weights   []float64
	Plan      *Plan
	Guarantee privacy.Guarantee // the plan's, with what the run adds to it
	Run       string            // id of the run in the ledger, "" without one
	Seconds   float64           // of training, charge excluded
}

// Run carries out plan p of algorithm a on records. If it fails after the
// charge, the charge stands: noise may already have been drawn.
func Run(ctx context.Context, records *engine.Records, a Algorithm, p *Plan, o Options) (*Result, error) {
	if a.Info().Name != p.Algorithm {
		return nil, fmt.Errorf("algorithms: a plan of %s cannot be run by %s", p.Algorithm, a.Info().Name)
	}
	if err := p.Spec.Kernel.Problem().Fits(records); err != nil {
		return nil, err
	}
	source := o.Source
	if source == nil {
		var err error
		if source, err = privacy.NewSource(); err != nil {
			return nil, err
		}
	}
	result := &Result{Plan: p, Guarantee: p.Guarantee}
	result.Guarantee.Warnings = append([]string(nil), p.Guarantee.Warnings...)
	session, err := begin(p, source, o, result)
	if err != nil {
		return nil, err
	}
	ev, err := p.Spec.Kernel.Bind(records)
	if err != nil {
		return nil, err
	}
	tracker := o.Tracker
	if tracker == nil {
		tracker = NoTracker{}
	}
	start := time.Now()
	result.Weights, err = a.Train(ctx, ev, p, session, tracker)
	result.Seconds = time.Since(start).Seconds()
	session.Close()
	err = errors.Join(err, ev.Close())
	if result.Run != "" && o.Ledger != nil {
		status := "done"
		if err != nil {
			status = "failed"
		}
		// The note is informative; the charge is already durable.
		_ = o.Ledger.Finish(result.Run, status)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (r *Result) warn(text string) {
	r.Guarantee.Warnings = append(r.Guarantee.Warnings, text)
}

// begin opens the session of a run and charges it.
func begin(p *Plan, source *privacy.Source, o Options, result *Result) (*privacy.LiveSession, error) {
	g := p.Guarantee
	switch {
	case o.Public:
		result.Guarantee = privacy.Guarantee{Kind: privacy.Public, Released: g.Released}
		if g.Kind == privacy.ApproxDP || g.Kind == privacy.PureDP {
			result.warn("the data were declared public: nothing was charged. On private data this run would be " + g.String())
		}
		return privacy.NewPublicSession(source, p.Events)
	case o.Ledger == nil:
		return nil, errors.New("algorithms: a run on private data needs Options.Ledger (privacy.OpenLedger), or Public for public data")
	}
	session, err := o.Ledger.Begin(privacy.Charge{
		DataID: o.DataID, Algorithm: p.Algorithm, Events: p.Events,
		Guarantee: g.String(), Unit: g.Unit, Relation: g.Relation, Released: g.Released,
		Fingerprint: o.Fingerprint,
	}, source)
	if err != nil {
		return nil, err
	}
	receipt := session.Receipt()
	result.Run = receipt.Run
	for _, w := range receipt.Warnings {
		result.warn(w)
	}
	return session, nil
}
