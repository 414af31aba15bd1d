package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Options are the options of an audit. The zero value is a fast white-box audit.
type Options struct {
	// Access states what the adversary knows. If the guarantee of a plan rests on secret batches or
	// secret steps, Access is ignored, and the attack is BlackBox.
	Access Access
	// Runs is the number of runs on each of the two data sets, at least 20. Half of them choose the attack. If
	// it is 0, the default is 40,000 for WhiteBox and 10,000 for BlackBox. An audit with this default often
	// takes seconds. If Time is set, the default is 200,000.
	Runs int
	// Time is a time limit for the runs. If the limit ends the runs, the report has the bounds of the last look
	// before the limit (see looks). If Time is 0, all runs are made. The time for choosing the data sets is not
	// counted.
	Time time.Duration
	// Confidence is the confidence with which all bounds of the report hold together. If it is 0, the default
	// 0.999 applies.
	Confidence float64
	// Seed is the seed of all randomness, including the noise.
	Seed uint64
	// Workers is the number of goroutines. If it is 0, all processors are used. It changes the time, never the result.
	Workers int
	// Tracker is informed of the progress.
	Tracker algorithms.Tracker
	// Look, if not nil, is called after every look with the report so far.
	Look func(*Report)
}

// Run attacks t. If Report.Holds returns false, the report refutes the claim of its plan. If ctx is
// cancelled after the first look, Run returns the report so far together with the error of ctx. The bounds
// of such a report hold with the same confidence as the bounds of a complete report.
func Run(ctx context.Context, t Target, o Options) (*Report, error) {
	start := time.Now()
	r, err := t.prepared(&o)
	if err != nil {
		return nil, err
	}
	work, cancel := ctx, context.CancelFunc(func() {})
	if o.Time > 0 {
		work, cancel = context.WithTimeout(ctx, o.Time)
	}
	defer cancel()
	err = r.run(work, t, o, start)
	r.Seconds = time.Since(start).Seconds()
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil && r.Runs == 0:
		return nil, err
	case ctx.Err() != nil:
		r.Stopped = "interrupt"
		return r, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) && o.Time > 0:
		r.Stopped = "time"
		return r, nil
	}
	return nil, err
}

// prepared fills in the defaults of the options and begins the report.
func (t Target) prepared(o *Options) (*Report, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	switch {
	case t.secret():
		o.Access = BlackBox
	case t.Program != nil && t.Program.Draw != nil:
		o.Access = WhiteBox // the noise is the only coin
	}
	if err := o.defaults(); err != nil {
		return nil, err
	}
	r := newReport(t.claim(), o.Confidence)
	r.Access, r.Instance, r.Planned, r.Seed = o.Access.String(), t.Instance, o.Runs, o.Seed
	return r, nil
}

// block is the number of runs for which memory is allocated at a time.
const block = 1 << 13

// campaign chooses the scores of the runs and measures the move of the exact vectors.
func (r *Report) campaign(ctx context.Context, t Target, o Options) (c *campaign, err error) {
	if r.Move, err = t.Move(ctx); err != nil {
		return nil, err
	}
	c = &campaign{t: t, access: o.Access, seed: o.Seed, workers: o.Workers, scores: []score{lowBitScore}}
	if t.stopping() != nil { // the runs that do not count are secret, so only releases are attacked
		return c, nil
	}
	best := likelihoodScore
	if o.Access == BlackBox {
		if best, err = t.directionScore(ctx, o.Seed); err != nil {
			return nil, err
		}
		mixture, ok, err := t.mixtureScore(ctx, o.Seed)
		if err != nil {
			return nil, err
		}
		if ok {
			c.scores = append(c.scores, mixture)
		}
	}
	c.scores = append([]score{best}, c.scores...)
	return c, nil
}

// run makes the runs, one look after another.
func (r *Report) run(ctx context.Context, t Target, o Options, start time.Time) error {
	c, err := r.campaign(ctx, t, o)
	if err != nil {
		return err
	}
	last := time.Now()
	step := func(done int) {
		if now := time.Now(); done < 2*o.Runs && now.Sub(last) < 50*time.Millisecond {
			return
		} else if last = now; o.Time > 0 {
			const parts = 1000
			part := max(float64(done)/float64(2*o.Runs), now.Sub(start).Seconds()/o.Time.Seconds())
			o.Tracker.Step(int(parts*min(part, 1)), parts)
			return
		}
		o.Tracker.Step(done, 2*o.Runs)
	}
	for _, l := range looks(o.Runs, 1-o.Confidence, o.Time > 0) {
		if err := c.extendTo(ctx, l.runs, step); err != nil {
			return err
		}
		r.look(c, l.alpha)
		if o.Look != nil {
			o.Look(r)
		}
	}
	return nil
}

