// Package ptxtest runs the PTX of package kernels without a GPU, for tests. It knows
// the instructions that those kernels use and refuses any other.
//
// It is stricter than a GPU. These are errors: reading a register or shared memory that
// was never set, an address outside every buffer, a barrier that not all threads of a
// block reach, and two threads that touch the same word of shared memory between
// barriers, one of them writing. Instructions with a documented error can be given the
// largest one, in either direction (Machine.Skew), each in its own (Machine.Signs), and
// operations of float64 can be off by units in the last place (Machine.Ulps).
//
// What cp.async and wgmma read or write changes when it is waited for, and may not be
// touched before; wgmma without a fence of the registers or of the memory that were
// written, and warps of a group that do not begin the same products, are errors.
//
// Arithmetic follows the PTX manual bit for bit, but for the approximate instructions,
// which are computed in float64. It says nothing about time.
//
// The race detector does not look into a launch (//go:norace), which would take ten times
// as long: it is one goroutine, and what enters and leaves it is copied by the caller.
package ptxtest
