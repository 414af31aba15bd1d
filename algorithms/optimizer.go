package algorithms

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"dyad/privacy"
)

// Optimizer holds the rules by which noisy gradients become steps. Its values are computed from releases and
// public numbers, so they have no privacy cost (docs/theory.md#optimizers). The zero value is plain descent
// with a constant step size.
type Optimizer struct {
	// Update is the rule of a step: "plain" or "" (the gradient), "momentum" (m_t = b m_(t-1) + (1-b) g_t) or
	// "adam". Adam here subtracts the variance of the noise from its second moments.
	Update string
	// Momentum is the factor b of momentum and Adam, in [0, 1). If it is 0, 0.9 applies.
	Momentum float64 `within:"[0,1)" called:"momentum"`
	// Decay is the rule by which step sizes fall. With r = (t-1)/T, it is "constant" or "", "linear" (1 - r),
	// "cosine" ((1 + cos(pi r))/2), "root" (1/sqrt t) or "step" (halved after every quarter of the steps).
	Decay string
	// Tail is the share of the last iterates that are averaged for the result, in [0, 1). If it is 0, the last
	// iterate is the result.
	Tail float64 `within:"[0,1)" called:"share of the iterates that are averaged"`
}

// These are the values of Update and Decay.
const (
	plain, momentum, adam                  = "plain", "momentum", "adam"
	constant, linear, cosine, root, halves = "constant", "linear", "cosine", "root", "step"
)

// updateRules returns the values of Optimizer.Update.
func updateRules() []string { return []string{plain, momentum, adam} }

// decays returns the values of Optimizer.Decay.
func decays() []string { return []string{constant, linear, cosine, root, halves} }

const (
	usualMomentum = 0.9
	squareDecay   = 0.999 // the decay of Adam's second moments
	// noiseFloor bounds the divisor of Adam from below, in standard deviations of the noise. Below this bound
	// the remaining second moment is chance.
	noiseFloor = 0.5
)

// String returns text that identifies the optimizer in reports and checkpoints. It is "" for the zero value.
func (o Optimizer) String() string {
	if o == (Optimizer{}) {
		return ""
	}
	parts := []string{cmp.Or(o.Update, plain)}
	if o.averages() {
		parts[0] += fmt.Sprintf(", momentum %g", o.weight())
	}
	parts = append(parts, cmp.Or(o.Decay, constant)+" steps")
	if o.Tail > 0 {
		parts = append(parts, fmt.Sprintf("mean of the last %g of the iterates", o.Tail))
	}
	return strings.Join(parts, "; ")
}

// averages reports whether steps follow a running mean of the gradients.
func (o Optimizer) averages() bool { return o.Update == momentum || o.Update == adam }

func (o Optimizer) weight() float64 {
	if o.Momentum == 0 {
		return usualMomentum
	}
	return o.Momentum
}

// validate returns an error for an option that is out of range.
func (o Optimizer) validate(name string) error {
	switch {
	case o.Update != "" && !slices.Contains(updateRules(), o.Update):
		return Refused(name, ": the update %q is unknown, want one of %s", o.Update,
			strings.Join(updateRules(), ", "))
	case o.Decay != "" && !slices.Contains(decays(), o.Decay):
		return Refused(name, ": the decay %q is unknown, want one of %s", o.Decay,
			strings.Join(decays(), ", "))
	case o.Momentum > 0 && !o.averages():
		return Refused(name, `: plain steps have no momentum; choose "momentum" or "adam" as the update`)
	}
	return ranged(name, o)
}

// rate returns the size of step t = 1..steps relative to the first step.
func (o Optimizer) rate(t, steps int) float64 {
	done := float64(t-1) / float64(steps)
	switch o.Decay {
	case linear:
		return 1 - done
	case cosine:
		return (1 + math.Cos(math.Pi*done)) / 2
	case root:
		return 1 / math.Sqrt(float64(t))
	case halves:
		return math.Exp2(-math.Floor(4 * done))
	}
	return 1
}

// rates returns the sums of rate and of its square over all steps.
func (o Optimizer) rates(steps int) (sum, squares float64) {
	if o.Decay == "" || o.Decay == constant {
		return float64(steps), float64(steps)
	}
	for t := 1; t <= steps; t++ {
		r := o.rate(t, steps)
		sum, squares = sum+r, squares+r*r
	}
	return sum, squares
}

// These are the constants of the public rule of Adam. The steps of Adam do not depend on the size of gradients
// (docs/networks.md).
const (
	adamSteps = 100
	adamStep  = 0.1
)

