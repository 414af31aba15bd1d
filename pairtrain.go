package dyad

import (
	"context"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
	"dyad/engine/terms"
	"dyad/internal/input"
	"dyad/privacy"
)

const (
	contrastive  = "contrastive"
	bradleyTerry = "bradley-terry"
	triplet      = "triplet"
	npair        = "npair"
)

// defaultRows is the most dimensions that a metric maps to unless they are named.
const defaultRows = 16

// PlanPairs plans a training on pairs of a shape. The shape gives the individuals, features,
// pairs, bound and provenance of the specification; the specification the loss, the budget and
// whatever else is not zero. Defaults are public: Rows is 16 or the number of features if that
// is smaller, and 1 for preferences; a network has its own dimension, Adam and 100 epochs; Batch of pairs is a twentieth of them but at least 50, and
// 50 in paper mode; Kappa is 1 for one pair, cap for an individual, and for a group of drawn
// pairs kappa' of their public graph. Moments have all rows and no batch. cap is PairSource.DegreeCap.
func PlanPairs(s PairShape, spec pairs.Spec, cap int) (*pairs.Plan, error) {
	spec.Individuals, spec.Dim, spec.Provenance, spec.Identity = s.Individuals, s.Features, s.Provenance, s.Identity
	if spec.Loss == nil {
		return nil, input.Errorf("dyad: a training on pairs needs a loss (pairs.Spec.Loss)")
	}
	preferences := spec.Loss.Name() == bradleyTerry
	_, softmax := spec.Loss.(terms.InfoNCE)
	switch {
	case preferences && (spec.Rows > 1 || s.Drawn != nil || s.Classes):
		return nil, input.Errorf("dyad: bradley-terry learns one row of weights from preferences: give them with --pairs, without --rows and --density")
	case preferences:
		spec.Rows = 1
	case s.Network != nil && !s.Classes && !softmax:
		return nil, input.Errorf("dyad: pairs of individuals train a matrix; a network learns from tuples (--tuple), from similar pairs by a batch softmax (--loss infonce), or with dyad train --model mlp from all pairs of records")
	case s.Network != nil && (spec.Rows != 0 || spec.Network != nil):
		return nil, input.Errorf("dyad: the dimension of a network is its own (PairSource.Network)")
	case s.Network != nil:
		if err := s.Network.describeTuples(&spec); err != nil {
			return nil, err
		}
	case spec.Rows == 0 && spec.Method != pairs.Moments:
		spec.Rows = min(defaultRows, s.Features)
	}
	if !s.Classes {
		spec.Pairs, spec.ByClass = s.Pairs, s.Drawn != nil
		if spec.Batch == 0 && spec.Method != pairs.Moments {
			if spec.Batch = 50; spec.Mode != algorithms.Paper {
				spec.Batch = max(50, s.Pairs/20)
			}
		}
		if spec.Kappa == 0 {
			spec.Kappa = defaultKappa(spec.Unit, s.Drawn, cap)
		}
	}
	spec.Bound = publicBound(spec.Norm(), s.Features)
	p, err := spec.Plan()
	return p, input.As(err)
}

// defaultKappa is a public number, or 0 if there is none.
func defaultKappa(unit pairs.Unit, drawn *pairgraph.Graph, cap int) int {
	switch {
	case unit == pairs.OnePair:
		return 1
	case unit == pairs.Group && drawn != nil:
		return max(1, drawn.KappaBound(pairgraph.Transitive))
	case unit == pairs.Individual:
		return cap
	}
	return 0
}

// DefaultPairDelta is the delta to spend on a specification that leaves a choice: 0 where only
// pure epsilon is possible.
func DefaultPairDelta(s PairShape, spec pairs.Spec) float64 {
	if !s.Classes && (spec.Mode == algorithms.Paper || spec.Method == pairs.Input || spec.Method == pairs.Labels) {
		return 0
	}
	return privacy.DefaultDelta(s.Individuals)
}

// Fits refuses a plan that was not made for these pairs, or that promises an individual less
// than the pairs need.
func (d *Pairs) Fits(p *pairs.Plan) error {
	spec, s := p.Spec, d.shape
	switch {
	case spec.Provenance != s.Provenance || spec.Identity != s.Identity || spec.ByClass != (s.Drawn != nil):
		return input.Errorf("dyad: the plan is for other pairs than these; plan with Pairs.Shape")
	case (spec.Network != nil) != (s.Network != nil) || spec.Network != nil && spec.Network.Origin != s.Network.origin():
		return input.Errorf("dyad: the plan is for another network than that of the source; plan with Pairs.Shape")
	case !s.Classes && spec.Unit == pairs.Individual && p.Mode != algorithms.NonPrivate && d.Graph.MaxDegree() > spec.Kappa:
		return input.Errorf("dyad: an individual is in more than kappa = %d pairs; cap them (--degree-cap), or plan for a larger --kappa", spec.Kappa)
	}
	return nil
}

// TrainPairs is Train for a plan of PlanPairs. workers are those of the CPU, for what no other
// device does, such as moments; 0 means 1.
func TrainPairs(ctx context.Context, d *Pairs, p *pairs.Plan, on *Device, workers int, o Run) (*Trained, error) {
	if err := d.Fits(p); err != nil {
		return nil, err
	}
	spec := p.Spec
	data, err := individuals(d.data.Records, d.order, spec.Norm(), spec.Bound, d.Graph, d.Labels)
	if err != nil {
		return nil, err
	}
	return o.Do(ctx, d.data.Source(),
		func(r *algorithms.Result) *Model { return d.model(p, r) },
		func(options algorithms.Options) (*algorithms.Result, error) {
			all := pairs.Options{Options: options, Workers: max(workers, 1)}
			if _, softmax := spec.Loss.(terms.InfoNCE); !d.shape.Classes && !softmax && spec.Method != pairs.Moments {
				all.Engine = on.Pairs()
			}
			return pairs.Run(ctx, data, d.classes, p, all)
		})
}

// model has the weights of scores as they are, and of a metric the coordinates of W^T W,
// whose distances are those of W x.
func (d *Pairs) model(p *pairs.Plan, r *algorithms.Result) *Model {
	s, report := p.Spec, p.Report()
	report.Guarantee = r.Guarantee
	var f algorithms.Facts
	f.Add("algorithm", p.Algorithm)
	f.AddSome("paper", report.Word("paper"))
	f.Add("mode", p.Mode.String())
	f.Add("records", s.Individuals)
	f.Add("features", s.Dim)
	f.Add("norm_bound", 1)
	f.Add("loss", s.Loss.Name())
	f.Add("schedule", s.StepRule())
	f.Add("steps", p.Batches*s.Epochs)
	f.AddSome("noise", report.Word("noise"))
	m := d.data.model(AUC, r)
	m.Report = algorithms.Report{Facts: f, Events: report.Events, Guarantee: r.Guarantee}
	if s.Loss.Name() != bradleyTerry {
		m.Task, m.Weights, m.PairLoss = Metric, r.Weights, &PairLoss{Name: s.Loss.Name(), Tuple: s.Tuple}
		if m.Network = d.shape.Network; m.Network == nil {
			m.Weights = metricOf(r.Weights, s.Rows, s.Dim)
		}
		if name, value := s.Loss.Parameter(); name == "temperature" {
			m.PairLoss.Temperature = value
		} else {
			m.PairLoss.Margin = value
		}
	}
	if m.Pairs = &report; d.shape.Classes {
		m.Pairs, m.Tuples = nil, &report
	}
	return m
}
