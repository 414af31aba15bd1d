package algorithms

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// PairsPlan is a private choice of interactions (docs/theory.md#pair-choice). First the moments of the original
// features are released. Then a model is computed from these moments, and pairs are chosen by the residuals of this
// model. Last, the moments of the features and of the chosen products are released, as described by the MomentsPlan
// whose field Pairs is this PairsPlan.
type PairsPlan struct {
	engine.Candidates
	First    *MomentsPlan
	Rows     int     // number of releases of First
	Epsilon  float64 // the epsilon of one choice
	Features int     // the largest number of features after the choice
}

// These are the constants of the public rule. A pair that is worth choosing has an unexplained sum of pairWorth n. A
// choice is made if this sum is at least three times the scale of the noise of its score, times the log of the number
// of candidates: pairWorth n >= 3 (2 s/epsilon_0) ln(candidates), s = 2. epsilon_0 is the smallest value with this
// property, but it gets at least the share leastPairsShare of mu^2. There is no choice if its share is above
// mostPairsShare.
const (
	pairWorth                       = 0.005
	leastPairsShare, mostPairsShare = 0.15, 0.3
	// firstPairsShare is the share of the releases before the choice in the budget that the choice leaves. pairsSteps
	// is the number of their steps. The steps are needed because an error of the model in single columns can look
	// like an interaction of dependent columns.
	firstPairsShare, pairsSteps = 0.2, 6
	// pairLevels is N. The terms of scores are rounded to multiples of 1/N.
	pairLevels = 1 << 20
)

const (
	beforePairs   = "before the choice"
	chooseName    = "choice of pairs"
	chooseTheorem = "pair-choice" // the theorem of privacy.ResidualScores
)

// choosePairs returns the epsilon of one choice, or the reason why no choice is made. It is a function of
// public numbers.
func choosePairs(n int, c engine.Candidates, b privacy.Budget) (epsilon float64, reason string) {
	k, mu := float64(c.Choose), account.GDPMu(b.Epsilon, b.Delta)
	share := func(epsilon float64) float64 {
		one := account.PureGDPMu(epsilon/2) / mu
		return k * one * one
	}
	epsilon = 12 / (pairWorth * float64(n)) * math.Log(max(2, float64(len(c.Products))))
	if need := share(epsilon); need > mostPairsShare {
		return 0, fmt.Sprintf("the choice would take %.2g of the budget for %d candidates, but may take at most %g", need,
			len(c.Products), mostPairsShare)
	}
	for share(epsilon) < leastPairsShare {
		epsilon *= 1.001
	}
	return privacy.ChoiceEpsilon(epsilon + 0x1p-20), ""
}

