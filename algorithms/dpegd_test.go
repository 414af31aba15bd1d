package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// docs/theory.md#dpegd: Delta_i = Dg eta_i (T_i+1)/|D_i| from the actual sizes; the cost is
// that of the costliest epoch, not the sum; the paper's noise keeps its claim.
func TestDPEGDNoise(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	a := algorithms.DPEGD{StepSize: 0.4}
	for _, n := range []int{40, 100, 128, 350, 512} {
		p := must.Get(a.Plan(newSpec(t, n, 8, 1, 0, b, algorithms.Certified)))(t)
		for i, e := range p.Schedule.Epochs {
			row := p.Releases[i]
			size, eta := float64(e.Records), 0.4*math.Pow(4, -float64(i+1))
			want := p.Spec.Constants.PairDiameter * eta * (size + 1) / size
			if got := row.Certificate.ExactSensitivity(); got < want || got > want*(1+1e-9) || e.Steps != e.Records {
				t.Errorf("n=%d epoch %d of %d records: sensitivity %.12g, want %.12g", n, i+1, e.Records, got, want)
			}
			if got := row.Noise.(privacy.Gaussian).Sigma; math.Abs(got-want/0.268051) > 1e-5*got {
				t.Errorf("n=%d epoch %d: sigma %.8g, want %.8g", n, i+1, got, want/0.268051)
			}
		}
		if g := p.Guarantee; g.Epsilon > 1 || g.Epsilon < 1-1e-9 || math.Abs(g.Mu-0.268051) > 1e-6 {
			t.Errorf("n=%d: guarantee %v", n, g)
		}
		paper := must.Get(a.Plan(newSpec(t, n, 8, 1, 0, b, algorithms.Paper)))(t)
		want := 4 * math.Sqrt(2*math.Log(1.25e5)) * p.Spec.Constants.Lipschitz * 0.1
		if got := paper.Releases[0].Noise.(privacy.Gaussian).Sigma; math.Abs(got-want) > 1e-9*want || !paper.Guarantee.Claim.Holds {
			t.Errorf("n=%d: paper sigma %.8g, want %.8g; claim %+v", n, got, want, paper.Guarantee.Claim)
		}
	}
	capped, err := algorithms.DPEGD{StepSize: 0.4, Steps: 10}.Plan(newSpec(t, 128, 8, 1, 0, b, algorithms.Certified))
	if err != nil || capped.Schedule.Epochs[0].Steps != 10 || capped.Schedule.Epochs[6].Steps != 2 {
		t.Errorf("with at most 10 steps: %+v (%v)", capped, err)
	}
}

// Epochs with calibrated noise cost the same, so their report is that of the first, however
// costs are rounded. With the paper's noise one with the fewest records costs most.
func TestDPEGDCostliest(t *testing.T) {
	byRounding := false
	for _, n := range []int{100, 200, 350, 512} {
		for _, mode := range []algorithms.Mode{algorithms.Certified, algorithms.Paper} {
			for _, epsilon := range []float64{0.5, 1, 2} {
				p := must.Get(algorithms.DPEGD{StepSize: 0.4}.Plan(newSpec(t, n, 8, 1, 0, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, mode)))(t)
				cost := func(e algorithms.Release) float64 {
					return e.Certificate.Sensitivity() / e.Noise.(privacy.Gaussian).Sigma
				}
				costliest := p.Report().Value("costliest_epoch").(int)
				chosen := p.Releases[costliest-1]
				first, fewest, most := 1, n, 0.0
				for i, e := range p.Releases {
					fewest = min(fewest, p.Schedule.Epochs[i].Records)
					if cost(e) > most {
						first, most = i+1, cost(e)
					}
				}
				if p.Certificate() != chosen.Certificate || p.Noise() != chosen.Noise || cost(chosen) < most*(1-1e-9) {
					t.Errorf("n = %d, epsilon = %g, %s: the report is of another epoch than the costliest, %d", n, epsilon, mode, costliest)
				}
				if records := p.Schedule.Epochs[costliest-1].Records; mode == algorithms.Paper && records != fewest || mode == algorithms.Certified && costliest != 1 {
					t.Errorf("n = %d, epsilon = %g, %s: epoch %d of %d records is the costliest", n, epsilon, mode, costliest, records)
				}
				byRounding = byRounding || mode == algorithms.Certified && first != 1
			}
		}
	}
	if !byRounding {
		t.Error("rounding alone prefers no epoch of these plans: this tests nothing")
	}
}

