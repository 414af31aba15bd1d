package pairs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"dyad/algorithms"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// Train runs a plan over data: W starts at a random point of the ball of radius
// sqrt(rows), pairs are put in a random order, and every batch makes one step W <- W -
// eta h_t (q + noise). What it returns depends on the data through releases of session
// only. workers changes the time, never the result; progress, if not nil, is told the
// batches done.
func Train(ctx context.Context, data *pairgraph.Data, p *Plan, session privacy.Session, workers int, progress algorithms.Tracker) ([]float64, error) {
	if err := p.fits(data); err != nil {
		return nil, err
	}
	gradients, err := pairgraph.NewGradients(data, p.Spec.Loss, p.Spec.Rows, workers)
	if err != nil {
		return nil, err
	}
	return p.descend(ctx, gradients, session, progress)
}

// descend is Train with sums of any device. That a batch's sum has the sensitivity of the
// certificate is the contract of pairgraph.Sums, so plans do not depend on the device.
func (p *Plan) descend(ctx context.Context, gradients pairgraph.Sums, session privacy.Session, progress algorithms.Tracker) ([]float64, error) {
	s := p.Spec
	if progress == nil {
		progress = algorithms.NoTracker{}
	}
	w, q := make([]float64, gradients.Len()), make([]float64, gradients.Len())
	session.UniformBall(w, math.Sqrt(float64(s.Rows)))
	order := session.Permutation(s.Pairs)
	if order == nil {
		return nil, errors.New("pairs: the session gave no order of the pairs")
	}
	eta, tau := 0.0, 0
	for range s.Epochs {
		for b := range p.Batches {
			tau++
			eta = s.stepSize(tau, eta)
			from, to := b*s.Batch, (b+1)*s.Batch
			if b == p.Batches-1 {
				to = s.Pairs
			}
			if err := p.step(ctx, gradients, session, w, q, order[from:to], eta); err != nil {
				return nil, err
			}
			progress.Step(tau, s.Epochs*p.Batches)
		}
	}
	return w, nil
}

// step releases the mean clipped gradient of one batch and moves w.
func (p *Plan) step(ctx context.Context, g pairgraph.Sums, session privacy.Session, w, q []float64, batch []int32, eta float64) error {
	s := p.Spec
	clip, how := p.clipAt(w), pairgraph.WholeMatrix
	if s.Mode == algorithms.Paper {
		how = pairgraph.RowByRow
	}
	if s.Mode == algorithms.NonPrivate {
		clip = 1e30 // no clipping
	}
	if err := g.Sum(ctx, q, w, batch, clip, how); err != nil {
		return err
	}
	if s.Mode == algorithms.NonPrivate {
		clip = 1
	}
	for k, v := range q {
		q[k] = v / clip / float64(len(batch))
	}
	var err error
	if p.Noise == nil {
		err = session.ReleaseExact(q)
	} else {
		err = session.Release(q, p.Certificate, p.Noise)
	}
	if err != nil {
		return err
	}
	for k, v := range q {
		w[k] -= eta * clip * v
		// Noise can drive a matrix out of range; what happens then is a function of
		// released numbers.
		w[k] = math.Max(-1e100, math.Min(1e100, w[k]))
	}
	return nil
}

// fits checks that data are what the plan was made for. It looks at public properties
// only: numbers, bounds and, for Individual, how often an id occurs in pairs.
func (p *Plan) fits(data *pairgraph.Data) error {
	s := p.Spec
	norm, bound := data.Norm()
	if data.Graph().Len() != s.Individuals || len(data.Graph().Pairs()) != s.Pairs || data.Dim() != s.Dim || norm != s.Norm() || bound != s.Bound {
		return fmt.Errorf("%w: the data are %d individuals, %d pairs and %d features of %s norm %g, the plan is for %d, %d and %d of %s norm %g", ErrPlan,
			data.Graph().Len(), len(data.Graph().Pairs()), data.Dim(), norm, bound, s.Individuals, s.Pairs, s.Dim, s.Norm(), s.Bound)
	}
	if d := data.Graph().MaxDegree(); s.Mode != algorithms.NonPrivate && s.Unit == Individual && d > s.Kappa {
		return fmt.Errorf("%w: an individual is in %d pairs, more than kappa = %d; cap the pairs (pairgraph.Capped, pairgraph.Draw) or plan for a larger kappa", ErrPlan, d, s.Kappa)
	}
	return nil
}

// Options say how a plan is carried out.
type Options struct {
	// Ledger is charged with the whole plan before any pair is read. It is required
	// unless Public.
	Ledger *privacy.Ledger
	DataID string // names the data in the ledger
	// Fingerprint is a keyed hash of the data (Ledger.Fingerprint), or "".
	Fingerprint string
	// Public declares the data public: nothing is charged.
	Public bool
	Source *privacy.Source // nil means one keyed by the operating system
	// Engine sums the gradients of pairs; nil means pairgraph.CPU with Workers, as tuples need.
	Engine  pairgraph.Engine
	Workers int
	Tracker algorithms.Tracker
}

