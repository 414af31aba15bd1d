// Package experiment runs plans of experiments on public data. Algorithms of the catalogue and peers run on the
// same splits and encodings and with the same noise seeds. A plan is a YAML file (Plan). Run writes one line of
// CSV for each run and skips runs that the file has. Merge joins the files of parts. Summarise computes means,
// standard errors and paired differences. Draw draws the score against epsilon.
//
// The results are not private: data count as public, and noise is seeded.
//
// # Seeds
//
// The split of repeat s is dataset.Split with seed s. The noise of a run is seeded by a hash of the plan's
// seed, the data set, n, epsilon, delta, s and the number of the draw. The hash depends neither on the order of
// runs nor on the method, so all methods of a cell share the seed. With Plan.NoiseSeed "split" the seed is s
// itself (times the draws of a split).
//
// # Peers
//
// A peer is any program. It is started in the folder of the plan, once for many runs. It reads one request a
// line from its standard input and writes one line with the answer to its standard output:
//
//	{"train": "FILE.npz", "test": "FILE.npz", "epsilon": 1, "delta": 1e-05, "seed": 7, "options": {}}
//	{"weights": [...], "seconds": 0.1, "passes": 20, "version": "numpy 2.4.6"}
//
// train has X (n x d, rows of norm at most 1) and y (-1 or 1), and test has only X. The answer has weights or scores.
// weights are d numbers; the score of a record is their product with the record. scores has one number for each test
// record. With task metric, weights are the d(d+1)/2 coordinates of engine.Symmetric. seconds is the time of training
// alone. passes is the number of times that all records are read. version names the program that ran. {"error": "..."}
// reports a failed run. A peer with columns: true also gets the columns of the file before they are scaled to norm 1.
// columns has the number of categories of each column, or 0 for a number. train_columns and test_columns are the
// names of two NPY files. A number is given as its place in its public range, from 0 to 1, and a category as its
// place in the schema. epsilon and delta are for replacing one record; they are 0 for a peer that is not private.
// Weights must depend on the request alone. Standard error is shown if the peer dies. The peer exits at the end of
// its input.
package experiment
