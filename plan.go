package dyad

import (
	"slices"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/internal/input"
	"dyad/privacy"
)

// Options decide what a training does and guarantees. All of them are public: they must not
// be chosen by looking at private data.
type Options struct {
	Task      string               // AUC or Metric; "" is AUC
	Algorithm algorithms.Algorithm // with its own options; nil is DefaultAlgorithm(Mode)
	Mode      algorithms.Mode      // zero is Certified
	Epsilon   float64              // to spend; required, except with NonPrivate
	Delta     *float64             // to spend; nil is privacy.DefaultDelta, 0 asks for pure epsilon
	Loss      Loss                 // zero is the logistic loss
	L2        *float64             // weight of alpha/2 ||w||^2; nil is the algorithm's default
	// Radius of the ball that w lives in; 0 is a rule of n, d and the budget, and 1 for Metric.
	Radius float64
	// Assert replaces what is proved about the loss, to see what an algorithm would do for
	// another one. Train refuses such a plan.
	Assert engine.Assertion
}

// metricRadius is the default Frobenius radius of Metric: the papers' 1, the norm of their
// start I/sqrt(d). Unlike a score, a metric has a scale: the loss compares distances with 1.
const metricRadius = 1

// DefaultAlgorithm is the algorithm of plans that name none.
func DefaultAlgorithm(m algorithms.Mode) algorithms.Algorithm {
	if m == algorithms.NonPrivate {
		return algorithms.ProjectedGradient{}
	}
	return algorithms.DPGDSC{}
}

// Training is a training that is planned: what it will do and what that guarantees, from
// public numbers. Print Report().Text() before anything is charged.
type Training struct {
	*algorithms.Plan

	Task string
	Loss Loss // as the model file states it

	algorithm algorithms.Algorithm
	shape     Shape
	asserted  bool
}

// Plan plans a training of data of a shape on a device; nil is the CPU. No data are read and
// nothing is charged.
func Plan(s Shape, o Options, on *Device) (*Training, error) {
	t := &Training{Task: o.task(), algorithm: o.Algorithm, shape: s, asserted: o.Assert != (engine.Assertion{})}
	if t.algorithm == nil {
		t.algorithm = DefaultAlgorithm(o.Mode)
	}
	if on != nil && on.precise && t.Task != Metric {
		return nil, input.Errorf("dyad: a precision is for Metric: no other task has a choice")
	}
	var err error
	plain := o.Loss.Name == "" || o.Loss.Name == logistic && o.Loss.Params == nil
	switch _, moments := t.algorithm.(algorithms.Moments); {
	case moments && t.asserted:
		err = input.Errorf("dyad: moments takes no assertion: no constant of a loss is in its guarantee")
	case moments && plain && o.Loss.Clip == 0:
		o.Loss, err = NewLoss(square, nil, 0)
	case moments && (o.Loss.Name != square || o.Loss.Clip != 0):
		err = input.Errorf("dyad: moments minimises the square loss and no other; leave the loss and its parameters out, or choose another algorithm")
	case o.Loss.Name == "":
		o.Loss, err = NewLoss(logistic, nil, o.Loss.Clip)
	}
	if err != nil {
		return nil, err
	}
	spec, err := o.Spec(s, on)
	if err != nil {
		return nil, err
	}
	if t.Loss = o.Loss; o.L2 == nil {
		spec.L2 = algorithms.DefaultL2(t.algorithm.Info().Name)
	}
	if t.Plan, err = t.algorithm.Plan(spec); err != nil {
		return nil, input.As(err)
	}
	return t, nil
}

// Budget is what a run on n records spends.
func (o Options) Budget(n int) privacy.Budget {
	b := privacy.Budget{Epsilon: o.Epsilon, Delta: privacy.DefaultDelta(max(n, 2))}
	if o.Delta != nil {
		b.Delta = *o.Delta
	}
	return b
}

func (o Options) task() string {
	if o.Task == "" {
		return AUC
	}
	return o.Task
}

// Spec is everything that plans depend on but the algorithm, for algorithms.Compare.
func (o Options) Spec(s Shape, on *Device) (algorithms.Spec, error) {
	if s.Records < 2 {
		return algorithms.Spec{}, input.Errorf("dyad: a pairwise loss needs at least 2 records, got %d", s.Records)
	}
	budget := o.Budget(s.Records)
	if o.Mode != algorithms.NonPrivate {
		if err := budget.Validate(); err != nil {
			return algorithms.Spec{}, input.As(err)
		}
	}
	loss, err := o.Loss.Of(o.task())
	if err != nil {
		return algorithms.Spec{}, err
	}
	radius := o.Radius
	if radius == 0 {
		radius = metricRadius
		if o.task() == AUC {
			radius = algorithms.DefaultRadius(s.Records, s.Features, budget, o.Mode)
		}
	}
	var l2 float64
	if o.L2 != nil {
		l2 = *o.L2
	}
	spec, err := algorithms.NewSpec(on.Backend(), engine.Problem{
		N: s.Records, D: s.Features, Bounds: engine.UnitBounds(), Loss: loss,
		Radius: radius, NonZerosPerRow: s.NonZeros, Groups: s.Groups, LabelValues: s.LabelValues,
	}, l2, budget, o.Mode)
	if err != nil {
		return algorithms.Spec{}, input.As(err)
	}
	spec.Provenance = s.Provenance
	spec.Constants, err = spec.Constants.Assert(o.Assert)
	return spec, input.As(err)
}

// fits refuses data that the plan was not made for: the number of records, the features and
// all else that the guarantee states.
func (t *Training) fits(d *Data) error {
	s := d.Shape()
	switch p := t.shape; {
	case t.asserted:
		return input.Errorf("dyad: this plan rests on asserted constants; a training uses what is proved")
	case !d.labelled:
		return input.Errorf("dyad: a training needs labels, and these data were read without them; read them with Open")
	case s.Records != p.Records || s.Features != p.Features:
		return input.Errorf("dyad: the plan is for %d records of %d features, and the data have %d of %d; plan with Data.Shape", p.Records, p.Features, s.Records, s.Features)
	case !slices.Equal(s.Groups, p.Groups):
		return input.Errorf("dyad: the plan is for other query groups than those of the data; plan with Data.Shape")
	case s.NonZeros != p.NonZeros || s.LabelValues != p.LabelValues || s.Provenance != p.Provenance:
		return input.Errorf("dyad: the plan is for data of another schema; plan with Data.Shape")
	}
	return nil
}

// Planned is a training by a plan that an algorithm made of a specification for data of a
// shape; the specification must have the numbers of the shape.
func Planned(a algorithms.Algorithm, p *algorithms.Plan, task string, loss Loss, s Shape) *Training {
	return &Training{Plan: p, Task: task, Loss: loss, algorithm: a, shape: s}
}
