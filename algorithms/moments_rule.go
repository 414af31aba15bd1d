package algorithms

import (
	"math"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// momentsChoice is what the public rule decides before anything is drawn.
type momentsChoice struct {
	Count, Centre float64 // shares of mu^2 (epsilon for delta = 0); Count 0 if the balance is declared
	Second        float64 // delta = 0 only: share of the second moments, drawn apart
	Kind          engine.SecondMoments
	Clip          float64 // R/X
	// Ratio is g = beta/alpha of the joint release (delta > 0): Scale = sqrt(g)/R in
	// privacy.JointMoments. g = 1/2 is free: J(alpha, beta) = 2 sqrt(alpha) up to alpha = 2 beta.
	Ratio float64
}

// maxRuleMoments is the largest d for which the rule takes second moments: the eigenvectors of
// larger matrices take more than some seconds.
const maxRuleMoments = 512

// momentsRule is the public rule, a function of n, d, the budget and a declared share of
// positives (0 if it is released) alone: three shares, one radius, one ratio. X is the norm bound
// of records, t = n mu/sqrt(d).
//
//   - A centre is always released, with a tenth of mu^2. Whether it is *used* is decided by what
//     was released: it is shrunk by how far it stands out of its noise (momentsCentre), to the
//     origin where it does not. No threshold of n, d and epsilon does better.
//   - R = 0.2 X: below the typical distance of a record to the centre (0.35 to 0.85 X on encoded
//     data), so that nearly all records have the same length R and the ratio of signal to noise
//     does not depend on R (0.05 to 0.3 are equal; from 0.5 on noise grows and the signal does
//     not, and data whose public ranges are wide lose most).
//   - Second moments are free: at g = 1/2 the joint sensitivity is that of the signed sum alone.
//     So they are released whenever they can say anything: the largest eigenvalue that n records
//     can have, n R^2, must stand above the edge of the noise, sqrt(2 d) s2 = 4 R^2 sqrt(d)/mu_j:
//     t > 4.3 with mu_j^2 = 0.87 mu^2. Above t = 64 the noise of the signed sum stops to matter
//     and the matrix gets more, g = t/128 up to 2 (J^2 = 6.25 alpha in place of 4 alpha).
//   - Count: 3 %, 1 % to 5 % are equal.
//
// delta = 0: noise grows with the number of coordinates released together, so that signed sum and
// matrix are drawn apart. u = n epsilon/d^1.5 is to the matrix what t is to the sums; its share
// grows from 0 to 0.45 around u = 40, and it is left out while n R^2 is below the edge,
// share u < sqrt 2.
func momentsRule(n, d int, b privacy.Budget, balance float64) momentsChoice {
	N, D := float64(n), float64(d)
	c := momentsChoice{Count: 0.03, Centre: 0.10, Clip: 0.2, Kind: engine.FullSecond}
	if b.Delta == 0 {
		c.Count, c.Centre = 0.05, 0.15
		u := N * b.Epsilon / (D * math.Sqrt(D))
		c.Second = 0.45 * u * u / (u*u + 40*40)
		if c.Second*u < math.Sqrt2 {
			c.Kind, c.Second = engine.NoSecond, 0
		}
	} else {
		t := N * account.GDPMu(b.Epsilon, b.Delta) / math.Sqrt(D)
		c.Ratio = min(2, max(0.5, t/128))
		if t < 4.3 {
			c.Kind = engine.NoSecond
		}
	}
	if d > maxRuleMoments { // the eigenvectors, not the privacy, are the cost
		c.Kind, c.Second = engine.NoSecond, 0
	}
	if balance > 0 {
		c.Count = 0
	}
	return c
}
