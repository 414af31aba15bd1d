package search

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/internal/memo"
	"dyad/privacy"
	"dyad/privacy/account"
)

// cheapest plans both roads and returns the plan with the larger product of two numbers: the mu of a
// training, and the probability that a given setting is tried. The probability is 1 for Compose and smaller
// for RandomStopping.
func (p *Plan) cheapest() (*Plan, error) {
	compose, stopping := *p, *p
	compose.Options.Road, stopping.Options.Road = Compose, RandomStopping
	composed := compose.planCompose()
	if composed != nil && (p.Options.Budget.Delta == 0 || !errors.Is(composed, errJoint)) {
		return nil, composed
	}
	if p.Options.Budget.Delta == 0 {
		compose.Reason = "delta is 0, but random stopping needs a positive delta"
		return &compose, nil
	}
	switch err := stopping.planStopping(); {
	case composed == nil && errors.Is(err, errHidden):
		compose.Reason = err.Error()
		return &compose, nil
	case err != nil:
		return nil, err
	case composed != nil:
		stopping.Reason = composed.Error()
		return &stopping, nil
	}
	a, b, tried := compose.trainingMu(), stopping.trainingMu(), stopping.tried()
	comparison := fmt.Sprintf("%s gives each of the %d trainings the budget mu = %.4g; %s gives a run mu = %.4g, "+
		"but tries a given setting only with probability %.2g", Compose, len(p.Options.Settings), a, RandomStopping, b, tried)
	chosen := &compose
	if b*tried > a {
		chosen = &stopping
	}
	chosen.Reason = comparison + "; auto takes the larger product of mu and probability"
	return chosen, nil
}

// trainingMu returns the smallest mu of a training.
func (p *Plan) trainingMu() float64 {
	least := math.Inf(1)
	for _, t := range p.Trainings {
		least = min(least, muOf(t.Events()...))
	}
	return least
}

// tried returns the probability that random stopping tries a given setting, 1 - E (1 - 1/k)^K.
func (p *Plan) tried() float64 {
	missed, power := 0.0, 1.0
	for range p.Options.Runs {
		power *= 1 - 1/float64(len(p.Options.Settings))
		missed += power
	}
	return 1 - missed/float64(p.Options.Runs)
}

// muOf returns the mu of the composed events, or +Inf if they have no mu.
func muOf(events ...account.Event) float64 {
	var total account.Total
	for _, e := range events {
		if total.Compose(e) != nil {
			return math.Inf(1)
		}
	}
	return total.Mu()
}

// within reports whether the composed events stay within the budget.
func within(b privacy.Budget, events []account.Event) bool {
	var total account.Total
	for _, e := range events {
		if total.Compose(e) != nil {
			return false
		}
	}
	return total.Epsilon(b.Delta) <= b.Epsilon
}

// trainings plans all settings for a budget.
func (p *Plan) trainings(b privacy.Budget) error {
	p.Trainings, p.Alone = nil, b
	for _, s := range p.Options.Settings {
		t, err := s.Plan(b)
		if err != nil {
			return fmt.Errorf("setting %s: %w", s.Name, err)
		}
		p.Trainings = append(p.Trainings, t)
	}
	return nil
}

// planChoice plans an epsilon-DP choice.
func (p *Plan) planChoice(epsilon float64) error {
	if p.choice = privacy.ChoiceEpsilon(epsilon); !(p.choice > 0) {
		return algorithms.Refused("search", ": the choice gets epsilon %v, which is below 2^-20; give a larger "+
			"epsilon", epsilon)
	}
	p.Releases = algorithms.Releases{{Name: "choice", Coordinates: 1, Certificate: p.rank,
		Cost: account.PureEvent{Epsilon: p.choice}}}
	return nil
}

// choiceNoise returns the epsilon of a choice whose scores have errors of about scoreNoise. A score is a rank
// sum, which is 2 n+ n- times the AUC, and its noise has the scale 2 (2 (n-1))/epsilon.
func choiceNoise(n int) float64 { return 8 / (scoreNoise * float64(n)) }

