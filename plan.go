package dyad

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/internal/input"
	"dyad/internal/texts"
	"dyad/privacy"
)

// Options decides what a training does and guarantees. All options are public: private data must not influence them.
type Options struct {
	Task string // AUC or Metric; "" is AUC
	// Algorithm is the algorithm, with its options. If it is nil, algorithms.Choose chooses one by public numbers.
	Algorithm algorithms.Algorithm
	Mode      algorithms.Mode // the zero value is Certified
	Epsilon   float64         // to spend; required, except with NonPrivate
	Delta     *float64        // delta to spend; nil means privacy.DefaultDelta, 0 means pure epsilon
	Loss      Loss            // the zero value is the logistic loss, except for algorithms with a loss of their own
	L2        *float64        // weight of alpha/2 ||w||^2; nil is the algorithm's default
	// Radius is the radius of the ball that contains w. If it is 0, a rule computes it from n, d, the loss and the
	// budget; for Metric the default is 1.
	Radius float64
	// Network makes the model a network; nil is a linear score, or a Mahalanobis metric. With a network, Loss is the
	// loss of pairs of its outputs, and Radius must be 0: every layer has a ball of its own.
	Network *Network
	// Assert replaces the proved constants of the loss, to plan for constants of another loss. Run refuses such a plan.
	Assert engine.Assertion
	// PaperUnsound is algorithms.Spec.PaperUnsound, for Paper mode on public data only.
	PaperUnsound bool
	// On is the device of the computations; nil is the CPU on all cores. Its rounding error is part of the sensitivity,
	// so a plan is valid for one device.
	On *device.Device
}

// metricRadius is the default Frobenius radius of Metric. It is the papers' value 1, the norm of their start I/sqrt(d).
// Unlike a score, a metric has a scale: the loss compares distances with 1.
const metricRadius = 1

// Training is a training planned from public numbers, with its guarantee. Print Report().Text() before any charge.
type Training struct {
	*algorithms.Plan

	Task    string
	Loss    Loss     // the loss as the model file states it
	Network *Network // with all defaults filled in; nil for a linear model

	algorithm algorithms.Algorithm
	shape     Shape
	asserted  bool
	team      string // devices of the members of a team; "" without a team
}

// Plan plans a training. s is the public shape of the data. Plan reads no data and makes no charge.
func Plan(s Shape, o Options) (*Training, error) {
	c, err := o.Choose(s)
	if err != nil {
		return nil, err
	}
	return o.Plan(c, s)
}

// Choose returns o.Algorithm. If this is nil, Choose selects an algorithm by public numbers and states the reason.
func (o Options) Choose(s Shape) (algorithms.Choice, error) {
	if o.Network != nil && o.Algorithm == nil {
		return algorithms.NetworkChoice(o.L2, s.Records, s.Features, cmp.Or(o.Task, AUC) == AUC), nil
	}
	if o.Algorithm != nil {
		return algorithms.Choice{Algorithm: o.Algorithm, L2: o.l2(o.Algorithm, s)}, nil
	}
	spec, err := o.Spec(s)
	if err != nil {
		return algorithms.Choice{}, err
	}
	// Asserted constants belong to a named loss.
	return algorithms.Choose(algorithms.Question{Spec: spec, LossNamed: o.Loss.Named() || o.asserts(), L2: o.L2}), nil
}

// ChooseBasis chooses a basis for training on n records (or persons). It returns s with this basis, and the reason.
// If s has the key basis and the value is not auto, there is no choice, and s is returned unchanged. If s has no key
// basis and the choice is to use no basis, s is also returned unchanged. The choice depends only on n, the schema and
// the options, which are all public. Load the data with the returned schema, as dyad train does; Open chooses no
// basis.
func (o Options) ChooseBasis(s *dataset.Schema, n int) (chosen *dataset.Schema, reason string, err error) {
	if s.Basis != "" && s.Basis != dataset.BasisAuto {
		return s, "", nil
	}
	none := s.Decided()
	e, err := dataset.NewEncoder(none)
	if err != nil {
		return nil, "", input.As(err)
	}
	shape := ShapeOf(e, n)
	c, err := o.Choose(shape)
	if err != nil {
		return nil, "", err
	}
	if _, moments := c.Algorithm.(algorithms.Moments); !moments || s.ColumnOf(dataset.RoleGroup) != nil {
		return none, "only the algorithm moments without query groups gets a basis", nil
	}
	basis, reason := algorithms.ChooseBasis(n, n*max(1, shape.PersonRows), o.Budget(n), s.DimWith)
	if basis == dataset.BasisNone {
		return none, reason, nil
	}
	return s.WithBasis(basis), reason, nil
}

