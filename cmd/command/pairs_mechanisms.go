package command

import (
	"fmt"
	"strings"

	"dyad/algorithms/pairs"
	"dyad/privacy"
)

// emitMechanisms prints the amount of noise that each mechanism needs for the guarantee of a plan.
func (a *app) emitMechanisms(p *pairs.Plan) error {
	all, err := p.Mechanisms()
	if err != nil {
		return asInput(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "root mean square of the noise per coordinate, at epsilon %g; mean gradients of batches have "+
		"norm at most 1:\n", p.Spec.Budget.Epsilon)
	for _, m := range all {
		note := ""
		switch {
		case !m.Trains:
			note = "; epsilon is split over the coordinates; training does not use this noise"
		case m.Name == (privacy.Laplace{}).Name():
			note = "; clips in the L1 norm, which is larger than the L2 norm"
		case m.Name == (privacy.Gaussian{}).Name():
			note = fmt.Sprintf("; delta = %.6g", p.Spec.Budget.Delta)
		}
		fmt.Fprintf(&b, "  %-9s %.4g%s\n", m.Name, m.RMS, note)
	}
	return a.emit(struct {
		Epsilon    float64                `json:"epsilon"`
		Mechanisms []pairs.MechanismNoise `json:"mechanisms"`
	}{p.Spec.Budget.Epsilon, all}, b.String())
}