// planCompose plans all trainings and a choice.
func (p *Plan) planCompose() error {
	b, k := p.Options.Budget, len(p.Options.Settings)
	epsilon, mu := clampShare(choiceNoise(p.Options.Records), b.Epsilon, false), 0.0
	if b.Delta > 0 {
		mu = account.GDPMu(b.Epsilon, b.Delta)
		epsilon = pureOf(clampShare(account.PureGDPMu(choiceNoise(p.Options.Records)), mu, true))
	}
	if err := p.planChoice(epsilon); err != nil {
		return err
	}
	choice := p.Releases
	one := privacy.Budget{Epsilon: (b.Epsilon - p.choice) / float64(k), Delta: b.Delta}
	if b.Delta > 0 {
		mu = largest(mu, func(mu float64) bool {
			return within(b, append(choice.Events(), account.Repeat(account.GaussianEvent{Sensitivity: mu, Sigma: 1}, k)))
		})
		one.Epsilon = account.GDPEpsilon(mu, b.Delta)
	}
	for less := 1e-9; less < 0.5; less *= 2 { // because of rounding, and of trainings that are not Gaussian
		if err := p.trainings(privacy.Budget{Epsilon: one.Epsilon * (1 - less), Delta: b.Delta}); err != nil {
			return err
		}
		p.Releases = slices.Clip(choice)
		for i, t := range p.Trainings {
			p.Releases = append(p.Releases, t.Releases.Of("training of "+p.Options.Settings[i].Name)...)
		}
		if within(b, p.Releases.Events()) {
			return p.distinct()
		}
	}
	return algorithms.Refused("search", ": all trainings together cost more than epsilon %g; choose algorithms "+
		"with Gaussian noise", b.Epsilon)
}

// errJoint is the error of composing trainings with releases that a session cannot distinguish.
var errJoint = errors.New("two settings with hidden steps have equal noise and cannot be told apart; change an " +
	"option of one setting")

// distinct returns an error for events that one session cannot carry out together.
func (p *Plan) distinct() error {
	joint := map[account.Event]bool{}
	for _, e := range p.Releases.Events() {
		err := account.Releases(e, func(r account.Release) error {
			if r.Joint && joint[r.Event] {
				return errJoint
			}
			joint[r.Event] = r.Joint
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// largest returns the largest number up to most for which good is true. good must be true for all smaller
// numbers. largest returns 0 if it finds none.
func largest(most float64, good func(float64) bool) float64 {
	low, high := 0.0, most
	for range 28 { // to a precision of 4e-9 of most
		if mid := (low + high) / 2; good(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// pureOf returns the largest epsilon with PureGDPMu(epsilon) <= mu.
func pureOf(mu float64) float64 {
	return largest(mu*2+mu*mu, func(epsilon float64) bool { return account.PureGDPMu(epsilon) <= mu })
}

// errHidden is the error of random stopping with an algorithm that draws batches in secret.
var errHidden = errors.New("random stopping does not support algorithms that draw secret batches")

type stoppingQuestion struct {
	b    privacy.Budget
	runs int
}

// stoppingMus caches the results of stoppingMu.
var stoppingMus memo.Answers[stoppingQuestion, float64]

// stoppingMu returns the largest mu of a run with which random stopping meets the budget. It returns 0 if there
// is none.
func stoppingMu(b privacy.Budget, runs int) float64 {
	whole, _ := stoppingMus.Get(stoppingQuestion{b, runs}, func() (float64, error) { // the function never returns an error
		return largest(account.GDPMu(b.Epsilon, b.Delta), func(mu float64) bool {
			return within(b, []account.Event{account.RandomStoppingEvent{Mu: mu, Runs: runs}})
		}), nil
	})
	return whole
}

// planStopping plans runs of random settings. The best of a secret number of runs is released.
func (p *Plan) planStopping() error {
	b := p.Options.Budget
	if p.Options.Runs == 0 {
		p.Options.Runs = min(max(runsPerSetting*len(p.Options.Settings), fewestRuns), mostRuns)
	}
	whole := stoppingMu(b, p.Options.Runs)
	if whole == 0 {
		return algorithms.Refused("search", ": random stopping cannot reach epsilon %g at delta %g, whatever the "+
			"noise",
			b.Epsilon, b.Delta)
	}
	mu := whole * (1 - 1e-9) // leaves room for rounding errors of the trainings
	// The rank sum is 2 n+ n- times the AUC. Its sensitivity is 2 (n-1).
	paid := clampShare(4/(scoreNoise*float64(p.Options.Records)), mu, true)
	if err := p.trainings(privacy.Budget{Epsilon: account.GDPEpsilon(math.Sqrt(mu*mu-paid*paid), b.Delta),
		Delta: b.Delta}); err != nil {
		return err
	}
	p.score = privacy.Gaussian{Sigma: p.joint.Sensitivity() / paid}
	p.selection = privacy.Selection{Event: account.RandomStoppingEvent{Runs: p.Options.Runs}}
	for _, t := range p.Trainings {
		events := append([]account.Event{p.score.Event(p.joint)}, t.Events()...)
		one := muOf(events...)
		if !(one <= whole) {
			return errHidden
		}
		p.selection.Event.Mu = max(p.selection.Event.Mu, one)
		p.selection.Candidates = append(p.selection.Candidates, events)
	}
	p.Releases = algorithms.Releases{{Name: "the best of a secret number of runs", Cost: p.selection.Event}}
	return nil
}
