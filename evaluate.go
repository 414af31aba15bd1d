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

// EvaluateOptions configures the evaluation of scores. The zero value is the program's default.
type EvaluateOptions struct {
	Threshold  float64 // score from which on a record counts as positive, for the accuracy
	Confidence float64 `within:"(0,1)" called:"confidence"` // level of the confidence interval of the AUC; 0 means 0.95
	Top        int     `within:"[1,)" called:"top"`         // number of ranks for NDCG and precision; 0 means 10
	// Among holds the records that can be nearest neighbours. A metric needs them for its evaluation. If they are the
	// evaluated data themselves, a record is not a neighbour of itself.
	Among *engine.Records
}

// Evaluate computes performance figures of the model on labelled records. It computes them from the records without
// noise, so they have no guarantee: figures of private records are private.
func (m *Model) Evaluate(ctx context.Context, d *Data, o EvaluateOptions) (*metrics.Evaluation, error) {
	o.Confidence, o.Top = cmp.Or(o.Confidence, 0.95), cmp.Or(o.Top, 10)
	if err := cmp.Or(prefixed(input.As(input.Ranges(o))), evaluated.Of(d.lacks())); err != nil {
		return nil, err
	}
	loss, err := m.loss()
	d, wrong := d.as(m.Encoder)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	r := d.Records
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
			return nil, input.Errorf("dyad: a metric is evaluated by nearest neighbours; give the records to " +
				"search (EvaluateOptions.Among)")
		}
		among := seen
		if o.Among != r {
			if among, _, err = m.embedded(o.Among); err != nil {
				return nil, err
			}
		}
		return e, input.As(e.Neighbours(ctx, m.Matrix(), [2]*engine.Records{seen, among}, [2]*engine.Records{r, o.Among}))
	}
	scores, err := metrics.Scores(seen, linear.Weights)
	if err != nil {
		return nil, err
	}
	if d.graded || d.groups != nil {
		return e, input.As(e.Rank(scores, r.Labels(), metrics.Grouping{IDs: r.RowsOf(d.groups)}, d.graded, o.Top))
	}
	return e, input.As(e.Classes(scores, r, r.ByPerson() || !m.Encoder.Schema().ByPerson(), o.Threshold, o.Confidence))
}

// Objective returns the pair loss whose mean over records judges the model, or nil if the model has no such loss.
func (m *Model) Objective() (engine.Loss, error) {
	if m.ownLoss() != nil {
		return nil, nil
	}
	return m.loss()
}

// ownLoss returns the loss of a metric that was learned from pairs or tuples; its name is empty if the file has none.
// It also returns a loss without a name for a model of moments: the length of its weights has no meaning, or has one
// only for records around a centre. It returns nil for other models.
func (m *Model) ownLoss() *pairs.Stated {
	if m.PairLoss == nil && (m.Pairs != nil && m.Task == Metric || m.Report.Value("moments") != nil) {
		return &pairs.Stated{}
	}
	return m.PairLoss
}

// meanLoss adds the mean of the loss that w was trained with.
func meanLoss(ctx context.Context, e *metrics.Evaluation, loss engine.Loss, w []float64, r *engine.Records,
	own *pairs.Stated) error {
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

// InfluenceOptions selects the computations of Influence. The zero value is the program's default.
type InfluenceOptions struct {
	// L2 is the L2 coefficient of the objective; 0 means 0.01.
	L2 float64 `within:"(0,)" called:"L2 coefficient of an influence"`
	// Envelope, if positive, is the mu of the Moreau envelope that replaces phi. The envelope makes a loss with kinks
	// smooth (docs/theory.md#moreau).
	Envelope float64
	// On holds the records on which the mean loss is measured: Influence computes how this loss changes when a record
	// is left out of the fit. If On is nil, the loss is measured on the fitted records.
	On *Data
	// Check is the number of records for which the model is really fitted again without the record. These records are
	// evenly spread over the ranking by influence. If there are fewer than Check records, all of them are checked.
	Check int `within:"[0,)" called:"number of records to check"`
	// Stability computes the coefficients of pairwise stability from the influences. It evaluates n^3 losses of pairs.
	Stability bool
	// Rays is the number of random directions in which the Polyak-Lojasiewicz ratio is searched; 0 means 20.
	Rays int `within:"[0,)" called:"number of rays"`
	// Progress, if not nil, is called with the name of a part of the work and the number of its records that are
	// finished. The first part, "leaving records out", handles the records to check. The second part is "stability".
	Progress func(part string, done, total int)
	// Estimate, if not nil, gets the seconds that the stability computation will take, estimated from its first pairs.
	Estimate func(seconds float64)
}

// evaluated holds the needs of an evaluation.
var evaluated = input.Needs{Labels: "an evaluation needs labels; read the data with Open"}

// lacks returns what the records lack.
func (d *Data) lacks() input.Lacks {
	return input.Lacks{Labels: !d.labelled, TwoClasses: d.graded, Ungrouped: d.groups != nil}
}

// Influences holds the effects of single records on a model that Model.Influence fits. They are not private.
type Influences = influence.Influences

// Influence fits a model to the records without noise, with the model's encoding, and computes the effect of each
// record on the fit. The loss is the model's loss, or the logistic loss if the model has no loss of all pairs. For a
// network the fit starts from the model's weights, and otherwise from 0. A fit is needed because the model's weights
// contain noise and are not a minimum. The result is a function of the records and has no guarantee. Influence
// evaluates n^2 pair losses, and n^2 more for every record that is checked.
func (m *Model) Influence(ctx context.Context, d *Data, o InfluenceOptions) (*Influences, error) {
	o.L2, o.Rays, o.On = cmp.Or(o.L2, 0.01), cmp.Or(o.Rays, 20), cmp.Or(o.On, d)
	for _, of := range []**Data{&d, &o.On} {
		var wrong error
		*of, wrong = (*of).as(m.Encoder)
		if err := cmp.Or((input.Needs{Labels: "influence needs labels; read the data with Open",
			Ungrouped: "influence needs pairs of all records, but these data have query groups"}).Of((*of).lacks()), wrong); err != nil {
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
	var backend engine.Backend = cpu.Backend{}
	with := influence.Options{
		L2: o.L2, Envelope: o.Envelope, On: o.On.Records, Check: o.Check, Stability: o.Stability, Rays: o.Rays,
		Guarantee: notCovered, Progress: o.Progress, Estimate: o.Estimate,
	}
	if m.Network != nil {
		backend, with.Start = embedding.Backend{}, m.Weights
	}
	r, err := influence.Study(ctx, backend, loss, d.Records, with)
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return r, err
	}
	return nil, input.As(err) // an error whose cause the caller can remove
}
