// Package team lets several processes train one model: rank 0 leads, the others serve sums.
//
// Every rank plans the same problem, holds its engine.Share of the records, and calls Agree. Then
// rank 0 runs an algorithm on the evaluator of a Leader, and the others call Serve until it stops
// them. Plan, ledger, noise and release are rank 0's alone: this package has no randomness and can
// reach no ledger, since package engine imports nothing of privacy (a test over all imports).
//
// Numbers that only the curator may see travel between processes: partial sums without noise,
// labels, for some algorithms secret iterates and batches. All ranks and their network belong to
// the curator.
//
// A lost rank ends the team without a release, and a charge stays.
package team
