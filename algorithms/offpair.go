package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// onePass is what OffPairStrC and OffPairC share: one pass of pairwise online
// descent in a random order, output perturbation (docs/theory.md#offpair).
type onePass struct {
	info  Info
	total float64 // H of the equalising schedule, 0 for the public rule
	alpha float64 // of the objective
	// In Paper mode:
	lipschitz, smoothness float64 // the paper's G and L
	theorem               string
	remedy                func(n int, burnIn float64) string // what would make the burn-in end
}

// plan implements both algorithms.
//
// Certified: the equalising schedule, last iterate, certificate of
// privacy.PairwiseRecursion (docs/theory.md#pairwise-recursion). Paper: [Huai20] Algorithm 3 with burn-in
// T1 = max(ceil(16 L^2/alpha^2), 7), eta_t = (t-1)/(t-2) 2/(alpha t), average of
// w_1..w_n, sigma^2 = 128 G^2 ln^2 n ln(1.25/delta)/(alpha^2 n^2 epsilon^2).
func (o onePass) plan(s Spec) (*Plan, error) {
	problem := s.Kernel.Problem()
	s.L2 = o.alpha
	var schedule Schedule
	var err error
	sigma := 0.0
	if s.Mode == Paper {
		sigma = math.Sqrt(128*math.Log(1.25/s.Budget.Delta)) * o.lipschitz * math.Log(float64(problem.N)) / (o.alpha * float64(problem.N) * s.Budget.Epsilon)
		schedule, err = o.paperSchedule(s, sigma)
	} else {
		schedule, err = equalisingSpec(o.info.Name, s, o.total)
	}
	if err != nil {
		return nil, err
	}
	n := problem.N
	errors := make([]float64, n+1)
	mean := worstMeanRoundoff(s.Kernel, n)
	if math.IsInf(mean, 1) {
		return nil, fmt.Errorf("%w: %s sums the pairs of one record with those before it, which %s does not do in this problem: a team of processes, for one, has no such order; use gradient-perturbation or dpgdsc, or train in one process", ErrAssumption, o.info.Name, s.Kernel.Method())
	}
	u := s.newUpdate(mean)
	for t := max(2, schedule.BurnIn+1); t <= n; t++ {
		errors[t] = schedule.Eta[t]*mean + u.roundoff(schedule.Eta[t])
	}
	outputError := 0.0
	if schedule.Average {
		outputError = averageError(n, problem.Radius)
	}
	certificate, err := privacy.PairwiseRecursion{
		Curvature:   s.curvature(),
		Eta:         schedule.Eta,
		UpdateError: errors,
		Average:     schedule.Average,
		OutputError: outputError,
	}.Certify()
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Algorithm: o.info.Name, Mode: s.Mode, Spec: s,
		Schedule: schedule,
		Work:     Work{Gradients: float64(n) * float64(n-1) / 2},
	}
	return p, p.releasePlan(certificate, privacy.Gaussian{Sigma: sigma}, o.theorem)
}

// paperSchedule is [Huai20] Algorithm 3 line 3-7. It refuses when the burn-in
// covers all records: the average would be one of random points.
func (o onePass) paperSchedule(s Spec, sigma float64) (Schedule, error) {
	n := s.Kernel.Problem().N
	burn := s.printedBurnIn(o.smoothness, o.alpha)
	if burn >= float64(n) {
		return Schedule{}, fmt.Errorf("%w: %s as printed never takes a step here: its burn-in is T1 = max(ceil(16 L^2/alpha^2), 7) = %.0f of n = %d records (L = %.6g, alpha = %.6g), so it would return the average of random points with noise sigma = %.6g; %s; certified mode works",
			ErrAssumption, o.info.Name, burn, n, o.smoothness, o.alpha, sigma, o.remedy(n, burn))
	}
	schedule := Schedule{
		Name: s.unsoundly("paper: eta_t = (t-1)/(t-2) 2/(alpha t) after burn-in T1 = max(ceil(16 L^2/alpha^2), 7)",
			"eta_t = (t-1)/(t-2) 2/(alpha t) from t = 3 on, without the paper's burn-in"),
		Steps: n - int(burn), BurnIn: int(burn), Average: true,
		Eta: make([]float64, n+1),
	}
	for t := schedule.BurnIn + 1; t <= n; t++ {
		f := float64(t)
		schedule.Eta[t] = (f - 1) / (f - 2) * 2 / (o.alpha * f)
		schedule.TotalStep += schedule.Eta[t]
	}
	return schedule, nil
}

// train runs the pass and releases its result.
func (o onePass) train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	w, err := runPass(ctx, ev, p, s, t)
	if err != nil {
		return nil, err
	}
	return releaseProjected(w, p, s)
}

// runPass returns the noiseless result of one pass. State and output are two
// variables: in an average the iterates themselves stay noiseless and secret.
func runPass(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	n := problem.N
	order := s.Permutation(n)
	u := p.Spec.newUpdate(worstMeanRoundoff(p.Spec.Kernel, n))
	w := u.domain.Start()
	sum, total := make([]float64, len(w)), make([]float64, len(w))
	burnIn := p.Schedule.BurnIn
	done, err := t.Restore(order, w, total)
	if err != nil {
		return nil, err
	}
	for k := done + 1; k <= n; k++ {
		switch {
		case k <= burnIn:
			s.UniformBall(w, problem.Radius)
			if err := u.domain.Project(w, problem.Radius*(1+0x1p-40)); err != nil {
				return nil, err
			}
		case k >= 2:
			pairs := engine.PrefixPairs{Order: order, T: k - 1}
			if err := ev.Sum(ctx, sum, engine.Gradient(w, pairs)); err != nil {
				return nil, err
			}
			if err := u.apply(w, sum, p.Schedule.Eta[k], float64(k-1)); err != nil {
				return nil, err
			}
		}
		if p.Schedule.Average {
			for j := range total {
				total[j] += w[j]
			}
		}
		t.Keep(k, order, w, total)
		t.Step(k, n)
	}
	if p.Schedule.Average {
		for j := range total {
			w[j] = total[j] / float64(n)
		}
	}
	return w, nil
}

// averageError bounds the error of the mean of n vectors of norm at most r,
// summed one after the other: gamma_n r.
func averageError(n int, radius float64) float64 {
	return float64(n+2) * 0x1p-53 * 1.01 * radius
}

// worstMeanRoundoff bounds the error of the mean gradient of every step of a
// pass over n records.
func worstMeanRoundoff(k engine.Kernel, n int) float64 {
	worst := 0.0
	for t := 1; t < n; t++ {
		worst = max(worst, meanRoundoff(k, engine.PrefixPairs{T: t}))
	}
	return worst
}
