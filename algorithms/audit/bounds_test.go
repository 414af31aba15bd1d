package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
)

func binomialMass(k, n int, p float64) float64 {
	return math.Exp(logBinomial(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// missProbability is the exact probability that upper(k) is below p.
func missProbability(n int, p float64, upper func(k int) float64) float64 {
	miss := 0.0
	for k := 0; k <= n; k++ {
		if upper(k) < p {
			miss += binomialMass(k, n, p)
		}
	}
	return miss
}

// Clopper-Pearson misses with probability at most alpha, summed exactly over all
// counts; the textbook normal interval does not.
func TestProportionBoundsCover(t *testing.T) {
	worst, control := 0.0, 0.0
	const n, alpha = 60, 0.01
	for _, p := range []float64{0.001, 0.01, 0.03, 0.1, 0.3, 0.5, 0.77, 0.95, 0.999} {
		worst = max(worst, missProbability(n, p, func(k int) float64 { return proportionUpper(k, n, alpha) }))
		worst = max(worst, missProbability(n, 1-p, func(k int) float64 { return 1 - proportionLower(n-k, n, alpha) }))
		control = max(control, missProbability(n, p, func(k int) float64 {
			q := float64(k) / n
			return q + 2.326*math.Sqrt(q*(1-q)/n)
		}))
	}
	must.Within(t, worst, 0, alpha*(1+1e-9), "misses with probability ..., want at most %g", alpha)
	if worst < alpha/3 {
		t.Errorf("misses with probability %g at most: the bounds are too loose to mean anything", worst)
	}
	if control < 10*alpha {
		t.Errorf("the normal interval misses with probability %g: the check is blind", control)
	}
}

// The bound from counts exceeds the true epsilon of an event with probability at most
// alpha; here by the exact law of both counts.
func TestClopperPearsonIsSound(t *testing.T) {
	const n, alpha, delta = 40, 0.05, 0.02
	for _, epsilon := range []float64{0.2, 1, 2} {
		q := 0.1
		p := math.Exp(epsilon)*q + delta
		exceeded := 0.0
		for k := 0; k <= n; k++ {
			for j := 0; j <= n; j++ {
				if ClopperPearson(Event{k, n, j, n}, delta, alpha) > epsilon*(1+1e-12) {
					exceeded += binomialMass(k, n, p) * binomialMass(j, n, q)
				}
			}
		}
		if exceeded > alpha {
			t.Errorf("epsilon %g is exceeded with probability %g, want at most %g", epsilon, exceeded, alpha)
		}
	}
}

// The p-value of one run agrees with the sum that defines it, and holds for randomised
// response, whose number of correct guesses is binomial: exact, over all counts.
func TestOneRunPValue(t *testing.T) {
	for _, g := range []Guesses{{10, 5, 5}, {100, 40, 31}, {1000, 100, 70}, {1000, 1000, 400}, {50, 50, 0}, {64, 1, 1}} {
		for _, epsilon := range []float64{0, 0.5, 1, 4} {
			for _, delta := range []float64{0, 1e-6, 1e-3, 0.1} {
				q := 1 / (1 + math.Exp(-epsilon))
				beta, worst, sum := 0.0, 0.0, 0.0
				for k := g.Correct; k <= g.Made; k++ {
					beta += binomialMass(k, g.Made, q)
				}
				for i := 1; i <= g.Correct; i++ {
					sum += binomialMass(g.Correct-i, g.Made, q)
					worst = max(worst, sum/float64(i))
				}
				want := min(1, beta+2*float64(g.Canaries)*delta*worst)
				must.Near(t, oneRunPValue(g, epsilon, delta), want, 1e-9, "%+v epsilon %g delta %g", g, epsilon, delta)
			}
		}
	}
	const m, alpha = 200, 0.01
	for _, epsilon := range []float64{0.1, 1, 3} {
		refuted, refutedGDP := 0.0, 0.0
		q := 1 / (1 + math.Exp(-epsilon))
		for v := 0; v <= m; v++ {
			g := Guesses{m, m, v}
			if OneRunEpsilon(g, 0, alpha) > epsilon {
				refuted += binomialMass(v, m, q)
			}
			if refutesGDP(g, account.PureGDPMu(epsilon), alpha) {
				refutedGDP += binomialMass(v, m, q)
			}
		}
		if refuted > alpha || refutedGDP > alpha {
			t.Errorf("epsilon %g of randomised response is refuted with probability %g, its mu with %g; want at most %g", epsilon, refuted, refutedGDP, alpha)
		}
		if refuted < alpha/10 {
			t.Errorf("epsilon %g of randomised response is refuted with probability %g: the bound is blind", epsilon, refuted)
		}
	}
}

// The Gaussian interval covers: 400 samples at alpha 0.05 miss at most 47 times but
// with probability 1e-8; with half the interval's width they miss more often.
func TestGaussianModelCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const samples, n, mu, alpha = 400, 30, 0.7, 0.05
	missed, control := 0, 0
	for range samples {
		low, high := make([]float64, n), make([]float64, n)
		for i := range low {
			low[i], high[i] = 3*rng.NormFloat64()-1, 3*(rng.NormFloat64()+mu)-1
		}
		s := gaussianModel(low, high, alpha)
		if s.Lower > mu {
			missed++
		}
		if (s.Lower+s.Mu)/2 > mu {
			control++
		}
	}
	if limit := 47; missed > limit {
		t.Errorf("missed %d of %d times, want at most %d", missed, samples, limit)
	}
	if control <= 20 {
		t.Errorf("half the width misses %d times only: the check is blind", control)
	}
	must.Equal(t, gaussianModel([]float64{1, 1}, []float64{2, 2}, alpha).Lower, unlimited, "no noise at all")
}

// The quantiles behind gaussianModel are right far into the tails: their tail
// probability by the distribution function is the one asked for.
func TestQuantilesReachTheTails(t *testing.T) {
	for _, nu := range []float64{38, 1998, 199998} {
		for _, alpha := range []float64{1e-2, 2.5e-4, 1e-8, 2.5e-12} {
			chi := distuv.ChiSquared{K: nu}
			for name, tail := range map[string]float64{
				"normal":            distuv.UnitNormal.Survival(distuv.UnitNormal.Quantile(1 - alpha)),
				"chi-square, lower": chi.CDF(chi.Quantile(alpha)),
				"chi-square, upper": chi.Survival(chi.Quantile(1 - alpha)),
			} {
				// 1 - alpha is rounded to 1.1e-16.
				must.Near(t, tail, alpha, 1e-6*alpha+1.2e-16, "%s, nu %g: the tail", name, nu)
			}
		}
	}
}

// A grid that depends on the size of the noise tells data sets apart by low bits
// alone; noise on one grid does not.
func TestLowBitsOfFloatNoiseTellDataApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	audited := func(round func(float64) float64) float64 {
		var s [2][2][]float64 // pilot, held out
		for i := range 4 {
			x := []float64{0, 0.3}[i%2]
			for range 1000 {
				v := round(x + 0.5*math.Sqrt2*math.Erfinv(2*rng.Float64()-1))
				s[i/2][i%2] = append(s[i/2][i%2], lowBitScore.of(Observation{Releases: []attack.Call{{After: []float64{v}}}}))
			}
		}
		a := BestGuess(s[0][0], s[0][1], 1000, 1e-5, 0.001)
		return ClopperPearson(a.Count(s[1][0], s[1][1]), 1e-5, 0.001)
	}
	if epsilon := audited(func(v float64) float64 { return v }); !(epsilon > 1) {
		t.Errorf("float noise: epsilon >= %g by low bits, want above 1", epsilon)
	}
	must.Within(t, audited(func(v float64) float64 { return math.Round(v*0x1p30) * 0x1p-30 }), 0, 0.05, "noise on a grid: epsilon >= ... by low bits")
}

// A run that looks gradients up has the bits of a run that computes them, for every
// algorithm, and a report does not depend on the number of workers.
func TestLookupAndWorkersKeepTheBits(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, a := range algorithms.Catalog() {
		if !a.Info().Supports(algorithms.Certified) {
			continue
		}
		l2 := 0.0
		if a.Info().NeedsL2 {
			l2 = 0.01
		}
		spec := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 24, D: 3, Bounds: engine.UnitBounds(), Loss: attack.Loss(a.Info()), Radius: 0.5}, l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
		p := must.Get(a.Plan(spec))(t)
		data := attack.RandomRecords(24, 3, engine.UnitBounds(), 1)
		target := Target{Algorithm: a, Plan: p, Data: data, Neighbour: attack.Neighbours(data, 1, 2)[0], Coins: 9}
		warm := must.Get(newWorker(target))(t)
		for seed := range uint64(3) {
			cold := must.Get(newWorker(target))(t)
			got, err1 := warm.pair(context.Background(), seed == 2, seed)
			want, err2 := cold.pair(context.Background(), seed == 2, seed)
			if err1 != nil || err2 != nil || !attack.SameBits(got.Weights, want.Weights) || got.LogRatio != want.LogRatio {
				t.Errorf("%s: looked up %v %v, computed %v %v (%v, %v)", p.Algorithm, got.Weights, got.LogRatio, want.Weights, want.LogRatio, err1, err2)
			}
		}
		var bounds [2]*Report
		for i, workers := range []int{1, 3} {
			bounds[i] = must.Get(Run(context.Background(), target, Options{Runs: sizes.Of(20, 50), Workers: workers}))(t)
		}
		must.Same(t, bounds[0].Bounds, bounds[1].Bounds, "%s: one worker and three", p.Algorithm)
	}
}

// Binomial tails agree with sums of the law, for many runs and far into the tails.
func TestBinomialTails(t *testing.T) {
	for _, n := range []int{1, 60, 5000, 200_000} {
		for _, p := range []float64{1e-5, 0.01, 0.3, 0.5, 0.9} {
			sd := math.Sqrt(float64(n) * p * (1 - p))
			for _, z := range []float64{-6, -3, 0, 3, 6} {
				k := int(math.Round(float64(n)*p + z*sd))
				if k < 0 || k > n {
					continue
				}
				most, least := 0.0, 0.0
				for i := max(0, k-int(40*sd)-40); i <= k; i++ {
					most += binomialMass(i, n, p)
				}
				for i := k; i <= min(n, k+int(40*sd)+40); i++ {
					least += binomialMass(i, n, p)
				}
				// Lgamma of 2e5 is right to 1e-16 of 2e6.
				tolerance := 1e-9 + 1e-15*float64(n)
				must.Near(t, binomialAtMost(k, n, p), most, tolerance*most, "P(Bin(%d, %g) <= %d)", n, p, k)
				must.Near(t, binomialAtLeast(k, n, p), least, tolerance*least, "P(Bin(%d, %g) >= %d)", n, p, k)
			}
		}
	}
}
