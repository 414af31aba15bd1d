package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
)

// PairGroup holds the public numbers of training on labelled pairs in disjoint batches. Every release is the
// sum of terms over a batch of at least Batch pairs, divided by the size of the batch. A term is a function
// of its own pair and of earlier releases, and its norm is at most TermNorm. For example, a term can be a
// clipped gradient divided by the clipping norm, which may be any function of earlier releases.
//
// Neighbouring data sets differ in the records of at most Group pairs. The number of pairs and the two
// individuals of each pair are public and are the same in both data sets. If no individual is in more than
// Group pairs, data sets that differ in one individual's record are neighbours. The number of a pair
// determines its batch.
type PairGroup struct {
	// Group is kappa >= 1, the largest number of pairs whose records may differ between neighbouring
	// data sets. It is a public constant that is fixed before the pairs are seen, or it is a degree
	// cap. A number that is computed from private pairs is not public (docs/theory.md#pair-groups).
	Group int `json:"group"`
	// Batch is the smallest number of pairs that a batch can have, >= 1. Batches is the number of disjoint
	// batches of one epoch, >= 1.
	Batch   int `json:"batch"`
	Batches int `json:"batches"`
	// Epochs is T_max >= 1, the number of times that every pair is used.
	Epochs int `json:"epochs"`
	// TermNorm bounds the norm of a term. The value 0 means 1.
	TermNorm float64 `json:"term_norm"`
	// Manhattan selects the L1 norm of all entries of a release. Without Manhattan, norms are L2
	// norms.
	Manhattan bool `json:"manhattan"`
	// Roundoff bounds the norm of the error of one computed release for every data set. It is >= 0.
	Roundoff float64 `json:"roundoff"`
}

// Certify returns the joint certificate of all Epochs x Batches releases for Gaussian noise (a StreamEvent).
//
// Theorem (docs/theory.md#pair-batches). Fix two neighbouring data sets and the earlier releases. Let h =
// TermNorm and rho = Roundoff. Let k_b be the number of changed pairs in batch b, so sum_b k_b <= Group. The
// release about batch b moves by at most s_b = 2 h k_b/Batch + 2 rho. If k_b = 0, the release has the same
// bits on both data sets, so take s_b = 0. In one epoch
//
//	sum_b s_b <= 2 h Group/Batch + 2 rho min(Group, Batches) =: s,
//
// and sum_b s_b^2 <= s^2. Every epoch uses the same batches, so the sum of all squares is at most Epochs s^2,
// and the sum of all s_b is at most Epochs s. QED
//
// If norms are L1 norms, the same number also bounds the L2 sensitivity.
//
// Checked by Coq: Pairs.batch_release, Pairs.pair_group.
func (g PairGroup) Certify() (Certificate, error) {
	return g.certify(math.Sqrt(float64(g.Epochs)), "root of the summed squares", false)
}

// CertifyPure returns the certificate of the releases of Certify for noise that gives pure
// epsilon-DP (a PureStreamEvent). The sensitivity is the sum of all s_b of Certify.
//
// Checked by Coq: Pairs.pair_group_added.
func (g PairGroup) CertifyPure() (Certificate, error) {
	return g.certify(float64(g.Epochs), "sum", true)
}

func (g PairGroup) certify(epochs float64, total string, added bool) (Certificate, error) {
	err := nonNegative("roundoff of a batch", g.Roundoff)
	for _, v := range []int{g.Group, g.Batch, g.Batches, g.Epochs} {
		if v < 1 || v > math.MaxInt32 {
			err = errors.Join(err, fmt.Errorf("%w: Group is %d, Batches is %d, Batch is %d and Epochs is %d; each must be at "+
				"least 1", errCertificate, g.Group, g.Batches, g.Batch, g.Epochs))
			break
		}
	}
	if err == nil && g.Batches > math.MaxInt32/g.Epochs {
		err = fmt.Errorf("%w: %d batches per epoch in %d epochs make too many releases", errCertificate, g.Batches, g.Epochs)
	}
	if err != nil {
		return Certificate{}, err
	}
	term := g.TermNorm
	if term == 0 {
		term = 1
	}
	if err := positive("norm of a term", term); err != nil {
		return Certificate{}, err
	}
	exact := round.Up(2*float64(g.Group)*term/float64(g.Batch), 2)
	touched := float64(min(g.Group, g.Batches))
	norm := "L2"
	if g.Manhattan {
		norm = "L1"
	}
	c, err := newCertificate(round.Up(epochs*exact, 2), round.Up(epochs*(exact+2*touched*g.Roundoff), 4),
		"mean clipped pair gradient of every batch",
		fmt.Sprintf("joint sensitivity: %s of the %s sensitivities of all batches in %d epochs; one epoch has at "+
			"most 2 h kappa/|B| + 2 rho min(kappa, batches); kappa = %d pairs of the protected unit, batch size "+
			"|B| = %d, term norm h = %.6g, rounding error rho = %.3g (docs/theory.md#pair-batches)",
			total, norm, g.Epochs, g.Group, g.Batch, term, g.Roundoff))
	c.form, c.manhattan = stream{releases: g.Batches * g.Epochs, added: added}, added && g.Manhattan
	g.TermNorm = term
	return stated("pair-batches", g, c, err)
}

