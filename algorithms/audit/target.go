package audit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/algorithms/algotest"
	"dyad/engine"
	"dyad/privacy"
)

var errMoreReleases = errors.New("audit: the algorithm releases more on one data set than on its neighbour")

// Target is what is attacked: a plan and two data sets of its shape that differ in
// one record.
type Target struct {
	Algorithm       algorithms.Algorithm
	Plan            *algorithms.Plan
	Data, Neighbour *engine.Records
	// Coins seeds the coins other than noise in white-box runs.
	Coins uint64
	// Instance describes the two data sets.
	Instance string
}

// check returns an error unless there is a claim to attack.
func (t Target) check() error {
	if t.Plan == nil || t.Algorithm == nil || t.Data == nil || t.Neighbour == nil {
		return errors.New("audit: the target needs an algorithm, a plan and two data sets")
	}
	kind := t.Plan.Guarantee.Kind
	if t.Plan.Noise == nil || kind != privacy.ApproxDP && kind != privacy.PureDP {
		return fmt.Errorf("audit: %s in %s mode claims no privacy: there is nothing to refute", t.Plan.Algorithm, t.Plan.Mode)
	}
	p := t.Plan.Spec.Kernel.Problem()
	return errors.Join(p.Fits(t.Data), p.Fits(t.Neighbour))
}

// Worst searches the pair of neighbours, and coins, on which the exact vectors of a
// plan move most: the structured instance with the replaced record at the ends, in
// the middle and at random places, and random data sets; with several coins each. It
// knows nothing of the noise but its scale, so what it finds is a choice of attack,
// not a bound.
func Worst(ctx context.Context, a algorithms.Algorithm, p *algorithms.Plan, seed uint64) (Target, error) {
	problem := p.Spec.Kernel.Problem()
	n, d, b := problem.N, problem.D, problem.Bounds
	var targets []Target
	source := privacy.NewSeededSource(seed)
	indices := []int{0, 1, n / 2, n - 1, int(source.Permutation(n)[0])}
	for _, k := range indices {
		data, neighbour := algotest.WorstCase(n, d, k, b)
		targets = append(targets, Target{Data: data, Neighbour: neighbour, Instance: fmt.Sprintf("structured, record %d replaced", k)})
	}
	data := algotest.RandomRecords(n, d, b, seed)
	for i, neighbour := range algotest.Neighbours(data, 3, seed) {
		targets = append(targets, Target{Data: data, Neighbour: neighbour, Instance: fmt.Sprintf("random, neighbour %d", i)})
	}
	var worst Target
	largest := -1.0
	for _, t := range targets {
		t.Algorithm, t.Plan = a, p
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
// certificates allow, by the root of the sum of squares over all releases: 1 if the
// certificates are attained.
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
	square := 0.0
	for i, r := range o.Releases {
		for k := range r.Exact {
			square += (other[i].Exact[k] - r.Exact[k]) * (other[i].Exact[k] - r.Exact[k])
		}
	}
	allowed := t.Plan.Certificate.Sensitivity()
	if t.Plan.Certificate.HiddenSteps() > 0 { // coupled states, see replayer
		e, ok := t.Plan.Noise.Event(t.Plan.Certificate).(privacy.ConvergentEvent)
		if !ok {
			return 0, fmt.Errorf("audit: %s has hidden steps without their event", t.Plan.Algorithm)
		}
		allowed = min(e.Gap*float64(e.Steps), e.Contraction*e.Diameter+e.Gap)
	}
	return math.Sqrt(square/float64(len(o.Releases))) / allowed, nil
}

// secret says that the guarantee of a plan rests on coins or states that stay secret,
// beside the noise of its releases: a white-box adversary is more than it promises.
func (t Target) secret() bool {
	batch, _ := t.Plan.Certificate.Batch()
	return batch > 0 || t.Plan.Certificate.HiddenSteps() > 0
}
