package audit

import (
	"context"
	"errors"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Every run of a random stopping is replayed on the neighbour: runs that move by more than they were planned for, and a result that tells more
// than the best run, are found. The power is known before, and the audit of a right one shows more than half of its claim.
func TestRunsOfASelectionAreReplayed(t *testing.T) {
	c := must.Get(privacy.ScoreSum{Levels: 1, Name: "scores"}.Certify())(t)
	noise := privacy.Gaussian{Sigma: 1}
	x := privacy.Selection{Candidates: [][]account.Event{{noise.Event(c)}, {noise.Event(c)}}, Event: account.RandomStoppingEvent{Mu: 2 * (1 + 1e-12), Runs: 3}}
	plan := algorithms.Plan{Algorithm: "best", Mode: algorithms.Certified}
	g := privacy.Guarantee{Unit: "one record"}
	must.Do(t, plan.Promise(privacy.Budget{Epsilon: 50, Delta: 1e-2}, 10, algorithms.Provenance{}, g, algorithms.Releases{{Name: "best", Cost: x.Event}}))
	target := func(size, leak float64, told func(run float64) float64) Target {
		return OnPlan(&plan, "a score and its opposite", func(_ context.Context, neighbour bool, s privacy.Session) ([]float64, error) {
			sum := -size
			if neighbour {
				sum = size
			}
			all := 0.0
			best, released, err := s.Best(x, func(_ int, one privacy.Session) ([]float64, error) {
				w := []float64{sum}
				err := one.Release(w, c, noise)
				all += w[0]
				return []float64{-w[0], w[0] + leak*sum}, err
			})
			return append([]float64{float64(best), told(all + sum)}, released...), err
		})
	}
	nothing := func(float64) float64 { return 0 }
	right := target(1, 0, nothing)
	power, err := right.Power(t.Context(), Options{Seed: 1})
	if err != nil || math.Abs(power.Move-1) > 1e-9 || power.RunsForHalf < fewestRuns {
		t.Fatalf("%v, %v", power, err)
	}
	r, err := Run(t.Context(), right, Options{Runs: power.RunsForHalf, Seed: 1})
	if err != nil || !r.Holds() || !r.HalfRefuted {
		t.Errorf("with power at %d runs: %+v, %v", power.RunsForHalf, r, err)
	}
	must.Near(t, must.Get(target(1.25, 0, nothing).Move(t.Context()))(t), 1.25, 1e-9, "runs with 5/4 of the planned size")
	must.Fail(target(1, 0, func(all float64) float64 { return all }).Move(t.Context()))(t, errMoreTold, "a result of the exact sums")
	if _, err := target(1, 1, nothing).Move(t.Context()); !errors.As(err, new(attack.Violation)) {
		t.Errorf("runs that tell the exact sums: %v", err)
	}
}
