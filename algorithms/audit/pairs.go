package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/privacy"
	"dyad/privacy/account"
)

// PairSide is one data set of labelled pairs. It holds row-major features and the labels.
type PairSide struct {
	X      []float64
	Labels []bool
}

// PairInstance holds two neighbours on one public graph, and the matrix at which training starts. A guarantee
// holds for every start.
type PairInstance struct {
	Graph *pairgraph.Graph
	// Sides are the data and the neighbour.
	Sides [2]PairSide
	// Start is the matrix at which training starts. It is nil for a network, whose plan determines the start.
	Start []float64
	Text  string
}

// WorstPairs searches for two neighbouring data sets and a start of the training for which the exact vectors
// of plan p differ most. The data sets differ in the records of `changed` pairs of one individual, or of
// kappa pairs if changed is 0. If the seed Target.Coins decides the order of the pairs, all changed pairs
// are in one batch, provided that one batch can hold them.
func WorstPairs(ctx context.Context, p *pairs.Plan, changed int) (Target, error) {
	changed = cmp.Or(changed, p.Spec.Kappa)
	if _, softmax := p.Spec.Loss.(embedding.InfoNCE); softmax {
		return worstSoftmax(ctx, p, changed)
	}
	g, err := starGraph(p.Spec, changed)
	if err != nil {
		return Target{}, err
	}
	if p.Spec.Local() {
		return onPairs(p, localInstance(p.Spec, g, changed))
	}
	var targets []Target
	for _, in := range pairInstances(p.Spec, g, changed) {
		t, err := onPairs(p, in)
		if err != nil {
			return Target{}, err
		}
		targets = append(targets, t)
		for t.Coins = 1; p.Spec.Sampling == pairs.Poisson && t.Coins < 64; t.Coins++ {
			targets = append(targets, t) // for some coins a batch has all changed pairs
		}
	}
	return furthest(ctx, targets, 0)
}

// onPairs returns the attack on p with these data sets.
func onPairs(p *pairs.Plan, in PairInstance) (Target, error) {
	s := p.Spec
	var sides [2]*embedding.Data
	for i := range sides {
		var err error
		if sides[i], err = in.data(s, i); err != nil {
			return Target{}, err
		}
	}
	program := programOf(p, fmt.Sprintf("unit %s, kappa %d, %d pairs, %s batches of %d, %d epochs, %d rows",
		s.Unit, s.Kappa,
		s.Pairs, s.Sampling, s.Batch, s.Epochs, s.Rows))
	program.Train = func(ctx context.Context, neighbour bool, session privacy.Session) ([]float64, error) {
		if in.Start != nil {
			session = startAt(session, in.Start)
		}
		return pairs.Train(ctx, sides[index(neighbour)], nil, p, session, 1, algorithms.Tracker{})
	}
	if s.Sampling == pairs.Poisson {
		// An added pair moves a release by the sensitivity, and a replaced pair moves it by more.
		program.EachMoves = p.Noise().Event(p.Certificate()).(account.PoissonEvent).KnownSensitivity()
	}
	if s.Method == pairs.Moments {
		program.Variant = fmt.Sprintf("unit %s, kappa %d, %d pairs, moments clipped to %g, %d rows", s.Unit, s.Kappa, s.Pairs,
			s.Clip, s.Rows)
	}
	if s.Local() {
		program.Variant = fmt.Sprintf("unit %s, kappa %d, %d pairs", s.Unit, s.Kappa, s.Pairs)
		program.Draw = func(neighbour bool, seed uint64) ([]float64, error) {
			data, err := in.data(s, index(neighbour))
			if err != nil {
				return nil, err
			}
			data, err = p.Perturb(data, in.classes(s, index(neighbour)), privacy.NewSeededSource(seed))
			if err != nil {
				return nil, err
			}
			drawn := slices.Clone(data.Row(0))
			for i := range in.Graph.Pairs() {
				label := 0.0
				if data.Label(i) {
					label = 1
				}
				drawn = append(drawn, label)
			}
			return drawn, nil
		}
		program.Ratio = func(drawn []float64) float64 { return in.ratio(p, drawn) }
	}
	return Target{Program: program, Instance: in.Text}, nil
}

