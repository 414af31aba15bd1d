package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// DPGDC2 is full-batch noisy gradient descent, average iterate ([Xue21] Algorithm 2
// and Theorem 2).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, by
// privacy.MeanGradient and the exact composition of T Gaussian releases (docs/theory.md#dpgdc2).
// It covers every iterate. Paper mode runs with the paper's noise, whose claim
// is false for small delta or large epsilon, and says what that noise gives.
type DPGDC2 struct {
	// Steps is T. 0 means max(1, floor(min(n, n^2 epsilon^2/(d ln(1/delta))))), the
	// paper's number, which can be below 1, in both modes.
	Steps int
	// StepSize is eta. 0 means the public rule ||C||/(B sqrt T) with
	// B^2 = (G + alpha r)^2 + d sigma^2, at most 2/(L~+alpha) if the loss is smooth;
	// in Paper mode it means G/(||C|| sqrt T) as in Theorem 2, and at most 2/L is
	// allowed. Privacy does not depend on it.
	StepSize float64
}

// Info describes the algorithm.
func (DPGDC2) Info() Info {
	return Info{
		Name:  "dpgdc2",
		NoL2:  map[Mode]string{Paper: "certified mode"},
		Title: "noisy gradient descent, average iterate: every full-batch gradient with Gaussian noise",
		Paper: "[Xue21] Algorithm 2, Theorem 2",
		Assumptions: []string{
			"the pair gradients have replace-one diameter Dg on the ball of radius r (at most 2G for a G-Lipschitz loss); privacy needs no convexity, no smoothness and no bound of the step size",
			"data-independent start",
		},
		Released: "every noisy gradient, so every iterate; the average of w_0..w_T is returned",
		Claim:    "(epsilon, delta)-DP with sigma = 4 G sqrt(1.25 T ln(1/delta))/(n epsilon)",
		Verdict:  "VIOLATED for Dg = 2G at epsilon = 1 and delta <= 3.4e-6, epsilon = 2 and delta <= 4.1e-4, all epsilon >= 4; for losses with a smaller Dg, such as the AUC loss, the same noise gives more. Certified mode composes the T releases exactly",
		Maths: `w_t = Pi_C[w_(t-1) - eta (g_t + alpha w_(t-1))],  g_t = grad L(w_(t-1); D) + N(0, sigma^2 I),  t = 1..T
given g_1..g_(t-1), a mean gradient moves by Delta = p Dg + 2 rho,  p = 2/n the share of the pairs that contain one record
sigma = Delta sqrt(T)/mu(epsilon, delta):  mu^2 = sum_t (Delta/sigma)^2, exact for Gaussian noise
return (w_0 + ... + w_T)/(T+1), post-processing of g_1..g_T
T = max(1, floor(min(n, n^2 epsilon^2/(d ln(1/delta))))),  eta = ||C||/(B sqrt T),  B^2 = (G + alpha r)^2 + d sigma^2
paper: alpha = 0, eta = G/(||C|| sqrt T) <= 2/L (the proof has ||C||^2/(G sqrt T); ||C||/(G sqrt T) has the right dimension), sigma = 4 G sqrt(1.25 T ln(1/delta))/(n epsilon)`,
		Modes:     []Mode{Certified, Paper},
		Unsound:   "the step: ||C||/(G sqrt T), at most 2/L, in place of the printed G/(||C|| sqrt T), which has the wrong dimension",
		Withholds: true,
	}
}

func (DPGDC2) descent() noisyDescent {
	return noisyDescent{name: DPGDC2{}.Info().Name, average: true}
}

// steps is T: the option, or the paper's number, at least 1.
func (a DPGDC2) steps(s Spec) int {
	if a.Steps > 0 {
		return a.Steps
	}
	n, d, b := float64(s.Kernel.Problem().N), float64(s.coordinates()), s.Budget
	return int(max(1, min(n, n*n*b.Epsilon*b.Epsilon/(d*-math.Log(b.Delta)))))
}

