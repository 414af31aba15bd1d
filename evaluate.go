package dyad

import (
	"cmp"
	"context"
	"errors"

	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/engine/influence"
	"dyad/engine/metrics"
	"dyad/engine/objective"
	"dyad/internal/input"
)

const notCovered = "none: computed from the records themselves"

// EvaluateOptions configure the evaluation of scores. The zero value is the program's default.
type EvaluateOptions struct {
	Threshold  float64 // score at or above which a record counts as positive, for the accuracy
	Confidence float64 `within:"(0,1)" called:"confidence"` // level of the interval of the AUC; 0 means 0.95
	Top        int     `within:"[1,)" called:"top"`         // ranks that count for NDCG and precision; 0 means 10
	// Among are the records among which the nearest neighbours are looked for, to judge a
	// metric, which needs them. If they are the data themselves, each is left out of its
	// own neighbours.
	Among *engine.Records
}

// Evaluate computes figures of the model on labelled records. They are computed from the
// records themselves and carry no guarantee: of private records they are as private as these.
func (m *Model) Evaluate(ctx context.Context, d *Data, o EvaluateOptions) (*metrics.Evaluation, error) {
	o.Confidence, o.Top = cmp.Or(o.Confidence, 0.95), cmp.Or(o.Top, 10)
	if err := cmp.Or(prefixed(input.As(input.Ranges(o))), evaluated.Of(d.lacks())); err != nil {
		return nil, err
	}
	loss, err := m.loss()
	r, wrong := d.encoder.Records(d.Records, m.Encoder)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	e := &metrics.Evaluation{Task: m.Task, Records: r.Units(), Guarantee: notCovered}
	seen, linear, err := m.embedded(r)
	if err != nil {
		return nil, err
	}
	if m.Network != nil && m.Task == AUC {
		if _, loss, err = m.Readout(); err != nil {
			return nil, err
		}
	}
	if err := meanLoss(ctx, e, loss, linear.Weights, seen, linear.ownLoss()); err != nil {
		return nil, err
	}
	if m.Task == Metric {
		if o.Among == nil {
			return nil, input.Errorf("dyad: a metric is evaluated by nearest neighbours: give the records of the neighbours (EvaluateOptions.Among)")
		}
		if m.Network == nil {
			return e, input.As(e.Neighbours(ctx, metricMatrix(m.Weights, r.Dim()), [2]*engine.Records{r, o.Among}, [2]*engine.Records{r, o.Among}))
		}
		among := seen
		if o.Among != r {
			if among, _, err = m.embedded(o.Among); err != nil {
				return nil, err
			}
		}
		return e, input.As(e.Neighbours(ctx, nil, [2]*engine.Records{seen, among}, [2]*engine.Records{r, o.Among}))
	}
	scores, err := metrics.Scores(seen, linear.Weights)
	if err != nil {
		return nil, err
	}
	if d.graded || d.groups != nil {
		return e, input.As(e.Rank(scores, r.Labels(), metrics.Grouping{IDs: r.RowsOf(d.groups)}, d.graded, o.Top))
	}
	return e, input.As(e.Classes(scores, r.Labels(), o.Threshold, o.Confidence))
}

// Objective is the pair loss whose mean over records judges the model, nil if none does.
func (m *Model) Objective() (engine.Loss, error) {
	if m.ownLoss() != nil {
		return nil, nil
	}
	return m.loss()
}

// ownLoss is the loss of a metric that was learned from pairs or tuples, without a name
// if the file has none, and for a model of moments, whose length has no meaning or is that for
// records around a centre; nil for other models.
func (m *Model) ownLoss() *pairs.Stated {
	if m.PairLoss == nil && (m.Pairs != nil && m.Task == Metric || m.Report.Value("moments") != nil) {
		return &pairs.Stated{}
	}
	return m.PairLoss
}

