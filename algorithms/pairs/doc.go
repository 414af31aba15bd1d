// Package pairs learns from labelled pairs of individuals with differential privacy. It learns distance metrics
// from similar and dissimilar pairs, and scores from preferences ([Li20], Differential Pairwise Privacy for
// Secure Metric Learning; docs/theory.md#pairs).
//
// # What is protected
//
// The unit of privacy is an individual in at most Kappa pairs, a group of Kappa pairs, or one pair. For every unit the
// pairing is public, and features and labels of pairs are private. With method Labels only the labels are private.
// Kappa is a public constant. [Li20] computes Kappa from the private pairs, and its baselines compute the largest
// degree from them. Then the noise reveals how many pairs somebody has (docs/theory.md#pair-groups). A plan takes
// Kappa as a number, and no function of this package reads pairs to find Kappa. For pairs drawn by public ids
// (pairgraph.Draw) the degree cap is such a number.
//
// # Without pairs
//
// A Spec with Tuple or AllPairs learns a metric from records with classes. It uses tuples that are drawn by
// ids, or all pairs. The unit is then one record with its features and class.
//
// # Batch softmax losses
//
// embedding.InfoNCE couples all similar pairs of a Poisson batch: an added pair adds one softmax and changes all other
// softmaxes. The gradients of cosines are clipped separately, and privacy.SoftmaxSample certifies how far one pair
// moves the sum (docs/theory.md#batch-softmax, docs/softmax.md).
package pairs
