package pairs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"dyad/algorithms"
	"dyad/engine/pairgraph"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Train runs a plan over data: W starts at a random point of the ball of radius
// sqrt(rows), batches are formed as Spec.Sampling says, and every batch makes one step W
// <- W - eta h_t (q + noise). What it returns depends on the data through releases of
// session only. workers changes the time, never the result; progress, if not nil, is told
// the batches done. If it is an algorithms.Keeper, the training continues from the state
// that it has, which is the matrix and the order of the pairs.
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
	var order, batch []int32 // the order of fixed batches, and a Poisson batch
	if s.Sampling == Fixed {
		order = make([]int32, s.Pairs)
	}
	done, err := algorithms.Restore(progress, order, w)
	if err != nil {
		return nil, err
	}
	if done == 0 {
		session.UniformBall(w, math.Sqrt(float64(s.Rows)))
		if order != nil {
			if order = session.Permutation(s.Pairs); order == nil {
				return nil, errors.New("pairs: the session gave no order of the pairs")
			}
		}
	}
	eta := 0.0
	for i := range p.Batches * s.Epochs {
		if eta = s.stepSize(i+1, eta); i < done {
			continue
		}
		if s.Sampling == Poisson {
			if batch, err = session.SamplePoisson(batch, s.Pairs, s.rate()); err != nil {
				return nil, err
			}
		} else {
			b := i % p.Batches
			to := (b + 1) * s.Batch
			if b == p.Batches-1 {
				to = s.Pairs
			}
			batch = order[b*s.Batch : to]
		}
		if err := p.step(ctx, gradients, session, w, q, batch, eta); err != nil {
			return nil, err
		}
		algorithms.Keep(progress, i+1, order, w)
		progress.Step(i+1, p.Batches*s.Epochs)
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
	size := len(batch)
	if s.Sampling == Poisson {
		size = s.Batch // what is expected: the true number is a secret
	}
	for k, v := range q {
		q[k] = v / clip / float64(size)
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

// Options say how a plan is carried out: fields are those of algorithms.Options.
type Options struct {
	algorithms.Options
	// Engine sums the gradients of pairs; nil means pairgraph.CPU with Workers, as tuples need.
	Engine  pairgraph.Engine
	Workers int
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
	Restored  int    // batches that came from a checkpoint
	Seconds   float64
}

// Run charges a plan, or resumes a run that was charged, and trains, by
// algorithms.Execute. Any error after the charge is an *algorithms.ChargedError: the
// charge stands and nothing was released.
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
	if o.Source == nil {
		var err error
		if o.Source, err = privacy.NewSource(); err != nil {
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
	r := &Result{Plan: p}
	done, err := algorithms.Execute(ctx, p.job(data, classes, sums, o, r), o.Options)
	if err != nil {
		return nil, err
	}
	r.W, r.Guarantee, r.Run, r.Restored = done.Weights, done.Guarantee, done.Run, done.Restored
	return r, nil
}

// job is the training as algorithms.Execute sees it.
func (p *Plan) job(data *pairgraph.Data, classes []bool, sums pairgraph.Sums, o Options, r *Result) algorithms.Job {
	return algorithms.Job{
		Algorithm: p.Algorithm(), Objective: p.objective(), Events: p.Events, Guarantee: p.Guarantee,
		Withholds: true, OwnNoise: p.perturbs(),
		Plan: func() any {
			return struct {
				Report    Report
				Objective string
			}{p.Report(), p.objective()}
		},
		Records: func() string { return hashData(data, classes) },
		Train: func(ctx context.Context, session privacy.Session, t algorithms.Tracker) ([]float64, error) {
			start := time.Now()
			w, err := p.train(ctx, data, classes, sums, session, t, o)
			r.Seconds = time.Since(start).Seconds()
			return w, err
		},
	}
}

// objective is what makes a resumed run the one that was charged and is not in its
// events.
func (p *Plan) objective() string {
	s := p.Spec
	return fmt.Sprintf("%s%+v, %d rows, %s batches of %d of %d pairs, %d epochs, clip %g, shrinking %t, steps %g, as printed %t", s.Loss.Name(), s.Loss, s.Rows, s.Sampling, s.Batch, s.Pairs, s.Epochs, s.Clip, s.Shrink, s.StepSize, s.PrintedSteps)
}

// perturbs says that noise is added to the data, not to gradients.
func (p *Plan) perturbs() bool {
	return p.Spec.Method != Gradients && p.Spec.Mode != algorithms.NonPrivate
}

// train makes all noise that is not of gradients, and trains.
func (p *Plan) train(ctx context.Context, data *pairgraph.Data, classes []bool, sums pairgraph.Sums, session privacy.Session, t algorithms.Tracker, o Options) ([]float64, error) {
	if !p.perturbs() {
		return p.descend(ctx, sums, session, t)
	}
	data, err := p.Perturb(data, classes, o.Source)
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
	exact, err := privacy.NewPublicSession(o.Source, []account.Event{account.PublicEvent{}})
	if err != nil {
		return nil, err
	}
	return p.descend(ctx, sums, exact, t)
}

// hashData is the SHA-256 of features, pairs, labels and classes. It stays in files that
// are as private as they.
func hashData[C bool | int32](data *pairgraph.Data, classes []C) string {
	h := sha256.New()
	x, labels := data.Copy()
	_ = binary.Write(h, binary.LittleEndian, x) // a hash takes everything
	_ = binary.Write(h, binary.LittleEndian, data.Graph().Pairs())
	_ = binary.Write(h, binary.LittleEndian, labels)
	_ = binary.Write(h, binary.LittleEndian, classes)
	return hex.EncodeToString(h.Sum(nil))
}
