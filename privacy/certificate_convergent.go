package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
)

// LastIterate holds the public numbers of noisy full-batch projected gradient descent with a secret state on
// a grid. Only the last state is released:
//
//	u_t = Q(w - eta (grad L(w; D) + alpha w)) + xi_t,  w = Pi_C u_{t-1},  t = 1..Steps.
//
// Q rounds every coordinate to the nearest multiple of Grid, and xi_t is the noise of ConvergentEvent. The
// start w is in C and does not depend on the data.
type LastIterate struct {
	Curvature
	PairFraction float64 `json:"-"`            // PairFraction is defined as in GradientDescent.
	Steps        int     `json:"-"`            // Steps is T >= 1.
	StepSize     float64 `json:"-"`            // StepSize is eta > 0, at most 2/(L + 2 alpha).
	UpdateError  float64 `json:"update_error"` // UpdateError is rho >= 0; see Certify.
	Coordinates  int     `json:"-"`            // Coordinates is the length d of the state, >= 1.
	Grid         float64 `json:"-"`            // Grid is a power of two. The value 0 (no grid) is refused.
}

// Certify returns the certificate of u_Steps. Its Sensitivity covers all steps together: with noise of
// standard deviation sigma in every step, the release is (Sensitivity/sigma)-GDP.
//
// Theorem (docs/theory.md#hidden-iterates). The computed update is the vector that Q rounds. It is a
// function of u. Suppose that, for every data set and every u, the computed update differs by at most
// UpdateError from the exact update at the exact projection of u. The exact update of one data set is a
// contraction by c = 1 - eta alpha on C (docs/theory.md#contraction). The exact update of a neighbouring
// data set differs by at most PairFraction Dg eta. Projections do not expand, and their values are in a set
// of diameter D. Q moves each of the two states by at most Grid sqrt(d)/2. So ConvergentEvent holds with
//
//	Gap = PairFraction Dg eta + 2 rho + 2 Grid sqrt(d).
func (l LastIterate) Certify() (Certificate, error) {
	err := errors.Join(l.validate(), positive("step size", l.StepSize), nonNegative("update error", l.UpdateError),
		refuse(!(l.PairFraction > 0 && l.PairFraction <= 1) || l.Steps < 1 || l.Coordinates < 1,
			"got pair fraction %v, %d steps and %d coordinates; want a fraction in (0, 1], and at least 1 step and "+
				"1 coordinate", l.PairFraction, l.Steps, l.Coordinates),
		refuse(math.IsInf(l.Diameter, 1), "the diameter must be finite"))
	if f, _ := math.Frexp(l.Grid); f != 0.5 {
		err = errors.Join(err, fmt.Errorf("%w: the grid of the state is %v, want a power of two", errCertificate, l.Grid))
	}
	if limit := l.StepSize * (l.Smoothness + 2*l.StrongConvexity) * (1 + 0x1p-50); !(limit <= 2) {
		err = errors.Join(err, fmt.Errorf("%w: step size %v exceeds 2/(L + 2 alpha) = %v", errCertificate, l.StepSize,
			2/(l.Smoothness+2*l.StrongConvexity)))
	}
	if err != nil {
		return Certificate{}, err
	}
	h := hiddenSteps{
		// In contraction, |1 - eta alpha| is the larger of the two numbers, and it is at most 1.
		contraction: min(1, l.contraction(l.StepSize)),
		diameter:    l.Diameter,
		grid:        l.Grid,
		steps:       l.Steps,
	}
	move := round.Up(l.PairDiameter*l.StepSize*l.PairFraction, 3)
	h.gap = round.Up(move+2*l.UpdateError+2*l.Grid*math.Sqrt(float64(l.Coordinates)), 6)
	exact := account.ConvergentSensitivity(move, h.contraction, h.diameter, h.steps)
	total := max(exact, account.ConvergentSensitivity(h.gap, h.contraction, h.diameter, h.steps))
	c, err := newCertificate(exact, total,
		"last iterate of noisy projected gradient descent",
		fmt.Sprintf("all iterates except the last stay secret; a step changes the distance r of two runs to at "+
			"most c min(r, D) + s; contraction c = %.9g, s = p Dg eta + 2 rho + 2 h sqrt(d) = %.6g, diameter D = "+
			"%.6g, pair diameter Dg = %.6g, step size eta = %.6g, share of pairs with one record p = %.6g, steps T "+
			"= %d, rounding error rho = %.3g, grid step h = %.3g, d = number of coordinates "+
			"(docs/theory.md#hidden-iterates)",
			h.contraction, h.gap, h.diameter, l.PairDiameter, l.StepSize, l.PairFraction, l.Steps, l.UpdateError, l.Grid))
	c.form = h
	return stated("hidden-iterates", l, c, err)
}

// hiddenSteps holds the parameters of a ConvergentEvent except its noise.
type hiddenSteps struct {
	gap, contraction, diameter, grid float64
	steps                            int
}

func (h hiddenSteps) gaussian(_ account.GaussianEvent, m Gaussian) account.Event {
	if m.GridSize() != h.grid {
		return account.NonPrivateEvent{} // no bound is known for another grid
	}
	return account.ConvergentEvent{Gap: h.gap, Contraction: h.contraction, Diameter: h.diameter, Sigma: m.Sigma,
		Grid: h.grid, Steps: h.steps}
}
