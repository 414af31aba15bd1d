package audit

import (
	"context"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/privacy"
)

// Observation is one run of an algorithm.
type Observation struct {
	// Releases are the releases of the run. Each has the exact vector, which only an audit sees, the released vector,
	// and the claimed noise.
	Releases []attack.Call
	// Weights is the result of the algorithm.
	Weights []float64
	// In white-box runs, moves holds how far each released vector moves on the neighbour. runsMove holds how far the runs
	// of selections move (selectionMove).
	moves    []attack.Move
	runsMove float64
	// LogRatio is the logarithm of the density of the releases on the neighbour divided by their density on the
	// data, under the claimed noise. It is set only in white-box runs.
	LogRatio float64
	// gap and noise are sums over the releases of a white-box run. gap adds the distances of the exact vectors
	// of the two data sets, and noise adds the sizes of the noise. Both use the norm and scale of gammaParts.
	gap, noise float64
}

// flat returns all released coordinates in order.
func (o Observation) flat() []float64 {
	var v []float64
	for _, r := range o.Releases {
		v = append(v, r.After...)
	}
	return v
}

// spy is an algorithm whose releases are recorded in runs through algorithms.Run.
type spy struct {
	algorithms.Algorithm
	seen *attack.Recorder
}

func (s spy) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, session privacy.Session,
	t algorithms.Tracker) ([]float64, error) {
	s.seen.Session = session
	return s.Algorithm.Train(ctx, ev, p, s.seen, t)
}

// lookup is an evaluator that remembers the gradients of the last run. With equal coins, an algorithm asks
// for the same gradients in every run until the first release that differs. Sum has the same bits for the
// same records and query, so a run with a lookup has the same bits as a run without a lookup. Moments are
// fast to compute and are computed anew.
type lookup struct {
	engine.Evaluator
	known []gradient
	next  int
}

type gradient struct {
	q   engine.Query
	sum []float64
}

// rewind starts a new run.
func (l *lookup) rewind() { l.next = 0 }

// Held implements engine.Holder for kernels that hold records.
func (l *lookup) Held() *engine.Records { return l.Evaluator.(engine.Holder).Held() }

func (l *lookup) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if q.Pairs == nil {
		return l.Evaluator.Sum(ctx, dst, q)
	}
	i := l.next
	l.next++
	if i < len(l.known) && sameGradient(l.known[i].q, q) {
		copy(dst, l.known[i].sum)
		return ctx.Err()
	}
	if err := l.Evaluator.Sum(ctx, dst, q); err != nil {
		return err
	}
	q.W, q.Centre = slices.Clone(q.W), slices.Clone(q.Centre)
	l.known = append(l.known[:min(i, len(l.known))], gradient{q, slices.Clone(dst)})
	return nil
}

func sameGradient(a, b engine.Query) bool {
	return attack.SameBits(a.W, b.W) && attack.SameBits(a.Centre, b.Centre) && a.Radius == b.Radius &&
		samePairs(a.Pairs, b.Pairs)
}

func samePairs(a, b engine.Pairs) bool {
	switch a := a.(type) {
	case engine.AllPairs:
		return a == b
	case engine.PrefixPairs:
		b, ok := b.(engine.PrefixPairs)
		if !ok || a.T != b.T || (a.Order == nil) != (b.Order == nil) {
			return false
		}
		return a.Order == nil || slices.Equal(a.Order[:a.T+1], b.Order[:b.T+1])
	}
	return false
}
