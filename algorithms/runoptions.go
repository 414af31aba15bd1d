package algorithms

import (
	"dyad/engine/team"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Options configures the run of a plan. The options do not affect the guarantee. A run on public data needs
// only the option Public.
type Options struct {
	// Ledger is the ledger that is charged with the whole plan before any record is evaluated. It is required
	// unless Public is set.
	Ledger *ledger.Ledger
	// DataID names the data in the ledger, e.g. the schema's data id.
	DataID string
	// Fingerprint is a keyed hash of the data file (Ledger.Fingerprint), or "" if there is none. It is used
	// only to warn if a data id points to other data.
	Fingerprint string
	// Public declares the data public. Then there is no charge, and the guarantee of the result states that the
	// data were declared public.
	Public bool
	// Source draws all randomness. If it is nil, a new source keyed by the operating system is used. A seeded
	// source marks the guarantee as reproducible.
	Source *privacy.Source
	// Run is the id of a new run in the ledger, e.g. a name that tells what the run belongs to. If it is "", an
	// id is generated. A ledger charges each id only once.
	Run string
	// Approved is the SHA-256, in hex, of the page that was approved before the run. It is stored in the ledger. It is
	// "" if there is no such page.
	Approved string
	// Resume is the id of a charged run that released nothing. The run is continued without a new charge. If it
	// is "", the run is new. The plan, DataID and Fingerprint must be the same as in the charge (Ledger.Resume).
	Resume string
	// Checkpoints configures saving the state of a long private training for Resume.
	Checkpoints Checkpoints
	// Shelf stores the result while the ledger records its release. If Shelf is nil, the weights are lost if
	// the program crashes after the ledger has recorded the release and before the caller has used the
	// weights. The ledger then has only the digest of the bits of the weights. Shelf is not used on public
	// data.
	Shelf Shelf
	// Team computes the sums of Run, and this process is its rank 0. If Team is nil, this process computes the
	// sums alone. With a team, Run gets the records of rank 0. The caller must make sure that Agree and Serve
	// are called.
	Team *team.Leader
	// Charged, if not nil, is called with the id of the run when its charge is durable.
	Charged func(run string)
	// Tracker receives the progress.
	Tracker Tracker
	// Trace, if not nil, is called with the name of each stage when the stage is done: "charged", "bound",
	// "trained", "kept" and "released". In between it is called with "checkpoint written" (the file is not yet
	// under its final name) and "checkpoint saved". Tests use Trace to stop or disturb a run at a stage.
	Trace func(stage string)
}

func (o Options) at(stage string) {
	if o.Trace != nil {
		o.Trace(stage)
	}
}

// ChargedError is the error of a run that withheld its weights. The run was charged, or it is unknown
// whether its charge counts.
type ChargedError struct {
	Run string
	// Resumable is true if Options.Resume can continue the run without a new charge. It is false if the run is
	// finished in the ledger.
	Resumable bool
	// Kept is the ledger's entry of the result if the ledger records the run as released although an error
	// occurred. In this case, the result that Options.Shelf stored is the released result, and it may be used
	// when the ledger is in order (ledger.Ledger.Released). If the ledger does not record the run as released,
	// Kept is the zero value.
	Kept ledger.Kept
	Err  error
}

// Error returns the message of Err.
func (e *ChargedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ChargedError) Unwrap() error { return e.Err }
