// Package ptxtest runs the PTX of package kernels without a GPU, for tests. It supports the instructions that
// these kernels use, and returns an error for any other instruction.
//
// The interpreter is stricter than a GPU. The following are errors: reading a register or shared memory that
// was never set, an address outside every buffer, a barrier that not all threads of a block reach, and a race.
// In a race, two threads access the same word of shared memory between barriers, and at least one of them
// writes. Instructions with a documented error can have the largest error in either direction (Machine.Skew),
// with a separate sign for each instruction (Machine.Signs). Operations of float64 can have errors of units in
// the last place (Machine.Ulps).
//
// Arithmetic follows the PTX manual bit for bit. Only approximate instructions are an exception, because they
// are computed in float64. The interpreter does not model time.
//
// The race detector does not check the code of a launch (//go:norace), because a launch would take ten times as
// long. A launch runs in one goroutine, and the caller copies its inputs and outputs.
package ptxtest
