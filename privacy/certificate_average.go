package privacy

import (
	"fmt"

	"dyad/privacy/internal/round"
)

// AverageDescent holds the public numbers of GradientDescent if the average (w_1 + ... + w_T)/T is released
// once, instead of the last iterate.
type AverageDescent struct {
	GradientDescent
	// OutputError bounds the error of computing the average from the computed iterates. It is >= 0.
	OutputError float64 `json:"output_error"`
}

// Certify returns the certificate of the average.
//
// Theorem (docs/theory.md#average; [Xue21] Lemma 7 with smaller constants). Let delta_t = ||w_t - w_t'|| as
// in GradientDescent.Certify, so that
//
//	delta_t <= min(c delta_(t-1) + PairFraction Dg eta + 2 rho, diam C),   delta_0 = 0.
//
// By the triangle inequality, the average moves by at most (delta_1 + ... + delta_T)/T + 2 OutputError. The
// exact average is in the convex set C, so without the output error it moves by at most diam C. Suppose that
// all pairs are used, that c is 1, and that there is no rounding error. Then the bound is (2 Dg eta/n)
// (T+1)/2 = Dg eta (T+1)/n. Linear pair losses attain the bound with equality. QED
//
// Checked by Coq: Descent.average.
func (g AverageDescent) Certify() (Certificate, error) {
	if _, err := g.GradientDescent.Certify(); err != nil {
		return Certificate{}, err
	}
	if err := nonNegative("output error", g.OutputError); err != nil {
		return Certificate{}, err
	}
	c := g.contraction(g.StepSize)
	move := round.Up(g.PairDiameter*g.StepSize*g.PairFraction, 4)
	var exact, total, exactSum, totalSum float64
	for range g.Steps {
		exact = min(round.Up(c*exact+move, 3), g.Diameter)
		total = min(round.Up(c*total+move+2*g.UpdateError, 5), g.Diameter)
		exactSum, totalSum = round.Up(exactSum+exact, 1), round.Up(totalSum+total, 1)
	}
	steps := float64(g.Steps)
	exact = min(round.Up(exactSum/steps, 1), g.Diameter)
	total = round.Up(min(round.Up(totalSum/steps, 1), g.Diameter)+2*g.OutputError, 2)
	certified, err := newCertificate(exact, total, "average iterate of projected gradient descent",
		fmt.Sprintf("sensitivity = mean of delta_1 to delta_T, delta_t = min(c delta_(t-1) + p Dg eta + 2 rho, "+
			"diam C) (docs/theory.md#average); c = %.9g is the contraction, Dg = %.6g the diameter of pair "+
			"gradients, eta = %.6g the step size, p = %.6g the share of pairs with one record, T = %d the number "+
			"of steps, rho = %.3g the rounding error, diam C = %.6g the diameter of the domain",
			c, g.PairDiameter, g.StepSize, g.PairFraction, g.Steps, g.UpdateError, g.Diameter))
	return stated("average", g, certified, err)
}
