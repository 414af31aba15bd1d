package pairs_test

import (
	"context"
	"fmt"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

const victims = 3

// star is a training on the pairs of one individual with three others and on three more.
func star(unit pairs.Unit, kappa int) pairs.Spec {
	return pairs.Spec{
		Individuals: 9, Pairs: 2 * victims, Dim: 2, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 2,
		Unit: unit, Kappa: kappa, Batch: victims, Epochs: 1, Clip: 0.1, StepSize: 1e-9, Budget: privacy.Budget{Epsilon: 1},
	}
}

func laplace(s pairs.Spec) pairs.Spec { s.Noise = privacy.LaplaceNoise; return s }

func gauss(s pairs.Spec) pairs.Spec { s.Budget.Delta = 1e-3; return s }

func shrink(s pairs.Spec) pairs.Spec { s.Shrink, s.Clip, s.Rows = true, 1e9, 1; return s }

// attacked audits p with so many changed pairs, or kappa.
func attacked(t *testing.T, p *pairs.Plan, changed, runs int) *audit.Report {
	t.Helper()
	target := must.Get(audit.WorstPairs(context.Background(), p, changed))(t)
	return run(t, target, runs)
}

func run(t *testing.T, target audit.Target, runs int) *audit.Report {
	t.Helper()
	if testing.Short() {
		runs /= 5
	} else {
		runs = sizes.Of(runs/4, runs)
	}
	r := must.Get(audit.Run(context.Background(), target, audit.Options{Runs: runs, Seed: 1}))(t)
	tight := ""
	if r.Tightness != nil {
		share, se := r.Tightness.Share()
		tight = fmt.Sprintf(", %s %.3f +- %.3f of the claim", r.Tightness.Quantity, share, se)
	}
	t.Logf("%s: %s; moves %.4f; epsilon >= %.3f of %.3f%s", r.Variant, r.Instance, r.Move, r.LowerBound, r.Epsilon, tight)
	return r
}

// holds checks that an audit did not refute the claim, and would have refuted half of it (a third, with a quarter of the runs).
func holds(t *testing.T, r *audit.Report) {
	t.Helper()
	if !r.Holds() {
		t.Errorf("refuted: %+v, moves %v, %d off the grid, %d repeated", r.Bounds, r.Move, r.OffGrid, r.Repeated)
	}
	if testing.Short() {
		return
	}
	if !r.HalfRefuted && (sizes.Full() || r.LowerBound < r.Epsilon/3) {
		t.Errorf("no power: %+v", r.Bounds)
	}
	if r.Tightness != nil {
		if share, se := r.Tightness.Share(); share < 0.9-3*se || share > 1+4*se {
			t.Errorf("%.3f +- %.3f of what the claim allows, want at least 0.9 and at most 1", share, se)
		}
	}
}

// No bound exceeds the claim for any variant, and the data sets are as bad as it allows.
func TestAuditOfEveryVariant(t *testing.T) {
	sizes.NotShort(t, "slow")
	several := func(s pairs.Spec) pairs.Spec { s.Epochs, s.Pairs, s.Individuals = 3, 12, 12; return s }
	steep := star(pairs.Individual, 3)
	steep.Loss, steep.Rows = embedding.BradleyTerry{}, 1
	for name, s := range map[string]pairs.Spec{
		"Laplace, individual":        laplace(star(pairs.Individual, 3)),
		"K-norm, individual":         star(pairs.Individual, 3),
		"Gauss, individual":          gauss(star(pairs.Individual, 3)),
		"Laplace, pair":              laplace(star(pairs.OnePair, 1)),
		"Laplace, group":             laplace(star(pairs.Group, 2)),
		"Gauss, three epochs":        gauss(several(star(pairs.Individual, 3))),
		"K-norm, three epochs":       several(star(pairs.Group, 3)),
		"preferences":                gauss(steep),
		"shrinking clip, group":      laplace(shrink(star(pairs.Group, 3))),
		"shrinking clip, individual": gauss(shrink(star(pairs.Individual, 3))),
	} {
		t.Run(name, func(t *testing.T) {
			r := attacked(t, planOf(t, s), 0, 6_000)
			must.AtLeast(t, r.Move, 0.99, "the exact vectors move %v of the certificate, want almost all of it", r.Move)
			holds(t, r)
		})
	}
}

// The printed algorithm clips row by row: what its noise really gives is reported and
// holds, and what the paper claims for it is refuted.
func TestThePrintedClaimIsRefuted(t *testing.T) {
	s := laplace(star(pairs.Group, 1))
	s.Mode, s.Budget.Epsilon = algorithms.Paper, 3
	r := attacked(t, planOf(t, s), 0, 6_000)
	if r.PaperEpsilon != 3 || r.LowerBound <= r.PaperEpsilon || !r.Holds() {
		t.Errorf("epsilon is at least %v, the paper claims %v, the report %v", r.LowerBound, r.PaperEpsilon, r.Epsilon)
	}
}

// Seeded defects are refuted, by the certificate and by the runs: noise for fewer pairs
// than change together.
func TestSeededDefectsOfPairsAreCaught(t *testing.T) {
	short := func(s pairs.Spec, kappa int) *pairs.Plan {
		s.Unit, s.Kappa = pairs.Group, kappa
		return planOf(t, s)
	}
	poisson := poissonStar(1)
	for name, c := range map[string]struct {
		plan    *pairs.Plan
		changed int
	}{
		"half the sensitivity":           {short(laplace(star(pairs.Group, 2)), 1), 2},
		"half the sensitivity, Gauss":    {short(gauss(star(pairs.Group, 2)), 1), 2},
		"kappa less by one":              {short(star(pairs.Group, 3), 2), 3},
		"shrinking for two":              {short(laplace(shrink(star(pairs.Group, 3))), 2), 3},
		"an uncapped degree":             {short(gauss(star(pairs.Individual, 1)), 1), 3},
		"kappa dropped to 1, by Poisson": {poisson, 8},
	} {
		t.Run(name, func(t *testing.T) {
			r := attacked(t, c.plan, c.changed, 8_000)
			if r.Holds() || !r.Exceeds() || !testing.Short() && !r.Refuted() {
				t.Errorf("not caught: moves %v of the certificate, %+v for epsilon %v", r.Move, r.Bounds, r.Epsilon)
			}
		})
	}
	half := planOf(t, gauss(star(pairs.Individual, 3)))
	noise := half.Noise().(privacy.Gaussian)
	noise.Sigma /= 2
	half.Releases[0].Noise = noise
	if r := attacked(t, half, 0, 8_000); r.Holds() || !testing.Short() && !r.Refuted() {
		t.Errorf("half the noise: %+v for epsilon %v", r.Bounds, r.Epsilon)
	}
	// Individuals above the cap are refused where the unit is one of them.
	must.Err(audit.WorstPairs(context.Background(), planOf(t, star(pairs.Individual, 1)), 3))(t, "an individual above the degree cap was accepted")
}

// poissonStar is a training by Poisson batches, half of the pairs each, whose noise is for
// so many pairs of one owner.
func poissonStar(kappa int) *pairs.Plan {
	p, err := pairs.Spec{
		Individuals: 9, Pairs: 8, Dim: 1, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 1,
		Unit: pairs.Group, Kappa: kappa, Batch: 4, Epochs: 1, StepSize: 1e-9, Clip: 0.1, Sampling: pairs.Poisson, Budget: privacy.Budget{Epsilon: 1.5, Delta: 1e-2},
	}.Plan()
	if err != nil {
		panic(err) // the numbers are those above
	}
	return p
}

// On Poisson batches the likelihood ratio over the secret coins comes near the claim and
// stays below it.
func TestPoissonAudit(t *testing.T) {
	holds(t, attacked(t, poissonStar(8), 0, 20_000))
}

// Features and labels with noise: the claim holds, and a plan that spends twice as much is
// caught.
func TestAuditOfPerturbedInputs(t *testing.T) {
	spec := func(m pairs.Method, epsilon float64, kappa int, byClass bool) pairs.Spec {
		s := pairs.Spec{
			Individuals: kappa + 1, Pairs: kappa, Dim: 2, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Method: m, ByClass: byClass,
			Kappa: kappa, Budget: privacy.Budget{Epsilon: epsilon},
		}
		if m == pairs.Labels {
			s.Unit = pairs.Group
		}
		return s
	}
	for name, c := range map[string]struct {
		method  pairs.Method
		kappa   int
		byClass bool
	}{
		"input, classes": {pairs.Input, 1, true}, "input, labels": {pairs.Input, 3, false}, "labels": {pairs.Labels, 1, false}, "labels of a group": {pairs.Labels, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := attacked(t, planOf(t, spec(c.method, 1, c.kappa, c.byClass)), 0, 20_000)
			if !r.Holds() || !testing.Short() && r.LowerBound < sizes.Of(0.2, 0.3) {
				t.Errorf("epsilon at least %v of 1", r.LowerBound)
			}
			target := must.Get(audit.WorstPairs(context.Background(), planOf(t, spec(c.method, 3, c.kappa, c.byClass)), 0))(t)
			target.Program.Guarantee.Epsilon = 1
			if r := run(t, target, 20_000); r.Holds() {
				t.Errorf("spending 3 passes for 1: %+v", r.Bounds)
			}
		})
	}
}
