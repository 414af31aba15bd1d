package algorithms

import (
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// momentsChoice is what the public rule decides.
type momentsChoice struct {
	// Count, Centre and Second are shares of mu^2, or of epsilon for delta = 0; the signed
	// sum gets the rest. Count is for the number of positives, ignored if the balance is
	// declared; Centre 0 means that records are clipped around the origin.
	Count, Centre, Second float64
	Kind                  engine.SecondMoments
	Clip                  float64 // clip radius over the norm bound of records
	// Ridge is m in lambda = m s sqrt(d) (full) or m s (diagonal), s the standard deviation
	// of the noise of a diagonal entry of sum x x^T; Floor n R^2/d is added.
	Ridge, Floor float64
}

// momentsRule is the public rule: a function of n, d, the budget and the declared share of
// positives (0 if it is to be released) alone. With t = n mu/sqrt(d), mu = noiseMu:
//
//   - The noise of a centre released with share f has norm 2/(t sqrt f) in units of the norm
//     bound. From t = 12 on, a share of 0.1 makes that about half of the bound, so records
//     can be clipped to half of it around the centre, which halves and quarters the noise of
//     what follows.
//   - The noise of second moments released with share f has a spectral norm of about
//     2 R^2 sqrt(d)/(mu sqrt f); their mean eigenvalue is at most n R^2/d. From t = 2 d on,
//     a share of 1/4 makes both alike, and the larger eigenvalues stand out. The diagonal
//     needs d/sqrt(d) times less.
func momentsRule(n, d int, b privacy.Budget, balance float64) momentsChoice {
	t := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d))
	c := momentsChoice{Count: 0.03, Clip: 1, Ridge: 1}
	if t >= 12 {
		c.Centre, c.Clip = 0.1, 0.5
	}
	switch {
	case t >= 2*float64(d) && d <= 1024:
		c.Kind, c.Second = engine.FullSecond, 0.25
	case t >= 2*math.Sqrt(float64(d)) && t >= 12 && d > 1024:
		c.Kind, c.Second, c.Floor = engine.DiagonalSecond, 0.15, 0.02
	}
	return c
}
