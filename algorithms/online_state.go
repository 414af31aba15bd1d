package algorithms

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"dyad/privacy"
)

// streamFormat is the version of a saved state.
const streamFormat = "dyad-stream/2"

// StreamState is the saved state of a stream. It holds the records of the buffer
// and of the unfinished batch, and with a secret state the noiseless iterate: keep
// it as private as the records. It holds no noise, and no key of any.
type StreamState struct {
	Format    string `json:"format"`
	Algorithm string `json:"algorithm"`
	Reading   string `json:"reading"`
	// Event, with all the numbers of the plan, must be that of the plan that
	// resumes it.
	Event   privacy.StreamEvent `json:"event"`
	Options StreamOptions       `json:"options"`
	Run     string              `json:"run,omitempty"`
	// Session is the number of times that the run was resumed, the attempt that
	// wrote the state included (privacy.Ledger.ResumeStream).
	Session int       `json:"session"`
	Count   int       `json:"records"`
	Updates int       `json:"releases"`
	W       []float64 `json:"w"`
	Centre  []float64 `json:"centre,omitempty"`
	// Released is the last release, nil before the first: what a crash may have
	// kept from its reader can be shown again, with the same bits.
	Released []float64 `json:"released,omitempty"`
	// Records are the rows that are in use, Held and Fresh their places in X.
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	Held  []int32   `json:"held"`
	Fresh []int32   `json:"fresh"`
}

// Start is the state before the first record. Saved before the charge, it keeps a
// crash between the two from losing the run.
func (p *StreamPlan) Start(run string) (*StreamState, error) {
	event, ok := p.Events[0].(privacy.StreamEvent)
	if !ok {
		return nil, errors.New("algorithms: a plan without a stream event cannot be saved")
	}
	return &StreamState{
		Format: streamFormat, Algorithm: p.Algorithm, Reading: p.Reading.String(),
		Event: event, Options: p.Spec.StreamOptions, Run: run,
	}, nil
}

// Save writes a state, with a check sum.
func (s *StreamState) Save(w io.Writer) error { return writeSealed(w, s) }

// Save writes the state. Resuming from it makes the same updates as going on, but
// with fresh noise for the releases after it.
func (o *Online) Save(w io.Writer) error {
	if o.failed != nil {
		return o.failed
	}
	s, err := o.plan.Start(o.Run)
	if err != nil {
		return err
	}
	s.Session, s.Count, s.Updates, s.Released = o.Session, o.count, o.updates, o.released
	s.W, s.Centre, s.Held, s.Fresh = o.w, o.centre, o.held, o.fresh
	d := len(o.x) / o.rows
	for _, rows := range [][]int32{o.held, o.fresh} {
		for _, r := range rows {
			s.X = append(s.X, o.x[int(r)*d:(int(r)+1)*d]...)
			s.Y = append(s.Y, o.y[r])
		}
	}
	return s.Save(w)
}

// ReadStreamState reads what Save wrote. It refuses a state that is not
// as it was written.
func ReadStreamState(r io.Reader) (*StreamState, error) {
	s := &StreamState{}
	if err := readSealed(r, s); err != nil {
		return nil, fmt.Errorf("algorithms: the state of the stream cannot be read: %w", err)
	}
	if s.Format != streamFormat {
		return nil, fmt.Errorf("algorithms: the state of the stream has format %q, this program reads %q", s.Format, streamFormat)
	}
	return s, nil
}

// ResumeStream continues a saved stream of the same plan. The session must allow
// the releases that are left and no others (privacy.Ledger.ResumeStream).
func ResumeStream(p *StreamPlan, s privacy.Session, state *StreamState) (*Online, error) {
	refuse := func(what string) error {
		return fmt.Errorf("algorithms: the saved state is of another stream: %s; use the options of its start", what)
	}
	spec := p.Spec
	switch {
	case state.Algorithm != p.Algorithm || state.Reading != p.Reading.String():
		return nil, refuse("another algorithm")
	case state.Options != spec.StreamOptions:
		return nil, refuse("another horizon, batch, buffer or burn-in")
	case len(p.Events) != 1 || p.Events[0] != privacy.Event(state.Event):
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
	finite := func(v []float64) bool {
		return !slices.ContainsFunc(v, func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
	}
	fresh, updates := 0, 0
	if active := state.Count - spec.BurnIn; active > 0 {
		fresh, updates = active%spec.Batch, active/spec.Batch
	}
	if len(state.W) != len(o.w) || p.centred != (len(state.Centre) > 0) || p.centred && len(state.Centre) != len(o.w) ||
		(len(state.Released) > 0) != (state.Updates > 0) || len(state.Released) > 0 && len(state.Released) != len(o.w) ||
		!finite(state.W) || !finite(state.Released) || !finite(state.Centre) || !finite(state.X) || !finite(state.Y) ||
		state.Count < 0 || state.Count > spec.Horizon || state.Updates != updates || len(state.Fresh) != fresh ||
		len(state.Held) != min(state.Count-fresh, o.cap) || len(state.X) != len(rows)*d || len(state.Y) != len(rows) {
		return nil, errors.New("algorithms: the saved state is damaged: its sizes do not fit its own numbers")
	}
	used := make([]bool, o.rows)
	for i, r := range rows {
		if r < 0 || int(r) >= o.rows || used[r] {
			return nil, errors.New("algorithms: the saved state is damaged: its rows are not those of a buffer")
		}
		used[r] = true
		copy(o.x[int(r)*d:], state.X[i*d:(i+1)*d])
		o.y[r] = state.Y[i]
	}
	copy(o.w, state.W)
	o.released = slices.Clone(state.Released)
	if p.centred {
		o.centre = slices.Clone(state.Centre)
	}
	o.held, o.fresh = slices.Clone(state.Held), slices.Clone(state.Fresh)
	return o, nil
}
