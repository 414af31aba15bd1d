package algorithms

import (
	"fmt"
	"math"

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
	if len(problem.Groups) > 0 {
		return nil, noGroups(o.info.Name)
	}
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
	p := descent{pass: true}.newPlan(o.info, s, schedule)
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

func noGroups(name string) error {
	return fmt.Errorf("%w: %s makes one pass over pairs of all records and has no query groups; use dpgdsc", ErrAssumption, name)
}
