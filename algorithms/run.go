package algorithms

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	// Resume is the id of a charged run that released nothing, to be continued
	// without a new charge; "" means a new run. Plan, DataID and Fingerprint must
	// be those of the charge (Ledger.Resume).
	Resume string
	// Checkpoints keep the state of a long private training for Resume.
	Checkpoints Checkpoints
	// Tracker is told the progress; nil means nobody is.
	Tracker Tracker
	// Trace, if not nil, is called with the name of each stage when it is done:
	// "charged", "bound", "trained", "released", and in between "checkpoint written"
	// (not yet under its name) and "checkpoint saved". It serves tests that stop or
	// disturb a run there.
	Trace func(stage string)

	trusted bool // in tests: treat the algorithm as one of the catalogue
}

func (o Options) at(stage string) {
	if o.Trace != nil {
		o.Trace(stage)
	}
}

// Result is a trained model.
type Result struct {
	Weights   []float64
	Plan      *Plan
	Guarantee privacy.Guarantee // the plan's, with what the run adds to it
	Run       string            // id of the run in the ledger, "" without one
	Restored  int               // steps that came from a checkpoint
	Seconds   float64           // of training, charge excluded
}

// ChargedError is the error of a run that was charged and whose weights were
// withheld.
type ChargedError struct {
	Run string
	// Resumable says that Options.Resume can continue the run without a new
	// charge. It is false if the run is finished in the ledger.
	Resumable bool
	Err       error
}

// Error is the message of Err.
func (e *ChargedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ChargedError) Unwrap() error { return e.Err }

// Run carries out plan p of algorithm a on records. On private data:
//
//  1. the whole plan is charged, durably, before the records are bound to an
//     evaluator (or a run charged before is resumed);
//  2. the algorithm trains;
//  3. the ledger records that the run released its result, durably;
//  4. Run returns the weights.
//
// Weights leave Run in step 4 only, so a run without the line of step 3 released
// nothing: whatever stopped it, noise that it drew was seen by nobody. This is
// what makes Ledger.Resume sound, and Charge.Resumable promises it. If step 3
// fails the weights are dropped and its error is returned.
//
// Any error after the charge is a *ChargedError. The charge stands. The run can
// be resumed unless the ledger says that it is finished. That is the case if
// another process released it meanwhile, or if the algorithm failed by itself
// after noise was drawn for its iterate, in this attempt or before its checkpoint:
// whether that happens could depend on the noise, so trying again until it does not
// would change the law of what is released.
//
// A resumed run draws fresh noise. It starts at step 1, or with Options.Checkpoints
// where its last checkpoint was written (see Checkpoints for why that is sound).
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
	keeper, err := newKeeper(records, p, source.Secret(), inCatalog(a) || o.trusted, o)
	if err != nil {
		return nil, err
	}
	session, err := begin(a, p, source, o, result)
	if err != nil {
		return nil, err
	}
	o.at("charged")
	tracker, err := keeper.attach(session, o.Tracker)
	result.Restored = keeper.restored()
	watched := &watchedSession{Session: session, released: slices.ContainsFunc(session.Releases(), func(n int) bool { return n > 0 })}
	if err == nil {
		err = train(ctx, records, a, p, watched, tracker, o, result)
	}
	session.Close()
	if result.Run == "" {
		if err != nil {
			return nil, err
		}
		return result, nil
	}
	if err == nil {
		err = o.Ledger.Finish(result.Run, privacy.StatusReleased)
	} else if watched.released && ctx.Err() == nil {
		err = errors.Join(err, o.Ledger.Finish(result.Run, "failed"))
	}
	if err != nil {
		charged := &ChargedError{Run: result.Run, Resumable: resumable(o.Ledger, result.Run), Err: err}
		if !charged.Resumable {
			keeper.remove()
		}
		return nil, charged
	}
	keeper.remove()
	o.at("released")
	return result, nil
}

// train binds the records and fills in the weights.
func train(ctx context.Context, records *engine.Records, a Algorithm, p *Plan, s privacy.Session, t Tracker, o Options, result *Result) error {
	ev, err := p.Spec.Kernel.Bind(records)
	if err != nil {
		return err
	}
	o.at("bound")
	start := time.Now()
	result.Weights, err = a.Train(ctx, ev, p, s, t)
	result.Seconds = time.Since(start).Seconds()
	if err = errors.Join(err, ev.Close()); err != nil {
		return err
	}
	o.at("trained")
	return ctx.Err() // an interrupt counts until the release is recorded
}

// watchedSession notes whether noise may have been drawn, in this attempt or before
// the checkpoint that it started from.
type watchedSession struct {
	privacy.Session
	released bool
}

// Release implements privacy.Session.
func (s *watchedSession) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	s.released = true
	return s.Session.Release(x, c, m)
}

// Perturb implements privacy.Session.
func (s *watchedSession) Perturb(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	s.released = true
	return s.Session.Perturb(x, c, m)
}

// resumable says whether the run is not finished, as far as the ledger can be
// read: an error of Finish may have left its line.
func resumable(l *privacy.Ledger, run string) bool {
	open, err := l.Unfinished("")
	return err != nil || slices.ContainsFunc(open, func(e privacy.Entry) bool { return e.Run == run })
}

func (r *Result) warn(text string) {
	r.Guarantee.Warnings = append(r.Guarantee.Warnings, text)
}

// begin opens the session of a run and charges it.
func begin(a Algorithm, p *Plan, source *privacy.Source, o Options, result *Result) (*privacy.LiveSession, error) {
	g := p.Guarantee
	switch {
	case o.Public && o.Resume != "":
		return nil, errors.New("algorithms: Options.Resume continues a charged run, but a run on public data is never charged; leave it out")
	case o.Public:
		result.Guarantee = privacy.Guarantee{Kind: privacy.Public, Released: g.Released}
		if g.Kind == privacy.ApproxDP || g.Kind == privacy.PureDP {
			result.warn("the data were declared public: nothing was charged. On private data this run would be " + g.String())
		}
		return privacy.NewPublicSession(source, p.Events)
	case o.Ledger == nil:
		return nil, errors.New("algorithms: a run on private data needs Options.Ledger (privacy.OpenLedger), or Public for public data")
	}
	charge := privacy.Charge{
		DataID: o.DataID, Algorithm: p.Algorithm, Events: p.Events,
		Guarantee: g.String(), Unit: g.Unit, Relation: g.Relation, Released: g.Released,
		Objective: p.Spec.objective(), Fingerprint: o.Fingerprint,
		// Run withholds the weights until Finish, and the catalogue's algorithms
		// let nothing of a release out before they return. Others may.
		Resumable: inCatalog(a) || o.trusted,
	}
	var session *privacy.LiveSession
	var err error
	if o.Resume != "" {
		session, err = o.Ledger.Resume(o.Resume, charge, source)
	} else {
		session, err = o.Ledger.Begin(charge, source)
	}
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

// inCatalog says that a is one of the catalogue's own types, whatever its options.
func inCatalog(a Algorithm) bool {
	for _, c := range Catalog() {
		if reflect.TypeOf(c) == reflect.TypeOf(a) {
			return true
		}
	}
	return false
}
