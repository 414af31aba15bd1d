// Package cpu is the CPU backend of package engine. It computes exact gradient sums of
// score losses and of Mahalanobis losses, with a proved bound of their rounding error.
// Everything is computed in float64, except for pairs for which Backend.Float32 requests
// float32.
//
// A gradient sum over all ordered pairs is X^T c, where c_i = 2 sum_j phi'((y_i -
// y_j)(s_i - s_j)) (y_i - y_j) and s = X w are the scores. There are three methods to
// compute c:
//
//   - direct: every pair is visited once, which costs O(n^2). It is for any labels and any
//     ScoreLoss. The logistic loss on binary labels needs no exponential per pair.
//   - near-linear: Chebyshev interpolation of phi' in bins of the public score range, from
//     sums of powers of the scores. It costs O(n) per gradient. It is for an AnalyticLoss and
//     up to 16 different labels (Problem.LabelValues).
//   - sorted: sums over the sorted scores of each label, from running sums. It costs O(n log n)
//     per gradient for few labels. It is for a piecewise linear phi'.
//
// A Mahalanobis loss is summed over tiles of the upper triangle of pairs. For each tile the
// inner products under W are computed and replaced by the coefficients c, and then c is
// multiplied by the features. This costs n^2 d multiplications and as many additions. No n x n
// matrix is stored. In float32, sums over a tile or over a few hundred columns are added in
// float64, so one record changes the rounding of few of these sums.
//
// The inner loops are implemented by a kernels.Variant, in plain Go or with vector
// instructions of the processor. The method and every bound depend on public numbers
// alone and hold for every variant. The work is cut along a fixed grid, and partial sums
// are added in a fixed order. So the bits of a result depend on the variant, but not on
// the number of workers.
package cpu
