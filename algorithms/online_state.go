package algorithms

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// streamFormat is the version of a saved state.
const streamFormat = "dyad-stream/4"

// StreamState is the saved state of a stream. It holds the records of the buffer and of the unfinished batch.
// With a secret state it also holds the noiseless iterate, and for DPFTRL noiseless sums of gradients. It must
// be kept as private as the records. It holds neither noise nor a key to the noise. Somebody who has both a
// noiseless vector and its release can compute the noise.
type StreamState struct {
	Format    string `json:"format"`
	Algorithm string `json:"algorithm"`
	Reading   string `json:"reading"`
	// Event holds all numbers of the plan. A stream is resumed only by a plan with an equal event.
	Event   account.StreamEvent `json:"event"`
	Options StreamOptions       `json:"options"`
	// Objective describes the loss with its formula, alpha and the domain.
	Objective string `json:"objective"`
	// Schema identifies how records became numbers. Earlier states of this format have none.
	Schema string `json:"schema,omitempty"`
	Run    string `json:"run,omitempty"`
	// Session is the number of times that the run was resumed, including the attempt that wrote the state
	// (ledger.RunLock.Resume).
	Session int       `json:"session"`
	Count   int       `json:"records"`
	Updates int       `json:"releases"`
	W       []float64 `json:"w"`
	Centre  []float64 `json:"centre,omitempty"`
	// Released is the latest release. Played is the sum of the earlier releases.
	Released []float64 `json:"released"`
	Played   []float64 `json:"played"`
	// Gradients, Noisy and Total are the state of DPFTRL. Gradients is noiseless; Noisy and Total are functions
	// of releases.
	Gradients []float64 `json:"gradients,omitempty"`
	Noisy     []float64 `json:"noisy,omitempty"`
	Total     []float64 `json:"total,omitempty"`
	// X and the fields after it hold the rows in use. Held and Fresh are the places of the records in X.
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	Held  []int32   `json:"held"`
	Fresh []int32   `json:"fresh"`
}

// event returns the plan's event, or the zero value for a plan without noise.
func (p *Plan) event() account.StreamEvent {
	e, _ := p.Events()[0].(account.StreamEvent)
	return e
}

// Position returns what the ledger keeps about a stream (ledger.RunLock): the number of releases, and a hash of
// the iterate and the average that the last release published.
func (s *StreamState) Position() ledger.StreamPosition {
	return streamPosition(s.Updates, s.Released, s.Played)
}

// Position returns the position of the saved state.
func (o *Online) Position() ledger.StreamPosition {
	return streamPosition(o.updates, o.released, o.played)
}

func streamPosition(releases int, released, played []float64) ledger.StreamPosition {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, released) // a hash takes everything
	_ = binary.Write(h, binary.LittleEndian, played)
	return ledger.StreamPosition{Releases: releases, Digest: hex.EncodeToString(h.Sum(nil))}
}

// Start returns the state before the first record. It is saved before the charge, so that a crash right after
// the charge does not lose the run.
func (p *Plan) Start(run string) *StreamState {
	return &StreamState{
		Format: streamFormat, Algorithm: p.Algorithm, Reading: p.Reading().String(),
		Event: p.event(), Options: p.Spec.StreamOptions,
		Objective: p.objective(), Run: run,
	}
}

// Save writes the state with a checksum.
func (s *StreamState) Save(w io.Writer) error { return writeSealed(w, s) }

// Save writes the state of the stream. A stream that is resumed from the state makes the same updates as this
// stream would make, with fresh noise for the later releases.
func (o *Online) Save(w io.Writer) error {
	if o.failed != nil {
		return o.failed
	}
	s := o.plan.Start(o.Run)
	s.Schema, s.Session, s.Count, s.Updates = o.Schema, o.Session, o.count, o.updates
	s.Released, s.Played = o.released, o.played
	s.W, s.Centre, s.Held, s.Fresh = o.w, o.centre, o.held, o.fresh
	if o.prefix != nil {
		s.Gradients, s.Noisy, s.Total = o.prefix.gradients.Memory, o.prefix.noisy.Memory, o.prefix.total
	}
	d := len(o.x) / o.rows
	for _, rows := range [][]int32{o.held, o.fresh} {
		for _, r := range rows {
			s.X = append(s.X, o.x[int(r)*d:(int(r)+1)*d]...)
			s.Y = append(s.Y, o.y[r])
		}
	}
	return s.Save(w)
}

