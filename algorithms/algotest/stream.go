package algotest

import (
	"context"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
)

// Stepper is what ReplayStream attacks: an algorithms.Online, or one with a defect.
type Stepper interface {
	Step(ctx context.Context, x []float64, y float64) ([]float64, error)
}

// streamTape is a tape that adds up the squared moves of all releases.
type streamTape struct {
	*tape
	square, bound float64
}

// Release implements privacy.Session.
func (t *streamTape) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	exact := append([]float64(nil), x...)
	err := t.tape.Release(x, c, m)
	if !t.replay || err != nil || t.next == 0 {
		return err
	}
	before := t.calls[t.next-1].before
	for k := range before {
		t.square += (exact[k] - before[k]) * (exact[k] - before[k])
	}
	t.bound = c.Sensitivity()
	if moved := math.Sqrt(t.square); !(moved <= t.bound) {
		t.fail("all releases up to %d together: moved %.6g, certified %.6g", t.next, moved, t.bound)
	}
	return nil
}

// ReplayStream feeds data, in their order, to a stream and replays it on every
// neighbour, each of the same shape and bounds. It returns a Violation if the
// releases together move by more than the joint certificate, or if a step returns
// anything that does not follow from releases; and the largest joint ratio
// moved/certified seen.
func ReplayStream(p *algorithms.Plan, start func(privacy.Session) (Stepper, error), data *engine.Records, neighbours []*engine.Records, seed uint64) (float64, error) {
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(seed), p.Events())
	if err != nil {
		return 0, err
	}
	record := &streamTape{tape: &tape{session: session}}
	want, err := feed(start, data, record)
	if err != nil {
		return 0, err
	}
	if len(record.calls) == 0 {
		return 0, violation("the stream asked for nothing")
	}
	largest := 0.0
	for i, neighbour := range neighbours {
		replay := &streamTape{tape: &tape{session: session, calls: record.calls, replay: true}}
		got, err := feed(start, neighbour, replay)
		if replay.bound > 0 {
			largest = max(largest, math.Sqrt(replay.square)/replay.bound)
		}
		switch {
		case replay.err != nil:
			return largest, fmt.Errorf("neighbour %d: %w", i, replay.err)
		case err != nil:
			return largest, err
		case replay.next != len(record.calls):
			return largest, fmt.Errorf("neighbour %d: %w", i, violation("the stream stops after %d of %d calls", replay.next, len(record.calls)))
		}
		for t := range want {
			if !sameBits(got[t], want[t]) {
				return largest, fmt.Errorf("neighbour %d: %w", i, violation("what is returned after record %d depends on an unreleased value", t+1))
			}
		}
	}
	return largest, nil
}

// feed returns what each step returns.
func feed(start func(privacy.Session) (Stepper, error), data *engine.Records, t *streamTape) ([][]float64, error) {
	s, err := start(t)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, data.Len())
	x := make([]float64, data.Dim())
	for i := range out {
		data.Row(i, x)
		if out[i], err = s.Step(context.Background(), x, data.Label(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
