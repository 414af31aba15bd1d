package algorithms

import (
	"cmp"
	"fmt"
	"math"

	"dyad/privacy"
)

// onePass is the common part of OffPairStrC and OffPairC: one pass of pairwise online descent in a random
// order, with output perturbation (docs/theory.md#offpair).
type onePass struct {
	info  Info
	total float64 // H of the equalising schedule; 0 means the public rule
	alpha float64 // the L2 weight of the objective
	// These fields are used in Paper mode only.
	lipschitz, smoothness float64                            // the paper's G and L
	remedy                func(n int, burnIn float64) string // text about the numbers with which the burn-in would end
}

// plan implements Plan of both algorithms.
//
// In Certified mode the plan has the equalising schedule, the last iterate, and the certificate of
// privacy.PairwiseRecursion (docs/theory.md#pairwise-recursion). Paper mode is [Huai20] Algorithm 3 with
// burn-in T1 = max(ceil(16 L^2/alpha^2), 7), eta_t = (t-1)/(t-2) 2/(alpha t), average of w_1..w_n, and sigma^2
// = 128 G^2 ln^2 n ln(1.25/delta)/(alpha^2 n^2 epsilon^2).
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
		return nil, Refused(o.info.Name, " pairs each record with all earlier records, which %s cannot do here; "+
			"use one process, or choose gradient-perturbation or dpgdsc", s.Kernel.Method())
	}
	u := s.newUpdate(mean)
	for t := max(2, schedule.BurnIn+1); t <= n; t++ {
		errors[t] = schedule.Eta[t]*mean + u.roundoff(schedule.Eta[t])
	}
	outputError := 0.0
	if schedule.Average {
		outputError = averageError(n, problem.Radius)
	}
	by := privacy.PairwiseRecursion{Curvature: s.curvature(), Eta: schedule.Eta, UpdateError: errors,
		Average: schedule.Average, OutputError: outputError}
	return descent{pass: true}.planOutput(o.info, s, schedule, by, privacy.Gaussian{Sigma: sigma}, "[Huai20] Theorem 5")
}

// paperSchedule returns the schedule of [Huai20] Algorithm 3, lines 3 to 7. It returns an error if the burn-in
// covers all records, because the average would then consist of random points.
func (o onePass) paperSchedule(s Spec, sigma float64) (Schedule, error) {
	n := s.Kernel.Problem().N
	burn := s.printedBurnIn(o.smoothness, o.alpha)
	if !(burn < float64(n)) { // burn is NaN if squares overflowed
		return Schedule{}, Refused(o.info.Name, " as printed never takes a step here: its burn-in is T1 = "+
			"max(ceil(16 L^2/alpha^2), 7) = %.0f of n = %d records (smoothness L = %.6g, strong convexity alpha = "+
			"%.6g, noise sigma = %.6g); %s; certified mode works", burn, n, o.smoothness, o.alpha, sigma, o.remedy(n, burn))
	}
	schedule := Schedule{
		Name: s.unsoundly("paper: eta_t = (t-1)/(t-2) 2/(alpha t) after burn-in T1 = max(ceil(16 L^2/alpha^2), 7)",
			"eta_t = (t-1)/(t-2) * 2/(alpha t) for t >= 3, without the paper's burn-in"),
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

// OffPairStrC is offline pairwise private GIGA for strongly convex objectives
// ([Huai20] Algorithm 3 and Theorem 5).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record, or epsilon-DP if delta is 0.
// This mode uses the equalising schedule and the last iterate in place of the burn-in and the average
// (docs/theory.md#offpair).
type OffPairStrC struct {
	descends
	// TotalStep is H, which is approximately the sum of the step sizes. If it is 0, the
	// public rule of docs/theory.md#step-length applies. It is ignored in Paper mode.
	TotalStep float64
}

// Info describes the algorithm.
func (OffPairStrC) Info() Info {
	return Described("offpairstrc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified}, NeedsL2: true,
		DefaultL2: usualL2, NeedsSmooth: true, Withholds: true})
}

// Plan computes the schedule, the certificate and the noise.
func (a OffPairStrC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	o := onePass{info: a.Info(), total: a.TotalStep, alpha: s.L2, lipschitz: s.Constants.Lipschitz,
		smoothness: s.Constants.Smoothness}
	o.remedy = func(n int, burnIn float64) string {
		text := fmt.Sprintf("it needs n >= %.0f at this alpha", burnIn+1)
		if n > 7 {
			text += fmt.Sprintf("; at this n, an alpha above %.6g is enough", 4*s.Constants.Smoothness/math.Sqrt(float64(n-1)))
		}
		return text
	}
	return o.plan(s)
}

// OffPairC is offline pairwise private GIGA for convex objectives without an L2 term ([Huai20] Algorithm 4 and
// Theorem 5).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record, or epsilon-DP if delta is 0.
// This mode uses the linear (equalising, alpha = 0) schedule and the last iterate (docs/theory.md#offpair).
type OffPairC struct {
	descends
	// TotalStep is H, the sum of the step sizes. If it is 0, the public rule of docs/theory.md#step-length
	// applies. It is ignored in Paper mode.
	TotalStep float64
	// PaperAlpha is the weight of the L2 term that Paper mode adds. If it is 0, the weight is 1/sqrt(n), which
	// is the order in the theorem.
	PaperAlpha float64 `flag:"-"`
}

// Info describes the algorithm.
func (OffPairC) Info() Info {
	return Described("offpairc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified}, NeedsSmooth: true,
		Withholds: true})
}

// Plan computes the schedule, the certificate and the noise.
func (a OffPairC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	if !(a.PaperAlpha >= 0) || math.IsInf(a.PaperAlpha, 0) {
		return nil, Refused("offpairc", ": PaperAlpha is %v, must be finite and not negative", a.PaperAlpha)
	}
	o := onePass{info: a.Info(), total: a.TotalStep}
	if s.Mode == Paper {
		p := s.Kernel.Problem()
		o.alpha = cmp.Or(a.PaperAlpha, 1/math.Sqrt(float64(p.N)))
		o.lipschitz, o.smoothness = s.Constants.Lipschitz+o.alpha*2*p.Radius, s.Constants.Smoothness+o.alpha
		o.remedy = func(n int, burnIn float64) string { return a.remedy(s.Constants.Smoothness, n, burnIn) }
	}
	return o.plan(s)
}

// remedy returns, as text, the n or alpha for which the burn-in 16 (L+alpha)^2/alpha^2 ends before the records
// do. With alpha = c/sqrt(n) the burn-in is 16 (L+alpha)^2/c^2 n, so it never ends for any n unless c > 4 (L +
// alpha) (docs/theory.md#offpair).
func (a OffPairC) remedy(smoothness float64, n int, burnIn float64) string {
	text := "no n works with alpha = 1/sqrt(n)"
	if a.PaperAlpha != 0 {
		text = fmt.Sprintf("it needs n >= %.0f at this alpha", burnIn+1)
	}
	if root := math.Sqrt(float64(n - 1)); root > 4 {
		text += fmt.Sprintf("; at this n, an alpha above %.6g is enough", 4*smoothness/(root-4))
	}
	return text
}
