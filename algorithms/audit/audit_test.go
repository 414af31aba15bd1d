package audit_test

import (
	"context"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// plan is a certified plan for n records of d features.
// The radius is small for losses whose certificate is then nearly attained.
func plan(t testing.TB, a algorithms.Algorithm, loss engine.Loss, n, d int, b privacy.Budget) *algorithms.Plan {
	t.Helper()
	l2, radius := 0.0, 0.1
	if a.Info().NeedsL2 {
		l2 = 0.001
	}
	if loss == (audit.Linear{}) {
		radius = 1
	}
	s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}, l2, b, algorithms.Certified))(t)
	return must.Get(a.Plan(s))(t)
}

// structured is the worst-case instance for plan p of a.
func structured(p *algorithms.Plan, a algorithms.Algorithm) audit.Target {
	problem := p.Spec.Kernel.Problem()
	data, neighbour := attack.WorstCase(problem.N, problem.D, problem.N/2, problem.Bounds)
	return audit.Target{Algorithm: a, Plan: p, Data: data, Neighbour: neighbour, Instance: "structured"}
}

var (
	approximate = privacy.Budget{Epsilon: 1, Delta: 1e-5}
	pure        = privacy.Budget{Epsilon: 1}
	descent     = algorithms.DPGDSC{Steps: 4, StepSize: 0.05}
)

// mustRun audits by the runs of o; those of a statistical test, 1500 or more, are a quarter unless at full power.
func mustRun(t testing.TB, target audit.Target, o audit.Options) *audit.Report {
	t.Helper()
	if o.Runs >= 1500 {
		o.Runs = sizes.Of(o.Runs/4, o.Runs)
	}
	return must.Get(audit.Run(context.Background(), target, o))(t)
}

// seeds is the number of seeds of the statistical tests.
func seeds(full int) int {
	if testing.Short() {
		return max(3, full/10)
	}
	return max(3, sizes.Trials(full))
}

