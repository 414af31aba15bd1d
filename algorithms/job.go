package algorithms

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"dyad/engine"
	"dyad/internal/input"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Job is the training of a plan. Execute charges the plan and runs the training.
type Job struct {
	Plan *Plan
	// Withholds is true if Train promises to reveal released values only through the weights that it returns. A
	// run can be resumed only with this promise.
	Withholds bool
	// OwnNoise is true if Train draws noise that its session does not see. An attempt that fails by itself is
	// then treated as if it had drawn noise, and no checkpoints are kept.
	OwnNoise bool
	// Team is true if Train computes with Options.Team. Execute refuses a team for all other jobs.
	Team bool
	// Records returns the hash of the records in their order. A checkpoint of the given format stores this hash.
	Records func(ctx context.Context, format string) (string, error)
	// Train trains the model and returns its weights. Only Execute passes these weights on.
	Train func(ctx context.Context, s privacy.Session, t Tracker) (weights []float64, err error)
}

// Shelf stores the result of a run on private data while the ledger records its release, so that no crash loses
// a result that was charged.
//
// At first, a stored result is as private as a checkpoint: only its owner can read it, and no program uses
// it. This ends when the ledger names the result or Execute has returned the same result. The ledger names
// the result of one attempt at a run. Results of other attempts are dropped, or removed by whoever finds them
// (ledger.Ledger.Released).
type Shelf interface {
	// Keep stores a result durably and returns the entry that the ledger records about it. If Keep fails it
	// leaves nothing behind. Whether it fails must not depend on the weights.
	Keep(o *Result) (ledger.Kept, error)
	// Drop removes the result that Keep stored, because it was not released.
	Drop()
}

// Result holds the outcome of a run that succeeded.
type Result struct {
	Weights   []float64
	Guarantee privacy.Guarantee // the plan's guarantee, with the warnings that the run adds
	Run       string            // id of the run in the ledger, "" without one
	Restored  int               // steps that came from a checkpoint
	Seconds   float64           // time of Job.Train, without the charge
	Record    json.RawMessage   // the record of the plan (Plan.Record); nil on public data
	Notes     []string          // for the owner of the data alone (privacy.Receipt); no file may have them
}

