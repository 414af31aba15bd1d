package audit

import (
	"context"
	"errors"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
)

// Release is one released vector as the strongest adversary sees it.
type Release struct {
	Exact []float64         // before the noise; only an audit has it
	Value []float64         // as released, before any post-processing
	Noise privacy.Mechanism // the claimed noise
	Bound float64           // the certified sensitivity of Exact; of all together in a stream
}

// Observation is one run of an algorithm.
type Observation struct {
	Releases []Release
	Weights  []float64 // what the algorithm returned
	// choices are those among candidates by their scores.
	choices    []choice
	selections []selection
	choiceMove float64 // how far a score, or a run of a selection, moves to the neighbour over what its certificate allows
	// hidden are the noises of steps of a secret state, which no adversary has.
	hidden [][]float64
	// LogRatio is the log-likelihood ratio of the releases, neighbour against data,
	// under the claimed noise. It is set in white-box runs.
	LogRatio float64
	// gap and noise are sums over the releases of a white-box run: how far the exact
	// vectors of the two data sets are apart, and the size of the noise, both in the norm
	// and scale of gammaParts.
	gap, noise float64
}

// flat is all released coordinates in order.
func (o Observation) flat() []float64 {
	var v []float64
	for _, r := range o.Releases {
		v = append(v, r.Value...)
	}
	return v
}

// observer passes an algorithm's requests on and notes what is released. With coins,
// data-independent coins come from there; without, from the session.
type observer struct {
	privacy.Session
	coins    *privacy.Source
	observed *Observation
	most     int // releases after which the run ends with errEnough; 0: all
}

func (o observer) Permutation(n int) []int32 {
	if o.coins == nil {
		return o.Session.Permutation(n)
	}
	return o.coins.Permutation(n)
}

func (o observer) Sample(order []int32, m int) error {
	if o.coins == nil {
		return o.Session.Sample(order, m)
	}
	// The session wants to know of a sample; the batch is that of the shared coins.
	if err := o.Session.Sample(slices.Clone(order), m); err != nil {
		return err
	}
	return o.coins.Sample(order, m)
}

func (o observer) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	if o.coins == nil {
		return o.Session.SamplePoisson(dst, n, rate)
	}
	if _, err := o.Session.SamplePoisson(nil, n, rate); err != nil {
		return nil, err
	}
	return o.coins.SamplePoisson(dst, n, rate)
}

func (o observer) HiddenStep(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	noise := slices.Clone(x)
	privacy.RoundToGrid(noise, m.GridSize())
	if err := o.Session.HiddenStep(x, c, m); err != nil {
		return err
	}
	for k := range noise {
		noise[k] = x[k] - noise[k]
	}
	o.observed.hidden = append(o.observed.hidden, noise)
	return nil
}

func (o observer) UniformBall(dst []float64, radius float64) {
	if o.coins == nil {
		o.Session.UniformBall(dst, radius)
		return
	}
	o.coins.UniformBall(dst, radius)
}

func (o observer) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	r := Release{Exact: slices.Clone(x), Noise: m, Bound: c.Sensitivity()}
	if err := o.Session.Release(x, c, m); err != nil {
		return err
	}
	r.Value = slices.Clone(x)
	o.observed.Releases = append(o.observed.Releases, r)
	return o.enough()
}

// errEnough ends a run whose first releases are enough.
var errEnough = errors.New("audit: enough releases")

func (o observer) enough() error {
	if o.most > 0 && len(o.observed.Releases) >= o.most {
		return errEnough
	}
	return nil
}

// replayer answers releases with recorded ones and notes the exact vectors that it
// was given: what the run on the other data set would have added noise to.
type replayer struct {
	observer
	recorded []Release
	hidden   [][]float64
	choices  []choice

	selections []selection
}

// HiddenStep adds the recorded noise: coupled like this, the two states show how far the
// exact last ones are apart.
func (p replayer) HiddenStep(x []float64, _ privacy.Certificate, m privacy.Mechanism) error {
	i := len(p.observed.hidden)
	if i >= len(p.hidden) {
		clear(x)
		return errMoreReleases
	}
	privacy.RoundToGrid(x, m.GridSize())
	for k := range x {
		x[k] += p.hidden[i][k]
	}
	p.observed.hidden = append(p.observed.hidden, p.hidden[i])
	return nil
}

func (p replayer) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	i := len(p.observed.Releases)
	if i >= len(p.recorded) {
		clear(x)
		return errMoreReleases
	}
	p.observed.Releases = append(p.observed.Releases, Release{Exact: slices.Clone(x), Noise: m})
	copy(x, p.recorded[i].Value)
	return p.enough()
}

// spy is an algorithm whose releases are noted, for runs through algorithms.Run.
type spy struct {
	algorithms.Algorithm
	observed *Observation
}

func (s spy) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, session privacy.Session, t algorithms.Tracker) ([]float64, error) {
	return s.Algorithm.Train(ctx, ev, p, observer{Session: session, observed: s.observed}, t)
}

// lookup is an evaluator that remembers the gradients of the last run. With equal
// coins an algorithm asks for the same ones again until a release comes between, and
// Sum has the same bits for the same records and query, so a run through a
// lookup has the bits of a run without it. Moments are computed anew, which is fast.
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
	return sameBits(a.W, b.W) && sameBits(a.Centre, b.Centre) && a.Radius == b.Radius && samePairs(a.Pairs, b.Pairs)
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
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
