package algorithms

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"dyad/engine"
	"dyad/engine/team"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Options configure the run of a plan. They do not affect the guarantee; public data need
// none.
type Options struct {
	// Ledger is charged with the whole plan before any record is evaluated.
	// It is required unless Public is set.
	Ledger *ledger.Ledger
	// DataID names the data in the ledger, e.g. the schema's data id.
	DataID string
	// Fingerprint is a keyed hash of the data file (Ledger.Fingerprint); "" if
	// there is none. It only warns when a data id points to other data.
	Fingerprint string
	// Public declares the data public: there is no charge, and the guarantee states that
	// there is none.
	Public bool
	// Source draws all randomness; nil means a new one keyed by the operating
	// system. A seeded source marks the guarantee as reproducible.
	Source *privacy.Source
	// Run is the id of a new run in the ledger, e.g. one that names what it belongs to; "" generates one.
	// A ledger charges an id once.
	Run string
	// Approved is the SHA-256, in hex, of the page that was approved before the run, for the ledger; "" if there is none.
	Approved string
	// Resume is the id of a charged run that released nothing, to be continued without a
	// new charge; "" means a new run. Plan, DataID and Fingerprint must equal the
	// charge's (Ledger.Resume).
	Resume string
	// Checkpoints keep the state of a long private training for Resume.
	Checkpoints Checkpoints
	// Shelf keeps the result through the release; nil means nobody does: a crash between
	// the ledger's line and what the caller does with the weights then loses them, and the
	// line has the digest of the weights' bits. It is not used on public data.
	Shelf Shelf
	// Team is the team that computes the sums of Run, whose rank 0 this process is; nil means that it
	// does so alone. Records are then the share of rank 0, and Agree and Serve are the caller's.
	Team *team.Leader
	// Charged, if not nil, is told the id of a run when its charge is durable.
	Charged func(run string)
	// Tracker is told the progress.
	Tracker Tracker
	// Trace, if not nil, is called with the name of each stage when it is done:
	// "charged", "bound", "trained", "kept", "released", and in between "checkpoint written"
	// (not yet under its name) and "checkpoint saved". It serves tests that stop or
	// disturb a run there.
	Trace func(stage string)
}

func (o Options) at(stage string) {
	if o.Trace != nil {
		o.Trace(stage)
	}
}

// ChargedError is the error of a run that was charged, or whose charge may count, and whose weights were
// withheld.
type ChargedError struct {
	Run string
	// Resumable is true if Options.Resume can continue the run without a new charge. It
	// is false if the run is finished in the ledger.
	Resumable bool
	// Kept is the result that the ledger has as released, although an error came: what
	// Options.Shelf stored is the result, and may be used when the ledger is in order
	// (ledger.Ledger.Released). Zero without one.
	Kept ledger.Kept
	Err  error
}

// Error is the message of Err.
func (e *ChargedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ChargedError) Unwrap() error { return e.Err }

// Run carries out plan p of algorithm a on records, by Execute.
func Run(ctx context.Context, records *engine.Records, a Algorithm, p *Plan, o Options) (*Result, error) {
	if a.Info().Name != p.Algorithm {
		return nil, fmt.Errorf("algorithms: a plan of %s cannot be run by %s", p.Algorithm, a.Info().Name)
	}
	bind := func(context.Context) (engine.Evaluator, error) { return p.Spec.Kernel.Bind(records) }
	digest := func(_ context.Context, format string) (string, error) { return hashRecords(records, format), nil }
	if o.Team != nil {
		if err := o.Team.Leads(p.Spec.Kernel, records); err != nil {
			return nil, err
		}
		bind = o.Team.Bind
		digest = func(ctx context.Context, format string) (string, error) {
			if format == oldCheckpoint && records.IsShard() {
				return "", fmt.Errorf("%w: an earlier version wrote it, which a team cannot compare with its records; resume the run in one process", ErrCheckpoint)
			}
			if format == oldCheckpoint {
				return hashRecords(records, format), nil
			}
			return o.Team.Digest(ctx)
		}
	} else if err := p.Spec.Kernel.Problem().Fits(records); err != nil {
		return nil, err
	}
	return Execute(ctx, Job{
		Plan:      p,
		Withholds: a.Info().Withholds && !embedsAlgorithm(a),
		Records:   digest,
		Train: func(ctx context.Context, s privacy.Session, t Tracker) ([]float64, error) {
			ev, err := bind(ctx)
			if err != nil {
				return nil, err
			}
			o.at("bound")
			w, err := a.Train(ctx, ev, p, s, t)
			return w, errors.Join(err, ev.Close())
		},
	}, o)
}

// embedsAlgorithm reports whether Info may come from an embedded algorithm, whose promise
// does not cover the Train of a.
func embedsAlgorithm(a Algorithm) bool {
	t := reflect.TypeOf(a)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	algorithm := reflect.TypeFor[Algorithm]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (f.Type.Implements(algorithm) || reflect.PointerTo(f.Type).Implements(algorithm)) {
			return true
		}
	}
	return false
}

// CheckTried refuses an algorithm whose result a search or a curve cannot use: it may tell of a release before its end, or what it returns is more
// than weights.
func CheckTried(a Algorithm, p *Plan) error {
	if m := p.Moments(); m != nil && m.Pairs != nil {
		return errors.New("algorithms: a search or a curve takes weights of the features alone, and the schema has choose_interactions; leave it out, or name pairs in interactions")
	}
	if m, ok := a.(interface{ appends() bool }); ok && m.appends() {
		return errors.New("algorithms: moments appends standard errors, log odds or the noise of blocks to its weights, and a search or a curve takes weights alone; leave Intervals, LogOdds and Blocks out")
	}
	if i := a.Info(); !i.Withholds || embedsAlgorithm(a) {
		return fmt.Errorf("algorithms: %s may tell of a release before it ends, so neither a search nor a curve can try it", i.Name)
	}
	return nil
}
