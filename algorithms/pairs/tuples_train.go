package pairs

import (
	"context"
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
// told the batches done. If it is an algorithms.Keeper, the training continues from the
// matrix that it has.
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
	done, err := algorithms.Restore(progress, nil, w)
	if err != nil {
		return nil, err
	}
	if done == 0 {
		session.UniformBall(w, math.Sqrt(float64(s.Rows)))
	}
	clip, unit := s.Clip, s.Clip
	if s.Mode == algorithms.NonPrivate {
		clip, unit = 1e30, 1 // no clipping
	}
	steps := s.Epochs * p.Batches
	for i := done; i < steps; i++ {
		terms, err := sum(ctx, q, w, i/p.Batches, i%p.Batches, clip)
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
		eta := s.StepSize / math.Sqrt(float64(i+1))
		for k, v := range q {
			// Noise can drive a matrix out of range; what happens then is a function
			// of released numbers.
			w[k] = math.Max(-1e100, math.Min(1e100, w[k]-eta*unit*v))
		}
		algorithms.Keep(progress, i+1, nil, w)
		progress.Step(i+1, steps)
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
	Restored  int    // batches that came from a checkpoint
	Seconds   float64
}

// RunTuples charges a plan, or resumes a run that was charged, and trains, by
// algorithms.Execute. Any error after the charge is an *algorithms.ChargedError: the
// charge stands and nothing was released.
func RunTuples(ctx context.Context, data *pairgraph.Data, classes []int32, p *TuplePlan, o Options) (*TupleResult, error) {
	if o.Engine != nil {
		return nil, fmt.Errorf("%w: tuples are summed on the CPU; leave Options.Engine out", ErrPlan)
	}
	if err := p.fits(data, classes); err != nil {
		return nil, err
	}
	r := &TupleResult{Plan: p}
	done, err := algorithms.Execute(ctx, algorithms.Job{
		Algorithm: p.Algorithm(), Objective: p.objective(), Events: p.Events, Guarantee: p.Guarantee,
		Withholds: true,
		Plan: func() any {
			return struct {
				Report    TupleReport
				Objective string
			}{p.Report(), p.objective()}
		},
		Records: func() string { return hashData(data, classes) },
		Train: func(ctx context.Context, session privacy.Session, t algorithms.Tracker) ([]float64, error) {
			start := time.Now()
			w, err := TrainTuples(ctx, data, classes, p, session, o.Workers, t)
			r.Seconds = time.Since(start).Seconds()
			return w, err
		},
	}, o.Options)
	if err != nil {
		return nil, err
	}
	r.W, r.Guarantee, r.Run, r.Restored = done.Weights, done.Guarantee, done.Run, done.Restored
	return r, nil
}

// objective is what makes a resumed run the one that was charged and is not in its
// events.
func (p *TuplePlan) objective() string {
	s := p.Spec
	what := fmt.Sprintf("tuples of %d, seed %d", s.Tuple, s.Seed)
	if s.AllPairs {
		what = "all pairs"
	}
	return fmt.Sprintf("%s%+v, %d rows, %s, %d batches of %d, %d epochs, clip %g, steps %g", s.Loss.Name(), s.Loss, s.Rows, what, p.Batches, s.Batch, s.Epochs, s.Clip, s.StepSize)
}
