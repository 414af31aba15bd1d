// Package cuda computes gradient sums on NVIDIA GPUs.
//
// # Scores
//
// With s = Xw, the sum over all ordered pairs is X^T c, where c_i = 2 sum_j v_ij and
// v_ij = phi'((y_i - y_j)(s_i - s_j)) (y_i - y_j). Both passes over X are in float64. If X fits into the memory
// of the GPU, it stays there. Otherwise every pass copies X to the GPU panel by panel. The results have the same
// bits in both cases. Between the passes only vectors of n numbers are needed. One of three methods computes c:
//
//   - near-linear: for few labels and an analytic phi'. The method expands phi' in Chebyshev polynomials, in float64.
//   - direct, factored: for the logistic loss of two labels. Every pair is computed in float32 as 1 / (1 + a_i b_j).
//     The method computes one exponential per record instead of one per pair, and one reciprocal for two pairs.
//   - direct: for any labels and any loss that is an expression. Every pair is computed in float32, and the code
//     of phi' is inserted into the kernel. The loss need not be smooth: a term is clamped to the bounds of phi'
//     and depends only on its own two records (engine.QueryBounds.Sum).
//
// Query groups are runs of rows. The direct method visits the triangles above the diagonal that the groups cut out.
// A block has 64 rows and up to 1024 columns, so small groups share blocks and large groups have many blocks.
// Groups of at least 2^13 records with an analytic loss are summed by the near-linear method, one after the other.
// The choice of method and all launches of the direct method follow from the group sizes, which are public.
//
// Rows of persons have weights (docs/theory.md#person-sums). Near-linear sums include the pairs within a person,
// and the host subtracts these pairs. For persons the direct method is not factored, and it leaves out the pairs
// within a person (docs/theory.md#person-terms).
//
// # Mahalanobis distances
//
// The sum is P + P^T with P = X^T (diag(C1) X - 2 U X). Here U is the strict upper triangle of the coefficients
// c_ij = -phi'(u_ij) y_i y_j, and C1 is the vector of row sums of U plus column sums of U. U is computed tile by
// tile from X W and X, and every tile is multiplied with X at once, so that memory is O(nd). U and U X are computed
// in float32, or on tensor cores in bf16x3 (Precision). All other steps cost O(n d^2) and are in float64. Sums over
// prefixes are in float64.
//
// # Terms and sums
//
// Direct: the computed term of a pair is a function of its two records, w and public constants. (The last bits of
// factored terms are an exception, see below.) The kernel, its ranges and its scale come from the Problem. The term
// is clamped to the certified range and rounded to fixed point, and all sums of terms are sums of integers. These
// sums are therefore exact and the same for any order of blocks and for any grid. If a record changes, only the
// partial sums that contain the record change. The only remaining error is the error of single terms, which
// engine.QueryBounds.Sum bounds for every data set. If a record changes, the errors of the pairs without the record
// do not change (QueryBounds.Neighbour). In the factored method, the last bits of a term also depend on a third
// record, which shares the reciprocal of the term. If a record changes, the last bits of the terms of at most
// ceil(log2 n) other records (partners) then change.
//
// The products U X are sums in float32 over 1024 columns. These sums are rounded to fixed point and added as
// integers. If a record changes, only the roundings of its own row and of the sums over the 1024 columns with
// this record change. For rows of persons the products are in float64 (docs/theory.md#person-metrics-gpu).
//
// Near-linear sums and both passes over X are in float64. Their order follows from the public sizes and from the
// number of records of each label. Fixed point would not help here, because a sum of up to 2^30 terms of 53 bits
// does not fit into an integer of 64 bits. QueryBounds.Sum bounds the distance to the exact gradient for every
// data set, as on the CPU.
//
// # Networks
//
// Embeddings and Jacobians of networks of dense layers are computed in float32, record by record, without
// approximate instructions. Their bits depend only on the record and theta. Jacobians times vectors are summed in
// float64 over a chunk of records, and the sums of the chunks are added as integers (PullError,
// docs/theory.md#networks-on-a-gpu). The CPU computes the pairs of embeddings.
//
// Tuples are clipped as a whole. The clipping uses the norm of exactly the numbers that are then summed: the entries
// of a tuple's gradient in float64, scaled and truncated to integers.
//
// # Lists of pairs
//
// Sums of clipped gradients over labelled pairs (engine/pairgraph) are computed in float64. The term of a pair is an
// integer matrix. Its exact norm is at most the clipping norm for any data, even if every operation were off by a
// unit in the last place. A privacy guarantee relies on this bound and on exact sums, not on the distance to the sum
// that the CPU computes.
package cuda
