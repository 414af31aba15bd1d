package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// descent holds the differences between the descents on pairs: the pairs of a step, the update rule, and the place of
// the noise. The result is the last iterate, or a mean of iterates (Schedule.Average, Optimizer.Tail). All descents run
// descends.Train.
type descent struct {
	noise place
	// A step takes all pairs unless one of these three fields is set.
	pass  bool // step t takes the pairs of record t with all earlier records
	parts bool // a step takes the pairs within the records of its epoch
	batch int  // if > 0, a step takes the pairs within a batch of this size, drawn anew by secret coins
	Optimizer
	accelerate, plain bool // accelerate makes Nesterov's steps with restarts; plain keeps their momentum at 0
}

// place is the point at which a descent adds its noise.
type place int

const (
	onOutput    place = iota // once, to the returned weights (docs/theory.md#dpgdsc, docs/theory.md#offpair)
	onGradients              // to every mean gradient, which is then released (docs/theory.md#noisy-gradients)
	onHidden                 // to every iterate; only the last iterate is released (docs/theory.md#convergent-descent)
	nowhere                  // the result is released exactly
)

// pairs returns the pairs of one step, for a plan.
func (d descent) pairs(p engine.Problem) engine.Pairs {
	if d.batch > 0 {
		return engine.SubsetPairs{N: d.batch}
	}
	return p.Pairs()
}

// newPlan returns a plan of the descent without its releases.
func (d descent) newPlan(i Info, s Spec, schedule Schedule) *Plan {
	p := &Plan{Algorithm: i.Name, Mode: s.Mode, Spec: s, Schedule: schedule, own: &d}
	switch n := float64(s.Kernel.Problem().N); {
	case d.pass:
		p.Work.Gradients = n * (n - 1) / 2
	case !d.parts:
		p.Work = p.Work.Sum(schedule.Steps, d.pairs(s.Kernel.Problem()))
	}
	for _, e := range schedule.Epochs {
		p.Work = p.Work.Sum(e.Steps, engine.SubsetPairs{N: e.Records})
	}
	return p
}

// planNoisy plans a release of every mean gradient. Each release has the certificate c and the noise.
func (d descent) planNoisy(i Info, s Spec, schedule Schedule, c privacy.Certificate, noise privacy.Gaussian,
	theorem string) (*Plan, error) {
	if err := noise.Validate(); err != nil {
		return nil, err
	}
	// The noise of the steps is independent, so its sum in the last iterate is a random walk. In the average of
	// w_0..w_T, the noise of step t has the weight (T+1-t)/(T+1).
	steps, norm := float64(schedule.Steps), noise.NoiseNorm(s.coordinates())
	_, walk := d.rates(schedule.Steps)
	if schedule.Average {
		walk = steps * (2*steps + 1) / (6 * (steps + 1))
	}
	p := d.newPlan(i, s, schedule)
	p.ModelNoise = schedule.Constant * norm * math.Sqrt(walk)
	switch {
	case d.Update == adam:
		p.ModelNoise = math.Inf(1) // Adam divides by released numbers
	case d.Optimizer == (Optimizer{}):
		p.Utility = s.noisyUtility(schedule.Steps, schedule.Constant, norm, schedule.Average)
	}
	return p, p.account(theorem, s.release(c, noise, schedule.Steps))
}

// planGradients plans releases of mean gradients with the noise of Certified mode.
func (d descent) planGradients(i Info, s Spec, schedule Schedule) (*Plan, error) {
	c, err := s.meanGradient(d.pairs(s.Kernel.Problem()), d.batch)
	if err != nil {
		return nil, err
	}
	noise, err := privacy.CalibrateGaussian(c, s.Budget, schedule.Steps)
	if err != nil {
		return nil, err
	}
	return d.planNoisy(i, s, schedule, c, noise, "")
}

// planOutput plans a release of the last or average iterate by a certificate. In Paper mode the noise is the paper's.
func (d descent) planOutput(i Info, s Spec, schedule Schedule, by interface {
	Certify() (privacy.Certificate, error)
}, paper privacy.Mechanism, theorem string) (*Plan, error) {
	c, err := by.Certify()
	if err != nil {
		return nil, err
	}
	p := d.newPlan(i, s, schedule)
	if err := p.releasePlan(c, paper, theorem); err != nil {
		return nil, err
	}
	if !d.pass {
		p.Utility = s.outputUtility(s.descentUtility(schedule.Steps, schedule.Constant, schedule.Average), p.modelNoise())
	}
	return p, nil
}

// descends implements Train by the descent of a plan. Algorithms embed descends.
type descends struct{}

