package privacy

import "fmt"

// TupleBatches are the public numbers of training on tuples of records in disjoint
// batches: every release is the sum, over a batch of Batch tuples or more, of terms of
// norm at most 1, divided by the size of the batch. A term is a function of the records
// of its own tuple and of what was released before: any gradient of the tuple, clipped
// as a whole and divided by the clip.
//
// Neighbours differ in one individual's record. The assignment to tuples and batches does
// not depend on records, and no individual is in two tuples of one epoch; the tuples of
// different epochs need not be the same.
type TupleBatches struct {
	// Batch is the number of tuples of every batch, >= 1, and Batches that of the
	// disjoint batches of one epoch, >= 1.
	Batch, Batches int
	Epochs         int // >= 1
	// Manhattan reports whether norms are L1 norms, of all released entries together;
	// otherwise they are L2 norms.
	Manhattan bool
	// Roundoff bounds the norm of the error of one computed release, for every data
	// set, >= 0.
	Roundoff float64
}

// Certify returns the joint certificate of all Epochs x Batches releases for Gaussian
// noise (a StreamEvent).
//
// Theorem. Fix two neighbours and what was released before an epoch. Its tuples are the
// same for both, and all terms but at most one, that of the tuple of the individual.
// So at most one of the epoch's releases moves: its exact value by at most 2/Batch, as
// two vectors of norm at most 1 are at most 2 apart, and its computed value by s =
// 2/Batch + 2 Roundoff. All others have the same bits. The sum of squares over all
// releases is at most Epochs s^2, and their sum Epochs s. QED
//
// These are the numbers of PairGroup with Group 1. What a tuple's loss makes of the
// classes in it, such as the number of its triplets, does not enter: that is why the
// tuple is clipped and not its pairs.
//
// Checked by Coq: Pairs.batch_release, Pairs.pair_group.
func (b TupleBatches) Certify() (Certificate, error) {
	c, err := b.group().Certify()
	return b.describe(c, "root of the summed squares"), err
}

// CertifyPure returns the certificate of the same releases for noise of pure epsilon (a
// PureStreamEvent): the sum over all epochs of s.
func (b TupleBatches) CertifyPure() (Certificate, error) {
	c, err := b.group().CertifyPure()
	return b.describe(c, "sum"), err
}

func (b TupleBatches) group() PairGroup {
	return PairGroup{Group: 1, Batch: b.Batch, Batches: b.Batches, Epochs: b.Epochs, Manhattan: b.Manhattan, Roundoff: b.Roundoff}
}

func (b TupleBatches) describe(c Certificate, total string) Certificate {
	if c.IsZero() {
		return c
	}
	norm := "L2"
	if b.Manhattan {
		norm = "L1"
	}
	c.released = "mean clipped tuple gradient of every batch"
	c.derivation = fmt.Sprintf("%s of the %s sensitivities of all epochs, %d of them: 2 h/|B| + 2 rho an epoch, in which one individual is in at most one tuple; |B| = %d tuples, each clipped as a whole to h, rho = %.3g (docs/theory.md#tuples)", total, norm, b.Epochs, b.Batch, b.Roundoff)
	return c
}