// Execute charges and runs a job. On private data it takes these steps:
//
//  1. The whole plan is charged durably, before a record is evaluated. A resumed run was charged before.
//  2. The job trains.
//  3. Options.Shelf stores the weights, privately and durably.
//  4. The ledger durably records that the run released its result, and the entry of the stored result.
//  5. Execute returns the weights, which may be used from then on.
//
// The weights are used only after step 5, or by somebody who finds their digest in the ledger. So if the
// ledger has no line of step 4 for a run, the run released nothing: no observer saw its noise, whatever
// stopped the run. This makes Ledger.Resume sound, and Charge.Resumable promises it. If step 4 fails, Execute
// drops the weights and returns the error. If the ledger nevertheless names the stored result, the result
// stays, and ChargedError.Kept holds its entry.
//
// If the weights are not finite, the algorithm failed.
//
// Any error after the charge is a *ChargedError. The charge stands. The run can be resumed unless the ledger
// records it as finished. The run is finished if another process has released it in the meantime. It is also
// finished if the algorithm failed by itself after noise was drawn for its iterate, in this attempt or before
// its checkpoint, or after a secret batch was drawn. Such a failure could depend on the draw, so trying again
// until it succeeds would change the distribution of the release. If a process of a team dies or does not
// answer for minutes, this is a crash like a crash of the whole program.
//
// A resumed run draws fresh noise. It starts at step 1, or with Options.Checkpoints at the step of its last
// checkpoint. The comment of Checkpoints proves that resuming is sound.
func Execute(ctx context.Context, j Job, o Options) (*Result, error) {
	if o.Team != nil && !j.Team {
		return nil, input.Errorf("algorithms: this run is computed in one process; leave the team out")
	}
	source := o.Source
	if source == nil {
		var err error
		if source, err = privacy.NewSource(); err != nil {
			return nil, err
		}
	}
	out := &Result{Guarantee: j.Plan.Guarantee}
	out.Guarantee.Warnings = slices.Clone(out.Guarantee.Warnings)
	keeper, err := newKeeper(ctx, j, source.Secret(), o)
	if err != nil {
		return nil, err
	}
	session, err := out.begin(j, source, o)
	if errors.Is(err, ledger.ErrUnacknowledged) { // the charge may count
		return nil, out.withheld(j, o, keeper, ledger.Kept{}, err)
	}
	if err != nil {
		return nil, err
	}
	o.at("charged")
	if o.Charged != nil && out.Run != "" {
		o.Charged(out.Run)
	}
	tracker, err := keeper.attach(session, o.Tracker)
	out.Restored = keeper.restored()
	watched := &watchedSession{Session: session, drew: j.OwnNoise ||
		slices.ContainsFunc(session.Releases(), func(n int) bool { return n > 0 })}
	if err == nil {
		start := time.Now()
		out.Weights, err = j.Train(ctx, watched, tracker)
		out.Seconds = time.Since(start).Seconds()
	}
	if err == nil {
		o.at("trained")
		err = ctx.Err() // an interrupt counts until the release is recorded
	}
	if err == nil && o.Shelf != nil && slices.ContainsFunc(out.Weights,
		func(w float64) bool { return math.IsNaN(w) || math.IsInf(w, 0) }) {
		err = errors.New("algorithms: the training produced weights that are not finite; choose smaller steps")
	}
	session.Close()
	if out.Run == "" {
		if err != nil {
			return nil, err
		}
		return out, nil
	}
	if err != nil {
		if watched.drew && ctx.Err() == nil && !errors.Is(err, engine.ErrTeamLost) {
			err = errors.Join(err, o.Ledger.Finish(out.Run, "failed"))
		}
		return nil, out.withheld(j, o, keeper, ledger.Kept{}, err)
	}
	kept := ledger.Kept{Digest: weightsDigest(out.Weights)}
	if o.Shelf != nil {
		if kept, err = o.Shelf.Keep(out); err != nil {
			return nil, out.withheld(j, o, keeper, ledger.Kept{}, err)
		}
		o.at("kept")
	}
	if err = ctx.Err(); err == nil {
		err = o.Ledger.Release(out.Run, kept)
	}
	if err != nil {
		return nil, out.withheld(j, o, keeper, kept, err)
	}
	keeper.remove()
	o.at("released")
	return out, nil
}

// weightsDigest returns the ledger's entry for released weights that no Shelf stored: the SHA-256 of their
// bits, eight bytes each, little-endian.
func weightsDigest(weights []float64) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, weights) // to a hash
	return "weights-sha256:" + hex.EncodeToString(h.Sum(nil))
}

// withheld returns the error of a run whose weights Execute does not return. It drops a stored result, unless
// the ledger line that names the result may count, because the result was then paid for.
func (r *Result) withheld(j Job, o Options, k *keeper, kept ledger.Kept, err error) error {
	e := &ChargedError{Run: r.Run, Resumable: j.Withholds && resumable(o.Ledger, r.Run), Err: err}
	switch {
	case o.Shelf == nil || kept.Digest == "":
	case errors.Is(err, ledger.ErrUnacknowledged) && named(o.Ledger, r.Run, kept):
		e.Kept = kept
	default:
		o.Shelf.Drop()
	}
	if !e.Resumable {
		k.remove()
	}
	return e
}

// resumable reports whether the run is unfinished, or whether the ledger cannot be read. It asks the ledger
// because a call of Finish that failed may still have written its line.
func resumable(l *ledger.Ledger, run string) bool {
	open, err := l.Unfinished("")
	return err != nil || slices.ContainsFunc(open, func(e ledger.Entry) bool { return e.Run == run })
}

