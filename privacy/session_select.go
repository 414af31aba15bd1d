package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/sampler"
)

// choiceSteps defines the unit 1/choiceSteps of the epsilon of a choice. If epsilon is a multiple of this
// unit, the probabilities of Choose equal the probabilities of the theorem, to the last digit.
const choiceSteps = 1 << 20

// ChoiceEpsilon returns the largest value, at most epsilon, that the epsilon of a choice can have. It
// returns 0 if there is no such value.
func ChoiceEpsilon(epsilon float64) float64 {
	return math.Floor(min(epsilon, 1<<20)*choiceSteps) / choiceSteps
}

// Choose implements Session. If the plan contains a BoundedRangeEvent for the choice, Choose uses the
// exponential mechanism (docs/theory.md#bounded-range). Otherwise it uses permute-and-flip
// (docs/theory.md#choice).
func (s *LiveSession) Choose(scores []int64, c Certificate, epsilon float64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sensitivity := math.Ceil(c.Sensitivity())
	switch {
	case len(scores) == 0:
		return 0, errors.New("privacy: a choice has no candidates")
	case !(epsilon > 0) || ChoiceEpsilon(epsilon) != epsilon:
		return 0, fmt.Errorf("privacy: the epsilon of a choice is %v, but must be a positive result of ChoiceEpsilon",
			epsilon)
	case !(sensitivity >= 1 && sensitivity < 1<<40):
		return 0, fmt.Errorf("privacy: the scores of a choice have sensitivity %v, but must have 1 to 2^40", sensitivity)
	}
	for _, q := range scores {
		if q > 1<<61 || q < -1<<61 {
			return 0, errors.New("privacy: a score of a choice is not from -2^61 to 2^61")
		}
	}
	if err := s.open(); err != nil {
		return 0, err
	}
	draw := sampler.Exponential
	if s.plan.use(account.BoundedRangeEvent{Epsilon: epsilon}) != nil {
		if err := s.plan.use(account.PureEvent{Epsilon: epsilon}); err != nil {
			return 0, err
		}
		draw = sampler.PermuteAndFlip
	}
	return draw(scores, uint64(epsilon*choiceSteps), 2*uint64(sensitivity)*choiceSteps, s.src.Bits), nil
}

// Selection describes the release of the best of k runs, where k is drawn at random and secret.
type Selection struct {
	Event account.RandomStoppingEvent // Event is the planned event.
	// Candidates[i] holds the events of a run of candidate i. Together they must be mu-GDP with mu = Event.Mu.
	Candidates [][]account.Event
}

// validate returns an error unless every candidate is mu-GDP for the mu of the event.
func (x Selection) validate() error {
	if len(x.Candidates) == 0 {
		return errors.New("privacy: a selection has no candidates")
	}
	for i, events := range x.Candidates {
		var total account.Total
		for _, e := range events {
			if err := total.Compose(e); err != nil {
				return err
			}
		}
		if mu := total.Mu(); !(mu <= x.Event.Mu) {
			return fmt.Errorf("%w: candidate %d of a selection has mu = %v, which exceeds the planned mu = %v",
				ErrUnplanned, i+1, mu, x.Event.Mu)
		}
	}
	return nil
}

// Best implements Session. It draws a secret number k, makes all Event.Runs runs, and returns the best of
// the first k runs. So the running time does not reveal k.
func (s *LiveSession) Best(x Selection, run func(candidate int, s Session) ([]float64, error)) (int, []float64, error) {
	if err := x.validate(); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	err := s.open()
	if err == nil {
		err = s.plan.use(x.Event)
	}
	s.mu.Unlock()
	if err != nil {
		return 0, nil, err
	}
	count := 1 + int(s.src.Uint64n(uint64(x.Event.Runs)))
	best := outcome{err: errors.New("privacy: a selection has no runs")}
	for i := range x.Event.Runs {
		candidate := int(s.src.Uint64n(uint64(len(x.Candidates))))
		one, err := s.run(x.Candidates[candidate], candidate, run)
		if err != nil {
			return 0, nil, err
		}
		if i < count && (i == 0 || one.above(best)) {
			best = one
		}
	}
	return best.candidate, best.released, best.err
}

// outcome is the result of a run. A run that failed because of its own releases ranks below all other runs.
type outcome struct {
	candidate int
	released  []float64
	err       error
}

func (o outcome) above(p outcome) bool {
	switch {
	case o.err != nil:
		return false
	case p.err != nil:
		return true
	}
	return o.released[0] > p.released[0]
}

// run makes one run. Its error concerns the plan or an interrupt and does not depend on the records.
func (s *LiveSession) run(events []account.Event, candidate int,
	run func(int, Session) ([]float64, error)) (outcome, error) {
	plan, err := newReleasePlan(events)
	if err != nil {
		return outcome{}, err
	}
	one := &LiveSession{src: s.src, plan: plan}
	defer one.Close()
	released, err := run(candidate, one)
	if err != nil && !errors.Is(err, ErrFailedRun) {
		return outcome{}, err
	}
	if err == nil && (len(released) == 0 || math.IsNaN(released[0])) {
		err = fmt.Errorf("%w: it has no score", ErrFailedRun)
	}
	return outcome{candidate, released, err}, nil
}

// ErrFailedRun is wrapped by the error of a run of a selection that failed because of its releases, for
// example because a model left the range of float64. Such a run ranks below all other runs. It does not end
// the selection, because the end of a selection must not depend on runs that do not count.
var ErrFailedRun = errors.New("privacy: a released value made the run fail; for example, the model is not finite")
