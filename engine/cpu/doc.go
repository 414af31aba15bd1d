// Package cpu is the CPU backend of package engine: exact gradient sums of score
// losses and of Mahalanobis losses, with a proved bound of their rounding error. All is in
// float64 but pairs for which Backend.Float32 asks for float32.
//
// A gradient sum over all ordered pairs is X^T c with
// c_i = 2 sum_j phi'((y_i - y_j)(s_i - s_j)) (y_i - y_j) and scores s = X w.
// There are three methods for c:
//
//   - direct: every pair once, O(n^2). Any labels, any ScoreLoss. The
//     logistic loss on binary labels needs no exponential per pair; its terms in
//     float32 are rounded to integers, whose sums are exact.
//   - near-linear: Chebyshev interpolation of phi' in bins of the public score
//     range, from sums of powers of the scores, O(n) per gradient, for an AnalyticLoss
//     and up to 16 different labels (Problem.LabelValues).
//   - sorted: for a piecewise linear phi', from the sorted scores of each label and
//     their running sums, O(n log n) per gradient for few labels.
//
// A Mahalanobis loss is summed over tiles of the upper triangle of pairs: inner
// products under W, coefficients c in their place, then the product of c with the
// features. It costs n^2 d multiplications and as many additions; no n x n matrix is stored.
// In float32, its sums over a tile or a few hundred columns are added up in float64, so that a
// record changes the rounding of few of them.
//
// The inner loops come from a kernels.Variant: plain Go or vector instructions of the
// processor. The method and every bound come from public numbers alone and hold for every
// variant. Work is cut along a fixed grid and partial sums are combined in a fixed order,
// so the bits of a result depend on the variant, but not on the number of workers.
package cpu
