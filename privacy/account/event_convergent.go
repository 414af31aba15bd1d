package account

import (
	"cmp"
	"fmt"
	"math"
)

// ConvergentEvent is a secret state on the grid h Z^d, h = Grid, that is updated Steps
// times from a public start, and of which nothing but the last value is released:
//
//	u_t = F(u_{t-1}) + xi_t.
//
// F maps into the grid, and xi_t is exact continuous N(0, Sigma^2) noise in every
// coordinate, rounded to the nearest point of the grid. For two neighbours' maps F, F'
// and all u, v
//
//	||F(u) - F'(v)|| <= Contraction min(||u - v||, Diameter) + Gap - h sqrt(d).
//
// The last state is mu-GDP with mu = ConvergentMu(Gap, Contraction, Diameter, Steps,
// Sigma).
//
// Proof, after the shifted interpolation of [Bok, Su and Altschuler 2024]. Write
// e = h sqrt(d)/2 >= the error of rounding to the grid, u' for the neighbour's
// states, and let a_1..a_T >= 0 be numbers with z_t0 = Diameter (0 if t0 = 0),
// z_t = c z_{t-1} + Gap - a_t >= 0 for t > t0 and z_T = 0. An interpolated state starts
// as v_t0 = u'_t0 and goes on, with the same noise as u_t, as
//
//	v_t = R_t + xi_t,  R_t = (1-l_t) F'(v_{t-1}) + l_t F(u_{t-1}) rounded to the grid.
//
// Let ||u_{t-1} - v_{t-1}|| (or, at t0, its minimum with Diameter) be at most z_{t-1}.
// Then F(u_{t-1}) and F'(v_{t-1}) are at most M = c z_{t-1} + Gap - 2e apart. If
// a_t < e take l_t = 0: R_t = F'(v_{t-1}) and ||u_t - v_t|| <= M <= z_t. If a_t > M+e
// take l_t = 1: R_t = F(u_{t-1}) is at most M <= a_t from F'(v_{t-1}), and u_t = v_t.
// Otherwise take l_t = (a_t-e)/M: R_t is at most l_t M + e = a_t from F'(v_{t-1}), and
// ||u_t - v_t|| <= (1-l_t) M + e = M + 2e - a_t = z_t. As l_t = 0 and 1 need no
// rounding, and a_T = M + 2e, in all cases R_t is within a_t of F'(v_{t-1}), z_t
// bounds the distance, and v_T = u_T.
//
// Given v_{t-1} = u'_{t-1} = v, the laws of v_t and u'_t are R_t + xi and F'(v) + xi, R_t
// random but independent of xi. Both centres are on the grid, so centre + xi is
// N(centre, Sigma^2 I) rounded to the grid: post-processing of two Gaussian laws whose
// means are at most a_t apart. A mixture over R_t is not easier to tell from a fixed
// law than the worst R_t. So the step is (a_t/Sigma)-GDP for every v, and by adaptive
// composition [Dong, Roth and Su 2022, Corollary 3.3] u_T = v_T and u'_T are as hard to
// tell apart as mu-GDP, mu^2 = sum_t (a_t/Sigma)^2. ConvergentMu takes a_t proportional
// to c^(T-t); such a_t grow with t, so z_t/c^t rises and then falls to 0 and is never
// negative. The roles of the neighbours can be exchanged. QED
//
// Without the rounding of F to the grid, or with a Gap that does not pay for it, the
// statement is false: the low digits of u_T then tell the noise of all steps apart.
type ConvergentEvent struct {
	Sigma       float64 `json:"sigma"`       // > 0
	Gap         float64 `json:"gap"`         // > 0, roundoff and the grid included
	Contraction float64 `json:"contraction"` // in [0, 1]
	Diameter    float64 `json:"diameter"`    // > 0, finite
	Grid        float64 `json:"grid"`        // a power of two
	Steps       int     `json:"count"`       // >= 1
}

// String returns e.g. "last of 1000 hidden Gaussian steps(gap 0.016, sigma 0.7,
// contraction 1, diameter 2)".
func (e ConvergentEvent) String() string {
	return fmt.Sprintf("last of %d hidden Gaussian steps(gap %.6g, sigma %.6g, contraction %.9g, diameter %.6g)", e.Steps, e.Gap, e.Sigma, e.Contraction, e.Diameter)
}

func (e ConvergentEvent) validate() error {
	const what = "a convergent event"
	if !(e.Contraction >= 0 && e.Contraction <= 1) {
		return fmt.Errorf("account: contraction of %s is %v, must be in [0, 1]", what, e.Contraction)
	}
	if f, _ := math.Frexp(e.Grid); f != 0.5 {
		return fmt.Errorf("account: grid of %s is %v, must be a power of two: without a grid its theorem does not hold", what, e.Grid)
	}
	return cmp.Or(positive("diameter of "+what, e.Diameter), positive("gap of "+what, e.Gap), positive("sigma of "+what, e.Sigma), counted(what, e.Steps))
}

func (e ConvergentEvent) facts() facts {
	return facts{event: e, count: e.Steps, joint: true, mu: muOf(ConvergentSensitivity(e.Gap, e.Contraction, e.Diameter, e.Steps), e.Sigma)}
}

func (recorded) Convergent() kind { return record[ConvergentEvent]("convergent") }
