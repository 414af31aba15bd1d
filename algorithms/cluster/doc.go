// Package cluster finds centres of private records by k-means: rounds of Lloyd's algorithm. Each
// releases the number and the sum of the records of every cluster as one noisy vector
// (docs/theory.md#cluster-sums).
//
// A record is what a public or released map, such as a private metric of algorithms/pairs, makes of it: a
// vector that is a function of that record alone, bit for bit. It is shortened to a public radius
// and rounded to integers, so that sums have no rounding error. The first centres are drawn from a
// public seed, and all later ones are computed from releases. So the rounds compose, and labels of
// records, the centres and their numbers are post-processing.
//
// A Plan says from public numbers what will be released; algorithms.Execute charges and carries out
// its Job.
package cluster
