package privacy

import (
	"errors"
	"fmt"

	"dyad/privacy/internal/round"
)

// MeanGradient holds the public numbers of the mean pair gradient
//
//	g(w) = 1/|P| sum over the pairs (z, z') of P of grad l(w; z, z')
//
// at a point w of the domain. The point w depends on the data only through earlier releases, as in
// gradient perturbation: w_t = Pi_C[w_(t-1) - eta (g(w_(t-1)) + noise)].
type MeanGradient struct {
	// PairDiameter is Dg > 0 on the domain (see Curvature.PairDiameter).
	PairDiameter float64 `json:"-"`
	// PairFraction is the largest fraction of the pairs P that contain any one record, in (0, 1]. It is 2/n
	// if P is all ordered pairs of n records.
	PairFraction float64 `json:"-"`
	// Batch, if positive, is the number of records in a secret random batch. For every release a new batch is
	// drawn without replacement from Records records. In this case P is the set of pairs within the batch,
	// and PairFraction refers to these pairs. If Batch is 0, P is not restricted to a batch.
	Batch, Records int `json:"-"`
	// Error bounds the error of g(w): the computed value minus the exact value. Error is >= 0.
	// It bounds either the norm of this error for every data set and every w of the domain, or
	// half of the change of this error when one record is replaced.
	Error float64 `json:"error"`
}

// Certify returns the certificate of one computed g(w).
//
// Theorem (docs/theory.md#mean-gradient; for T releases: docs/theory.md#noisy-gradients). Fix w. Replacing
// one record changes only the terms of the pairs that contain the record. These pairs are a fraction of at
// most PairFraction, and each term changes by at most Dg. So the exact g(w) moves by at most PairFraction Dg.
// The computed g(w) moves by at most PairFraction Dg + 2 Error, because computed - exact changes by at most 2
// Error.
//
// This bound is sufficient for the composition of adaptive releases: once all earlier releases are equal, w
// is the same on both data sets. The loss need be neither convex nor smooth. An L2 term alpha w is not part
// of g, because it is computed from the known w. If P is restricted to a batch, the bound compares two
// batches that differ in one record, as a WithoutReplacementEvent requires. QED
//
// Checked by Coq: Pairs.mean_gradient, Pairs.share_of_all_pairs.
func (g MeanGradient) Certify() (Certificate, error) {
	if err := errors.Join(positive("pair diameter Dg", g.PairDiameter), nonNegative("error of a mean gradient", g.Error),
		refuse(!(g.PairFraction > 0 && g.PairFraction <= 1), "the fraction of the pairs is %v, but must be in (0, 1]",
			g.PairFraction),
		refuse(g.Batch < 0 || g.Batch > 0 && (g.Batch < 2 || g.Batch > g.Records),
			"a batch has %d records, but must have 2 to %d (all records)", g.Batch, g.Records)); err != nil {
		return Certificate{}, err
	}
	exact := round.Up(g.PairDiameter*g.PairFraction, 1)
	released := "mean pair gradient of every step"
	if g.Batch > 0 {
		released = fmt.Sprintf("mean pair gradient of every step, within %d records drawn from %d", g.Batch, g.Records)
	}
	c, err := newCertificate(exact, round.Up(exact+2*g.Error, 2), released,
		fmt.Sprintf("given earlier releases, one replaced record changes a mean gradient by at most p Dg + 2 rho; "+
			"Dg = %.6g is the pair diameter, p = %.6g the share of pairs with this record, rho = %.3g the rounding "+
			"error (docs/theory.md#mean-gradient)", g.PairDiameter,
			g.PairFraction, g.Error))
	if g.Batch > 0 {
		c.form = subsetOf{batch{size: g.Batch, records: g.Records}}
	}
	return stated("mean-gradient", g, c, err)
}
