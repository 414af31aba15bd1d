// Package cuda computes gradient sums on NVIDIA GPUs.
//
// # Scores
//
// With s = Xw the sum over all ordered pairs is X^T c, c_i = 2 sum_j v_ij,
// v_ij = phi'((y_i - y_j)(s_i - s_j)) (y_i - y_j). Both passes over X are in float64. X
// stays on the GPU if it fits, and is copied there panel by panel in every pass
// otherwise; the results have the same bits. Between the passes only vectors of n numbers
// are needed, and c comes from one of three methods:
//
//   - near-linear: few labels and a phi' that is analytic, by Chebyshev expansion, in
//     float64;
//   - direct, factored: logistic loss of two labels, every pair in float32,
//     1 / (1 + a_i b_j) from one exponential a record instead of one a pair, and one
//     reciprocal for two pairs;
//   - direct: any labels and any loss that is an expression, every pair in float32, the
//     code of whose phi' is put into the kernel. The loss need not be smooth: a term is
//     clamped to the bounds of phi' and depends on its own two records (engine.Kernel).
//
// Query groups are runs of rows. The direct method visits the triangles above the
// diagonal that the groups cut out; a block has 64 rows and up to 1024 columns: small
// groups share blocks, large ones have many. Groups of 2^13 records and more of an
// analytic loss are summed by the near-linear method one after the other. The choice and
// all launches of the direct method follow from the sizes of groups, which are public.
//
// Rows of persons have weights (docs/theory.md#person-sums). Near-linear sums count the pairs within a
// person, too, which the host takes out. The direct method is not factored for them, and leaves these pairs out
// (docs/theory.md#person-terms).
//
// # Mahalanobis distances
//
// The sum is P + P^T with P = X^T (diag(C1) X - 2 U X), U the strict upper triangle of
// the coefficients c_ij = -phi'(u_ij) y_i y_j and C1 its row sums plus its column sums. U is
// computed tile by tile from X W and X and is multiplied with X at once, so that memory
// is O(nd): in float32, or on tensor cores in bf16x3 (Precision). The rest costs
// O(n d^2) and is in float64. Sums over prefixes are in float64.
//
// # Terms and sums
//
// Direct: the computed term of a pair is, but for the last bits of factored ones (below), a function of its two
// records, w and public constants: which kernel, its ranges and its scale come from the Problem. It is clamped to the
// certified range and rounded to fixed point, and all sums of terms are sums of integers. So they are exact, the same
// for any order of blocks and for any grid, and a record that changes alters no partial sum that it is not in. The rest
// is the error of single terms, which engine.QueryBounds.Sum bounds for every data set; the errors of pairs without a
// record do not change with it (QueryBounds.Neighbour). Factored, the last bits of a term depend on a third record,
// too, which shares its reciprocal, and a record that changes alters those of the logarithm of n others (partners).
//
// The products U X are sums in float32 over 1024 columns, which are rounded to fixed point
// and added as integers. A record that changes alters the roundings of its own row and of
// the sums over the 1024 columns that it is in, and no other. Those of rows of persons are in float64 (docs/theory.md#person-metrics-gpu).
//
// Near-linear, and both passes over X: sums are in float64, in an order that follows from
// the public sizes and from how many records have each label. Fixed point would not help
// here: the terms have 53 bits and there are 2^30 of them, more than an integer of 64
// bits holds. QueryBounds.Sum bounds the distance to the exact gradient for every data set, as
// on the CPU.
//
// # Networks
//
// Embeddings and Jacobians of networks of dense layers are computed in float32, record by record, without approximate
// instructions: bits that depend on the record and theta alone. Jacobians times vectors are summed in float64 over a chunk of records, and
// these sums as integers (PullError, docs/theory.md#networks-on-a-gpu). Pairs of embeddings are the CPU's.
//
// Tuples are clipped as a whole, by the norm of the very numbers that are then summed: the entries of a tuple's gradient in float64, scaled and
// truncated to integers.
//
// # Lists of pairs
//
// Sums of clipped gradients over labelled pairs (engine/pairgraph) are computed in float64.
// A pair's term is an integer matrix whose exact norm is at most the clip for any data, even
// if every operation were off by a unit in the last place; a guarantee rests on that and
// on exact sums, not on the distance to the CPU's.
package cuda
