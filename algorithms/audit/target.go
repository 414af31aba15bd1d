package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/algotest"
	"dyad/engine"
	"dyad/privacy"
)

var errMoreReleases = errors.New("audit: the algorithm releases more on one data set than on its neighbour")

// Target is what is attacked: a plan and two data sets of its shape that differ in
// one record.
type Target struct {
	Algorithm algorithms.Algorithm
	Plan      *algorithms.Plan
	// Stream is the plan of an online algorithm, in place of Algorithm and Plan. The
	// data sets are streams of Horizon records in their order.
	Stream          *algorithms.StreamPlan
	Data, Neighbour *engine.Records
	// Coins seeds the coins other than noise in white-box runs.
	Coins uint64
	// Instance describes the two data sets.
	Instance string
}

// claim is what a plan claims, of either kind.
type claim struct {
	algorithm, mode string
	variant         string         // of a stream
	problem         engine.Problem // N: records in all
	guarantee       privacy.Guarantee
	noise           privacy.Mechanism
	events          []privacy.Event
}

func (t Target) claim() claim {
	if s := t.Stream; s != nil {
		c := claim{
			algorithm: s.Algorithm, mode: s.Spec.Mode.String(), variant: s.Reading.String(), problem: s.Spec.Kernel.Problem(),
			guarantee: s.Guarantee, noise: s.Noise, events: s.Events,
		}
		c.problem.N = s.Spec.Horizon
		if s.Spec.Batch > 1 {
			c.variant += fmt.Sprintf(", batches of %d", s.Spec.Batch)
		}
		if s.Spec.Buffer > 0 {
			c.variant += fmt.Sprintf(", buffer of %d", s.Spec.Buffer)
		}
		if s.Spec.Reservoir {
			c.variant += ", reservoir"
		}
		return c
	}
	return planClaim(t.Plan)
}

func planClaim(p *algorithms.Plan) claim {
	return claim{
		algorithm: p.Algorithm, mode: p.Mode.String(), problem: p.Spec.Kernel.Problem(),
		guarantee: p.Guarantee, noise: p.Noise, events: p.Events,
	}
}

// check returns an error unless there is a claim to attack.
func (t Target) check() error {
	if t.Stream == nil && (t.Plan == nil || t.Algorithm == nil) || t.Data == nil || t.Neighbour == nil {
		return errors.New("audit: the target needs an algorithm and its plan, or the plan of a stream, and two data sets")
	}
	c := t.claim()
	if kind := c.guarantee.Kind; c.noise == nil || kind != privacy.ApproxDP && kind != privacy.PureDP {
		return fmt.Errorf("audit: %s in %s mode claims no privacy: there is nothing to refute", c.algorithm, c.mode)
	}
	return errors.Join(c.problem.Fits(t.Data), c.problem.Fits(t.Neighbour))
}

// Worst searches the pair of neighbours, and coins, on which the exact vectors of a
// plan move most: the structured instance with the replaced record at the ends, in
// the middle and at random places, and random data sets; with several coins each. It
// knows nothing of the noise but its scale, so what it finds is a choice of attack,
// not a bound.
func Worst(ctx context.Context, a algorithms.Algorithm, p *algorithms.Plan, seed uint64) (Target, error) {
	return worst(ctx, Target{Algorithm: a, Plan: p}, nil, seed)
}

// WorstStream is Worst for a stream, with the replaced record also at places that get
// rarer after the end of the burn-in.
func WorstStream(ctx context.Context, p *algorithms.StreamPlan, seed uint64) (Target, error) {
	first := p.Spec.BurnIn // the first record of the first update
	indices := []int{first - 1, first + p.Spec.Batch - 1}
	for k := 1; first+k-1 < p.Spec.Horizon; k *= 2 {
		indices = append(indices, first+k-1)
	}
	return worst(ctx, Target{Stream: p}, indices, seed)
}

