package account

import (
	"cmp"
	"fmt"
	"math"
)

// ConvergentEvent describes a secret state on the grid h Z^d, h = Grid, that is updated Steps times from a
// public start. Only the last value is released:
//
//	u_t = F(u_{t-1}) + xi_t.
//
// F maps into the grid. Each coordinate of xi_t is exact continuous noise from N(0, Sigma^2), rounded to the
// nearest point of the grid. The maps F and F' of two neighbouring data sets satisfy, for all u and v,
//
//	||F(u) - F'(v)|| <= Contraction min(||u - v||, Diameter) + Gap - h sqrt(d).
//
// The last state is mu-GDP with mu = ConvergentSensitivity(Gap, Contraction, Diameter, Steps)/Sigma.
//
// Proof: docs/theory.md#hidden-iterates.
//
// The statement is false if F is not rounded to the grid, or if Gap does not include the rounding error.
// In these cases the low digits of u_T can reveal the noise of every step.
type ConvergentEvent struct {
	Sigma       float64 `json:"sigma"`       // Sigma is > 0.
	Gap         float64 `json:"gap"`         // Gap is > 0 and includes roundoff and the grid.
	Contraction float64 `json:"contraction"` // Contraction is in [0, 1].
	Diameter    float64 `json:"diameter"`    // Diameter is > 0 and finite.
	Grid        float64 `json:"grid"`        // Grid is a power of two.
	Steps       int     `json:"count"`       // Steps is >= 1.
}

// String returns e.g. "last of 1000 hidden Gaussian steps(gap 0.016, sigma 0.7,
// contraction 1, diameter 2)".
func (e ConvergentEvent) String() string {
	return fmt.Sprintf("last of %d hidden Gaussian steps(gap %.6g, sigma %.6g, contraction %.9g, diameter %.6g)", e.Steps,
		e.Gap, e.Sigma, e.Contraction, e.Diameter)
}

func (e ConvergentEvent) validate() error {
	const what = "a convergent event"
	if !(e.Contraction >= 0 && e.Contraction <= 1) {
		return fmt.Errorf("account: the contraction of %s is %v, but must be in [0, 1]", what, e.Contraction)
	}
	if f, _ := math.Frexp(e.Grid); f != 0.5 {
		return fmt.Errorf("account: the grid of %s is %v, but must be a power of two", what, e.Grid)
	}
	return cmp.Or(positive("diameter of "+what, e.Diameter), positive("gap of "+what, e.Gap),
		positive("sigma of "+what, e.Sigma), counted(what, e.Steps))
}

func (e ConvergentEvent) facts() facts {
	return facts{event: e, count: e.Steps, joint: true,
		mu: muOf(ConvergentSensitivity(e.Gap, e.Contraction, e.Diameter, e.Steps), e.Sigma)}
}

func (recorded) Convergent() kind { return record[ConvergentEvent]("convergent") }