// withPairs returns the releases with a choice of pairs. If the rule makes no choice it returns m and its releases,
// which have none.
func (a Moments) withPairs(s Spec, m *MomentsPlan, plain Releases) (*MomentsPlan, Releases, error) {
	problem := s.Kernel.Problem()
	c := &PairsPlan{Candidates: problem.Candidates, Features: problem.Candidates.Dim(problem.D)}
	refuse := func(why string) (*MomentsPlan, Releases, error) {
		return nil, nil, Refused("choose_interactions",
			": %s; leave choose_interactions out, or name pairs in interactions", why)
	}
	holds, ok := s.Kernel.(interface{ Holds() bool })
	switch {
	case len(problem.Groups) > 0:
		return refuse("no theorem covers a choice of interactions within query groups")
	case !ok || !holds.Holds():
		return refuse("residuals are summed only in a single process on the CPU")
	case s.Budget.Delta == 0:
		return refuse("it needs delta > 0: pure epsilon adds up over releases and leaves too little for each")
	case problem.LabelLimit() > 2:
		return refuse("residuals need two classes, and the labels are graded")
	case m.Second == engine.NoSecond:
		return refuse("residuals need second moments, but none are released")
	case s.L2 > 0 || a.Centre != nil:
		return refuse("pairs of columns cannot be chosen with an L2 term or a public centre")
	case float64(problem.MaxRows())*float64(c.Features) > mostCurved:
		return refuse(fmt.Sprintf("with the chosen products, the records would need more than %d numbers (1 GiB)",
			mostCurved))
	}
	if c.Epsilon, m.NoPairs = choosePairs(problem.N, c.Candidates, s.Budget); m.NoPairs != "" {
		return m, plain, nil
	}
	certificate, err := privacy.ResidualScores{Levels: pairLevels}.Certify()
	if err != nil {
		return nil, nil, err
	}
	first := Moments{Second: a.Second, ClipRadius: a.ClipRadius, Balance: a.Balance, Steps: pairsSteps}
	before, rows, firstLevels, err := first.planned(s, problem.D)
	if err != nil {
		return nil, nil, err
	}
	after, more, levels, err := a.wider(c.Features-problem.D).planned(s, c.Features)
	if err == nil {
		err = c.covers(s, after)
	}
	if err != nil {
		return nil, nil, err
	}
	c.First, c.Rows, after.Pairs = before, len(rows), c
	for i := range rows {
		rows[i].Share *= firstPairsShare
	}
	for i := range more {
		more[i].Share *= 1 - firstPairsShare
	}
	mu, one := account.GDPMu(s.Budget.Epsilon, s.Budget.Delta), account.PureGDPMu(c.Epsilon/2)
	choice := Release{Name: chooseName, Coordinates: 1, Times: c.Choose, Share: one * one / mu / mu,
		Certificate: certificate, Cost: account.BoundedRangeEvent{Epsilon: c.Epsilon}}
	noisy, left := append(rows.Of(beforePairs), more...), math.Sqrt(mu*mu-float64(c.Choose)*one*one)
	for less := 1e-12; less < 1e-7; less *= 4 { // leaves room for rounding errors
		if err := noisy.Calibrate(privacy.Budget{Epsilon: account.GDPEpsilon(left*(1-less), s.Budget.Delta),
			Delta: s.Budget.Delta}); err != nil {
			return nil, nil, err
		}
		all := slices.Insert(slices.Clone(noisy), c.Rows, choice)
		var total account.Total
		for _, e := range all.Events() {
			if err := total.Compose(e); err != nil {
				return nil, nil, err
			}
		}
		if total.Epsilon(s.Budget.Delta) > s.Budget.Epsilon {
			continue
		}
		firstLevels(all[:c.Rows])
		levels(all[c.Rows+1:])
		for i := range all {
			if all[i].Noise != nil {
				all[i].Share *= left * left / mu / mu
			}
		}
		return after, all, nil
	}
	return refuse(fmt.Sprintf("epsilon %v with delta %v is beyond the precision of float64",
		s.Budget.Epsilon, s.Budget.Delta))
}

// covers returns an error unless the rounding errors for the largest number of features, which certificates state, also
// hold for fewer features.
func (c *PairsPlan) covers(s Spec, m *MomentsPlan) error {
	problem := s.Kernel.Problem()
	least := problem.D
	var before []engine.QueryBounds
	problem.NonZerosPerRow, problem.Candidates = 0, engine.Candidates{}
	for problem.D = c.Features; problem.D > least; problem.D-- {
		kernel, err := s.Backend.PlanMoments(problem)
		if err != nil {
			return s.noMoments(err)
		}
		var errs []engine.QueryBounds
		for _, q := range []engine.Query{{Radius: problem.Bounds.FeatureNorm}, {Radius: m.ClipRadius, Second: m.Second}} {
			errs = append(errs, kernel.Bounds(q))
		}
		for i, b := range before {
			if e := errs[i]; e.Positives > b.Positives || e.Sum > b.Sum || e.Second > b.Second {
				return fmt.Errorf("algorithms: the backend states smaller rounding errors for more than %d "+
					"features; correct its Bounds", problem.D)
			}
		}
		before = errs
	}
	return nil
}

// planned returns the rows for records of d features. The rows before the choice use the kernel of s, which computes
// their sums. That kernel may know that records are sparse, and then its rounding errors differ.
func (a Moments) planned(s Spec, d int) (*MomentsPlan, Releases, func(Releases), error) {
	problem := s.Kernel.Problem()
	if d != problem.D {
		var err error
		problem.D, problem.NonZerosPerRow, problem.Candidates = d, 0, engine.Candidates{}
		if s.Kernel, err = s.Backend.PlanMoments(problem); err != nil {
			return nil, nil, nil, s.noMoments(err)
		}
	}
	c, err := a.choose(s)
	if err != nil {
		return nil, nil, nil, err
	}
	return a.rows(s, s.Kernel, c)
}

