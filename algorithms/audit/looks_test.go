package audit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// A schedule ends with all runs, begins with few, and spends alpha and no more.
func TestLooksSpendAlpha(t *testing.T) {
	for _, runs := range []int{20, 39, 40, 1000, 40_000, 1_000_000} {
		for _, timed := range []bool{false, true} {
			all := looks(runs, 0.01, timed)
			sum, before := 0.0, 0
			for _, l := range all {
				if sum += l.alpha; l.runs <= before || !(l.alpha > 0) {
					t.Errorf("%d runs: %+v", runs, all)
				}
				before = l.runs
			}
			if before != runs || all[0].runs < fewestRuns || all[0].runs >= 2*fewestRuns || math.Abs(sum-0.01) > 1e-15 {
				t.Errorf("%d runs, timed %t: %+v spend %v", runs, timed, all, sum)
			}
			if last := all[len(all)-1].alpha; !timed && last < 0.0089 {
				t.Errorf("%d runs: the last look has %v", runs, last)
			}
		}
	}
}

// Whoever looks at every bound, and takes the largest, is wrong with probability at most
// alpha; with all of alpha at every look it is more often.
func TestLargestOfAllLooksHolds(t *testing.T) {
	sizes.NotShort(t, "slow")
	rng := rand.New(rand.NewPCG(3, 4))
	const runs, alpha, epsilon = 400, 0.05, 1.0
	samples := sizes.Of(500, 2000)
	missed, control := 0, 0
	for range samples {
		var trials [2][]keptTrial
		for side := range trials {
			for range runs {
				trials[side] = append(trials[side], keptTrial{Gap: epsilon, Noise: rng.ExpFloat64(), Coordinates: 1})
			}
		}
		largest, unspent := 0.0, 0.0
		for _, l := range looks(runs, alpha, true) {
			part := [2][]keptTrial{trials[0][:l.runs], trials[1][:l.runs]}
			_, _, lower := scaleModel(part, l.alpha)
			largest = max(largest, lower)
			_, _, lower = scaleModel(part, alpha)
			unspent = max(unspent, lower)
		}
		if largest > epsilon {
			missed++
		}
		if unspent > epsilon {
			control++
		}
	}
	expected := alpha * float64(samples)
	if limit := int(expected + 4*math.Sqrt(expected*(1-alpha))); missed > limit {
		t.Errorf("missed %d of %d times, want at most %d", missed, samples, limit)
	} else if missed < samples/200 {
		t.Errorf("missed %d of %d times: the bounds are too loose to mean anything", missed, samples)
	}
	if control < int(2*expected) {
		t.Errorf("without a schedule %d of %d are missed: the check is blind", control, samples)
	}
}

func attacked(t *testing.T, b privacy.Budget, loss engine.Loss, a algorithms.Algorithm, d int) Target {
	t.Helper()
	spec := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 20, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1}, 0, b, algorithms.Certified))(t)
	p := must.Get(a.Plan(spec))(t)
	data, neighbour := attack.WorstCase(20, d, 3, engine.UnitBounds())
	return Target{Algorithm: a, Plan: p, Data: data, Neighbour: neighbour, Instance: "structured"}
}

