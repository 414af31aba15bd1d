package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// DPGDC2 is full-batch noisy gradient descent that returns the average iterate ([Xue21] Algorithm 2 and Theorem
// 2).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record. The guarantee follows from
// privacy.MeanGradient and the exact composition of T Gaussian releases (docs/theory.md#dpgdc2). It covers
// every iterate. Paper mode runs with the paper's noise and states the guarantee that this noise gives; the
// paper's claim is false for small delta or large epsilon.
type DPGDC2 struct {
	descends
	// Steps is the number of steps T. If it is 0, T is max(1, floor(min(n, n^2 epsilon^2/(d ln(1/delta))))) in
	// both modes. The minimum is the paper's number, which can be below 1.
	Steps int
	// StepSize is eta. If it is 0, Certified mode applies the public rule ||C||/(B sqrt T) with B^2 = (G +
	// alpha r)^2 + d sigma^2, limited to 2/(L~+alpha) if the loss is smooth. In Paper mode 0 means G/(||C||
	// sqrt T) as in Theorem 2, and at most 2/L is allowed. Privacy does not depend on StepSize.
	StepSize float64
}

// Info describes the algorithm.
func (DPGDC2) Info() Info {
	return Described("dpgdc2", Info{Modes: []Mode{Certified, Paper}, Withholds: true})
}

// steps returns T: the option if it is set, or else the paper's number, at least 1.
func (a DPGDC2) steps(s Spec) int {
	if a.Steps > 0 {
		return a.Steps
	}
	n, d, b := float64(s.Kernel.Problem().N), float64(s.coordinates()), s.Budget
	return int(max(1, min(n, n*n*b.Epsilon*b.Epsilon/(d*-math.Log(b.Delta)))))
}

// remedy returns, as text, the n or epsilon for which the paper's number of steps is at least needed.
func (a DPGDC2) remedy(s Spec, needed float64) string {
	if a.Steps > 0 {
		return ""
	}
	n, b := float64(s.Kernel.Problem().N), s.Budget
	both := math.Sqrt(needed * float64(s.coordinates()) * -math.Log(b.Delta)) // n epsilon
	text := fmt.Sprintf("with all other options unchanged, n = %.0f", math.Ceil(max(needed, both/b.Epsilon)*(1+1e-9)))
	if n >= needed {
		text += fmt.Sprintf(" or epsilon = %.3g", both/n*(1+1e-2))
	}
	return text + ", "
}

// Plan computes the schedule, the certificate and the noise.
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
	c, err := s.MeanGradient()
	if err != nil {
		return nil, err
	}
	var noise privacy.Gaussian
	schedule := Schedule{Steps: steps, Average: true}
	if s.Mode == Paper {
		noise.Sigma = 4 * s.Constants.Lipschitz * math.Sqrt(1.25*float64(steps)*-math.Log(s.Budget.Delta)) / (float64(s.Kernel.Problem().N) * s.Budget.Epsilon)
		schedule.Name, schedule.Constant, err = a.paperStep(s, steps, noise.Sigma)
	} else if noise, err = privacy.CalibrateGaussian(c, s.Budget, steps); err == nil {
		schedule.Name, schedule.Constant = a.step(s, steps, noise.Sigma)
	}
	if err != nil {
		return nil, err
	}
	schedule.TotalStep = schedule.Constant * float64(steps)
	return descent{noise: onGradients}.planNoisy(a.Info(), s, schedule, c, noise, "[Xue21] Theorem 2")
}

// step returns the public rule of Certified mode and its step size. The step size eta = ||C||/(B sqrt T)
// balances the two terms ||C||^2/(2 eta T) + eta B^2/2 of the regret bound of projected stochastic gradients
// with E||g||^2 <= B^2.
func (a DPGDC2) step(s Spec, steps int, sigma float64) (rule string, eta float64) {
	eta, rule = a.StepSize, "given step size"
	if eta == 0 {
		p := s.Kernel.Problem()
		b := math.Hypot(s.Constants.Lipschitz+s.L2*p.Radius, sigma*math.Sqrt(float64(s.coordinates())))
		eta = p.Domain().Diameter() / (b * math.Sqrt(float64(steps)))
		if limit := s.largestStep(); limit > 0 {
			eta = min(eta, limit)
		}
		rule = "public rule eta = D/(B sqrt T): D = diameter of the domain, T = steps, B = root mean square bound " +
			"of the noisy gradient"
	}
	return rule, eta
}

// paperStep returns the step size of [Xue21] Theorem 2. It refuses steps above 2/L (Algorithm 2).
func (a DPGDC2) paperStep(s Spec, steps int, sigma float64) (rule string, eta float64, err error) {
	diameter := s.Kernel.Problem().Domain().Diameter()
	root := math.Sqrt(float64(steps))
	eta, rule = a.StepSize, "paper: given step size"
	if eta == 0 {
		eta, rule = s.Constants.Lipschitz/(diameter*root), "paper: eta = G/(||C|| sqrt T)"
	}
	limit := s.largestStep()
	if s.PaperUnsound && a.StepSize == 0 {
		eta = min(limit, diameter/(s.Constants.Lipschitz*root))
		rule = s.unsoundly(rule, "eta = min(||C||/(G sqrt T), 2/L), where the paper prints G/(||C|| sqrt T): "+
			"diameter ||C||, constants G and L, T steps")
	}
	if !(eta <= limit) {
		needed := math.Ceil(math.Pow(s.Constants.Lipschitz/(diameter*limit), 2))
		return "", 0, Refused("dpgdc2", " as printed needs eta <= 2/L = %.6g, and its eta = G/(||C|| sqrt T) is %.6g at "+
			"T = %d (sigma = %.6g); it needs T >= %.0f, %sor a given step size such as ||C||/(G sqrt T) = %.6g, which has the "+
			"right dimension; certified mode works", limit, eta, steps, sigma, needed, a.remedy(s, needed),
			min(limit, diameter/(s.Constants.Lipschitz*root)))
	}
	return rule, eta, nil
}
