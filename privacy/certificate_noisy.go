package privacy

import (
	"errors"
	"fmt"

	"dyad/privacy/internal/round"
)

// MeanGradient are the public numbers of the mean pair gradient
//
//	g(w) = 1/|P| sum over the pairs (z, z') of P of grad l(w; z, z')
//
// at a point w of the domain that depends on the data through earlier releases
// only, as in gradient perturbation: w_t = Pi_C[w_(t-1) - eta (g(w_(t-1)) + noise)].
type MeanGradient struct {
	// PairDiameter is Dg > 0 on the domain (Curvature.PairDiameter).
	PairDiameter float64 `json:"-"`
	// PairFraction is the largest fraction of the pairs P that contain one record, in (0, 1]:
	// 2/n for all ordered pairs of n records.
	PairFraction float64 `json:"-"`
	// Batch > 0: P are pairs within a random batch of Batch out of Records records, drawn
	// without replacement and anew for every release, and secret. PairFraction is then about
	// the pairs within the batch.
	Batch, Records int `json:"-"`
	// Error bounds ||computed - exact|| of g(w), for every data set and every w of
	// the domain, or half of the change of computed - exact when one record is
	// replaced, >= 0.
	Error float64 `json:"error"`
}

// Certify returns the certificate of one computed g(w).
//
// Theorem (docs/theory.md#mean-gradient; T of them: docs/theory.md#noisy-gradients). Fix w.
// Replacing one record changes the terms of the pairs that contain it, a fraction of at most
// PairFraction, and each by at most Dg. So the exact g(w) moves by at most PairFraction Dg, and the
// computed one by at most PairFraction Dg + 2 Error: their difference changes by at most 2 Error.
// For adaptive releases this is what composition asks for: w is the same on both data sets
// once all earlier releases are. The loss need be neither convex nor smooth. An L2 term
// alpha w is not in g: it is computed from w, which is known. On batches this is about two
// batches that differ in one record, which is what a WithoutReplacementEvent asks for. QED
//
// Checked by Coq: Pairs.mean_gradient, Pairs.share_of_all_pairs.
func (g MeanGradient) Certify() (Certificate, error) {
	err := errors.Join(positive("pair diameter Dg", g.PairDiameter), nonNegative("error of a mean gradient", g.Error))
	if !(g.PairFraction > 0 && g.PairFraction <= 1) {
		err = errors.Join(err, fmt.Errorf("%w: fraction %v of the pairs, want one in (0, 1]", errCertificate, g.PairFraction))
	}
	if g.Batch < 0 || g.Batch > 0 && (g.Batch < 2 || g.Batch > g.Records) {
		err = errors.Join(err, fmt.Errorf("%w: batches of %d of %d records, want 2 or more and at most all", errCertificate, g.Batch, g.Records))
	}
	if err != nil {
		return Certificate{}, err
	}
	exact := round.Up(g.PairDiameter*g.PairFraction, 1)
	released := "mean pair gradient of every step"
	if g.Batch > 0 {
		released = fmt.Sprintf("mean pair gradient of every step, within %d records drawn from %d", g.Batch, g.Records)
	}
	c, err := newCertificate(exact, round.Up(exact+2*g.Error, 2), released,
		fmt.Sprintf("given the releases before, a mean gradient moves by p Dg + 2 rho; Dg = %.6g, p = %.6g of the pairs contain one record, rho = %.3g (docs/theory.md#mean-gradient)", g.PairDiameter, g.PairFraction, g.Error))
	if g.Batch > 0 {
		c.form = subsetOf{batch{size: g.Batch, records: g.Records}}
	}
	return stated("mean-gradient", g, c, err)
}