// wider returns a for more features, of products. Each product feature is a block with a line of its own.
func (a Moments) wider(more int) Moments {
	if a.Blocks != nil {
		a.Blocks = slices.Concat(a.Blocks, slices.Repeat([]int{1}, more))
	}
	if a.Lines != nil {
		a.Lines = slices.Concat(a.Lines, slices.Repeat([]float64{1}, more))
	}
	return a
}

// passes returns the number of passes over the records, including the passes before the choice of pairs and the
// pass of the choice.
func (m *MomentsPlan) passes() int {
	if m.Pairs == nil {
		return m.Passes
	}
	return m.Pairs.First.Passes + 1 + m.Passes
}

// trainPairs releases moments, chooses pairs by the residuals, and trains on the records with the products of the
// pairs. It returns the places of the pairs, followed by the weights. A choice is drawn only once, because every
// later checkpoint contains the choice.
func (a Moments) trainPairs(ctx context.Context, holder engine.Holder, p *Plan, s privacy.Session,
	t Tracker) ([]float64, error) {
	m, problem := p.Moments(), p.Spec.Kernel.Problem()
	c := m.Pairs
	room := m.released(c.Features)
	chosen, second := make([]float64, c.Choose), [][]float64{room.first, room.last, make([]float64, m.Steps*c.Features)}
	state := append([][]float64{chosen}, second...)
	done, err := t.Restore(nil, state...)
	if err != nil {
		return nil, err
	}
	total, before := m.passes(), c.First.Passes+1
	if done == 0 {
		first, moments := Moments{Steps: c.First.Steps, LogOdds: true}, c.First.released(problem.D)
		w, err := first.train(ctx, holder, c.First, problem, p.Releases[:c.Rows], moments, s,
			Tracker{OnStep: func(done, _ int) { t.Step(done, total) }})
		if err != nil {
			return nil, err
		}
		if err := c.draw(ctx, holder, p, s, w, moments.second(), chosen); err != nil {
			return nil, err
		}
		t.Keep(before, nil, state...)
		t.Step(before, total)
	}
	var products []engine.Product
	for _, place := range chosen {
		products = append(products, c.Products[int(place)])
	}
	wide, problem, err := p.bindProducts(holder, c.Ratio, products)
	if err != nil {
		return nil, err
	}
	defer wide.Close()
	of := *m
	if m.Second == engine.FullSecond {
		of.Ridge *= math.Sqrt(float64(problem.D) / float64(c.Features))
	}
	a = a.wider(problem.D - p.Spec.Kernel.Problem().D)
	w, err := a.train(ctx, wide, &of, problem, p.Releases[c.Rows+1:], of.released(problem.D), s, Tracker{
		OnStep: func(done, _ int) { t.Step(before+done, total) },
		OnRestore: func(_ []int32, vectors ...[]float64) (int, error) {
			for i, v := range vectors {
				copy(v, second[i])
			}
			return max(0, done-before), nil
		},
		OnKeep: func(done int, _ []int32, vectors ...[]float64) {
			for i, v := range vectors {
				copy(second[i], v)
			}
			t.Keep(before+done, nil, state...)
		},
	})
	if err != nil {
		return nil, err
	}
	return append(chosen, w...), nil
}

// trainPlain trains if the rule makes no choice. The records are encoded as without the schema key choose_interactions.
func (a Moments) trainPlain(ctx context.Context, holder engine.Holder, p *Plan, s privacy.Session,
	t Tracker) ([]float64, error) {
	m := p.Moments()
	plain, problem, err := p.bindProducts(holder, p.Spec.Kernel.Problem().Candidates.Plain, nil)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	return a.train(ctx, plain, m, problem, p.Releases, m.released(problem.D), s, t)
}

// bindProducts returns an evaluator of the records with products, and the problem of this evaluator.
func (p *Plan) bindProducts(ev engine.Holder, ratio float64,
	products []engine.Product) (engine.Evaluator, engine.Problem, error) {
	problem := p.Spec.Kernel.Problem()
	records, err := ev.Held().WithProducts(ratio, products)
	if err != nil {
		return nil, problem, err
	}
	problem.D, problem.NonZerosPerRow, problem.Candidates = records.Dim(), 0, engine.Candidates{}
	kernel, err := p.Spec.Backend.PlanMoments(problem)
	if err != nil {
		return nil, problem, err
	}
	of, err := kernel.Bind(records)
	return of, problem, err
}