// PairMoments describes a vector of three parts: the sum of dx dx^T over the similar pairs, the sum of dx
// dx^T over the dissimilar pairs, and Count times the number of similar pairs. The matrices are in isometric
// coordinates. The vector dx is the difference of the two records of a pair, clipped to norm Radius.
// Neighbouring data sets are defined as in PairGroup.
type PairMoments struct {
	Group  int     `json:"group"`  // Group is kappa, as in PairGroup.
	Radius float64 `json:"radius"` // Radius is > 0.
	Count  float64 `json:"count"`  // Count is c >= 0.
	Error  float64 `json:"error"`  // Error bounds the error of the whole vector; >= 0.
}

// Certify returns the certificate kappa sqrt(2 Radius^4 + c^2) (docs/theory.md#pair-moments).
//
// Proof. A pair that stays similar, or stays dissimilar, moves one sum by at most sqrt(2) Radius^2
// (docs/theory.md#second-moments). A pair whose label changes moves both sums and the count. The squared move
// of the two sums is |dx|^4 + |dx'|^4 <= 2 Radius^4. Together kappa pairs move the vector by at most the sum
// of their moves. The bound is attained by an individual whose distance to the others is at least Radius, if
// the labels of its kappa pairs change together. QED
//
// Checked by Coq: Pairs.pair_moments.
func (m PairMoments) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius", m.Radius), nonNegative("weight of the number of similar pairs", m.Count),
		nonNegative("error of moments", m.Error),
		refuse(m.Group < 1 || m.Group > math.MaxInt32,
			"a group has %d pairs, but must have at least 1", m.Group)); err != nil {
		return Certificate{}, err
	}
	square := round.Up(m.Radius*m.Radius, 1)
	exact := round.Up(float64(m.Group)*math.Sqrt(2*square*square+m.Count*m.Count), 8)
	return momentCertificate(m, exact, 2*m.Error,
		"second moments of similar and of dissimilar pairs, number of similar pairs",
		fmt.Sprintf("sensitivity kappa sqrt(2 h^4 + c^2); kappa = %d (replaced pairs), h = %.6g (clip), c = %.6g "+
			"(weight of the number of similar pairs)", m.Group,
			m.Radius, m.Count), "pair-moments")
}

// PairSample holds the public numbers of training on labelled pairs in Poisson batches. Every release is the
// sum of terms over a batch, as in PairGroup, divided by the public number Expected. Each of the Pairs pairs
// enters the batch with probability Rate. A separate secret coin of each pair decides this and is tossed
// anew for every release. Neighbouring data sets are defined as in PairGroup.
type PairSample struct {
	// Group is kappa, as in PairGroup, and is at most MaxGroup.
	Group int     `json:"group"`
	Pairs int     `json:"pairs"` // Pairs is the number of pairs, >= 1.
	Rate  float64 `json:"rate"`  // Rate is the sampling rate, in (0, 1].
	// Expected is the positive public number by which a sum is divided. If it is Rate times Pairs,
	// it is the expected batch size.
	Expected float64 `json:"expected"`
	// TermNorm bounds the L2 norm of each term of the sum. The value 0 means 1.
	TermNorm float64 `json:"term_norm"`
	// Roundoff is >= 0 and bounds the L2 norm of the error of one computed release, for every batch of any
	// size.
	Roundoff float64 `json:"roundoff"`
}

// Certify returns the certificate of one release for Gaussian noise (a PoissonEvent).
//
// Proof. Fix the earlier releases and the coins, and add j >= 1 pairs of one owner to the batch. The exact
// sum moves by at most j h, where h = TermNorm. The computed release moves by at most j h/Expected + 2 rho <=
// j (h/Expected + 2 rho). Without these pairs, both neighbouring data sets give the same bits. These are the
// conditions of a PoissonEvent under ReplaceOne for an owner of Group pairs. QED
//
// Checked by Coq: Pairs.poisson_release.
func (g PairSample) Certify() (Certificate, error) {
	err := errors.Join(nonNegative("roundoff of a batch", g.Roundoff), positive("expected size of a batch", g.Expected),
		refuse(g.Group < 1 || g.Group > account.MaxGroup || g.Pairs < 1 || g.Pairs > math.MaxInt32,
			"a group has %d of all %d pairs; Poisson batches need pairs, and 1 to %d of them in a group", g.Group, g.Pairs,
			account.MaxGroup),
		refuse(!(g.Rate > 0 && g.Rate <= 1), "the rate of a Poisson batch is %v, but must be in (0, 1]", g.Rate))
	term := g.TermNorm
	if term == 0 {
		term = 1
	}
	if err = errors.Join(err, positive("norm of a term", term)); err != nil {
		return Certificate{}, err
	}
	exact := round.Up(term/g.Expected, 1)
	c, err := newCertificate(exact, round.Up(exact+2*g.Roundoff, 2),
		"sum of clipped pair gradients of a Poisson batch over its expected size",
		fmt.Sprintf("secret coins put each of %d pairs into the batch with probability %.6g; an owner has at most "+
			"kappa = %d pairs; given earlier releases, an added pair moves the sum by at most h/E|B| + 2 rho, with "+
			"expected batch size E|B| = %.6g, term norm h = %.6g and rounding error rho = %.3g; a replaced pair "+
			"moves it by twice as much; so the release is a mixture of Gaussians (docs/theory.md#pair-poisson)", g.Pairs, g.Rate,
			g.Group, g.Expected,
			term, g.Roundoff))
	c.form = poissonOf{batch: batch{records: g.Pairs, rate: g.Rate}, group: g.Group}
	g.TermNorm = term
	return stated("pair-poisson", g, c, err)
}
