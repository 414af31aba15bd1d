package attack

import (
	"context"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
)

// Stepper is a stream that ReplayStream attacks: an algorithms.Online, or a version with a defect.
type Stepper interface {
	Step(ctx context.Context, x []float64, y float64) ([]float64, error)
}

// ReplayStream feeds the records of data to a stream, one by one. It replays the stream on every neighbour,
// which must have the same shape and bounds. ReplayStream returns the largest joint ratio moved/certified. It
// returns a Violation if all releases together move by more than the joint certificate, or if the result of a
// step depends on an unreleased value.
func ReplayStream(p *algorithms.Plan, start func(privacy.Session) (Stepper, error), data *engine.Records,
	neighbours []*engine.Records, seed uint64) (float64, error) {
	return replayAll(p, true, data, neighbours, seed, func(data *engine.Records, r *Recorder) (all []float64, err error) {
		s, err := start(r)
		if err != nil {
			return nil, err
		}
		x := make([]float64, data.Dim())
		for i := range data.Len() {
			data.Row(i, x)
			out, err := s.Step(context.Background(), x, data.Label(i))
			if err != nil {
				return nil, err
			}
			all = append(append(all, float64(len(out))), out...)
		}
		return all, nil
	})
}
