package privacy

import "fmt"

// TupleBatches holds the public numbers of training on tuples of records in disjoint batches. Every release
// is the sum of terms over a batch of at least Batch tuples, divided by the size of the batch. A term has
// norm at most 1 and is a function of the records of its own tuple and of earlier releases. For example, a
// term can be any gradient of the tuple that is clipped as a whole and divided by the clipping norm.
//
// Neighbouring data sets differ in one individual's record. The assignment of individuals to tuples and
// batches does not depend on records. No individual is in two tuples of one epoch, but different epochs may
// use different tuples.
type TupleBatches struct {
	// Batch is the smallest number of tuples that a batch can have, >= 1. Batches is the number of disjoint
	// batches of one epoch, >= 1.
	Batch, Batches int
	Epochs         int // Epochs is the number of epochs, >= 1.
	// Manhattan selects L1 norms of all released entries together. Without Manhattan, norms are L2
	// norms.
	Manhattan bool
	// Roundoff bounds the norm of the error of one computed release for every data set. It is >= 0.
	Roundoff float64
}

// Certify returns the joint certificate of all Epochs x Batches releases for Gaussian noise (a StreamEvent).
//
// Theorem. Fix two neighbouring data sets and the releases before an epoch. The tuples of the epoch are the
// same for both data sets. At most one term differs: the term of the tuple that contains the changed
// individual. So at most one release of the epoch moves. Two vectors of norm at most 1 are at most 2 apart.
// So the exact value of this release moves by at most 2/Batch, and the computed value by at most s = 2/Batch
// + 2 Roundoff. All other releases have the same bits. Over all releases, the squares of the moves add up to
// at most Epochs s^2, and the moves to at most Epochs s. QED
//
// PairGroup with Group 1 has the same numbers. The bound does not depend on how the loss of a tuple uses the
// classes in the tuple, such as the number of its triplets. This is the reason to clip the gradient of a
// tuple and not the gradients of its pairs.
//
// Checked by Coq: Pairs.batch_release, Pairs.pair_group.
func (b TupleBatches) Certify() (Certificate, error) {
	c, err := b.group().Certify()
	return b.describe(c, "root of the summed squares"), err
}

// CertifyPure returns the certificate of the releases of Certify for noise that gives pure
// epsilon-DP (a PureStreamEvent). The sensitivity is the sum of the s of Certify over all epochs.
func (b TupleBatches) CertifyPure() (Certificate, error) {
	c, err := b.group().CertifyPure()
	return b.describe(c, "sum"), err
}

func (b TupleBatches) group() PairGroup {
	return PairGroup{Group: 1, Batch: b.Batch, Batches: b.Batches, Epochs: b.Epochs, Manhattan: b.Manhattan,
		Roundoff: b.Roundoff}
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
	c.derivation = fmt.Sprintf("joint sensitivity: %s of the %s sensitivities of %d epochs, each at most 2 h/|B| + "+
		"2 rho; h = clip, tuples in a batch |B| = %d, rounding error rho = %.3g (docs/theory.md#tuples)", total,
		norm, b.Epochs,
		b.Batch, b.Roundoff)
	return c
}
