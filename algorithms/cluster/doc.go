// Package cluster finds centres of private records by k-means, in rounds of Lloyd's algorithm. Each round
// releases the number and the sum of the records of every cluster as one noisy vector
// (docs/theory.md#cluster-sums).
//
// The input records are mapped by a public or released map, such as a private metric of algorithms/pairs. A
// mapped record must be a function of its original record alone, bit for bit. It is shortened to a public
// radius and rounded to integers, so that sums have no rounding error. The first centres are drawn from a
// public seed, and all later centres are computed from releases. So the rounds compose, and the labels of
// records, the centres and the counts are post-processing.
//
// A Plan states the releases from public numbers. algorithms.Execute charges the plan and runs its Job.
package cluster