// Plan plans a training with the algorithm that the choice c contains. The caller may have changed the options
// of this algorithm after Choose.
func (o Options) Plan(c algorithms.Choice, s Shape) (*Training, error) {
	t := &Training{Task: cmp.Or(o.Task, AUC), algorithm: c.Algorithm, shape: s, asserted: o.asserts(), team: o.On.Shared()}
	if o.On.Precise() && t.Task != Metric {
		return nil, input.Errorf("dyad: a precision is only for task %q (--task metric)", Metric)
	}
	if o.Network != nil {
		if o.On.Shared() != "" {
			return nil, input.Errorf("dyad: a network is trained by one process in this version; leave the team out")
		}
		if err := o.fillNetwork(c, s); err != nil {
			return nil, err
		}
		t.Network = o.Network
	}
	_, moments := c.Algorithm.(algorithms.Moments)
	_, metric := c.Algorithm.(algorithms.MomentMetric)
	switch {
	case (moments || metric) && t.asserted:
		return nil, input.Errorf("dyad: %s does not take --G, --L and --Dg, because it needs no constants of a loss",
			c.Algorithm.Info().Name)
	case metric && o.On.Precise():
		return nil, input.Errorf("dyad: moment-metric computes in float64 and does not take a precision (--precision)")
	case metric && o.Loss.Named():
		return nil, input.Errorf("dyad: moment-metric minimises no loss; leave out --loss and its parameters")
	case moments:
		own, err := NewLoss(square, nil, 0)
		named, wrong := o.Loss.Defined()
		if err = cmp.Or(err, wrong); err != nil {
			return nil, err
		}
		if o.Loss.Named() && (named.Name != square || o.Loss.Clip != 0 ||
			o.Loss.Params != nil && !maps.Equal(o.Loss.Params, own.Params)) {
			return nil, input.Errorf("dyad: moments minimises only the plain square loss; leave out --loss, or choose " +
				"moments-descent")
		}
		o.Loss = own
	}
	o.Algorithm = c.Algorithm
	c.L2 = o.l2(c.Algorithm, s) // the options of the algorithm may have changed it
	spec, err := o.Spec(s)
	if err != nil {
		if c.Reason != "" { // Choose had a specification, with the radius of other algorithms
			err = input.Errorf("%w; %s was chosen by auto: %s. Give a --radius below the default, or another "+
				"--algorithm", err, c.Algorithm.Info().Name, c.Reason)
		}
		return nil, err
	}
	if t.Loss, err = o.Loss.Defined(); err != nil {
		return nil, err
	}
	if t.Plan, err = c.Plan(spec); err != nil {
		return nil, input.As(err)
	}
	if t.Network != nil {
		t.Network.describe(t.Plan)
	}
	return t, input.As(prefixed(texts.Check(Model{Task: t.Task, Loss: &t.Loss, Network: t.Network, Report: t.Report()})))
}

// l2 returns the weight of the L2 term.
func (o Options) l2(a algorithms.Algorithm, s Shape) float64 {
	usual := algorithms.DefaultL2(a, s.Records, cmp.Or(o.Task, AUC) == Metric)
	return *cmp.Or(o.L2, &usual)
}

func (o Options) asserts() bool { return o.Assert != (engine.Assertion{}) }

// Budget returns the privacy budget of a run on n records.
func (o Options) Budget(n int) privacy.Budget {
	b := privacy.Budget{Epsilon: o.Epsilon, Delta: privacy.DefaultDelta(max(n, 2))}
	if o.Delta != nil {
		b.Delta = *o.Delta
	}
	return b
}

