package attack

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
	record := &Recorder{Session: session}
	want, err := feed(start, data, record)
	if err != nil {
		return 0, err
	}
	if len(record.Calls) == 0 {
		return 0, violation("the stream asked for nothing")
	}
	largest := 0.0
	for i, neighbour := range neighbours {
		again := &Recorder{Session: session, Of: record}
		got, err := feed(start, neighbour, again)
		if moved := compare(again, true); moved.joint > 0 {
			largest = max(largest, math.Sqrt(moved.square)/moved.joint)
		}
		if err := again.Outcome(err); err != nil {
			return largest, fmt.Errorf("neighbour %d: %w", i, err)
		}
		for t := range want {
			if !SameBits(got[t], want[t]) {
				return largest, fmt.Errorf("neighbour %d: %w", i, violation("what is returned after record %d depends on an unreleased value", t+1))
			}
		}
	}
	return largest, nil
}

// feed returns what each step returns.
func feed(start func(privacy.Session) (Stepper, error), data *engine.Records, r *Recorder) ([][]float64, error) {
	s, err := start(r)
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
