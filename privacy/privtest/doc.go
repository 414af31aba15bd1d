// Package privtest helps to test package privacy and implementations of its interfaces:
// statistical tests with a proved false-alarm rate, and a suite for accountants. Every
// check returns nil or an error with its observation, so a test can also require that a
// known defect is rejected.
//
// The bounds are non-asymptotic: for samples from the stated law, and any sample
// size, a check with rate alpha fails with probability at most alpha. There is
// no normal approximation and no "expected count at least 5".
package privtest
