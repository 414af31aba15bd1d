// Package kernels holds the inner loops of Dyad on plain slices.
//
// A kernel knows nothing of records, losses or privacy. Each one is specified
// by the plain loop in its doc comment: it computes that value in another order
// of summation, with a stated depth.
//
// # Depth
//
// Write u = 2^-53 and gamma(k) = k u / (1 - k u). A sum of products has depth k
// if every product takes part in at most k roundings. Its error is then at most
// gamma(k) times the sum of the absolute values of the products (Higham 2002,
// Section 3.1), barring underflow. Fused multiply-adds only lower the depth.
//
// Slices that a kernel writes must not overlap those that it reads. A kernel
// may panic when a slice is shorter than its doc comment says.
package kernels
