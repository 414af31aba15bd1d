package algorithms

import (
	"math"
)

// equalisingSchedule returns step sizes Eta[2..n] for which every record has the
// same influence on the last iterate (docs/theory.md#equalising-schedule):
//
//	eta_t = (t-1) / (v + alpha (t^2-t-2)/2),   v = alpha n^2 / (2 (e^(alpha H) - 1)),
//	eta_t = 2 H (t-1) / (n(n-1))               if alpha = 0.
//
// The sum of the step sizes is about H.
//
// Proof. With contraction c_t = 1 - alpha eta_t the influences of records k and k+1 differ by P_(k+1) [c_(k+1)
// eta_k + eta_(k+1)/k - eta_(k+1)]. This is zero iff (k-1)/k eta_(k+1) = (1 - alpha eta_(k+1)) eta_k. With u =
// 1/eta the condition is k u_(k+1) = (k-1) u_k + alpha k, and the formula solves it. Then every record moves
// w_n by Dg eta_n. QED. The certificate does not use this proof: it evaluates the recursion for the sizes
// returned here.
func equalisingSchedule(n int, alpha, total float64) []float64 {
	eta := make([]float64, n+1)
	// For alpha = 0, growth is H, the limit of (e^(alpha H) - 1)/alpha.
	growth := total
	if alpha > 0 {
		growth = math.Expm1(alpha*total) / alpha
	}
	v := float64(n) * float64(n-1) / (2 * growth)
	if alpha > 0 {
		v = float64(n) * float64(n) / (2 * growth)
	}
	for t := 2; t <= n; t++ {
		f := float64(t)
		eta[t] = (f - 1) / (v + alpha*(f*f-f-2)/2)
	}
	return eta
}

// equalisingSpec returns the equalising schedule with the given total step. If total is 0, the total step of
// the public rule applies. The total step is shortened so that every step is at most 2/(L~+alpha).
func equalisingSpec(name string, s Spec, total float64) (Schedule, error) {
	if !(total >= 0) || math.IsInf(total, 0) {
		return Schedule{}, Refused(name, ": the total step is %v, but must be finite and not negative", total)
	}
	rule := "equalising, given total step"
	if total == 0 {
		total = publicTotalStep(s)
		rule = "equalising, public rule " + totalStepRule(s)
	}
	n, limit := s.Kernel.Problem().N, s.largestStep()
	fits := func(h float64) bool {
		eta := equalisingSchedule(n, s.L2, h)
		for _, e := range eta[2:] {
			if !(e <= limit) {
				return false
			}
		}
		return true
	}
	if !fits(total) {
		lo, hi := 0.0, total
		for range 60 {
			mid := (lo + hi) / 2
			if mid > 0 && fits(mid) {
				lo = mid
			} else {
				hi = mid
			}
		}
		if lo == 0 {
			return Schedule{}, Refused(name, ": no schedule keeps its steps within %.6g; use an alpha below %.6g", limit, s.L2)
		}
		total, rule = lo, rule+", shortened so that no step exceeds 2/(L~+alpha)"
	}
	eta := equalisingSchedule(n, s.L2, total)
	sum := 0.0
	for _, e := range eta {
		sum += e
	}
	return Schedule{Name: rule, Steps: n - 1, Eta: eta, TotalStep: sum}, nil
}

// mostSteps bounds the number of steps of a plan. More steps would run for years, and the recursion of the
// certificate also takes the steps one by one.
const mostSteps = 10_000_000

// wholeSteps rounds up the number of steps that a rule asks for, to at most mostSteps + 1.
func wholeSteps(x float64) int {
	if !(x < mostSteps) {
		return mostSteps + 1
	}
	return max(1, int(math.Ceil(x)))
}

// checkSteps returns an error for a plan of more than mostSteps steps.
func checkSteps(name string, steps int) error {
	if steps > mostSteps {
		return Refused(name, " would take more than %d steps; ask for fewer or larger steps, or a smaller total step",
			mostSteps)
	}
	return nil
}

// descentOptions holds the step options of a full-batch descent. An option of 0 means the public rule.
type descentOptions struct {
	steps int     `within:"[0,)" called:"number of steps"`
	eta   float64 `within:"[0,)" called:"step size"`
	total float64 `within:"[0,)" called:"total step"`
}

func (o descentOptions) validate(name string) error {
	if err := ranged(name, o); err != nil {
		return err
	}
	return checkSteps(name, o.steps)
}

// smallestDescentSteps is the smallest number of steps that the public rule gives.
const smallestDescentSteps = 32

// roughSteps is the number of steps that the public rule gives for a loss that is not smooth.
const roughSteps = 1000

// schedule returns a constant step size according to the options or the public rule. The public rule has the
// total step publicTotalStep, in at least 32 steps of at most 2/(L~+alpha).
//
// The rule is derived for output perturbation, and it also fits noisy gradients. T noisy steps of total length
// H carry the noise eta sigma sqrt(T d) into the last iterate. With sigma = p Dg sqrt(T)/mu this noise is H p
// Dg sqrt(d)/mu, which is the noise of one release of the last iterate, for any T.
func (o descentOptions) schedule(name string, s Spec) (Schedule, error) {
	if err := o.validate(name); err != nil {
		return Schedule{}, err
	}
	steps, eta, rule := o.steps, o.eta, "given steps and step size"
	if steps == 0 || eta == 0 {
		total := o.total
		rule = "given total step"
		if total == 0 {
			total = publicTotalStep(s)
			rule = "public rule " + totalStepRule(s)
		}
		limit := s.largestStep() // limit is 0 if the loss is not smooth
		if steps == 0 {
			switch {
			case eta > 0:
				steps = wholeSteps(math.Round(total / eta))
			case limit > 0:
				steps = max(smallestDescentSteps, wholeSteps(total/limit))
			default:
				steps = roughSteps
			}
		}
		if eta == 0 {
			eta = total / float64(steps)
			if limit > 0 {
				eta = min(eta, limit)
			}
		}
	}
	return Schedule{Name: rule, Steps: steps, Constant: eta, TotalStep: eta * float64(steps)}, checkSteps(name, steps)
}

// contracting returns schedule for an algorithm with a certificate that holds only for steps of at most
// 2/(L~+alpha).
func (o descentOptions) contracting(name string, s Spec) (Schedule, error) {
	schedule, err := o.schedule(name, s)
	if limit := s.largestStep(); err == nil && !(schedule.Constant <= limit) {
		err = Refused(name, ": step size %.6g is above 2/(L + 2 alpha) = %.6g (smoothness L = %.6g, L2 weight "+
			"alpha = %.6g); use a smaller step size", schedule.Constant, limit, s.Constants.Smoothness, s.L2)
	}
	return schedule, err
}
