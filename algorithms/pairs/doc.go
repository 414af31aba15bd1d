// Package pairs learns from labelled pairs of individuals with differential privacy:
// distance metrics from similar and dissimilar pairs, scores from preferences ([Li20],
// Differential Pairwise Privacy for Secure Metric Learning; docs/theory.md#pairs).
//
// # What is protected
//
// The unit is one of: an individual in at most Kappa pairs, a group of Kappa pairs, or one pair. The pairing is public
// in all of them; features and labels of pairs are private (with method Labels only the labels are). Kappa is a public
// constant. [Li20] computes it from the private pairs, and so do its baselines with the largest degree: the noise then
// tells how many pairs somebody has (docs/theory.md#pair-groups). A plan takes it as a number, and no function of this
// package looks at pairs to find one; for pairs drawn by public ids (pairgraph.Draw) the degree cap is such a number.
//
// # Without pairs
//
// A Spec with Tuple or AllPairs learns a metric from records with classes, by tuples that
// are drawn by ids or by all pairs. The unit is then one record, features and class.
//
// # Batch softmax losses
//
// embedding.InfoNCE couples all similar pairs of a Poisson batch: a pair more is one softmax more and a share of all others.
// Gradients of cosines are clipped one by one, and privacy.SoftmaxSample certifies what one pair moves
// (docs/theory.md#batch-softmax, docs/softmax.md).
package pairs