// Train runs the descent that Plan planned.
func (descends) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session,
	t Tracker) ([]float64, error) {
	d, ok := p.own.(*descent)
	if !ok {
		return nil, fmt.Errorf("algorithms: this algorithm did not make the plan of %s; call its Plan method", p.Algorithm)
	}
	problem := ev.Kernel().Problem()
	parts, all := p.Schedule.Epochs, p.Schedule.Steps
	if d.pass {
		all = problem.N // the first record has no pair
	}
	if parts == nil {
		parts = []Epoch{{Steps: all, StepSize: p.Schedule.Constant}}
	}
	r := d.start(p, s, problem)
	done := 0
	if r.resumes() {
		var err error
		if done, err = t.Restore(r.kept, r.state...); err != nil {
			return nil, err
		}
	}
	before, first := 0, 0 // steps and records of earlier parts
	for i, part := range parts {
		from := max(0, done-before)
		if from <= part.Steps {
			r.pairs = d.pairs(problem)
			if r.order != nil {
				r.pairs = engine.SubsetPairs{Order: r.order, From: first, N: max(d.batch, part.Records)}
			}
			if err := r.run(ctx, ev, part, from, func(k int) {
				if r.resumes() {
					t.Keep(before+k, r.kept, r.state...)
				}
				t.Step(before+k, all)
			}); err != nil {
				return nil, err
			}
			if err := r.release(i, part.Steps); err != nil {
				return nil, err
			}
		}
		before, first = before+part.Steps, first+part.Records
	}
	return r.w, nil
}

// running is the state of a running descent.
type running struct {
	*descent
	p        *Plan
	s        privacy.Session
	domain   engine.Domain
	w, total []float64    // the iterate, and the sum of the iterates that the returned mean includes
	order    []int32      // the order of the records; nil if a step takes all pairs
	pairs    engine.Pairs // of a step
	step     func(t int, sum []float64, pairs, eta float64) error
	kept     []int32 // the order and the vectors to save in a checkpoint
	state    [][]float64
	reached  []float64 // the iterate of accelerated steps; w is then their look-ahead point
}

// start returns the state before the first step.
func (d *descent) start(p *Plan, s privacy.Session, problem engine.Problem) *running {
	r := &running{descent: d, p: p, s: s, domain: problem.Domain()}
	r.w = r.domain.Start()
	r.total, r.state = make([]float64, len(r.w)), [][]float64{r.w}
	switch {
	case d.batch > 0:
		r.order = make([]int32, problem.N)
		for i := range r.order {
			r.order[i] = int32(i)
		}
	case d.pass || d.parts:
		r.order = s.Permutation(problem.N)
		r.kept = r.order
	}
	if d.noise == onGradients || d.pass || p.Schedule.Average {
		r.state = append(r.state, r.total)
	}
	switch {
	case d.noise == onGradients:
		if p.Schedule.Average {
			copy(r.total, r.w)
		}
		r.step = r.noisy()
	case d.noise == onHidden:
		r.step = r.hidden()
	case d.accelerate:
		r.step = r.accelerated()
	}
	return r
}

// resumes reports whether a checkpoint holds the whole state of the descent.
func (r *running) resumes() bool { return r.noise != onHidden && !r.accelerate }

// meanFrom returns the index of the first iterate of the returned mean, or steps + 1 if no mean is returned.
func (r *running) meanFrom(steps int) int {
	switch {
	case !r.p.Schedule.Average:
		return r.tailStart(steps)
	case r.noise == onGradients:
		return 0 // with the start
	}
	return 1
}

// run makes the steps of a part from step from+1 on, and calls done after each step.
func (r *running) run(ctx context.Context, ev engine.Evaluator, part Epoch, from int, done func(steps int)) error {
	if r.step == nil || r.parts {
		r.step = r.exact()
	}
	sum, mean := make([]float64, len(r.w)), r.meanFrom(part.Steps)
	for k := from + 1; k <= part.Steps; k++ {
		if err := r.oneStep(ctx, ev, sum, k, part); err != nil {
			return err
		}
		if k >= mean {
			for j := range r.total {
				r.total[j] += r.w[j]
			}
		}
		done(k)
	}
	return nil
}

// oneStep makes step k.
func (r *running) oneStep(ctx context.Context, ev engine.Evaluator, sum []float64, k int, part Epoch) error {
	pairs, eta := r.pairs, part.StepSize
	switch {
	case r.pass && k <= r.p.Schedule.BurnIn:
		radius := ev.Kernel().Problem().Radius
		r.s.UniformBall(r.w, radius)
		return r.domain.Project(r.w, radius*(1+0x1p-40))
	case r.pass && k == 1:
		return nil
	case r.pass:
		pairs, eta = engine.PrefixPairs{Order: r.order, T: k - 1}, r.p.Schedule.Eta[k]
	case r.batch > 0:
		if err := r.s.Sample(r.order, r.batch); err != nil {
			return err
		}
	}
	if err := ev.Sum(ctx, sum, engine.Gradient(r.w, pairs)); err != nil {
		return err
	}
	return r.step(k, sum, float64(pairs.Len()), eta)
}