func worst(ctx context.Context, t Target, indices []int, seed uint64) (Target, error) {
	problem := t.claim().problem
	n, d, b := problem.N, problem.D, problem.Bounds
	var targets []Target
	source := privacy.NewSeededSource(seed)
	indices = append(indices, 0, 1, n/2, n-1, int(source.Permutation(n)[0]))
	_, metric := problem.Loss.(engine.MetricLoss)
	for _, k := range indices {
		data, neighbour := algotest.WorstCase(n, d, k, b)
		targets = append(targets, Target{Data: data, Neighbour: neighbour, Instance: fmt.Sprintf("structured, record %d replaced", k)})
		if !metric {
			continue
		}
		// A label decides on which side a pair pulls.
		flipped := slices.Clone(neighbour.Labels())
		flipped[k] = -flipped[k]
		data, err := relabelled(neighbour, flipped)
		if err != nil {
			return Target{}, err
		}
		targets = append(targets, Target{Data: data, Neighbour: neighbour, Instance: fmt.Sprintf("structured, label of record %d flipped", k)})
	}
	data := algotest.RandomRecords(n, d, b, seed)
	for i, neighbour := range algotest.Neighbours(data, 3, seed) {
		targets = append(targets, Target{Data: data, Neighbour: neighbour, Instance: fmt.Sprintf("random, neighbour %d", i)})
	}
	var worst Target
	largest := -1.0
	for _, u := range targets {
		t.Data, t.Neighbour, t.Instance = u.Data, u.Neighbour, u.Instance
		if err := t.check(); err != nil {
			return Target{}, err
		}
		for coins := range uint64(3) {
			t.Coins = seed + coins
			moved, err := t.Move(ctx)
			if err != nil {
				return Target{}, err
			}
			if moved > largest {
				largest, worst = moved, t
			}
		}
	}
	return worst, nil
}

// Move is how far the exact vectors move between the two data sets over what their
// certificates allow: 1 if they are attained. It is the root of the mean of the squared
// ratios of all releases, or of their sum where one certificate is for all of them (a
// stream) or one of them only reads the replaced record (epochs).
func (t Target) Move(ctx context.Context) (float64, error) {
	w, err := newWorker(t)
	if err != nil {
		return 0, err
	}
	defer w.close()
	o, other, err := w.pair(ctx, false, t.Coins)
	if err != nil {
		return 0, err
	}
	coupled, err := t.coupled()
	if err != nil {
		return 0, err
	}
	square := 0.0
	for i, r := range o.Releases {
		bound := r.Bound
		if coupled > 0 {
			bound = coupled
		}
		square += distance2(other[i].Exact, r.Exact) / (bound * bound)
	}
	if t.Stream == nil && len(t.Plan.Epochs) == 0 {
		square /= float64(len(o.Releases))
	}
	return math.Sqrt(square), nil
}

// coupled bounds how far two hidden states that share their noise can be apart (see
// algotest's replay); 0 for a plan without hidden steps.
func (t Target) coupled() (float64, error) {
	if t.Stream != nil || t.Plan.Certificate.HiddenSteps() == 0 {
		return 0, nil
	}
	e, ok := t.Plan.Noise.Event(t.Plan.Certificate).(privacy.ConvergentEvent)
	if !ok {
		return 0, fmt.Errorf("audit: %s has hidden steps without their event", t.Plan.Algorithm)
	}
	return min(e.Gap*float64(e.Steps), e.Contraction*e.Diameter+e.Gap), nil
}

// secret says that the guarantee of a plan rests on coins or states that stay secret,
// beside the noise of its releases: a white-box adversary is more than it promises.
func (t Target) secret() bool {
	if t.Stream != nil {
		return false
	}
	batch, _ := t.Plan.Certificate.Batch()
	return batch > 0 || t.Plan.Certificate.HiddenSteps() > 0
}

// relabelled is r with other labels.
func relabelled(r *engine.Records, y []float64) (*engine.Records, error) {
	x := make([]float64, r.Len()*r.Dim())
	for i := range y {
		r.Row(i, x[i*r.Dim():(i+1)*r.Dim()])
	}
	return engine.AdoptRecords(x, y, r.Dim(), r.Bounds())
}