func TestDPEGDRefuses(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	for _, c := range []struct {
		a  algorithms.DPEGD
		l2 float64
		m  algorithms.Mode
		ok bool
	}{
		{algorithms.DPEGD{StepSize: 0.6}, 0, algorithms.Paper, false}, // eta <= 2/L = 0.5
		{algorithms.DPEGD{StepSize: 0.49}, 0, algorithms.Paper, true},
		{algorithms.DPEGD{StepSize: 2.1}, 0, algorithms.Certified, false}, // eta/4 <= 0.5
		{algorithms.DPEGD{StepSize: 1.9}, 0, algorithms.Certified, true},
		{algorithms.DPEGD{}, 0.1, algorithms.Paper, false},
		{algorithms.DPEGD{}, 0.1, algorithms.Certified, true},
		{algorithms.DPEGD{Steps: -1}, 0, algorithms.Certified, false},
	} {
		if _, err := c.a.Plan(newSpec(t, 64, 3, 1, c.l2, b, c.m)); (err == nil) != c.ok || err != nil && !errors.Is(err, algorithms.ErrAssumption) {
			t.Errorf("%+v, alpha %g, %s: %v", c.a, c.l2, c.m, err)
		}
	}
}

// samePart runs every epoch on the same records: releases that are certified one by
// one, and together cost more than is charged.
type samePart struct{ algorithms.DPEGD }

func (samePart) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	return algorithms.DPEGD{}.Train(ctx, fromZero{ev}, p, s, t)
}

type fromZero struct{ engine.Evaluator }

func (e fromZero) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	q.Pairs = engine.SubsetPairs{N: q.Pairs.(engine.SubsetPairs).N}
	return e.Evaluator.Sum(ctx, dst, q)
}

func TestReplayCatchesEpochsOnTheSameRecords(t *testing.T) {
	// The steps are so small that the noise leaves w inside the ball; near w = 0 the
	// structured neighbour moves each average by nearly its certificate.
	for _, delta := range []float64{1e-5, 0} {
		a := algorithms.DPEGD{StepSize: 0.001}
		p := must.Get(a.Plan(newSpec(t, 8, 2, 0.05, 0, privacy.Budget{Epsilon: 1, Delta: delta}, algorithms.Certified)))(t)
		data, neighbour := attack.WorstCase(8, 2, 0, engine.UnitBounds())
		for seed := range uint64(20) {
			must.Check(attack.Replay(a, p, data, []*engine.Records{neighbour}, seed))(t, "disjoint parts")
		}
		must.Fail(attack.Replay(samePart{a}, p, data, []*engine.Records{neighbour}, 1))(t, "together", fmt.Sprintf("delta %g, the same part in every epoch", delta))
	}
}

// A charged run: the ledger records the parallel event, charges the maximum, and the
// session lets every epoch release.
func TestDPEGDIsChargedItsWorstEpoch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := must.Get(ledger.Open(file))(t)
	a := algorithms.DPEGD{}
	p := must.Get(a.Plan(newSpec(t, 64, 3, 1, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)))(t)
	data := attack.RandomRecords(64, 3, engine.UnitBounds(), 1)
	must.Get(algorithms.Run(context.Background(), data, a, p, algorithms.Options{Ledger: l, DataID: "x"}))(t)
	l = must.Get(ledger.Open(file))(t)
	s, err := l.Summary("x", 1e-5)
	if err != nil || s.Runs != 1 || math.Abs(s.Mu-p.Guarantee.Mu) > 1e-9 {
		t.Errorf("the ledger has %d runs and mu = %.9g, want %.9g (%v)", s.Runs, s.Mu, p.Guarantee.Mu, err)
	}
}

func ExampleDPEGD() {
	fmt.Println(algorithms.DPEGD{}.Info().Title)
	// Output: DP epoch gradient descent: disjoint halves of the records, output perturbation of each average
}
