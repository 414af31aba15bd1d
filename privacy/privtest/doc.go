// Package privtest helps to test package privacy and implementations of its interfaces. It has statistical
// tests with a proved false-alarm rate, and a suite for accountants. Every check returns nil or an error with
// the observed values, so a test can also require that a known defect is rejected.
//
// The bounds are non-asymptotic: for samples from the stated law, a check with rate alpha fails with
// probability at most alpha for every sample size. The checks use no normal approximation and need no
// "expected count of at least 5".
package privtest
