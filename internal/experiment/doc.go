// Package experiment runs plans of experiments on public data: algorithms of the
// catalogue and peers, on the same splits and encodings and with the same noise seeds.
// A plan is a YAML file (Plan); Run writes one line of CSV a run and skips those that
// are there; Merge joins the files of parts; Summarise gives means, standard errors and
// paired differences, and Draw the score against epsilon.
//
// Nothing here is private: data count as public and noise is seeded.
//
// # Seeds
//
// The split of repeat s is dataset.Split with seed s. The noise of a run is seeded by a
// hash of the plan's seed, the data set, n, epsilon, delta, s and the number of the draw.
// Neither the order of runs nor the method enters, so all methods of a cell share the
// seed. Plan.NoiseSeed "split" takes s itself (times the draws of a split).
//
// # Peers
//
// A peer is any program. It starts in the folder of the plan, once for many runs, reads
// one request a line from its standard input, and answers each with one line on its
// standard output:
//
//	{"train": "FILE.npz", "test": "FILE.npz", "epsilon": 1, "delta": 1e-05, "seed": 7, "options": {}}
//	{"weights": [...], "seconds": 0.1, "passes": 20, "version": "numpy 2.4.6"}
//
// train has X (n x d, rows of norm at most 1) and y (-1 or 1), test has X alone. The
// answer has weights (d numbers; the score of a record is their product with it) or
// scores (one for each test record); with task metric weights, the d(d+1)/2 coordinates of
// engine.Symmetric. seconds is the time of training alone, passes the
// number of times that it reads all records, version what ran; {"error": "..."} is a run
// that failed. A peer with columns: true gets the columns of the file, too, before they are scaled to norm 1: columns, for each the
// number of its categories or 0 for a number, and the names of two NPY files, train_columns and test_columns. A number is its place in its
// public range, from 0 to 1, a category its place in the schema. epsilon and delta are for replacing one record; those of a peer that is
// not private are 0. Weights must depend on the request alone. Standard error is shown
// if the peer dies. At the end of its input the peer exits.
package experiment