// sums is what trains on data.
func (o Options) sums(data *pairgraph.Data, p *Plan) (pairgraph.Sums, error) {
	engine := o.Engine
	if engine == nil {
		engine = pairgraph.CPU{Workers: o.Workers}
	}
	return engine.Sums(data, p.Spec.Loss, p.Spec.Rows)
}

// Result is a trained matrix.
type Result struct {
	W         []float64 // row-major, Rows x Dim
	Plan      *Plan
	Guarantee privacy.Guarantee
	Run       string // id in the ledger, "" without one
	Seconds   float64
}

// Run charges a plan and trains. Any error after the charge is an
// *algorithms.ChargedError: the charge stands and nothing was released.
func Run(ctx context.Context, data *pairgraph.Data, p *Plan, o Options) (*Result, error) {
	return p.run(ctx, data, nil, o)
}

// RunByClass is Run for data whose pairs are labelled by whether the classes of their
// two individuals differ. Method Input then flips classes and not labels of pairs.
func RunByClass(ctx context.Context, data *pairgraph.Data, classes []bool, p *Plan, o Options) (*Result, error) {
	if len(classes) != data.Graph().Len() {
		return nil, fmt.Errorf("%w: %d classes for %d individuals", ErrPlan, len(classes), data.Graph().Len())
	}
	for i, e := range data.Graph().Pairs() {
		if data.Label(i) != (classes[e.A] != classes[e.B]) {
			return nil, fmt.Errorf("%w: the label of pair %d does not compare the classes of its individuals", ErrPlan, i)
		}
	}
	return p.run(ctx, data, classes, o)
}

func (p *Plan) run(ctx context.Context, data *pairgraph.Data, classes []bool, o Options) (*Result, error) {
	if err := p.fits(data); err != nil {
		return nil, err
	}
	if p.Spec.ByClass != (classes != nil) && p.Spec.Method == Input {
		return nil, fmt.Errorf("%w: the plan and the call disagree on whether labels compare classes", ErrPlan)
	}
	source := o.Source
	if source == nil {
		var err error
		if source, err = privacy.NewSource(); err != nil {
			return nil, err
		}
	}
	// What the device cannot do shows before the charge. Perturbed data are of the same
	// size as these.
	sums, err := o.sums(data, p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sums.Close() }() // the result is complete by then
	r := &Result{Plan: p, Guarantee: p.Guarantee}
	session, err := begin(p.Algorithm(), p.Events, p.Guarantee, source, o)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	receipt := session.Receipt()
	r.Run = receipt.Run
	if o.Public {
		r.Guarantee = privacy.Guarantee{Kind: privacy.Public, Released: p.Guarantee.Released}
	}
	r.Guarantee.Warnings = append(append([]string(nil), r.Guarantee.Warnings...), receipt.Warnings...)
	start := time.Now()
	r.W, err = p.train(ctx, data, classes, sums, session, source, o)
	r.Seconds = time.Since(start).Seconds()
	if r.Run == "" {
		return r, err
	}
	if err == nil {
		err = o.Ledger.Finish(r.Run, privacy.StatusReleased)
	} else {
		err = errors.Join(err, o.Ledger.Finish(r.Run, "failed"))
	}
	if err != nil {
		return nil, &algorithms.ChargedError{Run: r.Run, Err: err}
	}
	return r, nil
}

// train makes all noise that is not of gradients, and trains.
func (p *Plan) train(ctx context.Context, data *pairgraph.Data, classes []bool, sums pairgraph.Sums, session *privacy.LiveSession, source *privacy.Source, o Options) ([]float64, error) {
	if p.Spec.Method == Gradients || p.Spec.Mode == algorithms.NonPrivate {
		return p.descend(ctx, sums, session, o.Tracker)
	}
	data, err := p.perturb(data, classes, source)
	if err != nil {
		return nil, err
	}
	if err := sums.Close(); err != nil { // those of the data in clear
		return nil, err
	}
	if sums, err = o.sums(data, p); err != nil {
		return nil, err
	}
	defer func() { _ = sums.Close() }()
	// What is left is post-processing of perturbed data.
	exact, err := privacy.NewPublicSession(source, []privacy.Event{privacy.PublicEvent{}})
	if err != nil {
		return nil, err
	}
	return p.descend(ctx, sums, exact, o.Tracker)
}

// begin charges a plan of these events, unless data are public.
func begin(algorithm string, events []privacy.Event, g privacy.Guarantee, source *privacy.Source, o Options) (*privacy.LiveSession, error) {
	switch {
	case o.Public:
		return privacy.NewPublicSession(source, events)
	case o.Ledger == nil:
		return nil, errors.New("pairs: a run on private data needs Options.Ledger (privacy.OpenLedger), or Public for public data")
	}
	return o.Ledger.Begin(privacy.Charge{
		DataID: o.DataID, Algorithm: algorithm, Events: events, Fingerprint: o.Fingerprint,
		Guarantee: g.String(), Unit: g.Unit, Relation: g.Relation, Released: g.Released,
	}, source)
}
