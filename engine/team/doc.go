// Package team lets several processes train one model. Rank 0 leads, and the other ranks compute parts of sums.
//
// Every rank plans the same problem, holds its engine.Share of the records, and calls Agree. Then
// rank 0 runs an algorithm on the evaluator of a Leader. The other ranks call Serve, which returns
// when rank 0 stops it. Only rank 0 handles the plan, the ledger, the noise and the release. This
// package has no randomness and no access to a ledger, because package engine does not import
// package privacy (a test checks all imports).
//
// Processes exchange numbers that only the curator may see: partial sums without noise, labels,
// and for some algorithms secret iterates and batches. So the curator must control all ranks and
// their network.
//
// If a rank is lost, the team ends without a release, and a charge is not refunded.
package team
