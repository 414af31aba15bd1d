// Package kernels holds the inner loops of Dyad on plain slices.
//
// A kernel knows nothing of records, losses or privacy. The plain loop in the doc comment of a kernel specifies
// what the kernel computes. The kernel computes the same value in another order of summation, with a stated
// depth.
//
// # Depth
//
// Write u = 2^-53 and gamma(k) = k u / (1 - k u). A sum of products has depth k
// if every product takes part in at most k roundings. Its error is then at most
// gamma(k) times the sum of the absolute values of the products (Higham 2002,
// Section 3.1), barring underflow. Fused multiply-adds only lower the depth.
//
// Slices that a kernel writes must not overlap slices that it reads. A kernel may panic if a slice is shorter
// than its doc comment requires.
package kernels
