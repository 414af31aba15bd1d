package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// Curvature holds the public constants of the objective that the recursion certificates use.
type Curvature struct {
	// PairDiameter is Dg > 0, the largest move of the gradient of the un-regularised pair loss when one
	// record of the pair is replaced (docs/theory.md#constants). The gradient of the regulariser does not
	// depend on the records.
	PairDiameter float64 `json:"-"`
	// Smoothness is the smoothness constant L >= 0 of the un-regularised pair loss.
	Smoothness float64 `json:"-"`
	// StrongConvexity is alpha >= 0, the factor of the L2 term alpha/2 ||w||^2. This term is not part of the
	// loss, so the objective is (L + alpha)-smooth.
	StrongConvexity float64 `json:"-"`
	// Convex must be true, because a gradient step on a loss that is not convex can expand distances.
	Convex bool `json:"-"`
	// Diameter is the diameter of the domain C. It is > 0, and +Inf if the domain is unbounded.
	Diameter float64 `json:"-"`
}

func (c Curvature) validate() error {
	if !c.Convex {
		return errors.New("privacy: this certificate needs a convex loss; use an algorithm that adds noise to every gradient")
	}
	if !(c.Diameter > 0) {
		return fmt.Errorf("%w: diameter is %v, must be positive", errCertificate, c.Diameter)
	}
	return errors.Join(positive("pair diameter Dg", c.PairDiameter),
		nonNegative("smoothness L of a loss with output perturbation", c.Smoothness),
		nonNegative("strong convexity alpha", c.StrongConvexity))
}

// contraction is an upper bound of the Lipschitz constant max(|1 - eta alpha|, |1 - eta (L + alpha)|) of the
// map w -> w - eta grad f(w) (docs/theory.md#contraction). A projection onto a convex set does not increase
// the constant.
//
// Checked by Coq: Descent.contraction, Descent.projection.
func (c Curvature) contraction(eta float64) float64 {
	a := math.Abs(1 - eta*c.StrongConvexity)
	b := math.Abs(1 - eta*(c.Smoothness+c.StrongConvexity))
	// eta*x has relative error 2u, and 1 - eta*x has one more rounding. An absolute slack covers cancellation
	// near eta*x = 1.
	return max(a, b) + (4+2*eta*(c.Smoothness+c.StrongConvexity))*0x1p-52
}

// GradientDescent holds the public numbers of full-batch projected gradient descent
//
//	w_t = Pi_C[w_{t-1} - eta (grad L(w_{t-1}; D) + alpha w_{t-1})],  t = 1..Steps.
//
// The start does not depend on the data, and only w_Steps is released.
type GradientDescent struct {
	Curvature
	// PairFraction bounds, for each record, the fraction of the ordered pairs that contain this record. It is
	// in (0, 1], and 2/n if all pairs of n records are used.
	PairFraction float64 `json:"-"`
	Steps        int     `json:"-"`            // Steps is T >= 1.
	StepSize     float64 `json:"-"`            // StepSize is eta > 0.
	UpdateError  float64 `json:"update_error"` // UpdateError is rho >= 0, the error of one computed update; see Certify.
}

// Certify returns the certificate of w_Steps.
//
// Theorem (docs/theory.md#recursion; [Xue21] Lemma 1 with smaller constants). Let delta_t = ||w_t - w_t'||
// for the iterates on two neighbouring data sets. At most the fraction PairFraction of the ordered pairs
// contains a replaced record, and the gradient of each such pair moves by at most Dg. So the mean pair
// gradient moves by at most PairFraction Dg. If all pairs are used, 2(n-1) of n(n-1) pairs contain the
// record, and this bound is 2 Dg / n. One exact update is a map with Lipschitz constant c = max(|1 - eta
// alpha|, |1 - eta (L + alpha)|). If the computed update is within UpdateError of the exact update for every
// data set and every w in C, then
//
//	delta_t <= c delta_{t-1} + PairFraction Dg eta + 2 rho,   delta_0 = 0,
//
// and delta_t <= diam C. If all pairs are used, c = 1 - eta alpha and rho = 0, the bound is (2 Dg / (alpha
// n)) (1 - (1 - eta alpha)^T).
//
// Checked by Coq: Descent.last_iterate.
func (g GradientDescent) Certify() (Certificate, error) {
	if err := errors.Join(g.validate(), positive("step size", g.StepSize), nonNegative("update error", g.UpdateError),
		refuse(!(g.PairFraction > 0 && g.PairFraction <= 1) || g.Steps < 1,
			"the fraction of pairs is %v, want (0, 1]; the number of steps is %d, want 1 or more", g.PairFraction, g.Steps)); err != nil {
		return Certificate{}, err
	}
	c := g.contraction(g.StepSize)
	move := round.Up(g.PairDiameter*g.StepSize*g.PairFraction, 4)
	var exact, total float64
	for range g.Steps {
		exact = min(round.Up(c*exact+move, 3), g.Diameter)
		total = min(round.Up(c*total+move+2*g.UpdateError, 5), g.Diameter)
		if total == g.Diameter && exact == g.Diameter {
			break
		}
	}
	certified, err := newCertificate(exact, total, "last iterate of projected gradient descent",
		fmt.Sprintf("delta_t is the sensitivity after step t: delta_0 = 0, delta_t = min(c delta_(t-1) + p Dg eta "+
			"+ 2 rho, diam C); Lipschitz constant of a step c = %.9g, change of a pair gradient Dg = %.6g, step "+
			"size eta = %.6g, share of pairs with one record p = %.6g, steps T = %d, rounding error rho = %.3g, "+
			"diameter of the models diam C = %.6g (docs/theory.md#recursion; [Xue21] Lemma 1, tightened)",
			c, g.PairDiameter, g.StepSize, g.PairFraction, g.Steps, g.UpdateError, g.Diameter))
	return stated("recursion", g, certified, err)
}