// programOf returns the Program of a plan for the audit.
func programOf(p *pairs.Plan, variant string) *Program {
	s := p.Spec
	c := claimOf(&p.Plan, engine.Problem{})
	c.Mode, c.Loss, c.Variant, c.Records, c.Features = s.Mode.String(), s.Loss.Name(), variant, s.Individuals, s.Dim
	return &c
}

func (in PairInstance) data(s pairs.Spec, side int) (*embedding.Data, error) {
	return embedding.NewData(slices.Clone(in.Sides[side].X), s.Dim, s.Norm(), s.Bound, in.Graph,
		slices.Clone(in.Sides[side].Labels))
}

// classes returns classes of individuals that give the labels of the pairs of individual 0 by comparison. All
// individuals except 0 have one class.
func (in PairInstance) classes(s pairs.Spec, side int) []int32 {
	if !s.ByClass {
		return nil
	}
	classes := make([]int32, s.Individuals)
	if slices.Contains(in.Sides[side].Labels, true) {
		classes[0] = 1
	}
	return classes
}

// ratio returns the log-likelihood ratio of the noisy features of individual 0 and of the noisy labels, as if
// both had been released as drawn. This is approximate: features are scaled down after the noise, and labels
// that compare two noisy classes depend on each other.
func (in PairInstance) ratio(p *pairs.Plan, drawn []float64) (sum float64) {
	s := p.Spec
	for k, v := range drawn[:s.Dim] {
		sum += math.Abs(v-in.Sides[0].X[k]) - math.Abs(v-in.Sides[1].X[k])
	}
	sum *= s.Budget.Epsilon / (4 * s.Bound) // half of epsilon over the diameter, about
	for i, label := range drawn[s.Dim:] {
		if in.Sides[0].Labels[i] != in.Sides[1].Labels[i] {
			sum += (2*label - 1) * s.Budget.Epsilon / float64(s.Kappa)
		}
	}
	return sum
}

// startSession is a session in which training starts at a known matrix.
type startSession struct {
	privacy.Session
	start []float64
}

// startAt makes trainings on pairs and tuples start at a known matrix. Their usual start is random, public and
// independent of the data, and guarantees hold for every start.
func startAt(s privacy.Session, start []float64) privacy.Session { return startSession{s, start} }

// UniformBall sets dst to the start.
func (s startSession) UniformBall(dst []float64, _ float64) { copy(dst, s.start) }

// starGraph returns a graph of the plan's size in which individual 0 is in `degree` pairs with 1, 2, .... These
// pairs come first in the order that seed 0 draws. The other pairs join individuals outside the star if there
// are enough. If an individual is the unit, no individual is in more pairs than individual 0.
func starGraph(s pairs.Spec, degree int) (*pairgraph.Graph, error) {
	n, count := s.Individuals, s.Pairs
	if degree >= n || degree > count {
		return nil, fmt.Errorf("audit: a star of %d pairs needs more than %d individuals and at least %d pairs; "+
			"got %d individuals and %d pairs", degree, degree, degree, n, count)
	}
	var rest []pairgraph.Pair
	others := func(from int) {
		m := n - from // individuals from, from+1, ...
		degrees := make([]int, m)
		rest = rest[:0]
		full := func(i int) bool {
			limit := degree
			if from+i <= degree { // a partner of 0
				limit--
			}
			return s.Unit == pairs.Individual && degrees[i] >= limit
		}
		for offset := 1; offset <= m/2; offset++ {
			for i := range m {
				j := (i + offset) % m
				if 2*offset == m && i >= m/2 || full(i) || full(j) {
					continue
				}
				if len(rest) == count-degree {
					return
				}
				rest = append(rest, pairgraph.Pair{A: int32(from + i), B: int32(from + j)})
				degrees[i]++
				degrees[j]++
			}
		}
	}
	if others(degree + 1); len(rest) < count-degree {
		others(1)
	}
	if len(rest) < count-degree {
		return nil, fmt.Errorf("audit: found only %d pairs among %d individuals with at most %d pairs each; want "+
			"%d; use more individuals or fewer pairs", degree+len(rest), n, degree, count)
	}
	order := privacy.NewSeededSource(0).Permutation(count)
	list := make([]pairgraph.Pair, count)
	for i, at := range order {
		if i < degree {
			list[at] = pairgraph.Pair{A: 0, B: int32(i + 1)}
		} else {
			list[at] = rest[i-degree]
		}
	}
	return pairgraph.New(n, list)
}

