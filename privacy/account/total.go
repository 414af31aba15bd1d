package account

import "fmt"

// Total is the accountant of plans and ledgers: GDP, and where batches were drawn in
// secret PLD as well, whichever answer is smaller. Both are bounds for everything
// composed.
//
// GDP counts a release about a batch as if the batch were known. It may: given the
// coins, which are the same for two neighbours, it is a Gaussian release whose query
// moves by at most its sensitivity (on Poisson batches twice that for every record of
// the owner), or does not move. PLD counts the release with its
// amplification, and everything else by a Gaussian release of the same mu (a mu-GDP
// release is dominated by one: Dong, Roth and Su 2022, Corollary 2.13 and Theorem 2.10).
//
// The zero value has composed nothing. Not safe for concurrent use.
type Total struct {
	gdp     GDP
	pld     PLD
	sampled bool
}

var _ Accountant = (*Total)(nil)

// Compose adds the event. It knows every event that a ledger records.
func (a *Total) Compose(e Event) error {
	next := a.gdp
	known, err := mapLeaves(e, knownBatch)
	if err == nil {
		err = next.Compose(known)
	}
	if err != nil {
		return err
	}
	if err := a.pld.composeByGDP(e); err != nil {
		return err
	}
	a.gdp = next
	a.sampled = a.sampled || samples(e)
	return nil
}

// Mu is a mu such that everything composed is mu-GDP, rounded up. If Sampled, it holds
// even for batches that become known, and Epsilon and Delta are better.
func (a *Total) Mu() float64 { return a.gdp.Mu() }

// Sampled says that a release about a secret batch was composed.
func (a *Total) Sampled() bool { return a.sampled }

// Epsilon implements Accountant.
func (a *Total) Epsilon(delta float64) float64 {
	if !a.sampled {
		return a.gdp.Epsilon(delta)
	}
	return min(a.gdp.Epsilon(delta), a.pld.Epsilon(delta))
}

// Delta implements Accountant.
func (a *Total) Delta(epsilon float64) float64 {
	if !a.sampled {
		return a.gdp.Delta(epsilon)
	}
	return min(a.gdp.Delta(epsilon), a.pld.Delta(epsilon))
}

// samples says that e has a release about a secret batch.
func samples(e Event) bool {
	switch e := e.(type) {
	case WithoutReplacementEvent, PoissonEvent:
		return true
	case ComposedEvent:
		for _, part := range e.Events {
			if samples(part) {
				return true
			}
		}
	case ParallelEvent:
		for _, part := range e.Parts {
			if samples(part) {
				return true
			}
		}
	}
	return false
}

// mapLeaves replaces every event of e that is neither composed nor parallel.
func mapLeaves(e Event, f func(Event) (Event, error)) (Event, error) {
	all := func(parts []Event) ([]Event, error) {
		out := make([]Event, len(parts))
		for i, part := range parts {
			var err error
			if out[i], err = mapLeaves(part, f); err != nil {
				return nil, fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
			}
		}
		return out, nil
	}
	switch e := e.(type) {
	case ComposedEvent:
		parts, err := all(e.Events)
		return ComposedEvent{Events: parts}, err
	case ParallelEvent:
		parts, err := all(e.Parts)
		return ParallelEvent{Parts: parts}, err
	}
	return f(e)
}

// knownBatch is e without amplification. On Poisson batches every record of the owner
// counts as sampled.
func knownBatch(e Event) (Event, error) {
	var law NoiseLaw
	var sensitivity, scale float64
	var count int
	switch e := e.(type) {
	case WithoutReplacementEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		law, sensitivity, scale, count = e.Law, e.Sensitivity, e.Scale, e.Count
	case PoissonEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		if e.Relation != ReplaceOne {
			return nil, fmt.Errorf("%w: %v counts neighbours that GDP does not", ErrUnsupported, e)
		}
		law, sensitivity, scale, count = e.Law, e.KnownSensitivity(), e.Scale, e.Count
	default:
		return e, nil
	}
	if law == LaplaceLaw {
		return LaplaceEvent{Sensitivity: sensitivity, Scale: scale, Count: count}, nil
	}
	return GaussianEvent{Sensitivity: sensitivity, Sigma: scale, Count: count}, nil
}

// composeByGDP composes e, with events that PLD does not know counted by their mu or
// their pure epsilon.
func (a *PLD) composeByGDP(e Event) error {
	switch e := e.(type) {
	case ComposedEvent:
		next := *a
		next.releases = append([]countedLaw(nil), a.releases...)
		next.index = make(map[Event]int, len(a.index))
		for k, v := range a.index {
			next.index[k] = v
		}
		for i, part := range e.Events {
			if err := next.composeByGDP(part); err != nil {
				return fmt.Errorf("part %d of %d: %w", i+1, len(e.Events), err)
			}
		}
		*a = next
		return nil
	case StreamEvent, PureStreamEvent, ConvergentEvent, ParallelEvent:
		known, err := mapLeaves(e, knownBatch)
		if err != nil {
			return err
		}
		var g GDP
		if err := g.Compose(known); err != nil {
			return err
		}
		switch mu := g.Mu(); {
		case mu == 0:
			return nil
		case !(mu < maxMu):
			return a.Compose(NonPrivateEvent{})
		case g.rest == 0:
			return a.Compose(PureEvent{Epsilon: g.pure.value(), Count: 1})
		default:
			return a.Compose(GaussianEvent{Sensitivity: mu, Sigma: 1, Count: 1})
		}
	}
	return a.Compose(e)
}

// maxMu is more than any guarantee is worth.
const maxMu = 1e6