// schedule returns the schedule for the options with this optimizer.
func (o Optimizer) schedule(name string, options descentOptions, s Spec) (Schedule, error) {
	if err := o.validate(name); err != nil {
		return Schedule{}, err
	}
	given := options.eta > 0 && options.steps > 0
	if o.Update == adam && options.total == 0 {
		options.steps, options.eta = cmp.Or(options.steps, adamSteps), cmp.Or(options.eta, adamStep)
	}
	schedule, err := options.schedule(name, s)
	if err != nil || o == (Optimizer{}) {
		return schedule, err
	}
	if o.Update == adam && options.total == 0 && !given {
		schedule.Name = "public rule of adam"
	}
	sum, _ := o.rates(schedule.Steps)
	if options.eta == 0 { // falling steps get the same total length
		schedule.Constant *= float64(schedule.Steps) / sum
	}
	schedule.TotalStep, schedule.Update = schedule.Constant*sum, o.String()
	return schedule, nil
}

// tailStart returns the index, from 1, of the first iterate of the returned mean. It returns steps + 1 if no
// mean is returned.
func (o Optimizer) tailStart(steps int) int {
	return steps + 1 - int(math.Ceil(o.Tail*float64(steps)))
}

// Steps is the state of a running Optimizer. It is computed from releases and public numbers
// (docs/theory.md#optimizers).
type Steps struct {
	Optimizer
	eta           float64
	count         int
	first, second []float64 // the moments of Momentum and Adam
	variance      float64   // variance of the noise in a coordinate of a gradient, a public number
}

// Steps returns the state before the first step. Trainers in other packages use it. length is the number of
// parameters, count is the number of steps, and eta is the step size. noise is the mechanism of the gradients; nil
// means no noise. name is the trainer's name in errors. Tail must be 0, because the last iterate is the result.
func (o Optimizer) Steps(name string, length, count int, eta float64, noise privacy.Mechanism) (*Steps, error) {
	if err := o.Check(name); err != nil {
		return nil, err
	}
	return o.start(length, count, eta, noise), nil
}

// Check returns an error wrapping ErrAssumption if Steps would refuse the Optimizer.
func (o Optimizer) Check(name string) error {
	if o.Tail > 0 {
		return Refused(name, " returns its last iterate; leave the tail average out")
	}
	return o.validate(name)
}

// start is Steps without the check of the options, which plans have made.
func (o Optimizer) start(length, count int, eta float64, noise privacy.Mechanism) *Steps {
	u := &Steps{Optimizer: o, eta: eta, count: count}
	if o.averages() {
		u.first = make([]float64, length)
	}
	if o.Update == adam {
		u.second = make([]float64, length)
	}
	if g, ok := noise.(privacy.Gaussian); ok {
		u.variance = g.Sigma * g.Sigma
	}
	return u
}

// Vectors returns the state between two steps, for checkpoints.
func (u *Steps) Vectors() (all [][]float64) {
	for _, v := range [][]float64{u.first, u.second} {
		if v != nil {
			all = append(all, v)
		}
	}
	return all
}

// Move makes step t of a training: it updates the parameters w with a noisy gradient. The
// first step has t = 1. Move overwrites the gradient.
func (u *Steps) Move(w, gradient []float64, t int) {
	u.apply(gradient, t)
	eta := u.eta * u.rate(t, u.count)
	for k, g := range gradient {
		w[k] -= eta * g
	}
}

// apply replaces gradient by the step direction: the vector that is multiplied by the step size and subtracted
// from the parameters. gradient is the gradient of step t with its noise and the L2 term.
//
// The second moment of a noisy gradient is the sum of the second moment of the gradient and the variance of the
// noise, which is public. Adam divides by the root of the difference (Tang, Shpilevskiy and Lecuyer 2024), and
// at least by noiseFloor standard deviations.
func (u *Steps) apply(gradient []float64, t int) {
	if !u.averages() {
		return
	}
	b := u.weight()
	rest := 1 - math.Pow(b, float64(t))
	seen := 1 - math.Pow(squareDecay, float64(t))
	least := noiseFloor * noiseFloor * u.variance
	for k, g := range gradient {
		u.first[k] = b*u.first[k] + (1-b)*g
		gradient[k] = u.first[k] / rest
		if u.second == nil {
			continue
		}
		u.second[k] = squareDecay*u.second[k] + (1-squareDecay)*(g*g)
		if size := max(u.second[k]/seen-u.variance, least); size > 0 {
			gradient[k] /= math.Sqrt(size)
		}
	}
}

// NetworkOptimizer returns the default optimizer of networks.
func NetworkOptimizer() Optimizer { return Optimizer{Update: "adam", Decay: "linear"} }