// remedy says for which n or epsilon the paper's number of steps is as large as needed.
func (a DPGDC2) remedy(s Spec, needed float64) string {
	if a.Steps > 0 {
		return ""
	}
	n, b := float64(s.Kernel.Problem().N), s.Budget
	both := math.Sqrt(needed * float64(s.coordinates()) * -math.Log(b.Delta)) // n epsilon
	text := fmt.Sprintf("with the rest as it is n = %.0f", math.Ceil(max(needed, both/b.Epsilon)*(1+1e-9)))
	if n >= needed {
		text += fmt.Sprintf(" or epsilon = %.3g", both/n*(1+1e-2))
	}
	return text + ", "
}

// Plan computes schedule, certificate and noise.
func (a DPGDC2) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	if err := (descentOptions{steps: a.Steps, eta: a.StepSize}).validate(a.Info().Name); err != nil {
		return nil, err
	}
	steps := a.steps(s)
	if err := checkSteps(a.Info().Name, steps); err != nil {
		return nil, err
	}
	c, err := a.descent().certificate(s)
	if err != nil {
		return nil, err
	}
	var noise privacy.Gaussian
	var schedule Schedule
	if s.Mode == Paper {
		noise.Sigma = 4 * s.Constants.Lipschitz * math.Sqrt(1.25*float64(steps)*-math.Log(s.Budget.Delta)) / (float64(s.Kernel.Problem().N) * s.Budget.Epsilon)
		schedule, err = a.paperSchedule(s, steps, noise.Sigma)
	} else if noise, err = privacy.CalibrateGaussian(c, s.Budget, steps); err == nil {
		schedule = a.schedule(s, steps, noise.Sigma)
	}
	if err != nil {
		return nil, err
	}
	return a.descent().plan(s, schedule, c, noise, "[Xue21] Theorem 2")
}

// schedule is the public rule of Certified mode: eta = ||C||/(B sqrt T) balances the
// two terms ||C||^2/(2 eta T) + eta B^2/2 of the regret bound of projected stochastic
// gradients with E||g||^2 <= B^2.
func (a DPGDC2) schedule(s Spec, steps int, sigma float64) Schedule {
	eta, rule := a.StepSize, "given step size"
	if eta == 0 {
		p := s.Kernel.Problem()
		b := math.Hypot(s.Constants.Lipschitz+s.L2*p.Radius, sigma*math.Sqrt(float64(s.coordinates())))
		eta = p.Domain().Diameter() / (b * math.Sqrt(float64(steps)))
		if limit := s.largestStep(); limit > 0 {
			eta = min(eta, limit)
		}
		rule = "public rule eta = ||C||/(B sqrt T), B^2 = (G + alpha r)^2 + d sigma^2"
	}
	return Schedule{Name: rule, Steps: steps, Constant: eta, TotalStep: eta * float64(steps)}
}

// paperSchedule is that of [Xue21] Theorem 2, for steps of at most 2/L (Algorithm 2).
func (a DPGDC2) paperSchedule(s Spec, steps int, sigma float64) (Schedule, error) {
	diameter := s.Kernel.Problem().Domain().Diameter()
	root := math.Sqrt(float64(steps))
	eta, rule := a.StepSize, "paper: given step size"
	if eta == 0 {
		eta, rule = s.Constants.Lipschitz/(diameter*root), "paper: eta = G/(||C|| sqrt T)"
	}
	limit := s.largestStep()
	if s.PaperUnsound && a.StepSize == 0 {
		eta = min(limit, diameter/(s.Constants.Lipschitz*root))
		rule = s.unsoundly(rule, "eta = ||C||/(G sqrt T), at most 2/L, in place of the printed G/(||C|| sqrt T)")
	}
	if !(eta <= limit) {
		needed := math.Ceil(math.Pow(s.Constants.Lipschitz/(diameter*limit), 2))
		return Schedule{}, fmt.Errorf("%w: dpgdc2 as printed needs eta <= 2/L = %.6g, and its eta = G/(||C|| sqrt T) is %.6g at T = %d (sigma = %.6g); it needs T >= %.0f, %sor a given step size such as ||C||/(G sqrt T) = %.6g, which has the right dimension; certified mode works",
			ErrAssumption, limit, eta, steps, sigma, needed, a.remedy(s, needed), min(limit, diameter/(s.Constants.Lipschitz*root)))
	}
	return Schedule{Name: rule, Steps: steps, Constant: eta, TotalStep: eta * float64(steps)}, nil
}

// Train runs the descent and returns the average of w_0..w_T.
func (a DPGDC2) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	return a.descent().train(ctx, ev, p, s, t)
}