// look computes the bounds from the runs so far. Any of them is too large with probability at most alpha.
func (r *Report) look(c *campaign, alpha float64) {
	claimed := c.t.claim()
	_, gaussian := claimed.Noise.(privacy.Gaussian)
	gaussian = gaussian && r.Delta > 0
	white := c.access == WhiteBox
	if white && claimed.Noise != nil {
		alpha /= 2 // there are two bounds
	}
	r.Runs = len(c.trials[0])
	bound, shown := c.threshold(c.trials, r.Delta, alpha)
	r.add(bound)
	r.Scores = shown
	best := func(t keptTrial) float64 { return t.Scores[0] }
	switch {
	case gaussian:
		s := gaussianModel(scoresOf(c.trials[0], best), scoresOf(c.trials[1], best), alpha)
		r.Shift = &s
		if r.Mu > 0 {
			r.Tightness = &Tightness{"gap/sd", s.Mu, s.StandardError, r.Mu}
		}
		if !white {
			break
		}
		r.add(Bound{
			Method: "Gaussian model", Attack: c.scores[0].name, Confidence: 1 - alpha, Runs: r.Runs,
			// GDPEpsilon is rounded up by a few units in the last place.
			Epsilon: min(unlimited, account.GDPEpsilon(s.Lower, r.Delta)*(1-1e-9)),
			Assumes: "the scores are normal, with the same standard deviation on both data sets (true for one " +
				"release with Gaussian noise)",
		})
		r.RunsForHalf, r.RunsAtLeast = 0, 0
		half, each := account.GDPMu(r.Epsilon/2, r.Delta), s.StandardError*math.Sqrt(float64(r.Runs))
		switch {
		case r.HalfRefuted:
		case s.Mu-half > 2*s.StandardError:
			r.RunsForHalf = runsForGap(s.Mu, half, each, alpha)
		default:
			r.RunsAtLeast = runsForGap(s.Mu+s.StandardError, half, each, alpha)
		}
	case white && claimed.Noise != nil:
		epsilon, standardError, lower := scaleModel(c.trials, alpha)
		r.Tightness = &Tightness{"gap/scale", epsilon, standardError, r.Epsilon}
		r.add(Bound{
			Method: "scale model", Attack: "sizes of the noise", Epsilon: lower, Confidence: 1 - alpha,
			Runs: r.Runs, Assumes: "only the size of the noise may differ from the claim",
		})
	}
	r.Values, r.OffGrid = 0, 0
	noises := map[uint64]int{}
	for _, side := range c.trials {
		for _, t := range side {
			r.Values += t.Values
			r.OffGrid += t.Off
			for _, f := range t.Noises {
				noises[f]++
			}
		}
	}
	r.Repeated = repeats(noises)
}

func (o *Options) defaults() error {
	if o.Runs == 0 {
		switch {
		case o.Time > 0:
			o.Runs = 200_000
		case o.Access == BlackBox:
			o.Runs = 10_000
		default:
			o.Runs = 40_000
		}
	}
	switch {
	case o.Runs < fewestRuns:
		return fmt.Errorf("audit: %d runs on each data set are too few; want at least %d", o.Runs, fewestRuns)
	case o.Time < 0:
		return fmt.Errorf("audit: the time limit is %v, but must not be negative", o.Time)
	case o.Access != WhiteBox && o.Access != BlackBox:
		return errors.New("audit: unknown access, want WhiteBox or BlackBox")
	}
	return fillConfidence(&o.Confidence)
}

// fillConfidence sets the default of a confidence and checks it.
func fillConfidence(c *float64) error {
	if *c = cmp.Or(*c, 0.999); !(*c >= 0.5 && *c < 1) {
		return fmt.Errorf("audit: the confidence is %v, want at least 0.5 and below 1", *c)
	}
	return nil
}

// directionScore is the projection of the released vectors on the direction in which the exact vectors move,
// averaged over several coins.
func (t Target) directionScore(ctx context.Context, seed uint64) (score, error) {
	w, err := newWorker(t)
	if err != nil {
		return score{}, err
	}
	defer func() { _ = w.close() }()
	var direction []float64
	for i := range 8 {
		w.t.Coins = runSeed(^seed, i)
		o, err := w.pair(ctx, false, uint64(i))
		if err != nil {
			return score{}, err
		}
		var moved []float64
		for _, m := range o.moves {
			if m.Kind == attack.Release && m.Name != attack.Selection {
				for k, v := range m.Before {
					moved = append(moved, v-m.Was[k])
				}
			}
		}
		if direction == nil {
			direction = make([]float64, len(moved))
		}
		for k, v := range moved {
			direction[k] += v
		}
	}
	return score{"projection on the known difference", func(o Observation) float64 {
		sum, k := 0.0, 0
		for _, r := range o.Releases {
			for _, v := range r.After {
				sum += v * direction[k]
				k++
			}
		}
		return sum
	}}, nil
}
