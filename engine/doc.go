// Package engine computes exact sums of pair gradients over records.
//
// Dyad has two halves. Package engine sees records and has no randomness. Package privacy
// has all randomness and never sees a record. Neither package imports the other. Package
// algorithms connects them.
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
// There are n records with d features, and w are the parameters. A record is z = (x, y)
// with features x and label y. (z, z') is an ordered pair of different records. R is
// Bounds.FeatureNorm, and r is Problem.Radius. The margin of a pair under a loss of
// scores is u = (y - y') w.(x - x').
package engine