// Spec returns everything that a plan depends on, except the L2 term and the loss of an algorithm that has its own
// loss. If o.Algorithm is nil, the specification is for any algorithm and can be passed to algorithms.Compare and
// Choose.
func (o Options) Spec(s Shape) (algorithms.Spec, error) {
	if s.Records < 2 {
		return algorithms.Spec{}, input.Errorf("dyad: a pairwise loss needs at least 2 records, got %d", s.Records)
	}
	budget, task := o.Budget(s.Records), cmp.Or(o.Task, AUC)
	if o.Mode != algorithms.NonPrivate {
		if err := budget.Validate(); err != nil {
			return algorithms.Spec{}, input.As(err)
		}
	}
	loss, radius, backend, err := o.trained(task, s.Features)
	if err != nil {
		return algorithms.Spec{}, err
	}
	if radius == 0 {
		radius = metricRadius
		if task == AUC {
			name := ""
			if o.Algorithm != nil {
				name = o.Algorithm.Info().Name
			}
			radius = algorithms.DefaultRadius(name, s.Records, s.Features, budget, o.Mode, loss)
		}
	}
	spec, err := algorithms.NewSpec(backend, engine.Problem{
		N: s.Records, D: s.Features, Bounds: engine.UnitBounds(), Loss: loss,
		Radius: radius, NonZerosPerRow: s.NonZeros, Groups: s.Groups, LabelValues: s.LabelValues, PersonRows: s.PersonRows,
		Candidates: s.Candidates,
	}, 0, budget, o.Mode)
	if err != nil {
		return algorithms.Spec{}, input.As(err)
	}
	spec.Provenance, spec.PaperUnsound = s.Provenance, o.PaperUnsound
	spec.Constants, err = spec.Constants.Assert(o.Assert)
	return spec, input.As(err)
}

// PlanStream plans the online algorithm a on at most s.Records records. If Radius is 0, the papers' radius 1 applies.
// The model is linear. PlanStream ignores Algorithm and Assert. s.Records replaces with.Horizon. online.Open runs the
// stream: it charges as other runs do, and releases at every update instead of once.
func (o Options) PlanStream(s Shape, a algorithms.Stream, with algorithms.StreamOptions) (*algorithms.Plan, error) {
	needs := input.Needs{Linear: "a stream trains a linear model; leave Options.Network out"}
	loss, err := o.Loss.Of(cmp.Or(o.Task, AUC))
	if err = cmp.Or(needs.Of(input.Lacks{Linear: o.Network != nil}), err); err != nil {
		return nil, err
	}
	problem := engine.Problem{N: 2, D: s.Features, Bounds: engine.UnitBounds(), Loss: loss,
		Radius: cmp.Or(o.Radius, 1), PersonRows: s.PersonRows}
	with.Horizon = s.Records
	spec, err := algorithms.NewStreamSpec(o.On.Backend(), problem, with, *cmp.Or(o.L2, new(float64)),
		o.Budget(s.Records), o.Mode)
	if err != nil {
		return nil, input.As(err)
	}
	spec.Provenance, spec.PaperUnsound = s.Provenance, o.PaperUnsound
	p, err := a.Plan(spec)
	return p, input.As(err)
}

// trained returns the loss of a task on d features, the radius that was asked for or that the loss needs, and the
// backend that computes the loss.
func (o Options) trained(task string, d int) (engine.Loss, float64, engine.Backend, error) {
	if o.Network == nil {
		loss, err := o.Loss.Of(task)
		return loss, o.Radius, o.On.Backend(), err
	}
	loss, err := o.Network.PairLoss(task, d, o.Loss)
	if err != nil {
		return nil, 0, nil, err
	}
	return loss, loss.Radius(), o.On.Networks(), nil
}

// fits refuses data that the plan is not for, by number of records, features and all else that the guarantee states.
func (t *Training) fits(d *Data) error {
	if t.asserted {
		return input.Errorf("dyad: training needs proved constants; plan without asserted constants")
	}
	return t.shape.same(d)
}

// same refuses data that a plan for p was not made for.
func (p Shape) same(d *Data) error {
	if err := (input.Needs{Labels: "the plan needs labels, but these data were read without labels; read the " +
		"data with Open"}).Of(d.lacks()); err != nil {
		return err
	}
	s, other := d.Shape(), ""
	switch {
	case s.Records != p.Records || s.Features != p.Features:
		other = fmt.Sprintf("%d records of %d features, but the data have %d records of %d features", p.Records, p.Features,
			s.Records, s.Features)
	case !slices.Equal(s.Groups, p.Groups):
		other = "query groups that differ from the groups of the data"
	default:
		if s.Groups = p.Groups; reflect.DeepEqual(s, p) { // whatever fields there are
			return nil
		}
		other = "data of another schema"
	}
	return input.Errorf("dyad: the plan is for %s; plan with Data.Shape", other)
}
