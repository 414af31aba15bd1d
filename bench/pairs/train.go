package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/metrics"
	"dyad/engine/pairgraph"
	"dyad/internal/experiment"
	"dyad/privacy"
)

// Constants of [Li20] Section VII-B and public choices of ours.
const (
	margin  = 0.25 // rho = 1; features have L1 norm at most 1
	rowsOfW = 16   // d'
	clip    = 0.5  // h
	// The first steps eta0 of gradients with and without noise, which the paper does not
	// give; -figure steps shows the choice.
	noisyStep, exactStep = 5, 320
	degreeCap            = 8
	density              = 2
)

// task is one repeat: individuals, half of them positive, pairs drawn by their
// numbers, and records outside all pairs.
type task struct {
	x        []float64 // features, L1 norm at most 1
	d        int
	classes  []bool
	graph    *pairgraph.Graph
	labels   []bool
	test     *engine.Records
	byRecord *engine.Records // individuals in pairs, with features as in x
}

// task draws repeat number seed.
func (s settings) task(all *engine.Records, seed int) (*task, error) {
	r := rand.New(rand.NewPCG(uint64(seed), 0x70616972))
	order := r.Perm(all.Len())
	n := s.pairs / density
	var chosen, rest []int
	var taken [2]int
	for _, i := range order {
		c := 0
		if all.Label(i) > 0 {
			c = 1
		}
		if taken[c] < n/2 {
			taken[c]++
			chosen = append(chosen, i)
		} else {
			rest = append(rest, i)
		}
	}
	if taken[0]+taken[1] != n/2*2 {
		return nil, fmt.Errorf("%d pairs need %d individuals of each class, and the data have only %d and %d", s.pairs, n/2,
			taken[1], taken[0])
	}
	// The test set is balanced too: with the classes of the file, guessing the larger
	// one would score 0.76 to 0.88.
	var testRows []int
	taken = [2]int{}
	for _, i := range rest {
		c := 0
		if all.Label(i) > 0 {
			c = 1
		}
		if taken[c] < s.test/2 {
			taken[c]++
			testRows = append(testRows, i)
		}
	}
	drawn, err := pairgraph.Draw(len(chosen), density, degreeCap, uint64(seed))
	if err != nil {
		return nil, err
	}
	g, err := pairgraph.New(len(chosen), drawn)
	if err != nil {
		return nil, err
	}
	t := &task{d: all.Dim(), graph: g, classes: make([]bool, len(chosen))}
	records := all.Subset(chosen)
	if t.x, err = s.features(records); err != nil {
		return nil, err
	}
	for v := range chosen {
		t.classes[v] = records.Label(v) > 0
	}
	t.labels = make([]bool, len(drawn))
	for i, p := range drawn {
		t.labels[i] = t.classes[p.A] != t.classes[p.B]
	}
	inPairs := make([]int, 0, len(chosen))
	for v := range chosen {
		if g.Degree(v) > 0 {
			inPairs = append(inPairs, v)
		}
	}
	if t.byRecord, err = withFeatures(records, t.x); err != nil {
		return nil, err
	}
	t.byRecord = t.byRecord.Subset(inPairs)
	test := all.Subset(testRows)
	x, err := s.features(test)
	if err != nil {
		return nil, err
	}
	t.test, err = withFeatures(test, x)
	return t, err
}

// features returns the features that all methods use.
func (s settings) features(r *engine.Records) ([]float64, error) {
	if !s.encoded {
		return scaled(r)
	}
	x := make([]float64, r.Len()*r.Dim())
	for i := range r.Len() {
		r.Row(i, x[i*r.Dim():(i+1)*r.Dim()])
	}
	return x, nil
}

// scaled are the features with every row scaled down to L1 norm 1, as in the paper.
func scaled(r *engine.Records) ([]float64, error) {
	x := make([]float64, r.Len()*r.Dim())
	for i := range r.Len() {
		row := x[i*r.Dim() : (i+1)*r.Dim()]
		r.Row(i, row)
		sum := 0.0
		for _, v := range row {
			sum += math.Abs(v)
		}
		if sum > 1 {
			for k := range row {
				row[k] /= sum
			}
		}
	}
	return x, nil
}

func withFeatures(r *engine.Records, x []float64) (*engine.Records, error) {
	return engine.NewRecords(slices.Clone(x), slices.Clone(r.Labels()), r.Dim(), engine.UnitBounds())
}

// spec is the common part of all methods.
func (t *task) spec() pairs.Spec {
	return pairs.Spec{
		Individuals: t.graph.Len(), Pairs: len(t.labels), Dim: t.d, Bound: 1,
		Loss: embedding.Contrastive{Margin: margin}, Rows: rowsOfW,
		Unit: pairs.Group, Kappa: t.graph.KappaBound(pairgraph.Transitive), Batch: 2000, Epochs: 3, Clip: clip,
		StepSize: noisyStep,
		ByClass:  true, Budget: privacy.Budget{Epsilon: 1}, Noise: privacy.LaplaceNoise,
	}
}

// trained is the outcome of a run.
type trained struct {
	w         []float64
	guarantee privacy.Guarantee
	curve     []float64 // objective at points of the run
}

// train runs a plan; replace, if not nil, makes the noise of a release instead of the
// plan's mechanism, and points asks for the objective at so many places of the run.
func (t *task) train(s pairs.Spec, seed int, replace noiser, points int) (*trained, error) {
	p, err := s.Plan()
	if err != nil {
		return nil, err
	}
	return t.trainPlan(p, seed, replace, points)
}

