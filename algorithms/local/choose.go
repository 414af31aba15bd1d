package local

import (
	"context"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/local"
)

// Choice is a weight lambda that was chosen by cross-validation among users.
type Choice struct {
	L2 float64
	// Accuracies are the estimated accuracies of the candidates. They come from randomised answers and may lie
	// outside of [0, 1]. They are as public as the model.
	Accuracies []float64
	Folds      int
}

// ChooseL2 chooses lambda by k-fold cross-validation in which all records stay with their users. For each fold,
// each candidate is trained by the protocol on all other folds. Every user of the fold then answers whether the
// model classifies the record correctly, by a randomised response of p.Epsilon. The candidate with the most
// correct answers wins. A method without privacy uses exact answers.
//
// A user takes part in len(l2) (folds-1) trainings and gives len(l2) answers. Plan.Messages counts these
// messages, and Plan.Choosing composes their guarantees. The folds are drawn at random and do not depend on
// records.
func ChooseL2(ctx context.Context, p Protocol, l2 []float64, folds int, records *engine.Records,
	src *privacy.Source) (Choice, error) {
	if records.ByPerson() {
		return Choice{}, errPersons
	}
	if err := CheckChoice(p, l2, folds, records.Len()); err != nil {
		return Choice{}, err
	}
	c := Choice{Folds: folds, Accuracies: make([]float64, len(l2))}
	n := records.Len()
	order := make([]int, n)
	for i, u := range src.Permutation(n) {
		order[i] = int(u)
	}
	best := math.Inf(-1)
	for i, lambda := range l2 {
		right := 0
		for f := range folds {
			from, to := f*n/folds, (f+1)*n/folds
			q := p
			q.L2, q.Users = lambda, n-(to-from)
			plan, err := q.Plan()
			if err != nil {
				return Choice{}, err
			}
			answer := plan.correct(src)
			others := append(append([]int(nil), order[:from]...), order[to:]...)
			st, err := Simulate(ctx, plan, records.Subset(others), src, nil)
			if err != nil {
				return Choice{}, err
			}
			x := make([]float64, plan.Dim)
			for _, u := range order[from:to] {
				records.Row(u, x)
				s := plan.Bias
				for k, v := range x {
					s += st.W[k] * v
				}
				a, err := answer(s*records.Label(u) > 0)
				if err != nil {
					return Choice{}, err
				}
				right += a
			}
		}
		c.Accuracies[i] = float64(right) / float64(n)
		if p.Method.private() { // E[answer] = (1-t) + (2t-1) accuracy
			t := local.RandomizedResponse{Epsilon: p.Epsilon}.Truth()
			c.Accuracies[i] = (c.Accuracies[i] - (1 - t)) / (2*t - 1)
		}
		if c.Accuracies[i] > best {
			best, c.L2 = c.Accuracies[i], lambda
		}
	}
	return c, nil
}

// CheckChoice returns an error if ChooseL2 cannot choose among this number of users. It uses public numbers
// only. Its errors wrap ErrProtocol.
func CheckChoice(p Protocol, l2 []float64, folds, users int) error {
	if p.Network != nil {
		return fmt.Errorf("%w: a network has no L2 weight, so leave out the candidates of cross-validation", ErrProtocol)
	}
	if len(l2) < 2 || folds < 2 || folds > users/2 {
		return fmt.Errorf("%w: cross-validation of %d candidates in %d folds of %d users is not possible; want at least 2 "+
			"candidates and 2 folds of 2 users", ErrProtocol, len(l2), folds, users)
	}
	for _, lambda := range l2 {
		p.L2 = lambda
		if _, err := p.Plan(); err != nil {
			return err
		}
	}
	return nil
}

// correct returns the function by which a user answers whether the model is correct.
func (p *Plan) correct(src *privacy.Source) func(bool) (int, error) {
	if !p.Method.private() {
		return func(right bool) (int, error) { return bit(right), nil }
	}
	r := local.RandomizedResponse{Epsilon: privacy.BelowDecimal(p.Epsilon)}
	return func(right bool) (int, error) { return r.Answer(bit(right), src) }
}

// Messages returns the number of messages of a user. Each message is Epsilon-private. Messages counts one
// training and, if candidates is not 0, a cross-validation of the candidates before the training. A training
// has Epochs messages, or 1 for the memoised label of PrestigeLabel. A cross-validation adds folds - 1
// trainings and one answer for each candidate.
func (p *Plan) Messages(candidates, folds int) int {
	each := p.Epochs
	if p.Method == PrestigeLabel {
		each = 1
	}
	if candidates == 0 {
		return each
	}
	return (candidates*(folds-1)+1)*each + candidates
}

// Choosing returns the guarantee of a training that uses the lambda of the choice c. It composes the
// trainings and answers of the cross-validation by basic composition. For a method without privacy,
// the choice has no guarantee.
func (p *Plan) Choosing(c Choice) privacy.Guarantee {
	g := p.Guarantee
	switch g.Kind {
	case privacy.LocalDP, privacy.LabelLDP:
		candidates := len(c.Accuracies)
		n := p.Messages(candidates, c.Folds)
		g.Epsilon = privacy.DecimalTimes(n, p.Epsilon)
		g.Released = fmt.Sprintf("the user's %d messages, those of the cross-validation included, and with them lambda and "+
			"every published model", n)
		if g.Kind == privacy.LabelLDP {
			g.Released = "the user's features, in clear, and " + g.Released
		}
		g.Derivation += fmt.Sprintf("; lambda by %d-fold cross-validation: %d further trainings and %d randomised "+
			"answers of a user", c.Folds, candidates*(c.Folds-1), candidates)
	default:
		g.Warnings = append(append([]string(nil), g.Warnings...),
			fmt.Sprintf("NOT PRIVATE: lambda = %g was chosen by cross-validation of records", c.L2))
	}
	return g
}

// Found holds the results of a study.
type Found struct {
	*State
	Plan      *Plan             // the plan with the chosen lambda
	Choice    Choice            // zero if there are no candidates
	Guarantee privacy.Guarantee // the guarantee of the messages of one user
}

// Find runs ChooseL2 among the candidates, if there are any, and then Simulate. The tracker counts thousandths
// of the work.
func Find(ctx context.Context, p *Plan, candidates []float64, folds int, records *engine.Records, src *privacy.Source,
	t algorithms.Tracker) (f *Found, err error) {
	f = &Found{Plan: p, Guarantee: p.Guarantee}
	if len(candidates) > 0 {
		if f.Choice, err = ChooseL2(ctx, p.Protocol, candidates, folds, records, src); err != nil {
			return nil, err
		}
		q := p.Protocol
		q.L2 = f.Choice.L2
		if f.Plan, err = q.Plan(); err != nil {
			return nil, err
		}
		f.Guarantee = f.Plan.Choosing(f.Choice)
	}
	f.State, err = Simulate(ctx, f.Plan, records, src, func(done, total int64) { t.Step(int(done*1000/total), 1000) })
	return f, err
}
