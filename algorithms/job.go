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
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Job is the training of a plan, for Execute to charge and carry out.
type Job struct {
	Plan *Plan
	// Withholds promises that released values leave Train only in the weights that it
	// returns. Only then can a run be resumed.
	Withholds bool
	// OwnNoise is true if Train draws noise that its session does not see. An attempt
	// that fails by itself then counts as one that drew some, and keeps no checkpoints.
	OwnNoise bool
	// Records is a hash of the records in their order, for checkpoints of a format.
	Records func(ctx context.Context, format string) (string, error)
	// Train trains. Only Execute gets its weights, and hands them out.
	Train func(ctx context.Context, s privacy.Session, t Tracker) (weights []float64, err error)
}

// Shelf keeps the result of a run on private data while the ledger records its release, so
// that no crash loses what was paid for.
//
// Until the ledger names what Keep returned, or Execute has returned the same result, what
// is kept is as private as a checkpoint: nobody else can read it and nobody uses it. Of all
// attempts at a run the ledger names one. What the others kept is dropped, or removed by
// whoever finds it (ledger.Ledger.Released).
type Shelf interface {
	// Keep stores a result durably, and returns what the ledger shall record of it, or
	// fails and leaves nothing. Whether it fails must not depend on the weights.
	Keep(o *Result) (ledger.Kept, error)
	// Drop removes what Keep stored: it was not released.
	Drop()
}

// Result holds the outcome of a run that succeeded.
type Result struct {
	Weights   []float64
	Guarantee privacy.Guarantee // the plan's, with what the run adds to it
	Run       string            // id of the run in the ledger, "" without one
	Restored  int               // steps that came from a checkpoint
	Seconds   float64           // of Job.Train: the charge is excluded
	Record    json.RawMessage   // of the plan (Plan.Record), nil on public data
}

// Execute carries out a job. On private data:
//
//  1. the whole plan is charged, durably, before a record is evaluated (or a run
//     charged before is resumed);
//  2. the job trains;
//  3. Options.Shelf keeps the weights, privately and durably;
//  4. the ledger records that the run released its result, and what was kept, durably;
//  5. Execute returns, and with it the weights may be used.
//
// Weights are used in step 5 only, or by who finds in the ledger the digest of what was
// kept. So a run without the line of step 4 released nothing: whatever stopped it, noise
// that it drew was seen by nobody. This is what makes Ledger.Resume sound, and
// Charge.Resumable promises it. If step 4 fails the weights are dropped, and its
// error is returned; but what was kept stays if the ledger names it all the same, and
// ChargedError.Kept says so.
//
// Weights that are not finite mean that the algorithm failed.
//
// Any error after the charge is a *ChargedError. The charge stands. The run can be resumed unless
// the ledger has it as finished. That is the case if another process released it meanwhile. It is
// also the case if the algorithm failed by itself after noise was drawn for its iterate, in this
// attempt or before its checkpoint, or after a secret batch was drawn. Such a failure could
// depend on the draw, so trying again until it succeeds would change the law of the release. A
// process of a team that dies, or does not answer for minutes, is a crash like that of the whole
// program.
//
// A resumed run draws fresh noise. It starts at step 1, or with Options.Checkpoints
// where its last checkpoint was written (see Checkpoints for why that is sound).
func Execute(ctx context.Context, j Job, o Options) (*Result, error) {
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
	watched := &watchedSession{Session: session, drew: j.OwnNoise || slices.ContainsFunc(session.Releases(), func(n int) bool { return n > 0 })}
	if err == nil {
		start := time.Now()
		out.Weights, err = j.Train(ctx, watched, tracker)
		out.Seconds = time.Since(start).Seconds()
	}
	if err == nil {
		o.at("trained")
		err = ctx.Err() // an interrupt counts until the release is recorded
	}
	if err == nil && o.Shelf != nil && slices.ContainsFunc(out.Weights, func(w float64) bool { return math.IsNaN(w) || math.IsInf(w, 0) }) {
		err = errors.New("algorithms: the training left the range of numbers; choose smaller steps")
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

// weightsDigest is what the ledger says of released weights that no Shelf kept: the SHA-256 of their bits,
// eight bytes each, little-endian.
func weightsDigest(weights []float64) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, weights) // to a hash
	return "weights-sha256:" + hex.EncodeToString(h.Sum(nil))
}

// withheld is the error of a run whose weights Execute does not return. A kept result is
// dropped, unless the line that names it may count: then it was paid for.
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

// resumable says whether the run is not finished, as far as the ledger can be
// read: an error of Finish may have left its line.
func resumable(l *ledger.Ledger, run string) bool {
	open, err := l.Unfinished("")
	return err != nil || slices.ContainsFunc(open, func(e ledger.Entry) bool { return e.Run == run })
}

// named says whether a run was released with what was kept, or whether that cannot be read.
func named(l *ledger.Ledger, run string, k ledger.Kept) bool {
	entries, err := l.Entries()
	return err != nil || slices.ContainsFunc(entries, func(e ledger.Entry) bool {
		return e.Status == ledger.StatusReleased && e.Run == run && e.Kept == k
	})
}

// watchedSession notes whether anything that a guarantee rests on may have been drawn, in
// this attempt or before the checkpoint that it started from: noise, or the coins of a
// secret batch. For a Permutation and a UniformBall guarantees hold whatever they are.
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
func (s *watchedSession) Best(x privacy.Selection, run func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
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
		return nil, errors.New("algorithms: Options.Resume continues a charged run, but a run on public data is never charged; leave Options.Resume out")
	case o.Public:
		r.Guarantee = PublicData(g.Released)
		if p.Spec.PaperUnsound {
			r.warn(PaperUnsound)
		}
		if g.Kind != privacy.None {
			r.warn("the data were declared public: no budget was charged. On private data this run would be " + g.String())
		}
		return privacy.NewPublicSession(source, p.Events())
	case o.Ledger == nil:
		return nil, errors.New("algorithms: a run on private data needs Options.Ledger (ledger.Open), or Public for public data")
	}
	charge := p.Charge(o.DataID)
	charge.Run, charge.Approved = cmp.Or(o.Resume, o.Run, rand.Text()), o.Approved
	r.Run = charge.Run
	var err error
	if r.Record, err = p.Record(); err != nil {
		return nil, err
	}
	charge.Objective, charge.Fingerprint, charge.Resumable, charge.Plan = p.objective(), o.Fingerprint, j.Withholds, RecordHash(r.Record)
	var session *privacy.LiveSession
	if o.Resume != "" {
		session, err = o.Ledger.Resume(o.Resume, charge, source)
		if old, e := p.oldRecord(); errors.Is(err, ledger.ErrResume) && e == nil { // an earlier version may have charged it
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
	for _, w := range session.Receipt().Warnings {
		r.warn(w)
	}
	return session, nil
}
