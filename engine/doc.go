// Package engine computes exact sums of pair gradients over records.
//
// Dyad has two halves. Package engine sees records and has no randomness. Package privacy
// has all randomness and never sees a record. Only package algorithms uses both halves.
//
// The data flow inside the engine is
//
//	Problem (public numbers) --Backend.Plan--> Kernel (public: method, Bounds)
//	Records --Kernel.Bind--> Evaluator.Sum
//
// Everything on the first line is computed before any record is read. So a privacy report
// can be printed, and the privacy budget can be charged, without data.
//
// # Conventions
//
// n records, d features, w parameters, z = (x, y) a record, (z, z') an ordered
// pair of different records, R = Bounds.FeatureNorm, r = Problem.Radius,
// u = (y - y') w.(x - x') the margin of a score pair.
package engine