// ReadStreamState reads the output of Save. It returns an error if the state was changed after Save wrote it.
func ReadStreamState(r io.Reader) (*StreamState, error) {
	s := &StreamState{}
	if err := readSealed(r, s); err != nil {
		return nil, fmt.Errorf("algorithms: the state of the stream cannot be read: %w", err)
	}
	if s.Format != streamFormat {
		return nil, fmt.Errorf("algorithms: the state of the stream has format %q, but this program reads %q",
			s.Format, streamFormat)
	}
	return s, nil
}

// ResumeStream continues a saved stream of the same plan. The session must allow exactly the remaining releases
// (ledger.RunLock.Resume).
func ResumeStream(p *Plan, s privacy.Session, state *StreamState) (*Online, error) {
	refuse := func(what string) error {
		return fmt.Errorf("algorithms: the saved state belongs to another stream: %s; use the options with which the stream "+
			"was started", what)
	}
	spec := p.Spec
	switch {
	case state.Algorithm != p.Algorithm || state.Reading != p.Reading().String():
		return nil, refuse("another algorithm")
	case state.Options != spec.StreamOptions:
		return nil, refuse("another horizon, batch, buffer or burn-in")
	case state.Objective != p.objective():
		return nil, refuse("another loss, alpha or domain")
	case p.event() != state.Event:
		return nil, refuse("another noise or sensitivity")
	}
	if state.Count == 0 {
		o, err := NewStream(p, s)
		if err != nil {
			return nil, err
		}
		o.Run, o.Session = state.Run, state.Session
		return o, nil
	}
	o := newOnline(p, s)
	o.Run, o.Session, o.count, o.updates = state.Run, state.Session, state.Count, state.Updates
	d := len(o.x) / o.rows
	rows := slices.Concat(state.Held, state.Fresh)
	finite := func(v []float64) bool { // and small enough that sums of fewer than 2^53 such numbers are finite
		return !slices.ContainsFunc(v, func(f float64) bool { return !(math.Abs(f) < 1e290) })
	}
	fresh, updates := 0, 0
	if active := state.Count - spec.BurnIn; active > 0 {
		fresh, updates = active%spec.Batch, active/spec.Batch
	}
	prefix := 0
	if o.prefix != nil {
		prefix = len(o.prefix.gradients.Memory)
	}
	if len(state.W) != len(o.w) || len(state.Released) != len(o.w) || len(state.Played) != len(o.w) ||
		len(state.Gradients) != prefix || len(state.Noisy) != prefix || prefix > 0 && len(state.Total) != len(o.w) ||
		prefix == 0 && len(state.Total) > 0 ||
		len(state.Centre) != p.stream().centre ||
		!finite(state.W) || !finite(state.Centre) || !finite(state.Released) || !finite(state.Played) ||
		!finite(state.Gradients) || !finite(state.Noisy) || !finite(state.Total) || !finite(state.X) || !finite(state.Y) ||
		state.Count < 0 || state.Count > spec.Horizon || state.Updates != updates || len(state.Fresh) != fresh ||
		!spec.PerClass && len(state.Held) != min(state.Count-fresh, o.cap) ||
		len(state.Held) > min(state.Count-fresh, o.cap) ||
		len(state.Held) == 0 && state.Count > fresh || len(state.X) != len(rows)*d || len(state.Y) != len(rows) {
		return nil, errors.New("algorithms: the saved state is damaged: its numbers do not fit the plan, or one is " +
			"not finite")
	}
	used := make([]bool, o.rows)
	for i, r := range rows {
		place := int(r)
		if o.ring() {
			// a record in any other place would be overwritten while it is in the buffer
			place = (state.Count - len(rows) + i) % o.rows
		}
		if r < 0 || int(r) >= o.rows || used[r] || int(r) != place {
			return nil, errors.New("algorithms: the saved state is damaged: the buffer has wrong rows")
		}
		used[r] = true
		copy(o.x[int(r)*d:], state.X[i*d:(i+1)*d])
		o.y[r] = state.Y[i]
	}
	positive := 0
	for _, r := range state.Held {
		if o.y[r] > 0 {
			positive++
		}
	}
	if spec.PerClass && max(positive, len(state.Held)-positive) > o.cap/2 {
		return nil, errors.New("algorithms: the saved state is damaged; a class fills more than half of the buffer")
	}
	copy(o.w, state.W)
	copy(o.released, state.Released)
	copy(o.played, state.Played)
	if o.prefix != nil {
		copy(o.prefix.gradients.Memory, state.Gradients)
		copy(o.prefix.noisy.Memory, state.Noisy)
		copy(o.prefix.total, state.Total)
	}
	o.centre, o.held, o.fresh = slices.Clone(state.Centre), slices.Clone(state.Held), slices.Clone(state.Fresh)
	return o, nil
}
