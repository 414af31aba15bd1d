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

// TrainTuples runs a plan over individuals with classes; pairs of data do not matter.
// W starts at a random point of the ball of radius sqrt(rows), and every batch makes one
// step W <- W - eta h (q + noise). What it returns depends on the data through releases of
// session only. workers changes the time, never the result; progress, if not nil, is
// told the batches done.
func TrainTuples(ctx context.Context, data *pairgraph.Data, classes []int32, p *TuplePlan, session privacy.Session, workers int, progress algorithms.Tracker) ([]float64, error) {
	if err := p.fits(data, classes); err != nil {
		return nil, err
	}
	sum, err := p.sums(data, classes, workers)
	if err != nil {
		return nil, err
	}
	return p.descend(ctx, sum, session, progress)
}

// batchSum sets dst to the sum at w of the clipped terms of a batch of an epoch, both
// counted from 0, and returns their number.
type batchSum func(ctx context.Context, dst, w []float64, epoch, batch int, clip float64) (terms int, err error)

// sums are those of the plan.
func (p *TuplePlan) sums(data *pairgraph.Data, classes []int32, workers int) (batchSum, error) {
	s := p.Spec
	if s.AllPairs {
		loss, _ := s.Loss.(pairgraph.MeanContrastive)
		all, err := pairgraph.NewAllPairs(data, classes, pairgraph.Contrastive(loss), s.Rows, workers)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, dst, w []float64, _, _ int, clip float64) (int, error) {
			return p.Terms, all.Sum(ctx, dst, w, clip)
		}, nil
	}
	tuples, err := pairgraph.NewTuples(data, classes, s.Loss, s.Rows, s.Tuple, workers)
	if err != nil {
		return nil, err
	}
	var members []int32
	drawn := -1 // the epoch of members
	return func(ctx context.Context, dst, w []float64, epoch, batch int, clip float64) (int, error) {
		if drawn != epoch {
			var err error
			if members, err = pairgraph.DrawTuples(s.Individuals, s.Tuple, s.Seed, epoch); err != nil {
				return 0, err
			}
			drawn = epoch
		}
		from, to := batch*s.Batch, (batch+1)*s.Batch
		if batch == p.Batches-1 {
			to = p.Terms
		}
		return to - from, tuples.Sum(ctx, dst, w, members[from*s.Tuple:to*s.Tuple], clip)
	}, nil
}

func (p *TuplePlan) descend(ctx context.Context, sum batchSum, session privacy.Session, progress algorithms.Tracker) ([]float64, error) {
	s := p.Spec
	if progress == nil {
		progress = algorithms.NoTracker{}
	}
	w, q := make([]float64, s.Rows*s.Dim), make([]float64, s.Rows*s.Dim)
	session.UniformBall(w, math.Sqrt(float64(s.Rows)))
	clip, unit := s.Clip, s.Clip
	if s.Mode == algorithms.NonPrivate {
		clip, unit = 1e30, 1 // no clipping
	}
	tau := 0
	for epoch := range s.Epochs {
		for batch := range p.Batches {
			tau++
			terms, err := sum(ctx, q, w, epoch, batch, clip)
			if err != nil {
				return nil, err
			}
			for k, v := range q {
				q[k] = v / unit / float64(terms)
			}
			if p.Noise == nil {
				err = session.ReleaseExact(q)
			} else {
				err = session.Release(q, p.Certificate, p.Noise)
			}
			if err != nil {
				return nil, err
			}
			eta := s.StepSize / math.Sqrt(float64(tau))
			for k, v := range q {
				// Noise can drive a matrix out of range; what happens then is a function
				// of released numbers.
				w[k] = math.Max(-1e100, math.Min(1e100, w[k]-eta*unit*v))
			}
			progress.Step(tau, s.Epochs*p.Batches)
		}
	}
	return w, nil
}

// fits checks that data are what the plan was made for, by public properties only.
func (p *TuplePlan) fits(data *pairgraph.Data, classes []int32) error {
	s := p.Spec
	norm, bound := data.Norm()
	if data.Graph().Len() != s.Individuals || len(classes) != s.Individuals || data.Dim() != s.Dim || norm != s.Norm() || bound != s.Bound {
		return fmt.Errorf("%w: the data are %d individuals with %d classes and %d features of %s norm %g, the plan is for %d, %d and %d of %s norm %g", ErrPlan,
			data.Graph().Len(), len(classes), data.Dim(), norm, bound, s.Individuals, s.Individuals, s.Dim, s.Norm(), s.Bound)
	}
	return nil
}

// TupleResult is a trained matrix.
type TupleResult struct {
	W         []float64 // row-major, Rows x Dim
	Plan      *TuplePlan
	Guarantee privacy.Guarantee
	Run       string // id in the ledger, "" without one
	Seconds   float64
}

// RunTuples charges a plan and trains. Any error after the charge is an
// *algorithms.ChargedError: the charge stands and nothing was released.
func RunTuples(ctx context.Context, data *pairgraph.Data, classes []int32, p *TuplePlan, o Options) (*TupleResult, error) {
	if o.Engine != nil {
		return nil, fmt.Errorf("%w: tuples are summed on the CPU; leave Options.Engine out", ErrPlan)
	}
	if err := p.fits(data, classes); err != nil {
		return nil, err
	}
	source := o.Source
	if source == nil {
		var err error
		if source, err = privacy.NewSource(); err != nil {
			return nil, err
		}
	}
	session, err := begin(p.Algorithm(), p.Events, p.Guarantee, source, o)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	receipt := session.Receipt()
	r := &TupleResult{Plan: p, Guarantee: p.Guarantee, Run: receipt.Run}
	if o.Public {
		r.Guarantee = privacy.Guarantee{Kind: privacy.Public, Released: p.Guarantee.Released}
	}
	r.Guarantee.Warnings = append(append([]string(nil), r.Guarantee.Warnings...), receipt.Warnings...)
	start := time.Now()
	r.W, err = TrainTuples(ctx, data, classes, p, session, o.Workers, o.Tracker)
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
