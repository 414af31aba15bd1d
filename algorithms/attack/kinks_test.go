package attack_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// kinkProblem puts a kink where all pairs of two classes are at the start of an algorithm: at
// score difference 0, and at a distance of 4 R^2 r = 1.
func kinkProblem(phi engine.Scalar, metric bool) engine.Problem {
	if metric {
		return engine.Problem{D: 1, Bounds: engine.UnitBounds(), Loss: engine.Metric{Of: phi}, Radius: 0.25}
	}
	return engine.Problem{D: 2, Bounds: engine.UnitBounds(), Loss: engine.Score{Of: phi}, Radius: 0.1}
}

// everyKink calls ratioOf for every loss of KinkLosses, of scores and of distances, and wants
// one of the ratios that it returns to be a strong attack.
func everyKink(t *testing.T, ratioOf func(t *testing.T, name string, p engine.Problem) float64) {
	t.Helper()
	strongest := 0.0
	for _, phi := range attack.KinkLosses(0) {
		for _, metric := range []bool{false, true} {
			name := fmt.Sprintf("%s, metric %v", phi.Text(), metric)
			strongest = max(strongest, ratioOf(t, name, kinkProblem(phi, metric)))
		}
	}
	if strongest < 0.25 {
		t.Errorf("the attack reaches only %.3g of a certificate", strongest)
	}
}

// Algorithms that take losses that are not smooth, for losses whose kink a sigmoid decides, on
// neighbours whose other records change places. When four values shared a division, every one
// of them moved by 2.3 to 3.6 times its certificate here.
func TestKinksReplay(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n = 31
	quick := []algorithms.Algorithm{
		algorithms.GradientPerturbation{Steps: 2}, algorithms.DPGDC2{Steps: 2},
		algorithms.SubsampledDescent{Steps: 2, BatchRecords: 15}, algorithms.SubsampledDescent{Steps: 2, BatchRecords: 22},
		algorithms.MomentsDescent{Steps: 2},
	}
	tested := map[string]bool{}
	for _, a := range quick {
		tested[a.Info().Name] = true
		t.Run(a.Info().Name, func(t *testing.T) {
			everyKink(t, func(t *testing.T, name string, p engine.Problem) (ratio float64) {
				if _, score := p.Loss.(engine.ScoreLoss); a.Info().ScoresOnly && !score {
					return 0
				}
				p.N = n
				plan := must.Get(a.Plan(kinkSpec(t, p)))(t)
				for seed := range sizes.Of[uint64](1, 2) {
					for _, k := range attack.KinkNeighbours(n, p.D, p.Bounds) {
						r, err := attack.Replay(a, plan, k.Data, []*engine.Records{k.Neighbour}, seed)
						if err != nil {
							t.Errorf("%s, %s: %v", name, k.Name, err)
						}
						ratio = max(ratio, r)
					}
				}
				return ratio
			})
		})
	}
	p := kinkProblem(attack.KinkLosses(0)[0], false)
	p.N = n
	for _, a := range algorithms.Catalog() {
		plan, err := a.Plan(kinkSpec(t, p))
		if err == nil && plan.Moments() != nil && plan.Moments().Gradients == 0 {
			continue // of least squares, whatever the loss: it takes no gradient
		}
		if !errors.Is(err, algorithms.ErrAssumption) && !tested[a.Info().Name] {
			t.Errorf("%s takes a loss that is not smooth (%v) and is not tested with one", a.Info().Name, err)
		}
	}
}

func kinkSpec(t *testing.T, p engine.Problem) algorithms.Spec {
	t.Helper()
	s := must.Get(algorithms.NewSpec(cpu.Backend{}, p, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
	if !math.IsInf(s.Constants.Smoothness, 1) {
		t.Fatalf("%s is smooth", p.Loss.Name())
	}
	return s
}

// The same for streams, with every kind of buffer: the shared division made them move by 1.4
// to 2.9 times their joint certificates.
func TestKinksReplayStreams(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n = 60
	for i, v := range []streamVariant{
		{a: algorithms.OnPairC{}, o: algorithms.StreamOptions{Batch: 26, BurnIn: 4}},
		{a: algorithms.OnPairC{}, o: algorithms.StreamOptions{Batch: 26, BurnIn: 5, Buffer: 16}},
		{a: algorithms.OnPairC{}, o: algorithms.StreamOptions{Batch: 26, BurnIn: 8, Buffer: 16, PerClass: true}},
		{a: algorithms.OnPairC{}, o: algorithms.StreamOptions{Batch: 26, BurnIn: 8, Buffer: 16, Reservoir: true}},
		{a: algorithms.OnPairStrC{}, o: algorithms.StreamOptions{Batch: 26, BurnIn: 4}, l2: 0.1},
		{a: algorithms.DPFTRL{}, o: algorithms.StreamOptions{Batch: 26, BurnIn: 4}},
		{a: algorithms.DPFTRL{}, o: algorithms.StreamOptions{Batch: 26, BurnIn: 8}},
	} {
		t.Run(fmt.Sprintf("%d-%s", i, v.a.Info().Name), func(t *testing.T) {
			if !sizes.Full() && (i == 1 || i == 6) {
				t.Skip("slow: at full power") // the next has a buffer too, and the one before is the same algorithm
			}
			everyKink(t, func(t *testing.T, name string, p engine.Problem) (ratio float64) {
				v.o.Horizon, p.N = n, 2
				s := must.Get(algorithms.NewStreamSpec(cpu.Backend{}, p, v.o, v.l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
				plan := must.Get(v.a.Plan(s))(t)
				for _, k := range attack.KinkNeighbours(n, p.D, p.Bounds) {
					r, err := attack.ReplayStream(plan, starter(plan), k.Data, []*engine.Records{k.Neighbour}, 9)
					if err != nil {
						t.Errorf("%s, %s: %v", name, k.Name, err)
					}
					ratio = max(ratio, r)
				}
				return ratio
			})
		})
	}
}