func (t *task) trainPlan(p *pairs.Plan, seed int, replace noiser, points int) (*trained, error) {
	s := p.Spec
	data, err := embedding.NewData(slices.Clone(t.x), t.d, s.Norm(), s.Bound, t.graph, slices.Clone(t.labels))
	if err != nil {
		return nil, err
	}
	out := &trained{guarantee: p.Guarantee}
	source := privacy.NewSeededSource(uint64(seed) + 1)
	if s.Method != pairs.Gradients {
		r, err := pairs.Run(context.Background(), data, t.numbers(), p,
			pairs.Options{Options: algorithms.Options{Public: true, Source: source}})
		if err != nil {
			return nil, err
		}
		out.w = r.Weights
		return out, nil
	}
	session, err := privacy.NewPublicSession(source, p.Events())
	if err != nil {
		return nil, err
	}
	watched := &observer{Session: session, plan: p, replace: replace, random: rand.New(rand.NewPCG(uint64(seed), 3))}
	if points > 0 {
		if watched.objective, err = embedding.NewGradients(data, s.Loss.(embedding.ListLoss), s.Rows, 1); err != nil {
			return nil, err
		}
		watched.every = max(1, p.Batches*s.Epochs/points)
	}
	out.w, err = pairs.Train(context.Background(), data, nil, p, watched, 1, algorithms.Tracker{})
	out.curve = watched.curve
	return out, err
}

// numbers are the classes as 0 and 1.
func (t *task) numbers() []int32 {
	numbers := make([]int32, len(t.classes))
	for v, class := range t.classes {
		if class {
			numbers[v] = 1
		}
	}
	return numbers
}

// objective is the mean loss of w over all pairs of the task.
func (t *task) objective(s pairs.Spec, w []float64) (float64, error) {
	data, err := embedding.NewData(slices.Clone(t.x), t.d, embedding.L2, 1, t.graph, slices.Clone(t.labels))
	if err != nil {
		return 0, err
	}
	g, err := embedding.NewGradients(data, s.Loss.(embedding.ListLoss), s.Rows, 1)
	if err != nil {
		return 0, err
	}
	return g.Objective(w), nil
}

// accuracy is that of 5 nearest neighbours under W on the test records; nil is the
// identity.
func (t *task) accuracy(w []float64) (float64, error) {
	var metric []float64
	if w != nil {
		metric = square(w, len(w)/t.d, t.d)
	}
	c, err := metrics.KNN(context.Background(), t.byRecord, t.test, metrics.KNNOptions{K: 5, Metric: metric, Workers: 1})
	return c.Accuracy(), err
}

// noiser adds the noise of one release, in units of the clip, to q.
type noiser func(q []float64, r *rand.Rand)

// observer is a session that may replace the noise of a baseline and that repeats the
// public recursion of W to know its objective.
type observer struct {
	privacy.Session
	plan      *pairs.Plan
	replace   noiser
	random    *rand.Rand
	objective *embedding.Gradients
	every     int
	w         []float64
	tau       int
	curve     []float64
}

func (o *observer) UniformBall(dst []float64, radius float64) {
	o.Session.UniformBall(dst, radius)
	o.w = slices.Clone(dst)
}

func (o *observer) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	if o.replace != nil {
		o.replace(x, o.random)
	} else if err := o.Session.Release(x, c, m); err != nil {
		return err
	}
	o.step(x)
	return nil
}

func (o *observer) ReleaseExact(x []float64) error {
	err := o.Session.ReleaseExact(x)
	if err == nil {
		o.step(x)
	}
	return err
}

// step repeats the step of pairs.Train.
func (o *observer) step(q []float64) {
	if o.objective == nil {
		return
	}
	s := o.plan.Spec
	h := s.Clip
	if s.Shrink {
		h = min(h, s.Loss.(embedding.ListLoss).GradientBound(o.w, s.Dim, s.Norm(), s.Bound))
	}
	if s.Mode == algorithms.NonPrivate {
		h = 1
	}
	o.tau++
	eta := s.StepSize / math.Sqrt(float64(o.tau))
	for k, v := range q {
		o.w[k] -= eta * h * v
	}
	if o.tau%o.every == 0 {
		o.curve = append(o.curve, o.objective.Objective(o.w))
	}
}

// repeats are the tasks of all repeats.
func (s settings) tasks() ([]*task, error) {
	all, err := bench.Load(s.data, s.schema)
	if err != nil {
		return nil, err
	}
	out := make([]*task, s.repeats)
	for i := range out {
		if out[i], err = s.task(all, i); err != nil {
			return nil, err
		}
	}
	distances := make([]float64, 0, 1000)
	t := out[0]
	for i, p := range t.graph.Pairs() {
		if t.labels[i] && len(distances) < cap(distances) {
			sum := 0.0
			for k := range t.d {
				v := t.x[int(p.A)*t.d+k] - t.x[int(p.B)*t.d+k]
				sum += v * v
			}
			distances = append(distances, math.Sqrt(sum))
		}
	}
	mean, _ := experiment.MeanAndError(distances)
	margin := float64(margin)
	if s.encoded {
		margin = tupleMargin
	}
	fmt.Printf("# %d pairs of %d individuals, d = %d, kappa' = %d, largest degree %d; margin %g (public; the mean "+
		"distance of dissimilar pairs is %.3g); %d balanced test records; data treated as public, noise seeded\n",
		len(t.labels), t.graph.Len(), t.d, t.graph.KappaBound(pairgraph.Transitive), t.graph.MaxDegree(), margin,
		mean, t.test.Len())
	return out, nil
}
