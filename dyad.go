// Package dyad trains pairwise models (AUC, ranking, metric learning, own losses) with
// differential privacy, from a file of records to a saved model:
//
//	data, err := dyad.Open("patients.csv", "patients.yaml")
//	plan, err := dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1}, nil) // public numbers only
//	fmt.Print(plan.Report().Text())                                     // what will be guaranteed
//	book, err := dyad.OpenLedger("ledger.jsonl")
//	model, err := dyad.Train(ctx, data, plan, dyad.Run{Ledger: book, Out: "model.json"})
//	scores, err := model.Score(records)
//
// Options hold everything that changes the mechanism, and with it the guarantee. A Device and
// a Run say how it is carried out: on which hardware, with how many workers, checkpoints and
// progress.
//
// The packages below do one thing each: algorithms (own arrays, algorithms and losses of your
// own), algorithms/pairs (labelled pairs), algorithms/local (users who trust nobody), engine
// (records and sums over pairs), privacy (noise and certificates), privacy/ledger.
//
// # Private and public data
//
// Data are private unless their schema or Run.Public declares them public. A run on private
// data needs a ledger and a data id; it is charged, durably, before a record is used, and the
// charge stays whatever happens. All runs on the same people belong to one data id in one
// ledger. Ranges in the schema must be public knowledge, and so must every option.
//
// # What a caller must not print
//
// The guarantee is about everything that anybody sees of a private run (privacy/doc.go). Open,
// Plan, Train and their errors keep to that. A program that uses them must neither show nor
// let anything that is seen depend on
//
//   - Data.Records, and what is computed from them: counts of classes, means, extremes, and the
//     numbers of rows where persons are the records;
//   - figures of Model.Evaluate, Score and Transform on private records;
//   - how long steps and trainings of private data take;
//   - checkpoints and models that are kept and not released: only Train and Recover open them.
//
// Whoever owns the records may look at all of this. Public are Data.Shape, the plan, the
// model, its report, the ids of runs, the ledger's charges, and errors of Open (which name a
// row and a rule, never a value).
package dyad

import (
	"fmt"

	"dyad/internal/input"
)

// ErrInput is what errors are about a file, schema, option or plan that cannot be used:
// nothing was charged or changed.
var ErrInput = input.Err

// prefixed gives an error of a package without a prefix this one's.
func prefixed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("dyad: %w", err)
}
