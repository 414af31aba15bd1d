package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

var errMoreReleases = errors.New("audit: a run made no release")

// errMoreTold is the error for a replayed run whose releases are equal but whose result differs on the neighbour.
var errMoreTold = errors.New("audit: the releases are equal, but the results on the two data sets differ")

// errJoint is the error for a plan whose releases share one sensitivity. Each release may move by the whole
// sensitivity, and all releases together move by at most the sensitivity.
var errJoint = errors.New("audit: one certificate covers several releases; set Program.Certificate, and leave " +
	"Program.Rows empty")

// Target is the object of an attack: a plan and two data sets of its shape that differ in one record.
type Target struct {
	Algorithm algorithms.Algorithm
	Plan      *algorithms.Plan
	// Stream is the plan of an online algorithm. It replaces Algorithm and Plan. Data and Neighbour are then
	// streams of Horizon records, in order.
	Stream          *algorithms.Plan
	Data, Neighbour *engine.Records
	// Program, if set, is attacked instead of an algorithm or a stream. Algorithm, Plan
	// and Stream are then not used.
	Program *Program
	// Coins is the seed of the coins other than noise in white-box runs.
	Coins uint64
	// Instance describes the two data sets.
	Instance string
}

// claim returns the claim under attack.
func (t Target) claim() Program {
	if t.Program != nil {
		return *t.Program
	}
	p, problem := t.plan(), t.problem()
	c := claimOf(p, problem)
	if t.Stream != nil {
		c.Variant = p.Reading().String()
		if p.Spec.Batch > 1 {
			c.Variant += fmt.Sprintf(", batches of %d", p.Spec.Batch)
		}
		if p.Spec.Buffer > 0 {
			c.Variant += fmt.Sprintf(", buffer of %d", p.Spec.Buffer)
		}
		if p.Spec.Reservoir {
			c.Variant += ", reservoir"
		}
	}
	return c
}

// claimOf returns the claim of a plan. The problem is the problem of the training, with all records of a stream.
func claimOf(p *algorithms.Plan, of engine.Problem) Program {
	c := Program{Subject: Subject{Algorithm: p.Algorithm, Mode: p.Mode.String()}, Guarantee: p.Guarantee,
		Noise: p.Noise(), Certificate: p.Certificate(), Events: p.Events()}
	if of.Loss != nil {
		c.Loss, c.Records, c.Features = of.Loss.Name(), of.N, of.D
	}
	return c
}

// plan returns the plan of the algorithm or stream under attack.
func (t Target) plan() *algorithms.Plan {
	if t.Stream != nil {
		return t.Stream
	}
	return t.Plan
}

// problem returns the problem of a plan or stream, with N the number of all records.
func (t Target) problem() engine.Problem {
	p := t.plan().Spec.Kernel.Problem()
	if t.Stream != nil {
		p.N = t.Stream.Spec.Horizon
	}
	return p
}

// check returns an error unless there is a claim to attack.
func (t Target) check() error {
	if t.Program == nil && (t.Stream == nil && (t.Plan == nil || t.Algorithm == nil) || t.Data == nil ||
		t.Neighbour == nil) {
		return errors.New("audit: incomplete target; set Program; or set Data, Neighbour and Stream; or set Data, " +
			"Neighbour, Algorithm and Plan")
	}
	c := t.claim()
	local := t.Program != nil && (t.Program.Draw != nil || t.Program.Rows != nil) // which need no noise
	if kind := c.Guarantee.Kind; !local && c.Noise == nil || kind == privacy.None ||
		!local && kind != privacy.ApproxDP && kind != privacy.PureDP {
		return fmt.Errorf("audit: %s in %s mode claims no privacy, so there is nothing to refute", c.Algorithm, c.Mode)
	}
	if t.Program != nil {
		return nil
	}
	p := t.problem()
	return errors.Join(p.Fits(t.Data), p.Fits(t.Neighbour))
}

// Move returns a ratio: the distance that the exact vectors move between the two data sets, divided by the distance
// that their certificates allow. It is 1 if the certificates are attained. If each release has its own certificate,
// Move is the root of the weighted mean of the squared ratios. The weights are the releases' shares of the budget. If
// one certificate covers all releases (a stream), or only one release reads the replaced record (epochs), Move is the
// root of the sum of the squared ratios.
func (t Target) Move(ctx context.Context) (float64, error) { return t.move(ctx, 0) }