// An audit that the clock or the caller ends comes back with the bounds so far, soon, and
// the same ones whenever that is.
func TestStoppedAuditsKeepTheirBounds(t *testing.T) {
	target := attacked(t, privacy.Budget{Epsilon: 4, Delta: 1e-5}, Linear{}, algorithms.DPGDC{Steps: 2, StepSize: 0.01}, 2)
	start := time.Now()
	timed, err := Run(context.Background(), target, Options{Time: 300 * time.Millisecond, Seed: 1})
	if took := time.Since(start); err != nil || timed.Stopped != "time" || timed.Runs < fewestRuns || timed.Runs >= timed.Planned || !timed.Holds() || took > 10*time.Second {
		t.Fatalf("after %v: %v, %+v", took, err, timed)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	looked, stopped := 0, time.Time{}
	cut, err := Run(ctx, target, Options{Runs: timed.Planned, Seed: 1, Look: func(r *Report) {
		if looked++; r.Runs*2 > 1000 && stopped.IsZero() {
			stopped = time.Now()
			cancel()
		}
	}})
	if took := time.Since(stopped); !errors.Is(err, context.Canceled) || cut == nil || cut.Stopped != "interrupt" || cut.Runs < 500 || looked < 3 || took > time.Second {
		t.Fatalf("%v after the interrupt, %d looks: %v, %+v", took, looked, err, cut)
	}
	// The bounds of a look do not depend on what ends the audit.
	again, err := Run(context.Background(), target, Options{Time: time.Hour, Runs: cut.Runs, Seed: 1})
	if err != nil || again.Stopped != "" || again.Runs != cut.Runs {
		t.Fatalf("%v, %+v", err, again)
	}
	if *again.Shift == (Shift{}) || again.Shift.Mu != cut.Shift.Mu || len(again.Bounds) != len(cut.Bounds) {
		t.Errorf("%+v, stopped %+v", again.Shift, cut.Shift)
	}
	if r, err := Run(context.Background(), target, Options{Time: time.Nanosecond}); err != nil || r.Runs != 0 || r.LowerBound != 0 || r.HalfRefuted {
		t.Errorf("no time at all: %v, %+v", err, r)
	}
	must.Err(Run(context.Background(), target, Options{Time: -time.Second}))(t, "a negative time was accepted")
}

// Noise of pure epsilon in any dimension: the audit comes to 0.9 of the claim, and half of
// the noise is refuted.
func TestPureNoiseIsAuditedTightly(t *testing.T) {
	for _, d := range sizes.Of([]int{1, 8}, []int{1, 2, 8}) {
		target := attacked(t, privacy.Budget{Epsilon: 1}, Linear{}, algorithms.DPGDC{Steps: 2, StepSize: 0.01}, d)
		r := must.Get(Run(context.Background(), target, Options{Runs: 4000, Seed: 2}))(t)
		share, standardError := r.Tightness.Share()
		t.Logf("d = %d: %.4f +- %.4f of the claim, epsilon >= %.3f", d, share, standardError, r.LowerBound)
		if !r.Holds() || !r.HalfRefuted || r.LowerBound < 0.9 || math.Abs(share-1) > 4*standardError+0.01 {
			t.Errorf("d = %d: %+v, tightness %+v", d, r.Bounds, r.Tightness)
		}
		bug := *target.Plan
		noise := bug.Noise().(privacy.KNorm)
		noise.Scale /= 2
		bug.Releases = slices.Clone(bug.Releases)
		bug.Releases[0].Noise = noise
		target.Plan = &bug
		if r, err := Run(context.Background(), target, Options{Runs: 1000, Seed: 2}); err != nil || !r.Refuted() {
			t.Errorf("d = %d, half the noise: %v, %+v", d, err, r.Bounds)
		}
	}
}

// Secret batches: the likelihood ratio over the batches is a better score than the
// direction of the difference, and the claim holds against it.
func TestSecretBatchesAreScoredByTheirMixture(t *testing.T) {
	sizes.NotShort(t, "slow")
	target := attacked(t, privacy.Budget{Epsilon: 8, Delta: 1e-2}, Linear{}, algorithms.SubsampledDescent{Steps: 6, StepSize: 1e-9, BatchRecords: 4}, 2)
	direction := must.Get(target.directionScore(context.Background(), 2))(t)
	mixture, ok, err := target.mixtureScore(context.Background(), 2)
	if err != nil || !ok {
		t.Fatalf("%v, %t", err, ok)
	}
	c := campaign{t: target, access: BlackBox, seed: 2, scores: []score{direction, mixture}}
	must.Do(t, c.extend(context.Background(), 1500, func(int) {}))
	var best [2]float64
	for i := range best {
		of := func(t keptTrial) float64 { return t.Scores[i] }
		best[i] = BestGuess(scoresOf(c.trials[0], of), scoresOf(c.trials[1], of), 1500, 1e-2, 1e-3).promise
	}
	t.Logf("the direction promises %.3f, the mixture %.3f of %.3f", best[0], best[1], target.claim().Guarantee.Epsilon)
	if !(best[1] > best[0]+0.1) {
		t.Errorf("the direction promises %v, the mixture %v", best[0], best[1])
	}
	r, err := Run(context.Background(), target, Options{Runs: 400, Seed: 2})
	if err != nil || !r.Holds() || r.HalfRefuted || r.RunsForHalf != 0 || r.Access != BlackBox.String() {
		t.Errorf("400 runs: %v, %+v", err, r)
	}
}