// meanLoss adds the mean of the loss that w was learned with.
func meanLoss(ctx context.Context, e *metrics.Evaluation, loss engine.Loss, w []float64, r *engine.Records, own *pairs.Stated) error {
	var mean float64
	var err error
	switch {
	case own == nil:
		e.ObjectiveOf = "mean pair loss"
		mean, err = objective.Mean(ctx, loss, w, r)
	case own.Name == "":
		return nil
	default:
		mean, e.ObjectiveOf, err = own.Mean(metricMatrix(w, r.Dim()), r)
		err = input.As(err)
	}
	e.Objective = &mean
	return err
}

// InfluenceOptions select the computations of Influence. The zero value is the program's default.
type InfluenceOptions struct {
	// L2 is the coefficient of the objective; 0 means 0.01.
	L2 float64 `within:"(0,)" called:"L2 coefficient of an influence"`
	// Envelope > 0 replaces phi by its Moreau envelope with this mu, which makes a loss with kinks smooth
	// (docs/theory.md#moreau).
	Envelope float64
	// On are the records whose mean loss is the figure that changes; nil means those that are left out
	// one by one.
	On *Data
	// Check is the number of records that are really left out, the model fitted again: evenly spread over
	// the order of influence, all of them if there are not as many.
	Check int `within:"[0,)" called:"number of records to check"`
	// Stability computes the coefficients of pairwise stability from the influences, with n^3 losses of pairs.
	Stability bool
	// Rays is in how many random directions the Polyak-Lojasiewicz ratio is looked for; 0 means 20.
	Rays int `within:"[0,)" called:"number of rays"`
	// Progress is told how many records of a part are done, if it is not nil: those to check, "leaving records out", then those of
	// "stability".
	Progress func(part string, done, total int)
	// Estimate, if not nil, gets the seconds that the stability will take, from a measurement of its first pairs.
	Estimate func(seconds float64)
}

// evaluated is what an evaluation needs.
var evaluated = input.Needs{Labels: "an evaluation needs labels; read the data with Open"}

// lacks is what the records lack.
func (d *Data) lacks() input.Lacks {
	return input.Lacks{Labels: !d.labelled, TwoClasses: d.graded, Ungrouped: d.groups != nil}
}

// Influences are the effects of single records on a model of the loss of Model.Influence. They are not private.
type Influences = influence.Influences

// Influence fits the model's loss, the logistic one for models that have none of all pairs, and its encoding to records
// without noise, from the weights of a network or from 0, and computes the effect of each record on the fit. The
// weights of the model itself are not a minimum, and their noise is not undone. The result is a function of the
// records: it has no guarantee, and costs n^2 losses of pairs, and as much again for every record that is checked.
func (m *Model) Influence(ctx context.Context, d *Data, o InfluenceOptions) (*Influences, error) {
	o.L2, o.Rays = cmp.Or(o.L2, 0.01), cmp.Or(o.Rays, 20)
	for _, d := range []*Data{d, cmp.Or(o.On, d)} {
		if err := (input.Needs{Labels: "influence needs labels; read the data with Open", Ungrouped: "influence is for pairs of all records, but these data have query groups"}).Of(d.lacks()); err != nil {
			return nil, err
		}
	}
	if err := prefixed(input.As(input.Ranges(o))); err != nil {
		return nil, err
	}
	loss, err := m.loss()
	if err == nil && m.Network != nil {
		err = input.As(m.Network.own().Known(true))
	}
	if err != nil {
		return nil, err
	}
	if o.On == nil {
		o.On = d
	}
	var backend engine.Backend = cpu.Backend{}
	with := influence.Options{
		L2: o.L2, Envelope: o.Envelope, On: o.On.Records, Check: o.Check, Stability: o.Stability, Rays: o.Rays, Guarantee: notCovered, Progress: o.Progress, Estimate: o.Estimate,
	}
	if m.Network != nil {
		backend, with.Start = embedding.Backend{}, m.Weights
	}
	r, err := influence.Study(ctx, backend, loss, d.Records, with)
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return r, err
	}
	return nil, input.As(err) // what the caller can change
}
