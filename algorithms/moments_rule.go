package algorithms

import (
	"math"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// momentsChoice holds the decisions of the public rule. They are made before anything is drawn.
type momentsChoice struct {
	Count, Centre, Second float64 // shares of mu^2 (of epsilon for delta = 0); the signed sum gets the rest
	Steps                 float64 // share of all steps together
	Kind                  engine.SecondMoments
	Clip                  float64 // R/X
	Ridge                 float64 // the factor m, see Moments.Ridge
}

// maxRuleMoments is the largest d for which the rule takes second moments. The eigenvectors of larger matrices
// take more than a few seconds.
const maxRuleMoments = 512

// momentsSignal returns t = n mu/sqrt(d), on which shares of the budget depend. It needs delta > 0.
func momentsSignal(n, d int, b privacy.Budget) float64 {
	return float64(n) * account.GDPMu(b.Epsilon, b.Delta) / math.Sqrt(float64(d))
}

// stepPart returns the share of all steps together in the budget that count and centre leave. From t = 128 on,
// shares from 0.35 to 0.6 gave equal results, and with a smaller share the steps were worse than none. Below t
// = 128 steps cost more than they gain, and a smaller share costs less.
func stepPart(t float64) float64 { return 0.45 * min(1, t/128) }

// momentsRule returns the choices of the public rule: three shares, one radius and one ratio. It is a function
// of n, d, the budget and a declared share of positives (0 if the share is released). X is the norm bound of
// records, and t = n mu/sqrt(d). The joint release (v, h M) has g = beta/alpha = h^2 R^2
// (docs/theory.md#joint-moments).
//
//   - Centre. It is always released, with 15 % of mu^2 (10 % to 20 % gave equal results). Its release decides
//     whether it is used: momentsCentre shrinks it according to its noise, down to the origin if it does not
//     exceed its noise. No threshold of n, d and epsilon does better.
//   - Radius. R = 0.2 X is below the typical distance of a record to the centre (0.35 to 0.85 X on encoded
//     data). So nearly all clipped records have the same length R, and the ratio of signal to noise does not
//     depend on R. Radii from 0.05 to 0.3 gave equal results. From 0.5 on noise grows and the signal does not,
//     and data with wide public ranges lose most.
//   - Second moments. They are free: at g = 1/2 the joint sensitivity is the sensitivity of the signed sum
//     alone. So they are released whenever they can have information. The condition is that the largest
//     eigenvalue that n records can have, n R^2, is above the edge of the noise, sqrt(2 d) s2 = 4 R^2
//     sqrt(d)/mu_j: t > 4.4 with mu_j^2 = 0.83 mu^2. Above t = 64 the noise of the signed sum stops to matter
//     and the matrix gets a larger share, g = t/128 up to 2 (J^2 = 6.25 alpha in place of 4 alpha).
//   - Count. Its share is 2 %; 1 % to 3 % gave equal results, because the released count is shrunk by its noise.
//
// If delta = 0, noise grows with the number of coordinates released together, so the signed sum and the matrix
// get separate noise. u = n epsilon/d^1.5 plays the role for the matrix that t plays for the sums. The share of
// the matrix grows from 0 to 0.45 around u = 40. The matrix is left out while n R^2 is below the edge, which
// means share u < sqrt 2.
func momentsRule(n, d int, b privacy.Budget, balance float64) momentsChoice {
	N, D := float64(n), float64(d)
	c := momentsChoice{Count: 0.02, Centre: 0.15, Clip: 0.2, Ridge: 1, Kind: engine.FullSecond}
	if balance > 0 {
		c.Count = 0
	}
	if b.Delta == 0 {
		c.Count = min(c.Count*2.5, 0.05)
		u := N * b.Epsilon / (D * math.Sqrt(D))
		c.Second = 0.45 * u * u / (u*u + 40*40)
		if c.Second*u < math.Sqrt2 {
			c.Kind, c.Second = engine.NoSecond, 0
		}
	} else {
		t := momentsSignal(n, d, b)
		// In terms of shares g = beta/alpha is 2 f_m/f_v. So f_m is g/(2+g) of the remaining budget, 0.2 to 0.5.
		g := min(2, max(0.5, t/128))
		c.Second = (1 - c.Count - c.Centre) * g / (2 + g)
		if t < 4.4 {
			c.Kind, c.Second = engine.NoSecond, 0
		}
	}
	if d > maxRuleMoments { // computing time, not privacy, is the limit here
		c.Kind, c.Second = engine.NoSecond, 0
	}
	return c
}