// moreThan is P(X > k) for X ~ Bin(n, p), summed.
func moreThan(k, n int, p float64) float64 {
	sum, term := 0.0, math.Pow(1-p, float64(n))
	for i := 0; i <= n; i++ {
		if i > k {
			sum += term
		}
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return sum
}

// A correct build never exceeds its claim, on the loss that attains the certificate.
// The 99.9 % bounds may exceed it with probability 0.001 per seed; more than 5 of 100
// have a probability below 1e-9. With these seeds none does, and none may at
// confidence 1 - 1e-11.
func TestCorrectBuildKeepsItsClaim(t *testing.T) {
	if p := moreThan(5, 100, 0.001); p > 1.2e-9 {
		t.Fatalf("false-alarm rate %g", p)
	}
	for name, b := range map[string]privacy.Budget{"gaussian": approximate, "pure": pure} {
		t.Run(name, func(t *testing.T) {
			target := structured(plan(t, descent, audit.Linear{}, 30, 2, b), descent)
			exceeded, largest := 0, 0.0
			count := seeds(100)
			for seed := range uint64(count) {
				r := mustRun(t, target, audit.Options{Runs: 1000, Seed: seed})
				largest = max(largest, r.LowerBound)
				if !r.Holds() {
					exceeded++
				}
			}
			t.Logf("%d of %d seeds exceed the claim, largest bound %.3f", exceeded, count, largest)
			if exceeded > 5 {
				t.Errorf("%d of %d seeds exceed the claim", exceeded, count)
			}
			r := mustRun(t, target, audit.Options{Runs: 1000, Seed: 1, Confidence: 1 - 1e-11})
			if !r.Holds() {
				t.Errorf("refuted at confidence 1 - 1e-11: %+v", r)
			}
		})
	}
}

// quarter has a quarter of the noise that its claim needs, properly planned and
// charged, but claims as before.
type quarter struct{ algorithms.Algorithm }

func (q quarter) Plan(s algorithms.Spec) (*algorithms.Plan, error) {
	p, err := q.Algorithm.Plan(s)
	if err != nil {
		return nil, err
	}
	switch m := p.Noise().(type) {
	case privacy.Gaussian:
		m.Sigma /= 4
		m.Grid /= 4
		p.Releases[0].Noise = m
	case privacy.KNorm:
		m.Scale /= 4
		m.Grid /= 4
		p.Releases[0].Noise = m
	}
	return p, nil
}

// halved computes its certificate from half the pair diameter.
type halved struct{ algorithms.Algorithm }

func (h halved) Plan(s algorithms.Spec) (*algorithms.Plan, error) {
	s.Constants.PairDiameter /= 2
	return h.Algorithm.Plan(s)
}

// The power of an audit: seeded privacy bugs are refuted at 99.9 % for at least 9 of
// 10 seeds.
func TestUnderNoisedBuildIsCaught(t *testing.T) {
	for _, c := range []struct {
		name   string
		a      algorithms.Algorithm
		loss   engine.Loss
		d      int
		budget privacy.Budget
		o      audit.Options
	}{
		{"noise/4", quarter{descent}, audit.Linear{}, 2, approximate, audit.Options{Runs: 2000}},
		{"noise/4, logistic", quarter{descent}, engine.Logistic{}, 2, approximate, audit.Options{Runs: 2000}},
		{"noise/4, one pass", quarter{algorithms.OffPairC{TotalStep: 0.1}}, audit.Linear{}, 2, approximate, audit.Options{Runs: 2000}},
		{"noise/4, black box", quarter{descent}, audit.Linear{}, 2, approximate, audit.Options{Runs: 8000, Access: audit.BlackBox}},
		{"noise/4, pure", quarter{descent}, audit.Linear{}, 2, pure, audit.Options{Runs: 2000}},
		{"sensitivity halved", halved{descent}, audit.Linear{}, 2, approximate, audit.Options{Runs: 4000}},
		{"sensitivity halved, pure", halved{descent}, audit.Linear{}, 1, pure, audit.Options{Runs: 4000}},
	} {
		if testing.Short() && c.name != "noise/4" {
			continue // the workers of an audit are the same for all
		}
		t.Run(c.name, func(t *testing.T) {
			target := structured(plan(t, c.a, c.loss, 30, c.d, c.budget), c.a)
			count := seeds(10)
			caught, smallest := 0, math.Inf(1)
			var last *audit.Report
			for seed := range uint64(count) {
				o := c.o
				o.Seed = seed
				last = mustRun(t, target, o)
				smallest = min(smallest, last.LowerBound)
				if last.LowerBound > 1 && !last.Holds() {
					caught++
				}
			}
			t.Logf("caught with %d of %d seeds, smallest bound %.3f; %+v", caught, count, smallest, last.Bounds)
			if 10*caught < 9*count {
				t.Errorf("caught with %d of %d seeds only, smallest bound %.3f", caught, count, smallest)
			}
		})
	}
}

// gap/sd equals the claimed mu on the loss that attains the certificate, within 3
// standard errors above and 10 % below (docs/theory.md#audit-worst-cases).
func TestAuditIsTight(t *testing.T) {
	for _, a := range []algorithms.Algorithm{descent, algorithms.OffPairC{TotalStep: 0.1}} {
		p := plan(t, a, audit.Linear{}, 30, 2, approximate)
		target := structured(p, a)
		r := mustRun(t, target, audit.Options{Runs: 8000, Seed: 3})
		t.Logf("%s: moved %.5f of the certificate, gap/sd %.4f +- %.4f, claimed mu %.4f, bounds %+v", r.Algorithm, r.Move, r.Shift.Mu, r.Shift.StandardError, r.Mu, r.Bounds)
		must.Within(t, r.Move, 0.95, 1, "%s: the exact vectors move ... of the certificate", r.Algorithm)
		if slack := 3 * r.Shift.StandardError; r.Shift.Mu < 0.9*r.Mu-slack || r.Shift.Mu > r.Mu+slack {
			t.Errorf("%s: gap/sd %.4f, want in [%.4f, %.4f]", r.Algorithm, r.Shift.Mu, 0.9*r.Mu-slack, r.Mu+slack)
		}
	}
}

func TestAuditRefusesWhatClaimsNothing(t *testing.T) {
	s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 20, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}, 0, privacy.Budget{}, algorithms.NonPrivate))(t)
	a := algorithms.ProjectedGradient{Steps: 2}
	p := must.Get(a.Plan(s))(t)
	must.Fail(audit.Run(context.Background(), structured(p, a), audit.Options{}))(t, "claims no privacy", "a non-private plan")
	target := structured(plan(t, descent, engine.Logistic{}, 20, 2, approximate), descent)
	for _, o := range []audit.Options{{Runs: 3}, {Confidence: 1}, {Confidence: 0.2}, {Access: 7}} {
		must.Err(audit.Run(context.Background(), target, o))(t, "%+v was accepted", o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, access := range []audit.Access{audit.WhiteBox, audit.BlackBox} {
		must.Fail(audit.Run(ctx, target, audit.Options{Access: access}))(t, context.Canceled, "cancelled")
	}
}

// Of DPEGD's epochs one reads the replaced record; each release is measured by its own
// certificate, so no move exceeds 1, and on the loss that attains them it is nearly 1.
func TestMoveOfEpochs(t *testing.T) {
	for _, b := range []privacy.Budget{approximate, pure} {
		a := algorithms.DPEGD{Steps: 4}
		p := plan(t, a, audit.Linear{}, 40, 2, b)
		if len(p.Releases) < 3 {
			t.Fatalf("%d epochs", len(p.Releases))
		}
		target := must.Get(audit.Worst(context.Background(), a, p, 1))(t)
		must.Within(t, must.Get(target.Move(context.Background()))(t), 0.95, 1, "delta %g: moved ... of the certificates", b.Delta)
	}
}
