package algorithms

import (
	"cmp"
	"math"
)

// ProjectedGradient is the non-private baseline: full-batch projected gradient descent on the same objective.
// By default it uses Nesterov's acceleration and adaptive restart (O'Donoghue and Candes 2015, gradient scheme;
// docs/theory.md#nonprivate).
//
// It has no privacy guarantee.
type ProjectedGradient struct {
	descends
	// Steps is the number of steps T. If it is 0, 1000 applies.
	Steps int `within:"[0,)" called:"number of steps"`
	// StepSize is eta. If it is 0, 1/(L + alpha) applies.
	StepSize float64 `within:"[0,)" called:"step size"`
	// Plain switches acceleration off.
	Plain bool `flag:"-"`
	// Ridge is the c of the default weight c/n of the L2 term of linear scores. If Ridge is 0, c is 3. In
	// pairs of different classes, the labels and the records differ by twice as much, so near w = 0 the weight
	// 4/n equals the ridge of scikit-learn's LogisticRegression with C = 1. The AUCs are at most 0.0016 below
	// those with C = 1 (bench/results/baseline-summary.csv).
	Ridge float64 `within:"[0,)" called:"ridge factor"`
}

// defaultL2 returns the weight of the L2 term for n records.
func (a ProjectedGradient) defaultL2(n int, metric bool) float64 {
	if metric {
		return usualL2
	}
	return cmp.Or(a.Ridge, 3) / float64(n)
}

// DefaultL2 returns the weight of the L2 term of an algorithm on n records if the user gives no weight.
func DefaultL2(a Planner, n int, metric bool) float64 {
	if b, ok := a.(ProjectedGradient); ok {
		return b.defaultL2(n, metric)
	}
	return a.Info().DefaultL2
}

const defaultBaselineSteps = 1000

// Info describes the algorithm.
func (ProjectedGradient) Info() Info {
	return Described("projected-gradient", Info{Modes: []Mode{NonPrivate}, DefaultL2: usualL2, Withholds: true})
}

// Plan computes the schedule. The plan has no certificate and no noise.
func (a ProjectedGradient) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	if err := ranged(a.Info().Name, a); err != nil {
		return nil, err
	}
	steps, eta := a.Steps, a.StepSize
	if steps == 0 {
		steps = defaultBaselineSteps
	}
	if err := checkSteps("projected-gradient", steps); err != nil {
		return nil, err
	}
	rough := math.IsInf(s.Constants.Smoothness, 1)
	if eta == 0 {
		eta = 1 / (s.Constants.Smoothness + s.L2)
	}
	name := "accelerated, constant step size"
	switch {
	case rough && eta == 0: // the step size of the subgradient method (Nesterov 2004, section 3.2.3)
		eta = s.Kernel.Problem().Domain().Diameter() / (s.Constants.Lipschitz * math.Sqrt(float64(steps)))
		name = "accelerated, constant step size ||C||/(G sqrt T) for a loss that is not smooth: diameter ||C||, " +
			"Lipschitz constant G, T steps"
	case a.Plain:
		name = "constant step size"
	}
	p := descent{noise: nowhere, accelerate: true, plain: a.Plain}.newPlan(a.Info(), s,
		Schedule{Name: name, Steps: steps, Constant: eta, TotalStep: eta * float64(steps)})
	p.PromiseNothing("exact iterate", revealsRecords)
	return p, nil
}
