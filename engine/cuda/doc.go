// Package cuda computes gradient sums on NVIDIA GPUs.
//
// # Scores
//
// With s = Xw the sum over all ordered pairs is X^T c, c_i = 2 sum_j v_ij,
// v_ij = phi'((y_i - y_j)(s_i - s_j)) (y_i - y_j). X stays on the GPU. Both passes over
// X are in float64. c is computed by visiting every pair, in float32:
//
//   - direct, factored: logistic loss of two labels, 1 / (1 + a_i b_j) from one
//     exponential a record instead of one a pair;
//   - direct: any labels and any smooth loss that is an expression, the code of
//     whose phi' is put into the kernel.
//
// # Terms and sums
//
// The computed term of a pair is a function of its two records, w and public
// constants: which kernel, its ranges and its scale come from the Problem. It is clamped
// to the certified range and rounded to fixed point, and all sums of terms are sums of
// integers. So they are exact, the same for any order of blocks and for any grid, and a
// record that changes alters no partial sum that it is not in. What is left of the
// error is that of single terms, which Roundoff bounds for every data set.
//
// # Lists of pairs
//
// Sums of clipped gradients over labelled pairs (engine/pairgraph) are computed in float64.
// A pair's term is an integer matrix whose exact norm is at most the clip for any data, even
// if every operation were off by a unit in the last place; a guarantee rests on that and
// on exact sums, not on the distance to the CPU's.
package cuda
