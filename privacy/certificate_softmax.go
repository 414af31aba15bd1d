package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
)

// SoftmaxSample holds the public numbers of training on similar pairs (a_i, p_i) by a batch softmax in
// Poisson batches. Every release is the following sum over the batch, divided by the public number Expected:
//
//	sum over anchors i and candidates j of C_ij g_ij,   C_ij = w (softmax_j(s_ij/t) - [j is the positive of i]).
//
// Here s_ij is in [-1, 1] and ||g_ij|| <= 1. Both are functions of the records of i and j and of earlier
// releases.
//
// For InfoNCE, the anchors are the a_i, the candidates are all p_j, and w = 1/t. For NT-Xent (Symmetric), the
// anchors are all 2m records of the batch, the candidates of an anchor are the 2m - 1 other records, and w =
// 1/(2t). Each of the Pairs pairs enters the batch with probability Rate. A separate secret coin of each pair
// decides this and is tossed anew for every release. Neighbouring data sets are defined as in PairGroup.
type SoftmaxSample struct {
	Group       int     `json:"group"`       // Group is kappa, as in PairSample.
	Pairs       int     `json:"pairs"`       // Pairs is the number of pairs, >= 2.
	Rate        float64 `json:"rate"`        // Rate is the sampling rate, in (0, 1].
	Expected    float64 `json:"expected"`    // Expected is > 0.
	Temperature float64 `json:"temperature"` // Temperature is t, at least 2^-6 and at most 2^10.
	Symmetric   bool    `json:"symmetric"`   // Symmetric selects NT-Xent instead of InfoNCE.
	// Roundoff is >= 0 and bounds the L2 norm of the error of one computed release, for every batch of any
	// size.
	Roundoff float64 `json:"roundoff"`
}

// Sensitivity returns an upper bound on how far the exact sum moves when one pair is added to a batch of at
// most Pairs - 1 pairs. The bound is in units of the clipping norm and is rounded up. With m = Pairs - 1
// and a = e^(-2/t) it is
//
//	(2/t) (m/(1 + m a) + m/(m + a))                    InfoNCE
//	(2/t) (2m/(2 + (2m - 1) a) + 2m/(2m + a))          NT-Xent
//
// The bound increases with m to the limit (2/t) (e^(2/t) + 1) (docs/theory.md#batch-softmax).
//
// Checked by Coq: Softmax.infonce_added, Softmax.ntxent_added.
func (g SoftmaxSample) Sensitivity() float64 {
	x, others, own := g.parts()
	return round.Up(x*(others+own), 16)
}

// Replaced returns an upper bound on how far the exact sum moves when one pair of any batch is replaced. The
// bound is in units of the clipping norm and is rounded up:
//
//	(2/t) (m/(1 + m a) + 2m/(m + a))                   InfoNCE
//	(2/t) (2m/(2 + (2m - 1) a) + 4m/(2m + a))          NT-Xent
//
// The bound is between Sensitivity and twice Sensitivity (docs/theory.md#softmax-replaced).
//
// Checked by Coq: Softmax.infonce_replaced, Softmax.ntxent_replaced, Softmax.replaced_between.
func (g SoftmaxSample) Replaced() float64 {
	x, others, own := g.parts()
	return round.Up(x*(others+2*own), 16)
}

// parts returns x = 2/t and two moves in units of x: others is the move of one pair through the softmaxes of
// the other anchors, and own is the move through its own softmax.
func (g SoftmaxSample) parts() (x, others, own float64) {
	m, x := float64(g.Pairs-1), round.Up(2/g.Temperature, 1)
	a := math.Exp(-x) * (1 - 0x1p-40) // the factor exceeds the error of the computed exponential
	if g.Symmetric {
		return x, 2 * m / (2 + (2*m-1)*a), 2 * m / (2*m + a)
	}
	return x, m / (1 + m*a), m / (m + a)
}

// Certify returns the certificate of one release for Gaussian noise (a PoissonEvent).
//
// Proof. By docs/theory.md#batch-softmax, adding one pair to any batch moves the exact sum by at most
// Sensitivity. Adding j pairs of one owner, one after the other, moves the sum by at most j times as much.
// The proof of PairSample.Certify applies from here on. By docs/theory.md#softmax-replaced, replacing one
// pair moves the sum by at most Replaced. The event uses this bound where it is valid
// (docs/theory.md#poisson-replaced). QED
func (g SoftmaxSample) Certify() (Certificate, error) {
	if err := errors.Join(nonNegative("roundoff of a batch", g.Roundoff), positive("expected size of a batch", g.Expected),
		refuse(g.Group < 1 || g.Group > account.MaxGroup || g.Pairs < 2 || g.Pairs > math.MaxInt32,
			"a group has %d of %d pairs; for Poisson batches of a softmax, want at least 2 pairs in all and 1 to "+
				"%d pairs in a group", g.Group,
			g.Pairs, account.MaxGroup),
		refuse(!(g.Rate > 0 && g.Rate <= 1), "the rate of a Poisson batch is %v, but must be in (0, 1]", g.Rate),
		refuse(!(g.Temperature >= 0x1p-6 && g.Temperature <= 0x1p10),
			"the temperature of a softmax is %v, but must be 2^-6 to 2^10", g.Temperature)); err != nil {
		return Certificate{}, err
	}
	one := g.Sensitivity()
	exact := round.Up(one/g.Expected, 1)
	c, err := newCertificate(exact, round.Up(exact+2*g.Roundoff, 2),
		"sum of a softmax loss's clipped gradients over a Poisson batch, over its expected size",
		fmt.Sprintf("given earlier releases, an added pair moves the sum by at most s/E|B| + 2 rho; s = %.6g times "+
			"the clip, at temperature %g with up to %d other pairs (docs/theory.md#batch-softmax); a replaced pair "+
			"moves it by at most r/E|B| + 2 rho; r = %.6g times the clip (docs/theory.md#softmax-replaced); secret "+
			"coins put each of %d pairs into the batch with probability %.6g; an owner has at most kappa = %d "+
			"pairs; so the release is a mixture of Gaussians (docs/theory.md#pair-poisson, "+
			"docs/theory.md#poisson-replaced); E|B| = %.6g is the expected batch size, rho = %.3g the rounding "+
			"error",
			one, g.Temperature, g.Pairs-1, g.Replaced(), g.Pairs, g.Rate, g.Group, g.Expected, g.Roundoff))
	replaced := round.Up(round.Up(g.Replaced()/g.Expected, 1)+2*g.Roundoff, 2)
	// replaced is in this range except for rounding
	c.form = poissonOf{batch{records: g.Pairs, rate: g.Rate}, g.Group, min(max(replaced, c.total), 2*c.total)}
	return stated("batch-softmax", g, c, err)
}