// pairInstances returns the data sets that WorstPairs tries. All individuals except 0 are at one place, so
// pairs between them have no gradient.
//
// labels: individual 0 is opposite to the other individuals, and the labels of its pairs are flipped. The
// flip reverses the gradients if both are as large as the clip.
//
// tilted: all pairs are dissimilar, and individual 0 turns slightly to the other side of the line that W maps
// to 0. The slope W v changes its sign while v hardly changes, so the gradient is reversed where it is largest.
// This instance is for gradients that are as large as Spec.Shrink assumes. Flipped labels cannot reverse such
// gradients.
func pairInstances(s pairs.Spec, g *pairgraph.Graph, degree int) (all []PairInstance) {
	side := func(victim, other []float64, turned bool) PairSide {
		return starSide(s, g, degree, victim, other, turned)
	}
	at := func(values ...float64) []float64 { return scaled(s, values...) }
	starts := []float64{0} // W of weights of scores
	if l, ok := s.Loss.(embedding.Contrastive); ok {
		// D = 2 R |W| is half the margin, or W has its largest norm at the start.
		starts = []float64{min(1, l.Margin/(4*s.Bound)), 1}
	}
	for _, w := range starts {
		all = append(all, PairInstance{
			Graph: g, Sides: [2]PairSide{side(at(1), at(-1), false), side(at(1), at(-1), true)}, Start: startMatrix(s, w),
			Text: fmt.Sprintf("one individual has %d pairs, whose labels flip; training starts at W = (%.4g, 0, ...)", degree,
				w),
		})
	}
	if s.Dim < 2 {
		return all
	}
	const tilt = 1.0 / 256
	long := math.Sqrt(1 - tilt*tilt)
	if s.Norm() == embedding.L1 {
		long = 1 - tilt
	}
	for _, w := range starts {
		start := startMatrix(s, w)
		for row := 0; row < len(start); row += s.Dim {
			start[row], start[row+1] = 0, start[row]
		}
		all = append(all, PairInstance{
			Graph: g, Sides: [2]PairSide{side(at(long, tilt), at(-1), true), side(at(long, -tilt), at(-1), true)}, Start: start,
			Text: fmt.Sprintf("one individual is in %d pairs; its features turn by a small angle; first row of the "+
				"start matrix: (0, %.4g, 0, ...)", degree, w),
		})
	}
	return all
}

// localInstance returns the worst case of noise on features and labels. Individual 0 is in two opposite places,
// or in one place for method labels, and the labels of its pairs are flipped.
func localInstance(s pairs.Spec, g *pairgraph.Graph, degree int) PairInstance {
	here := scaled(s, 1)
	there := here
	if s.Method == pairs.Input {
		there = scaled(s, -1)
	}
	other := scaled(s, 0)
	return PairInstance{
		Graph: g, Sides: [2]PairSide{starSide(s, g, degree, here, other, false), starSide(s, g, degree, there, other, true)},
		Text: fmt.Sprintf("one individual is in %d pairs; the labels of these pairs flip; with method input, its "+
			"features also change sign", degree),
	}
}

// starSide returns a side with individual 0 at one place and all other individuals at another. The labels of
// its first pairs are flipped if turned is true.
func starSide(s pairs.Spec, g *pairgraph.Graph, degree int, victim, other []float64, turned bool) PairSide {
	p := PairSide{make([]float64, s.Individuals*s.Dim), make([]bool, s.Pairs)}
	for i := range s.Individuals {
		if at := p.X[i*s.Dim:]; i == 0 {
			copy(at, victim)
		} else {
			copy(at, other)
		}
	}
	for i, e := range g.Pairs() {
		if min(e.A, e.B) == 0 && int(max(e.A, e.B)) <= degree {
			p.Labels[i] = turned
		}
	}
	return p
}

// scaled returns a row of features in units of the bound.
func scaled(s pairs.Spec, values ...float64) []float64 {
	x := make([]float64, s.Dim)
	for k, v := range values {
		x[k] = s.Bound * v
	}
	return x
}

// startMatrix returns a matrix whose rows weigh the first feature. Only the first row has weights, or all rows
// if every row is clipped separately.
func startMatrix(s pairs.Spec, w float64) []float64 {
	start := make([]float64, s.Rows*s.Dim)
	for row := 0; row < len(start); row += s.Dim {
		start[row] = w
		if s.Mode != algorithms.Paper {
			break
		}
	}
	return start
}
