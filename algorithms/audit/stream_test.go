package audit_test

import (
	"context"
	"fmt"
	"math"
	"slices"
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

// streamPlan is a certified plan for n records of 2 features.
func streamPlan(t testing.TB, a algorithms.Stream, loss engine.Loss, n int, radius float64, b privacy.Budget, o algorithms.StreamOptions) *algorithms.Plan {
	t.Helper()
	l2 := 0.0
	if a.Info().NeedsL2 {
		l2 = 0.1
	}
	o.Horizon = n
	s := must.Get(algorithms.NewStreamSpec(cpu.Backend{Workers: 1}, engine.Problem{D: 2, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}, o, l2, b, algorithms.Certified))(t)
	return must.Get(a.Plan(s))(t)
}

func streamTarget(p *algorithms.Plan, k int) audit.Target {
	data, neighbour := attack.WorstCase(p.Spec.Horizon, p.Spec.Kernel.Problem().D, k, engine.UnitBounds())
	return audit.Target{Stream: p, Data: data, Neighbour: neighbour, Instance: fmt.Sprintf("structured, record %d", k)}
}

// On the loss that attains the certificates, gap/sd of the projection is the claimed mu,
// for both readings, with and without knowledge of the coins: at most 3 standard errors
// above, and 10 % below (docs/theory.md#audit-worst-cases).
//
// With a secret state the iterates must stay inside the ball, or a projection takes part
// of the move: the radius is large for the strongly convex rule, whose steps do not grow
// with it; for the convex rule they do, and the stream is long enough for small ones.
func TestStreamAuditIsTight(t *testing.T) {
	for _, c := range []struct {
		a      algorithms.Stream
		n      int
		radius float64
	}{
		{algorithms.OnPairC{}, 12, 1}, {algorithms.OnPairStrC{}, 12, 1},
		{algorithms.OnPairC{Reading: algorithms.SecretState}, 48, 1}, {algorithms.OnPairStrC{Reading: algorithms.SecretState}, 12, 1000},
	} {
		p := streamPlan(t, c.a, audit.Linear{}, c.n, c.radius, privacy.Budget{Epsilon: 4, Delta: 1e-5}, algorithms.StreamOptions{})
		target := must.Get(audit.WorstStream(context.Background(), p, 3))(t)
		for _, access := range []audit.Access{audit.BlackBox, audit.WhiteBox} {
			o := audit.Options{Runs: sizes.Of(400, 1500), Seed: 5, Access: access}
			if testing.Short() || c.n > 12 {
				o.Runs = 200
			}
			r := mustRun(t, target, o)
			t.Logf("%s, %s, %s, %s: moved %.5f of the certificate, gap/sd %.4f +- %.4f, claimed mu %.4f", r.Algorithm, r.Mode, access, r.Instance, r.Move, r.Shift.Mu, r.Shift.StandardError, r.Mu)
			must.Within(t, r.Move, 0.9, 1, "%s, %s: the exact vectors move ... of the certificate", r.Algorithm, r.Mode)
			if slack := 3 * r.Shift.StandardError; r.Shift.Mu < 0.9*r.Mu-slack || r.Shift.Mu > r.Mu+slack {
				t.Errorf("%s, %s, %s: gap/sd %.4f, want in [%.4f, %.4f]", r.Algorithm, r.Mode, access, r.Shift.Mu, 0.9*r.Mu-slack, r.Mu+slack)
			}
			if !r.Holds() {
				t.Errorf("%s, %s: refuted: %+v", r.Algorithm, r.Mode, r.Bounds)
			}
		}
	}
}

// With noise fed back the exact mu of record k is sqrt(S_k)/z (docs/theory.md#audit-worst-cases), in units
// of the certificate sqrt(S_k / max S).
func TestStreamMoveOfEveryRecord(t *testing.T) {
	const n = 16
	p := streamPlan(t, algorithms.OnPairC{}, audit.Linear{}, n, 1, approximate, algorithms.StreamOptions{})
	sum := func(k int) (s float64) { // records from 1, T1 = 1
		if k > 1 {
			s = 1
		}
		for j := max(k, 1) + 1; j <= n; j++ {
			s += 1 / float64((j-1)*(j-1))
		}
		return s
	}
	largest := 0.0
	for k := 1; k <= n; k++ {
		largest = max(largest, sum(k))
	}
	dg := p.Spec.Constants.PairDiameter
	if c := p.Certificate().Sensitivity(); math.Abs(c-dg*math.Sqrt(largest)) > 1e-9*c {
		t.Errorf("certificate %v, want Dg sqrt(S) = %v", c, dg*math.Sqrt(largest))
	}
	for k := 1; k <= n; k++ {
		moved, err := streamTarget(p, k-1).Move(context.Background())
		if want := math.Sqrt(sum(k) / largest); err != nil || math.Abs(moved-want) > 1e-9 {
			t.Errorf("record %d moves %v of the certificate, want %v (%v)", k, moved, want, err)
		}
	}
}

// Seeded privacy bugs of a stream are refuted, with batches, a buffer and a reservoir
// too, and the right noise is not.
func TestUnderNoisedStreamIsCaught(t *testing.T) {
	for name, c := range map[string]struct {
		a algorithms.Stream
		o algorithms.StreamOptions
	}{
		"noise fed back": {algorithms.OnPairC{}, algorithms.StreamOptions{}},
		"secret state":   {algorithms.OnPairC{Reading: algorithms.SecretState}, algorithms.StreamOptions{}},
		"batches":        {algorithms.OnPairC{}, algorithms.StreamOptions{Batch: 4, Buffer: 6}},
		"reservoir":      {algorithms.OnPairStrC{}, algorithms.StreamOptions{Batch: 2, Buffer: 4, Reservoir: true}},
	} {
		if testing.Short() && name != "batches" {
			continue // the workers of an audit are the same for all
		}
		p := streamPlan(t, c.a, audit.Linear{}, 12, 1, approximate, c.o)
		sound := must.Get(audit.WorstStream(context.Background(), p, 1))(t)
		bug := *p
		noise := p.Noise().(privacy.Gaussian)
		bug.Releases = slices.Clone(p.Releases)
		bug.Releases[0].Noise = privacy.Gaussian{Sigma: noise.Sigma / 4, Grid: noise.Grid / 4}
		broken := sound
		broken.Stream = &bug
		caught, refuted := 0, 0
		seeds := sizes.Of(1, 2)
		for seed := range uint64(seeds) {
			if r := mustRun(t, broken, audit.Options{Runs: 1000, Seed: seed}); !r.Holds() && r.LowerBound > 1 {
				caught++
			}
			if r := mustRun(t, sound, audit.Options{Runs: 400, Seed: seed}); !r.Holds() {
				refuted++
			}
		}
		if caught < seeds || refuted > 0 {
			t.Errorf("%s: noise/4 was caught with %d of %d seeds, the right noise was refuted with %d", name, caught, seeds, refuted)
		}
	}
}

func TestStreamAuditRefusals(t *testing.T) {
	p := streamPlan(t, algorithms.OnPairC{}, engine.Logistic{}, 16, 1, approximate, algorithms.StreamOptions{})
	target := streamTarget(p, 3)
	target.Data = attack.RandomRecords(15, 2, engine.UnitBounds(), 1)
	must.Err(audit.Run(context.Background(), target, audit.Options{}))(t, "a stream of another length was accepted")
	must.Err(audit.Run(context.Background(), audit.Target{Data: target.Data, Neighbour: target.Data}, audit.Options{}))(t, "a target without a plan was accepted")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must.Fail(audit.Run(ctx, streamTarget(p, 3), audit.Options{}))(t, context.Canceled, "cancelled")
}

// The metric losses: the right noise holds, a quarter of it is caught. The linear one
// attains the certificate of a gradient. In an iterate a projection takes part of the
// move, since descents start on the boundary of the set.
func TestMetricAudit(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, c := range []struct {
		a     algorithms.Algorithm
		loss  engine.Loss
		least float64 // of the certificate that the instance found moves
	}{
		{descent, audit.LinearMetric{}, 0.65},
		{descent, engine.MahalanobisLogistic{}, 0.5},
		{algorithms.GradientPerturbation{Steps: 4}, audit.LinearMetric{}, 0.99},
	} {
		p := plan(t, c.a, c.loss, 20, 2, approximate)
		target := must.Get(audit.Worst(context.Background(), c.a, p, 1))(t)
		r := mustRun(t, target, audit.Options{Runs: 1500, Seed: 2})
		t.Logf("%s, %s, %s: moved %.4f, gap/sd %.4f +- %.4f, claimed mu %.4f", r.Algorithm, r.Loss, r.Instance, r.Move, r.Shift.Mu, r.Shift.StandardError, r.Mu)
		if !r.Holds() || r.Move > 1 || r.Move < c.least || r.Shift.Mu > r.Mu+3*r.Shift.StandardError {
			t.Errorf("%s, %s: moved %.4f, gap/sd %.4f for mu %.4f, holds %v", r.Algorithm, r.Loss, r.Move, r.Shift.Mu, r.Mu, r.Holds())
		}
		if _, one := c.a.(algorithms.DPGDSC); !one {
			continue
		}
		bug := plan(t, quarter{c.a}, c.loss, 20, 2, approximate)
		target.Plan = bug
		if r := mustRun(t, target, audit.Options{Runs: 3000, Seed: 2}); r.Holds() {
			t.Errorf("%s: noise/4 holds: %+v", r.Loss, r.Bounds)
		}
	}
}