// draw draws the places of the pairs into chosen. all holds a model and its log odds as train returns them; second
// holds the released second moments.
func (c *PairsPlan) draw(ctx context.Context, ev engine.Holder, p *Plan, s privacy.Session, all, second,
	chosen []float64) error {
	problem := p.Spec.Kernel.Problem()
	q := engine.Query{W: make([]float64, problem.D), Radius: c.First.ClipRadius}
	if len(all) > problem.D { // otherwise training found no direction
		w, _, odds, _ := Moments{LogOdds: true}.Parts(all, problem.D)
		q.W, q.Intercept, q.Centre = over(w, 1/odds[1]), odds[0], odds[4:]
	}
	by, weights := c.First.pairWeights(c.Products, second, float64(problem.N), problem.D)
	scores, err := ev.Held().ResidualScores(ctx, q, by, c.Products, weights, pairLevels)
	if err != nil {
		return err
	}
	left := make([]int, len(scores))
	for i := range left {
		left[i] = i
	}
	row := p.Releases[c.Rows]
	for k := range chosen {
		i, err := s.Choose(scores, row.Certificate, c.Epsilon)
		if err != nil {
			return err
		}
		chosen[k] = float64(left[i])
		left, scores = slices.Delete(left, i, i+1), slices.Delete(scores, i, i+1)
	}
	return nil
}

// pairWeights returns factors for features and weights for products. The factors in by set the mean square of each
// feature of a product to 1/WidthA or 1/WidthB. The largest weight is 1. A block of w products that explains as much as
// another block has a sum of squares that is smaller by the factor w, which a weight of sqrt(w) would balance. Wide
// blocks also cost more noise after the choice, so a weight grows only with the root of sqrt(w). A weight falls with V,
// the correlation of both columns (Cramer's V of categories), because the product of dependent columns is nearly a
// function of one column. second is released, so this is post-processing.
func (m *MomentsPlan) pairWeights(products []engine.Product, second []float64, n float64,
	d int) (by, weights []float64) {
	at := func(i, j int) float64 { // i <= j; isometric coordinates
		return second[i*d-i*(i-1)/2+j-i]
	}
	if m.Second == engine.DiagonalSecond {
		at = func(i, j int) float64 {
			if i != j {
				return 0
			}
			return second[i]
		}
	}
	most := n * m.ClipRadius * m.ClipRadius // the largest possible trace
	// noise could make a deviation arbitrarily small, so each mean square is raised to at least a tenth of the average
	deviation := make([]float64, d)
	for i := range deviation {
		deviation[i] = math.Sqrt(min(max(at(i, i), most/float64(10*d)), most) / n)
	}
	by, weights = make([]float64, d), make([]float64, len(products))
	for k, p := range products {
		var square float64
		for i := p.A; i < p.A+p.WidthA; i++ {
			for j := p.B; j < p.B+p.WidthB; j++ {
				c := min(max(at(min(i, j), max(i, j))/math.Sqrt2/(n*deviation[i]*deviation[j]), -1), 1)
				square += c * c
			}
		}
		weights[k] = math.Sqrt(math.Sqrt(float64(p.Width())) * max(0, 1-square/float64(min(p.WidthA, p.WidthB))))
		for i := range p.WidthA {
			by[p.A+i] = 1 / (deviation[p.A+i] * math.Sqrt(float64(p.WidthA)))
		}
		for j := range p.WidthB {
			by[p.B+j] = 1 / (deviation[p.B+j] * math.Sqrt(float64(p.WidthB)))
		}
	}
	if largest := slices.Max(weights); largest > 0 {
		weights = over(weights, largest)
	}
	return by, weights
}

// Chosen splits a result of Train. Its first numbers become places: the indices of the chosen pairs in the list of
// candidates. All other numbers become rest. If the rule makes no choice, places is empty. If there are no
// candidates, places is nil.
func (m *MomentsPlan) Chosen(all []float64) (places []int, rest []float64) {
	switch {
	case m != nil && m.NoPairs != "":
		return []int{}, all
	case m == nil || m.Pairs == nil:
		return nil, all
	}
	for _, x := range all[:m.Pairs.Choose] {
		places = append(places, int(x))
	}
	return places, all[m.Pairs.Choose:]
}