// move is Move for the first releases only. If each release has its own certificate and most > 0, it uses at
// most `most` releases.
func (t Target) move(ctx context.Context, most int) (float64, error) {
	if t.Program != nil && slices.ContainsFunc(t.Program.Rows,
		func(r algorithms.Release) bool { return r.Certificate.Releases() > 0 }) {
		return 0, errJoint
	}
	w, err := newWorker(t)
	if err != nil {
		return 0, err
	}
	defer func() { _ = w.close() }()
	if t.Program == nil && t.apart() {
		w.most = most
	}
	o, err := w.pair(ctx, false, t.Coins)
	if err != nil {
		return 0, err
	}
	moved := o.runsMove
	for _, m := range o.moves {
		if m.Kind == attack.Choice {
			moved = max(moved, m.Share())
		}
	}
	coupled, err := t.coupled()
	if err != nil {
		return 0, err
	}
	return max(moved, t.released(o.moves, coupled)), nil
}

// apart reports whether each release of a plan has its own certificate and all releases read the same records.
func (t Target) apart() bool {
	row := t.plan().Releases[0]
	return row.Part == 0 && row.Certificate.Releases() == 0
}

// released returns how far releases move, divided by the distance that the certificates allow. If coupled is
// positive, coupled is the allowed distance, for a coupled state.
func (t Target) released(moves []attack.Move, coupled float64) float64 {
	var rows algorithms.Releases
	if t.Program == nil {
		rows = t.plan().Releases
	} else {
		rows = t.Program.Rows
	}
	// a choice has no noise
	rows = slices.DeleteFunc(slices.Clone(rows), func(r algorithms.Release) bool { return r.Noise == nil })
	sum, squares, largest, weights, i := 0.0, 0.0, 0.0, 0.0, 0
	for _, m := range moves {
		if m.Kind != attack.Release || m.Name == attack.Selection {
			continue
		}
		if coupled > 0 {
			m.Bound = coupled
		}
		weight := 1.0
		if len(rows) > 0 {
			weight, m.By = rows[min(i, len(rows)-1)].Share, m.Share()
		}
		i++
		sum, squares, largest, weights = sum+weight*m.By, squares+weight*m.By*m.By, max(largest, m.By), weights+weight
	}
	switch p, c := t.Program, t.claim(); {
	case p == nil && t.apart():
		return math.Sqrt(squares / weights)
	case p == nil:
		return math.Sqrt(squares)
	case p.Rows != nil && (largest > 1 || weights == 0): // a row must not use budget that another row leaves unused
		return largest
	case p.Rows != nil && c.Guarantee.Delta > 0:
		return math.Sqrt(squares / weights)
	case p.Rows != nil:
		return sum / weights
	case p.Draw != nil:
		return 0
	case p.EachMoves > 0:
		return largest / p.EachMoves
	default:
		if _, gaussian := p.Noise.(privacy.Gaussian); gaussian {
			return math.Sqrt(squares) / p.Certificate.Sensitivity()
		}
		return sum / p.Certificate.Sensitivity()
	}
}

// coupled bounds the distance of two hidden states that share their noise (see attack.Replay). It is 0 for a
// plan without hidden steps.
func (t Target) coupled() (float64, error) {
	if t.Stream != nil || t.Program != nil || t.Plan.Certificate().HiddenSteps() == 0 {
		return 0, nil
	}
	e, ok := t.Plan.Noise().Event(t.Plan.Certificate()).(account.ConvergentEvent)
	if !ok {
		return 0, fmt.Errorf("audit: %s has hidden steps, but they cannot be audited with its noise", t.Plan.Algorithm)
	}
	return min(e.Gap*float64(e.Steps), e.Contraction*e.Diameter+e.Gap), nil
}

// secret reports whether the guarantee of a plan rests on coins or states that stay secret, in addition to the
// noise of its releases. Then the guarantee does not cover a white-box adversary.
func (t Target) secret() bool {
	return t.stopping() != nil || t.sampled() || t.claim().Certificate.HiddenSteps() > 0
}

// sampled reports whether the guarantee rests on secret batches.
func (t Target) sampled() bool {
	c := t.claim().Certificate
	batch, _ := c.Batch()
	rate, _ := c.Poisson()
	return batch > 0 || rate > 0
}