// exact returns the step function without noise. The iterates stay secret.
func (r *running) exact() func(int, []float64, float64, float64) error {
	kernel, mean := r.p.Spec.Kernel, 0.0
	if r.pass {
		mean = worstMeanRoundoff(kernel, kernel.Problem().N)
	} else {
		mean = meanRoundoff(kernel, r.pairs)
	}
	u := r.p.Spec.newUpdate(mean)
	return func(_ int, sum []float64, pairs, eta float64) error { return u.apply(r.w, sum, eta, pairs) }
}

// noisy returns the step function that releases every mean gradient. Only released gradients enter the iterates:
//
//	w_t = Pi_C[w_(t-1) - eta (g(w_(t-1)) + N(0, sigma^2 I) + alpha w_(t-1))]
func (r *running) noisy() func(int, []float64, float64, float64) error {
	o := r.Optimizer.start(len(r.w), r.p.Schedule.Steps, r.p.Schedule.Constant, r.p.Noise())
	r.state = append(r.state, o.Vectors()...)
	certificate, noise := r.p.Certificate(), r.p.Noise()
	return func(t int, gradient []float64, pairs, _ float64) error {
		for k := range gradient {
			gradient[k] /= pairs
		}
		if err := r.s.Release(gradient, certificate, noise); err != nil {
			return err
		}
		for k := range r.w {
			gradient[k] += r.p.Spec.L2 * r.w[k]
		}
		o.Move(r.w, gradient, t)
		return r.project()
	}
}

// hidden returns the step function that adds noise to every iterate on a grid. Only the last iterate is released.
func (r *running) hidden() func(int, []float64, float64, float64) error {
	state := r.p.Spec.newHiddenState(r.p.Schedule.Constant, r.p.Noise().GridSize())
	certificate, noise := r.p.Certificate(), r.p.Noise()
	return func(t int, sum []float64, pairs, eta float64) error {
		state.step(r.w, sum, eta, pairs)
		noisy := r.s.HiddenStep
		if t == r.p.Schedule.Steps {
			noisy = r.s.Release
		}
		if err := noisy(r.w, certificate, noise); err != nil {
			return err
		}
		return state.project(r.w)
	}
}

// accelerated returns the step function of Nesterov's method with adaptive restart. Gradients are taken at the
// look-ahead point w.
func (r *running) accelerated() func(int, []float64, float64, float64) error {
	u := r.p.Spec.newUpdate(meanRoundoff(r.p.Spec.Kernel, r.p.Spec.Kernel.Problem().Pairs()))
	r.reached = append([]float64(nil), r.w...)
	previous, momentum := make([]float64, len(r.w)), 0.0
	return func(_ int, sum []float64, pairs, eta float64) error {
		copy(previous, r.reached)
		copy(r.reached, r.w)
		if err := u.apply(r.reached, sum, eta, pairs); err != nil {
			return err
		}
		var turn float64
		for k, v := range r.reached {
			turn += (r.w[k] - v) * (v - previous[k])
		}
		momentum++
		if turn > 0 || r.plain {
			momentum = 0
		}
		for k, v := range r.reached {
			r.w[k] = v + momentum/(momentum+3)*(v-previous[k])
		}
		return r.domain.Project(r.w, 3*u.radius)
	}
}

// release computes the mean of the iterates of part i, if the plan asks for one, and releases the result unless the
// steps already released their gradients. Projections are post-processing.
func (r *running) release(i, steps int) error {
	size := steps + 1 - r.meanFrom(steps)
	if size > 0 {
		for k := range r.total {
			r.w[k] = r.total[k] / float64(size)
		}
		clear(r.total)
	}
	switch {
	case r.noise == onOutput:
		if err := r.s.Release(r.w, r.p.Releases[i].Certificate, r.p.Releases[i].Noise); err != nil {
			return err
		}
		return r.project()
	case r.noise == nowhere:
		if r.reached != nil {
			copy(r.w, r.reached)
		}
		return r.s.ReleaseExact(r.w)
	case r.noise == onGradients && size > 0:
		return r.project()
	}
	return nil
}

func (r *running) project() error { return r.domain.Project(r.w, normAbove(r.w)) }

// normAbove returns the Euclidean norm rounded up.
func normAbove(w []float64) float64 {
	var square float64
	for _, v := range w {
		square += v * v
	}
	return math.Sqrt(square) * (1 + 0x1p-40)
}