// named reports whether the ledger has a release of the run with the stored result k, or whether the ledger
// cannot be read.
func named(l *ledger.Ledger, run string, k ledger.Kept) bool {
	entries, err := l.Entries()
	return err != nil || slices.ContainsFunc(entries, func(e ledger.Entry) bool {
		return e.Status == ledger.StatusReleased && e.Run == run && e.Kept == k
	})
}

// watchedSession notes whether randomness that a guarantee rests on may have been drawn, in this attempt or
// before the checkpoint from which it started. Such randomness is noise, or the coins of a secret batch.
// Guarantees hold for every value of a Permutation and of a UniformBall, so drawing these does not count.
type watchedSession struct {
	privacy.Session
	drew bool
}

// Sample implements privacy.Session.
func (s *watchedSession) Sample(order []int32, m int) error {
	s.drew = true
	return s.Session.Sample(order, m)
}

// SamplePoisson implements privacy.Session.
func (s *watchedSession) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	s.drew = true
	return s.Session.SamplePoisson(dst, n, rate)
}

// Release implements privacy.Session.
func (s *watchedSession) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	s.drew = true
	return s.Session.Release(x, c, m)
}

// HiddenStep implements privacy.Session.
func (s *watchedSession) HiddenStep(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	s.drew = true
	return s.Session.HiddenStep(x, c, m)
}

// Choose implements privacy.Session.
func (s *watchedSession) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	s.drew = true
	return s.Session.Choose(scores, c, epsilon)
}

// Best implements privacy.Session.
func (s *watchedSession) Best(x privacy.Selection,
	run func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
	s.drew = true
	return s.Session.Best(x, run)
}

func (r *Result) warn(text string) {
	r.Guarantee.Warnings = append(r.Guarantee.Warnings, text)
}

// begin opens the session of a run and charges it.
func (r *Result) begin(j Job, source *privacy.Source, o Options) (*privacy.LiveSession, error) {
	p, g := j.Plan, j.Plan.Guarantee
	switch {
	case p.Spec.PaperUnsound && !o.Public:
		return nil, ErrUnsound
	case o.Public && o.Resume != "":
		return nil, errors.New("algorithms: a run on public data cannot be resumed; leave Options.Resume out")
	case o.Public:
		r.Guarantee = PublicData(g.Released)
		if p.Spec.PaperUnsound {
			r.warn(PaperUnsound)
		}
		if g.Kind != privacy.None {
			r.warn("the data were declared public, so no budget was charged. On private data this run would be " + g.String())
		}
		return privacy.NewPublicSession(source, p.Events())
	case o.Ledger == nil:
		return nil, errors.New("algorithms: a run on private data needs Options.Ledger (ledger.Open), or Public for " +
			"public data")
	}
	charge := p.Charge(o.DataID)
	charge.Run, charge.Approved = cmp.Or(o.Resume, o.Run, rand.Text()), o.Approved
	r.Run = charge.Run
	var err error
	if r.Record, err = p.Record(); err != nil {
		return nil, err
	}
	charge.Objective, charge.Fingerprint, charge.Resumable, charge.Plan = p.objective(), o.Fingerprint, j.Withholds,
		RecordHash(r.Record)
	var session *privacy.LiveSession
	if o.Resume != "" {
		session, err = o.Ledger.Resume(o.Resume, charge, source)
		// an earlier version of this program may have charged the run
		if old, e := p.oldRecord(); errors.Is(err, ledger.ErrResume) && e == nil {
			charge.Plan = RecordHash(old)
			if again, e := o.Ledger.Resume(o.Resume, charge, source); e == nil {
				r.Record, session, err = old, again, nil
			}
		}
	} else {
		session, err = o.Ledger.Begin(charge, source)
	}
	if err != nil {
		return nil, err
	}
	r.Notes = session.Receipt().Notes
	for _, w := range session.Receipt().Warnings {
		r.warn(w)
	}
	return session, nil
}
